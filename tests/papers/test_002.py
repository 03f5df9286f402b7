"""002 (Mattern, Fünfrocken): the programs of Figures 1 to 8 under three protocols, and the traps."""

from typing import Any

import msgspec
import pytest

from antecede import CallerError, Effects, InputError, Packet
from antecede.core.boxed import Letter
from antecede.protocols.buffered import Buffered
from antecede.protocols.registry import build
from tests.harness import maker
from tests.papers.explorer import End, Explorer, Make, restorer
from tests.papers.stage import cast, send, words

FIG_1 = "P1: s a->2; r. P2: s b->1; r"
FIG_4 = "P1: s x->3; s y->2. P2: r; s z->3. P3: {}; {}"
FIG_7 = "P1: s e->2; s d->3; {}; {}. P2: s c->3; s b->1; {}; {}. P3: s a->1; s f->2; {}; {}"
FIG_4_ANY = FIG_4.format("r", "r")
FIG_4_2_1 = FIG_4.format("r from 2", "r from 1")
FIG_4_1_2 = FIG_4.format("r from 1", "r from 2")
FIG_7_ANY = FIG_7.format("r", "r", "r", "r", "r", "r")
FIG_7_SELECTIVE = FIG_7.format("r from 3", "r from 2", "r from 1", "r from 3", "r from 2", "r from 1")
FIG_8_SELECTIVE = FIG_7.format("r from 2", "r from 3", "r from 3", "r from 1", "r from 1", "r from 2")
TWO_SENDERS = "P1: s x->2. P2: r from 1; r from 3. P3: s y->2"

ALL_8 = {
    f"{one} | {two} | {three}" for one in ("a b", "b a") for two in ("e f", "f e") for three in ("c d", "d c")
}
NEVER_BUFFERED = "b a | f e | d c"

SYNC = maker("sync", form="rendezvous", manual=True)
SITE = maker("sync", form="site", manual=True)
BUFFER = maker("buffered", manual=True)
MATRIX = maker("matrix", manual=True)


def explore(program: str, make: Make) -> tuple[set[str], set[tuple[str, str]]]:
    """What is received where it completes; what is received, and what waits, where it blocks."""
    ends = Explorer(program, make).ends()
    complete = {end.received for end in ends if end.complete}
    return complete, {(end.received, end.waiting) for end in ends if not end.complete}


COMPLETES = [
    ("fig-1-buffer", FIG_1, BUFFER, {"b | a"}),
    ("fig-1-matrix", FIG_1, MATRIX, {"b | a"}),
    ("fig-1-site", FIG_1, SITE, {"b | a"}),
    ("fig-4-sync", FIG_4_ANY, SYNC, {" | y | x z"}),
    ("fig-4-site", FIG_4_ANY, SITE, {" | y | x z"}),
    ("fig-5-buffer", FIG_4_ANY, BUFFER, {" | y | x z"}),
    ("fig-6-matrix", FIG_4_ANY, MATRIX, {" | y | x z"}),
    ("fig-4-from-1-from-2-sync", FIG_4_1_2, SYNC, {" | y | x z"}),
    ("fig-4-from-1-from-2-buffer", FIG_4_1_2, BUFFER, {" | y | x z"}),
    ("fig-4-from-1-from-2-matrix", FIG_4_1_2, MATRIX, {" | y | x z"}),
    ("fig-7-buffer", FIG_7_ANY, BUFFER, ALL_8 - {NEVER_BUFFERED}),
    ("fig-7-matrix", FIG_7_ANY, MATRIX, ALL_8),
    ("fig-7-selective-matrix", FIG_7_SELECTIVE, MATRIX, {"a b | e f | c d"}),
    ("fig-8-selective-matrix", FIG_8_SELECTIVE, MATRIX, {NEVER_BUFFERED}),
    ("two-senders-sync", TWO_SENDERS, SYNC, {" | x y | "}),
    ("two-senders-matrix", TWO_SENDERS, MATRIX, {" | x y | "}),
]


@pytest.mark.parametrize(
    ("program", "make", "outcomes"), [c[1:] for c in COMPLETES], ids=[c[0] for c in COMPLETES]
)
def test_002_always_completes(program: str, make: Make, outcomes: set[str]) -> None:
    assert explore(program, make) == (outcomes, set())


BLOCKS = [
    ("fig-3-sync", FIG_1, SYNC, {(" | ", "b | a")}),
    ("fig-4-from-2-from-1-sync", FIG_4_2_1, SYNC, {(" |  | ", " |  | x")}),
    ("fig-4-from-2-from-1-buffer", FIG_4_2_1, BUFFER, {(" | y | ", " |  | x z")}),
    ("fig-4-from-2-from-1-matrix", FIG_4_2_1, MATRIX, {(" | y | ", " |  | x z"), (" | y | ", " |  | z x")}),
    ("fig-7-sync", FIG_7_ANY, SYNC, {(" |  | ", "a | e | c")}),
    ("fig-7-selective-sync", FIG_7_SELECTIVE, SYNC, {(" |  | ", "a | e | c")}),
    ("fig-8-selective-sync", FIG_8_SELECTIVE, SYNC, {(" |  | ", "a | e | c")}),
]


@pytest.mark.parametrize(("program", "make", "blocked"), [c[1:] for c in BLOCKS], ids=[c[0] for c in BLOCKS])
def test_002_always_blocks(program: str, make: Make, blocked: set[tuple[str, str]]) -> None:
    assert explore(program, make) == (set(), blocked)


def blocks_of(
    finished: tuple[str, str, str], stuck: tuple[str, str, str], least: int
) -> set[tuple[str, str]]:
    """Each process has finished or is stuck, `least` or more of them stuck."""
    places = [[(finished[i], ""), ("", stuck[i])] for i in range(3)]
    ways = [(a, b, c) for a in places[0] for b in places[1] for c in places[2]]
    few = [way for way in ways if least <= sum(1 for _, waiting in way if waiting)]
    return {(" | ".join(r for r, _ in way), " | ".join(w for _, w in way)) for way in few}


def test_002_figure_7_selective_under_buffer_may_finish_or_block() -> None:
    complete, blocked = explore(FIG_7_SELECTIVE, BUFFER)
    assert complete == {"a b | e f | c d"}
    everybody = {(" |  | ", "b a | f e | d c")}  # would be the receive order that no run has
    assert blocked == blocks_of(("a b", "e f", "c d"), ("b a", "f e", "d c"), 1) - everybody


def test_002_figure_8_selective_under_buffer_always_blocks() -> None:
    complete, blocked = explore(FIG_8_SELECTIVE, BUFFER)
    assert complete == set()
    assert blocked == blocks_of(("b a", "f e", "d c"), ("a b", "e f", "c d"), 1)


def test_002_two_senders_under_buffer_block_if_the_wrong_one_is_first() -> None:
    assert explore(TWO_SENDERS, BUFFER) == ({" | x y | "}, {(" |  | ", " | y x | ")})


def test_002_figure_2_life_of_a_message() -> None:
    one, two = cast(Buffered, 2, manual=True)
    post, later = one.send(b"first", to=["p1"]), one.send(b"second", to=["p1"])
    assert [packet.payload for packet in post.packets] == [b"first"] and post.packets[0].control_bytes == 0
    assert later.packets == [] and [posting.payload for posting in one.outgoing.values()] == [b"second"]
    get = two.receive(post.packets[0])
    assert [packet.kind for packet in get.packets] == ["ack"] and get.deliveries == []
    assert [letter.payload for letter in two.inbox] == [b"first"] and words(two.take()) == "first"
    assert [packet.payload for packet in one.receive(get.packets[0]).packets] == [b"second"]


def test_002_section_4_receive_from_looks_at_the_head_only() -> None:
    one, two, three = cast(Buffered, 3, manual=True)
    two.receive(send(one, "x", 1))
    two.receive(send(three, "y", 1))
    assert words(two.take("p2")) == "" and two.blocked
    assert words(two.take("p0")) == "x" and words(two.take("p2")) == "y"


class SplitGet(Buffered, kw_only=True):
    """The listing taken literally: acknowledge, and enqueue later; another get may come in between."""

    limbo: list[Letter] = msgspec.field(default_factory=list)

    def _get(self, packet: Packet) -> None:
        super()._get(packet)
        self.limbo.append(self.inbox.pop())

    def step(self) -> Effects | None:
        """Enqueue the latest; an earlier one was enqueued before or comes after."""
        if not self.limbo:
            return None
        self.inbox.append(self.limbo.pop())
        return Effects([], [])


def making(kind: type[Buffered], **options: Any) -> Make:
    return lambda process, group: build(kind, process=process, group=group, manual=True, **options)


def test_002_listing_a_get_in_two_steps_loses_causal_order() -> None:
    ends = Explorer(FIG_4_ANY, making(SplitGet), restorer(SplitGet)).ends()
    assert {end.received for end in ends} == {" | y | x z", " | y | z x"}


def test_002_footnote_4_posts_to_the_same_destination_without_waiting() -> None:
    one, two, _ = cast(Buffered, 3, pipelined=True)
    first, second = send(one, "first", 1), send(one, "second", 1)
    assert one.send(b"other", to=["p2"]).packets == []
    acks = [two.receive(packet).packets[0] for packet in (first, second)]
    assert one.receive(acks[0]).packets == []
    assert [packet.payload for packet in one.receive(acks[1]).packets] == [b"other"]


def test_002_footnote_4_refuses_what_overtook() -> None:
    one, two = cast(Buffered, 2, pipelined=True)
    first, second = send(one, "first", 1), send(one, "second", 1)
    with pytest.raises(InputError, match="FIFO"):
        two.receive(second)
    assert [words(two.receive(packet)) for packet in (first, second)] == ["first", "second"]


class Unchecked(Buffered, kw_only=True):
    """Footnote 4 without the check of the channel's order."""

    def _read(self, packet: Packet) -> int:
        self.pipelined = False
        number = super()._read(packet)
        self.pipelined = True
        return number


def test_002_footnote_4_without_fifo_channels_loses_causal_order() -> None:
    program = "P1: s x->2; s y->2. P2: r; r"
    ends = Explorer(program, making(Unchecked, pipelined=True), restorer(Unchecked)).ends()
    assert {end.received for end in ends} == {" | x y", " | y x"}


class WaitForAll(Buffered, kw_only=True):
    """Post all copies and wait for all acknowledgements; deliver at get."""

    def _waits(self, letter: Letter) -> bool:
        return False


MULTICAST = "P1: s m->2,3. P2: r; s z->3. P3: r; r"


def test_002_multicast_waiting_for_all_acknowledgements_is_not_causal() -> None:
    ends = Explorer(MULTICAST, making(WaitForAll), restorer(WaitForAll)).ends()
    assert {end.received for end in ends} == {" | m | m z", " | m | z m"}


@pytest.mark.parametrize("repair", ["two-phase", "hold"])
def test_002_multicast_repairs(repair: str) -> None:
    ends = Explorer(MULTICAST, maker("buffered", multicast=repair, manual=True)).ends()
    assert ends == {End(True, " | m | m z", " |  | ")}


def test_002_section_2_a_synchronous_sender_is_blocked_until_the_partner_receives() -> None:
    rendezvous = [build_sync(name, "rendezvous") for name in ("p0", "p1")]
    message = send(rendezvous[0], "x", 1)
    assert rendezvous[1].receive(message).packets == [] and rendezvous[0].blocked
    with pytest.raises(CallerError, match="blocked"):
        rendezvous[0].send(b"y", to=["p1"])
    rendezvous[0].receive(rendezvous[1].take().packets[0])
    assert not rendezvous[0].blocked


def test_002_section_2_the_site_acknowledges_before_the_partner_receives() -> None:
    one, two = (build_sync(name, "site") for name in ("p0", "p1"))
    one.receive(two.receive(send(one, "x", 1)).packets[0])
    assert not one.blocked and words(two.take()) == "x"


def build_sync(process: str, form: str) -> Any:
    return maker("sync", form=form, manual=True)(process, ["p0", "p1"])
