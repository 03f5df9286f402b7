"""Links and members that change at run time: schedules in virtual time, and what is refused."""

import asyncio
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from antecede import CallerError, live
from antecede.protocols.membership import Probabilistic
from tests.cases import make_line
from tests.live.changes import LinkSchedule, MemberSchedule, judge_changes, run_change
from tests.live.cluster import Cluster, find_free_port
from tests.live.test_journal import restart

SLICE = 8


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "antecede.live")


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [LinkSchedule, MemberSchedule], ids=["links", "members"])
def test_nothing_is_late_lost_or_twice_while_the_group_changes(schedule: Any, tmp_path: Path) -> None:
    outcomes = [run_change(schedule, seed, tmp_path) for seed in range(SLICE)]
    assert judge_changes(outcomes) == []
    faults: Counter[str] = sum((outcome.faults for outcome in outcomes), Counter())
    assert faults["crash"] > 0 and faults["broken connection"] > 0
    if schedule is LinkSchedule:
        assert faults["link added"] > SLICE and faults["link removed"] > SLICE
    else:
        assert faults["joined"] == faults["left"] == SLICE


def test_a_sponsor_that_welcomes_too_early_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Probabilistic.welcome

    def welcome_at_once(self: Probabilistic, name: str, sent: dict[str, int]) -> bytes:
        return honest(self, name, dict.fromkeys(sent, 0))

    monkeypatch.setattr(Probabilistic, "welcome", welcome_at_once)
    outcomes = [run_change(MemberSchedule, seed, tmp_path) for seed in (0, 2)]
    assert any("is lost at p3" in problem for problem in judge_changes(outcomes))


def test_what_came_with_the_state_takes_no_credit(tmp_path: Path) -> None:
    """A newcomer passes such messages over; as many as the window has room for must not close it."""

    async def run() -> None:
        async with Cluster("probabilistic", 2, R=8, K=1, window=4) as cluster:
            cluster.consume()
            a, b = cluster.nodes.values()
            address = cluster.addresses["p2"] = "memory://credit-p2"
            sent = {"p0": await a.admit("p2", address), "p1": await b.admit("p2", address)}
            for number in range(4):
                await a.send(b"%d" % number)
            await cluster.wait_for(4, "p1")
            invitation = await b.welcome("p2", sent)
            assert invitation.delivered == 4
            cluster.names.append("p2")
            cluster.taken["p2"] = []
            await cluster.start("p2", welcome=invitation.state)
            cluster.consume("p2")
            for number in range(20):
                await a.send(b"%d" % number)
            await cluster.wait_for(20, "p2")

    asyncio.run(run())


OTHERS = ["optimal", "vector", "flood", "plausible"]


@pytest.mark.parametrize("protocol", OTHERS)
def test_members_of_other_protocols_are_fixed(protocol: str) -> None:
    async def run() -> None:
        async with Cluster(protocol, 2) as cluster:
            node = cluster.nodes["p0"]
            for change in (
                node.admit("p9", "memory://p9"),
                node.welcome("p9", {}),
                node.leave(),
                node.dismiss("p1", 0),
            ):
                with pytest.raises(
                    CallerError, match=f"the members of '{protocol}' are fixed; use 'probabilistic'"
                ):
                    await change
            assert await node.send(b"still there", to=None) == "p0#1"
        with pytest.raises(CallerError, match="are fixed"):
            await live.open_node(protocol, process="a", listen="memory://a", peers={"b": None}, welcome=b"")

    asyncio.run(run())


def test_links_of_other_protocols_are_fixed() -> None:
    async def run() -> None:
        async with Cluster("vector", 2) as cluster:
            node = cluster.nodes["p0"]
            for change in (node.add_link("p1"), node.remove_link("p1")):
                with pytest.raises(CallerError, match="the links of 'vector' are fixed; use 'flood'"):
                    await change
            with pytest.raises(CallerError, match="are fixed"):
                assert node.links

    asyncio.run(run())


def test_bad_changes_are_refused_and_change_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        options: dict[str, Any] = {"R": 8, "K": 1}
        async with Cluster("probabilistic", 2, journals=tmp_path, **options) as cluster:
            node = cluster.nodes["p0"]
            bad: list[tuple[Any, str]] = [
                (node.admit("p1", None), "is or was a member"),
                (node.admit("", None), "cannot name a process"),
                (node.admit("p9", "somewhere"), "is no address"),
                (node.admit("p9", "pigeon://p9"), "no transport 'pigeon'"),
                (node.welcome("p9", {"p0": 0, "p1": 0}), "admit 'p9' everywhere first"),
                (node.dismiss("p9", 0), "not another member"),
                (node.dismiss("p1", "many"), "the number that leave"),  # type: ignore[arg-type]
            ]
            for change, text in bad:
                with pytest.raises(CallerError, match=text):
                    await change
            cluster.stop("p0")
            await asyncio.sleep(0.05)
            again = await restart(cluster, "p0")
            assert again.station.endpoint.group == ["p0", "p1"]

    asyncio.run(run())


def test_a_newcomer_over_tcp_goes_on_where_its_sponsor_was(tmp_path: Path) -> None:
    """The example of the documentation: three calls, and who left is asked for nothing."""

    async def run() -> None:
        options: dict[str, Any] = {"R": 8, "K": 1, "journals": tmp_path}
        async with Cluster("probabilistic", 2, "tcp", **options) as cluster:
            cluster.consume()
            a, b = cluster.nodes.values()
            for number in range(5):
                await a.send(b"early %d" % number)
            address = cluster.addresses["p2"] = f"tcp://127.0.0.1:{find_free_port()}"
            sent = {"p0": await a.admit("p2", address), "p1": await b.admit("p2", address)}
            assert sent == {"p0": 5, "p1": 0}
            invitation = await b.welcome("p2", sent)
            assert invitation.delivered == 5
            cluster.names.append("p2")
            cluster.taken["p2"] = []
            c = await cluster.start("p2", welcome=invitation.state)
            cluster.consume("p2")
            await b.send(b"hello")
            await c.send(b"hello, too")
            await cluster.wait_for(2, "p2")
            assert sorted(cluster.payloads("p2")) == [b"hello", b"hello, too"]
            number = await b.leave()
            await a.dismiss("p1", number)
            await c.dismiss("p1", number)
            await c.dismiss("p1", number)  # asked again, after a crash it may be
            await a.send(b"two are left")
            await cluster.wait_for(3, "p2")
            cluster.stop("p2")
            await asyncio.sleep(0.05)
            c = await restart(cluster, "p2")
            assert c.station.endpoint.group == ["p0", "p2"]
            with pytest.raises(CallerError, match="is or was a member"):
                await c.admit("p1", None)

    asyncio.run(run())


def test_a_link_of_flood_opens_and_is_still_there_after_a_crash(tmp_path: Path) -> None:
    async def run() -> None:
        async with Cluster("flood", 4, journals=tmp_path, overlay=make_line(4)) as cluster:
            cluster.consume()
            await cluster.wait_until_connected()
            node = cluster.nodes["p0"]
            assert node.links == ["p1"]
            await node.add_link("p3")
            while node.links != ["p1", "p3"]:
                await asyncio.sleep(0.01)
            await node.remove_link("p1")
            cluster.stop("p0")
            await asyncio.sleep(0.05)
            node = await restart(cluster, "p0")
            assert node.links == ["p3"]
            with pytest.raises(CallerError, match="is the last one"):
                await node.remove_link("p3")
            await node.send(b"round the other way")
            await cluster.wait_for(3, "p1", "p2", "p3")

    asyncio.run(run())


def test_who_leaves_has_sent_all_that_it_began_to_send(tmp_path: Path) -> None:
    async def run() -> None:
        options: dict[str, Any] = {"R": 8, "K": 1, "journals": tmp_path}
        async with Cluster("probabilistic", 2, **options) as cluster:
            cluster.consume()
            a, b = cluster.nodes.values()
            names = [await a.begin_send(b"%d" % number) for number in range(50)]
            leaving = asyncio.create_task(a.leave())
            await asyncio.sleep(0)
            with pytest.raises(live.NodeClosedError, match="is leaving"):
                await a.send(b"too late")
            assert await leaving == 50
            assert [await name for name in names] == [f"p0#{number}" for number in range(1, 51)]
            await b.dismiss("p0", 50)
            assert cluster.payloads("p1") == [b"%d" % number for number in range(50)]
            assert b.station.endpoint.group == ["p1"]

    asyncio.run(run())
