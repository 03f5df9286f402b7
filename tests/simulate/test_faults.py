"""Faults: what is counted really happened, as often as is told, and every kind happens."""

from collections import Counter, defaultdict

import pytest

from antecede.core.link import Frame
from antecede.core.site import Input, Output
from antecede.simulate import linked
from antecede.simulate.applications import Wish
from antecede.simulate.linked import AT_REST, HANDING, MOMENTS, UNWRITTEN, WRITTEN, LinkedCarrier
from antecede.simulate.network import Network
from antecede.simulate.run import Plan, Run, Simulation, simulate
from tests.simulate.traced import FAULTY, Traced, plan_of

QUICK = "exponential:20"
ALONE = {
    "lost": Network(delay=QUICK, loss=0.2),
    "repeated": Network(delay=QUICK, duplicate=0.2),
    "cut off": Network(delay=QUICK, partitions=3),
    "crash": Network(delay=QUICK, crashes=8),
}


class Spy:
    """Sees every frame that is let out, every one that comes in, and every crash of a run."""

    def __init__(self, plan: Plan) -> None:
        self.simulation = Simulation(plan)
        assert isinstance(self.simulation.carrier, LinkedCarrier)
        self.carrier = self.simulation.carrier
        self.counts: Counter[str] = Counter()
        self.frames: Counter[tuple[str, str, int]] = Counter()
        self.planned: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
        self.moments: list[tuple[str, bool, int]] = []
        self._wires()
        self._frames()
        self._crashes()
        self.run: Run = self.simulation.run()

    def _wires(self) -> None:
        wires = self.carrier.wires
        arrivals = wires.draw_frame_arrival_times

        def watched(source: int, target: int, now_ms: float, mean_ms: float | None) -> list[float]:
            cut = any(p.cuts(source, target, now_ms) for p in wires.partitions)
            found = arrivals(source, target, now_ms, mean_ms)
            self.counts["cut off" if cut else ("lost", "arrives", "repeated")[len(found)]] += 1
            assert not (cut and found) and all(when >= now_ms for when in found)
            for when in found:
                self.counts["overtaken"] += any(when < other for other in self.planned[source, target])
                self.planned[source, target].append(when)
            return found

        wires.draw_frame_arrival_times = watched  # type: ignore[method-assign]

    def _frames(self) -> None:
        carrier = self.carrier
        follow, arrive = carrier._transmit_and_deliver_output, carrier._on_frame_arrival

        def follow_watched(process: int, output: Output) -> None:
            for frame in output.frames:
                if frame.kind == "data":
                    self.frames[frame.source, frame.target, frame.number] += 1
            follow(process, output)

        def arrive_watched(frame: Frame) -> None:
            self.counts["came while down"] += carrier.homes[carrier.id_by_process[frame.target]].site is None
            arrive(frame)

        carrier._transmit_and_deliver_output = follow_watched  # type: ignore[method-assign]
        carrier._on_frame_arrival = arrive_watched  # type: ignore[method-assign]

    def _crashes(self) -> None:
        crash = self.carrier._crash_and_schedule_restart

        def watched(process: int) -> None:
            home = self.carrier.homes[process]
            behind = home.site.delivered - home.taken if home.site else -1
            self.moments.append((home.doom, home.site is not None, behind))
            crash(process)
            assert home.site is None

        self.carrier._crash_and_schedule_restart = watched  # type: ignore[method-assign]


KINDS = ("lost", "repeated", "cut off", "came while down", "overtaken")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("protocol", ["matrix", "buffered", "vector"])
def test_counts_are_what_happened(protocol: str, seed: int) -> None:
    spy = Spy(plan_of(protocol, rate=50.0, seed=seed, network=FAULTY))
    faults = spy.run.faults
    assert {kind: faults.get(kind, 0) for kind in KINDS} == {kind: spy.counts[kind] for kind in KINDS}
    assert {m: faults.get(m, 0) for m in MOMENTS} == {
        m: [d for d, _, _ in spy.moments].count(m) for m in MOMENTS
    }
    assert faults.keys() <= {*KINDS, *MOMENTS, "sent again"}
    assert not spy.run.broken


@pytest.mark.parametrize("seed", range(3))
def test_frames_sent_again_are_counted(seed: int) -> None:
    network = Network(delay=QUICK, loss=0.2, duplicate=0.1, partitions=2)
    spy = Spy(plan_of("matrix", seed=seed, network=network))
    again = spy.frames.total() - len(spy.frames)
    assert spy.run.faults["sent again"] == again > 0


def test_each_fault_alone_happens_and_brings_no_other() -> None:
    found = {
        name: set(simulate(plan_of("matrix", network=network)).faults) for name, network in ALONE.items()
    }
    assert "lost" in found["lost"]
    assert not found["lost"] & {"repeated", "cut off", *MOMENTS}
    assert "repeated" in found["repeated"]
    assert not found["repeated"] & {"lost", "cut off", *MOMENTS}
    assert "cut off" in found["cut off"]
    assert not found["cut off"] & {"lost", "repeated", *MOMENTS}
    assert found["crash"] & set(MOMENTS)
    assert not found["crash"] & {"lost", "repeated", "cut off"}


def test_rates_of_loss_and_repetition_in_a_run() -> None:
    spy = Spy(
        plan_of("fifo", messages=3000, rate=100.0, network=Network(delay=QUICK, loss=0.2, duplicate=0.1))
    )
    frames = sum(spy.counts[kind] for kind in ("lost", "arrives", "repeated"))
    assert spy.run.faults["lost"] / frames == pytest.approx(0.2, rel=0.08)
    assert spy.run.faults["repeated"] / frames == pytest.approx(0.08, rel=0.12)


def test_no_more_frames_cut_off_after_the_partitions_heal() -> None:
    spy = Spy(plan_of("matrix", network=Network(delay=QUICK, partitions=2, partition_time=500)))
    assert spy.run.faults["cut off"] > 0 and not spy.run.broken
    assert spy.run.costs.deliveries == 200


# -- crashes -----------------------------------------------------------------------------------------


def test_crashes_of_all_four_moments_happen_and_are_what_they_are_called() -> None:
    seen: Counter[str] = Counter()
    behind: Counter[str] = Counter()
    for seed in range(6):
        spy = Spy(plan_of("optimal", rate=50.0, seed=seed, network=FAULTY))
        assert not spy.run.broken
        for moment, up, missed in spy.moments:
            assert up
            seen[moment] += 1
            behind[moment] += missed
    assert set(seen) == set(MOMENTS)
    assert min(seen.values()) >= 3
    assert behind == {**dict.fromkeys(MOMENTS, 0), "crash while handing up": behind["crash while handing up"]}
    assert behind["crash while handing up"] > 0  # delivered by the endpoint, not taken by the application


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("protocol", ["matrix", "buffered", "semantic", "bounded"])
def test_nothing_but_crashes_of_one_moment(monkeypatch, protocol: str, moment: str) -> None:
    monkeypatch.setattr(linked, "MOMENTS", (moment,))
    network = Network(delay=QUICK, crashes=20, down_time=20)
    run = simulate(plan_of(protocol, workload="conversation", rate=50.0, network=network))
    assert not run.broken and run.costs.messages == 200
    assert set(run.faults) & set(MOMENTS) == {moment}
    assert run.faults[moment] >= 8


def test_process_is_down_when_and_as_long_as_is_said() -> None:
    start, down = 300.0, 400.0
    network = Network(delay=QUICK, outages={"p1": (start, down)})
    traced = Traced(plan_of("matrix", rate=50.0, network=network))
    at_rest = {row["time"] for row in traced.events if row["process"] == "p1"}
    others = [row["time"] for row in traced.events if row["process"] != "p1"]
    assert not [time for time in at_rest if start < time < start + down]
    assert min(at_rest) < start and max(at_rest) > start + down
    assert [time for time in others if start < time < start + down]
    assert traced.run.faults[AT_REST] == 1 and not traced.run.broken


def test_what_is_not_written_down_does_not_come_back_and_what_is_does(monkeypatch) -> None:
    """A crash before writing leaves the inputs as they were, one after writing leaves one more."""
    seen: list[tuple[str, int]] = []
    crash, take_in, send = (
        LinkedCarrier._crash_and_schedule_restart,
        LinkedCarrier._record_and_apply_input,
        LinkedCarrier.send,
    )
    before: dict[int, int] = {}

    def input_watched(self: LinkedCarrier, i: int, happening: Input) -> None:
        before[i] = len(self.homes[i].records)
        take_in(self, i, happening)

    def send_watched(self: LinkedCarrier, wish: Wish) -> None:
        before[wish.process] = len(self.homes[wish.process].records)
        send(self, wish)

    def crash_watched(self: LinkedCarrier, i: int) -> None:
        if self.homes[i].doom in (UNWRITTEN, WRITTEN):
            seen.append((self.homes[i].doom, len(self.homes[i].records) - before[i]))
        crash(self, i)

    monkeypatch.setattr(LinkedCarrier, "_record_and_apply_input", input_watched)
    monkeypatch.setattr(LinkedCarrier, "send", send_watched)
    monkeypatch.setattr(LinkedCarrier, "_crash_and_schedule_restart", crash_watched)
    simulate(plan_of("matrix", workload="ring", rate=50.0, network=FAULTY))
    assert set(seen) == {(WRITTEN, 1), (UNWRITTEN, 0)}


def test_snapshots_are_taken_on_the_way_and_inputs_do_not_pile_up() -> None:
    spy = Spy(plan_of("matrix", messages=1000, rate=100.0, network=FAULTY))
    assert all(len(home.records) < 100 for home in spy.carrier.homes)
    assert all(home.site is not None and home.taken == home.site.delivered for home in spy.carrier.homes)
    assert all(home.taken > 0 for home in spy.carrier.homes)


@pytest.mark.parametrize("every", [1, 10_000])
def test_how_often_snapshots_are_taken_changes_nothing(monkeypatch, every: int) -> None:
    plan = plan_of("optimal", rate=50.0, fanout=2, network=FAULTY)
    expected = simulate(plan)
    monkeypatch.setattr(linked, "SNAPSHOT_EVERY", every)
    assert simulate(plan) == expected


# -- timers ------------------------------------------------------------------------------------------


def test_a_process_looks_at_its_timers_once_at_a_time(monkeypatch) -> None:
    ticks: Counter[tuple[int, float]] = Counter()
    take_in = LinkedCarrier._record_and_apply_input

    def watched(self: LinkedCarrier, i: int, happening: Input) -> None:
        if happening.kind == "tick":
            ticks[i, happening.now] += 1
        take_in(self, i, happening)

    monkeypatch.setattr(LinkedCarrier, "_record_and_apply_input", watched)
    network = Network(delay=QUICK, loss=0.2, crashes=5)
    run = simulate(plan_of("fifo", messages=2000, rate=100.0, network=network))
    assert len(ticks) > 300 and set(ticks.values()) == {1}
    assert run.faults["sent again"] > 0


def test_nothing_is_written_down_where_nothing_crashes() -> None:
    network = Network(delay="exponential:5", loss=0.2)
    spy = Spy(plan_of("matrix", messages=300, rate=100.0, network=network))
    assert not any(home.records for home in spy.carrier.homes)


def test_a_crash_while_handing_up_strikes_between_two_deliveries(monkeypatch) -> None:
    """And the watch sees a message that was not handed up as one that waits."""
    split: list[tuple[int, int]] = []
    follow = LinkedCarrier._transmit_and_deliver_output

    def watched(self: LinkedCarrier, i: int, output: Output) -> None:
        before = self.homes[i].taken
        doomed = self.homes[i].doom == HANDING
        follow(self, i, output)
        if doomed and output.deliveries:
            split.append((self.homes[i].taken - before, len(output.deliveries)))

    monkeypatch.setattr(LinkedCarrier, "_transmit_and_deliver_output", watched)
    network = Network(delay="exponential:50", crashes=40, down_time=20)
    for seed in range(6):
        run = simulate(plan_of("vector", messages=150, rate=50.0, seed=seed, network=network))
        assert not run.broken
    assert split and all(handed == number // 2 for handed, number in split)
    assert any(0 < handed < number for handed, number in split)


def test_a_wish_that_a_crash_undid_comes_before_later_ones() -> None:
    applications = Simulation(plan_of("matrix", network=FAULTY)).applications
    first = Wish(0, [1], None)
    second = Wish(0, [2], None)
    applications.line[0].append(second)
    applications.put_wish_back_first(first)
    assert [wish.targets for wish in applications.line[0]] == [[1], [2]]
