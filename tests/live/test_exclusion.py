"""What an exclusion means for messages that depend on the excluded member, for each family of protocols.

The same story each time, in virtual time: p2 has sent `cause`, it has reached p0 and not p1, and p2 is gone.
p0 answers with `effect`, both exclude p2, and then talk on. docs/guarantees.md says what becomes of that.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import antecede
from antecede import live
from tests.live.cluster import Cluster
from tests.live.virtual import run_virtually

LONG = 60.0
"""Virtual seconds: whatever has not happened by then never does."""
Options = dict[str, Any]
HELD_AT_RECEIVER: dict[str, Options] = {
    "matrix": {}, "pairs": {}, "optimal": {}, "acknowledged": {}, "predecessors": {}, "vector": {},
    "bounded": {"k": 3}, "semantic": {}, "server": {"server": "p1"}, "monitor": {"monitor": "p1"},
}  # fmt: skip
SHARED_ENTRIES: dict[str, Options] = {"plausible": {"R": 2}, "probabilistic": {"R": 4, "K": 2}, "scalar": {}}
PASSED_ON: dict[str, Options] = {"history": {}, "flood": {}}
UNORDERED: dict[str, Options] = {"unordered": {}, "fifo": {}}
SENDER_WAITS: dict[str, Options] = {"buffered": {}, "release": {}, "eager": {}, "sync": {"form": "site"}}


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "antecede.live")


def test_every_protocol_belongs_to_a_family() -> None:
    families = [HELD_AT_RECEIVER, SHARED_ENTRIES, PASSED_ON, UNORDERED, SENDER_WAITS]
    assert sorted(name for family in families for name in family) == sorted(antecede.list_protocols())


class Story:
    """Three nodes, of which p1 begins when p2 is gone."""

    def __init__(self, protocol: str, options: Options) -> None:
        self.protocol = protocol
        self.cluster = Cluster(protocol, 3, window=8, **options)
        self.cluster.addresses = {name: f"memory://{name}-excluding" for name in self.cluster.names}

    async def begin(self) -> None:
        for name in ("p0", "p2"):
            await self.cluster.start(name)
            self.cluster.consume(name)

    async def lose_member(self) -> None:
        self.cluster.stop("p2")
        await self.cluster.start("p1")
        self.cluster.consume("p1")

    async def exclude(self) -> None:
        for name in ("p0", "p1"):
            await self.cluster.nodes[name].exclude("p2")

    async def send(self, sender: str, data: bytes, to: list[str]) -> bool:
        """Send to some, one by one or to all where the protocol knows only that; returns whether it could."""
        facts = antecede.list_protocols()[self.protocol]
        ways: list[list[str] | None] = [to] if facts.multicast else [None]
        if facts.unicast and not facts.multicast:
            ways = [[name] for name in to]
        for way in ways:
            try:
                await asyncio.wait_for(self.cluster.nodes[sender].send(data, to=way), LONG)
            except TimeoutError:
                return False
        await asyncio.sleep(LONG)
        return True

    def get(self, name: str) -> list[bytes]:
        """What a node has been given by others."""
        return [one.payload for one in self.cluster.taken[name] if one.sender != name]

    def status(self, name: str) -> live.Status:
        return self.cluster.nodes[name].status()

    def end(self) -> None:
        for name in list(self.cluster.nodes):
            self.cluster.stop(name)


def tell(protocol: str, options: Options, tale: Callable[[Story], Awaitable[None]]) -> None:
    async def run() -> None:
        story = Story(protocol, options)
        try:
            await story.begin()
            await tale(story)
        finally:
            story.end()

    run_virtually(run(), 1)


async def send_cause_and_effect(story: Story) -> None:
    await story.send("p2", b"cause", ["p1", "p0"])
    assert story.get("p0") == [b"cause"]
    await story.lose_member()
    await story.send("p0", b"effect", ["p1"])
    await story.exclude()
    assert story.status("p1").peers["p2"].excluded


@pytest.mark.parametrize("protocol", HELD_AT_RECEIVER)
def test_effects_of_what_is_missing_are_held_and_named(protocol: str) -> None:
    async def tale(story: Story) -> None:
        await send_cause_and_effect(story)
        assert await story.send("p0", b"another effect", ["p1"])
        assert await story.send("p1", b"independent", ["p0"])
        assert story.get("p1") == []
        assert story.get("p0") == [b"cause", b"independent"]
        status = story.status("p1")
        assert [held.payload[8:] for held in status.held] == [b"effect", b"another effect"]
        assert {gap.slot for gap in status.root_gaps} == {"p2"}

    tell(protocol, HELD_AT_RECEIVER[protocol], tale)


@pytest.mark.parametrize("protocol", SHARED_ENTRIES)
def test_with_shared_entries_effects_are_held_until_others_have_counted_on(protocol: str) -> None:
    async def tale(story: Story) -> None:
        await send_cause_and_effect(story)
        assert story.get("p1") == []
        assert [held.payload[8:] for held in story.status("p1").held] == [b"effect"]
        for _ in range(3):
            assert await story.send("p1", b"independent", ["p0"])
        assert story.get("p0") == [b"cause", *[b"independent"] * 3]
        assert story.get("p1") in ([], [b"effect"])  # too early, and without the cause

    tell(protocol, SHARED_ENTRIES[protocol], tale)


@pytest.mark.parametrize("protocol", PASSED_ON)
def test_where_messages_are_passed_on_nothing_is_missing_that_anybody_has(protocol: str) -> None:
    async def tale(story: Story) -> None:
        await send_cause_and_effect(story)
        assert await story.send("p1", b"answer", ["p0"])
        assert story.get("p1") == [b"cause", b"effect"]
        assert story.get("p0") == [b"cause", b"answer"]
        assert story.status("p1").held == []

    tell(protocol, PASSED_ON[protocol], tale)


@pytest.mark.parametrize("protocol", UNORDERED)
def test_without_causal_order_nothing_waits(protocol: str) -> None:
    async def tale(story: Story) -> None:
        await send_cause_and_effect(story)
        assert story.get("p1") == [b"effect"]
        assert story.status("p1").held == []

    tell(protocol, UNORDERED[protocol], tale)


@pytest.mark.parametrize("protocol", SENDER_WAITS)
def test_who_has_sent_nothing_to_the_excluded_and_got_nothing_unfinished_goes_on(protocol: str) -> None:
    async def tale(story: Story) -> None:
        await story.lose_member()
        await story.exclude()
        for number in range(3):
            assert await story.send("p0", b"%d" % number, ["p1"])
            assert await story.send("p1", b"%d" % number, ["p0"])
        assert story.get("p0") == story.get("p1") == [b"0", b"1", b"2"]

    tell(protocol, SENDER_WAITS[protocol], tale)


@pytest.mark.parametrize("protocol", ["buffered", "release", "sync"])
def test_who_waits_for_the_answer_of_the_excluded_waits_for_ever(protocol: str) -> None:
    async def tale(story: Story) -> None:
        await story.lose_member()
        await story.send("p0", b"to both", ["p2", "p1"])
        await story.exclude()
        could = await story.send("p0", b"next", ["p1"])
        assert b"next" not in story.get("p1")
        assert await story.send("p1", b"others go on", ["p0"])
        if protocol == "sync":  # the application is blocked: it neither sends nor receives
            assert not could and story.get("p0") == []
        else:
            assert story.status("p0").backlog > 0
            assert story.get("p0") == [b"others go on"]

    tell(protocol, SENDER_WAITS[protocol], tale)


def test_with_eager_who_got_something_that_did_not_arrive_everywhere_sends_no_more() -> None:
    async def tale_of_a_lost_sender(story: Story) -> None:
        await send_cause_and_effect(story)
        assert story.get("p1") == []
        assert story.status("p0").backlog == 1

    async def tale_of_a_lost_receiver(story: Story) -> None:
        await story.lose_member()
        assert await story.send("p0", b"to both", ["p2", "p1"])
        await story.exclude()
        assert await story.send("p0", b"next", ["p1"])
        assert await story.send("p1", b"answer", ["p0"])
        assert story.get("p1") == [b"to both", b"next"]
        assert story.get("p0") == []
        assert story.status("p1").backlog == 1

    tell("eager", {}, tale_of_a_lost_sender)
    tell("eager", {}, tale_of_a_lost_receiver)
