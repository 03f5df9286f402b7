"""Random logs with all that can be wrong with one: they are replayed to the end, or say why they cannot."""

import random
from typing import Any

import pytest

from antecede.events.graph import build_event_graph
from antecede.formats import read
from antecede.protocols.registry import list_protocols
from antecede.simulate.replay import replay
from antecede.study.compare import list_applicable_protocols
from antecede.study.traffic import find_traffic
from tests.formats.samples import lines


def make_log(seed: int) -> list[dict[str, Any]]:
    """Sends, deliveries in any order, lost and repeated ones, to oneself, without times or processes, with
    clocks that differ, with parents that exist or not, under names that need care."""
    rng = random.Random(seed)
    names = rng.sample(["a", "b", "c", "ü", "x y", "", "tab\there"], rng.randint(2, 5))
    skew = {name: rng.choice([0, 0, 500, -500]) for name in names}
    has_times, has_parents = rng.random() < 0.7, rng.random() < 0.4
    records: list[dict[str, Any]] = []
    under_way: list[tuple[str, str]] = []
    for at in range(rng.randint(2, 60)):
        record: dict[str, Any] = {"event": f"e{at}", "index": at}
        if under_way and rng.random() < 0.55:
            message, target = under_way.pop(rng.randrange(len(under_way)))
            record |= {"process": target, "kind": "deliver", "message": message}
            if rng.random() < 0.1:
                under_way.append((message, target))
        else:
            sender = rng.choice(names)
            targets = rng.sample(names, rng.randint(1, min(3, len(names))))
            record |= {"process": sender, "kind": "send", "message": f"m{at}", "receivers": targets}
            under_way += [(f"m{at}", target) for target in targets]
            if has_parents:
                earlier = [f"e{rng.randrange(at + 2)}" for _ in range(rng.randint(0, 2))]
                record["parents"] = earlier
        if has_times and rng.random() < 0.9:
            record["time"] = 10 * at + rng.random() * 30 + skew[record["process"]]
        if rng.random() < 0.03:
            del record["process"]
        if rng.random() < 0.95:
            records.append(record)
    return records or [{"event": "e0", "kind": "local", "process": "a"}]


@pytest.mark.parametrize("seed", range(60))
def test_a_random_log_is_replayed_to_the_end_by_all_that_fit(seed) -> None:
    events = read(lines(*make_log(seed)).encode(), "log").events
    for traffic in find_traffic(build_event_graph(events)):
        recording = traffic.recording
        if recording is None:
            assert traffic.notes
            continue
        assert (recording.travel >= 0).all() and (recording.heard >= 0).all()
        for variant in list_applicable_protocols(recording).variants:
            outcome = replay(recording, variant.protocol, variant.options)
            if variant.protocol == "sync":
                continue
            assert outcome.finished, variant
            facts = list_protocols()[variant.protocol]
            if facts.exact:
                assert outcome.verdict.early == outcome.verdict.late == 0, variant
            if facts.delay_optimal and not recording.declares_dependence:
                assert outcome.needless == 0, variant
