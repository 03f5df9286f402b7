"""Mattern and Fünfrocken 1995: the programs of Figures 1 to 8 under three protocols, and the traps."""

from typing import Any

import msgspec
import pytest

from antecede import CallerError, Effects, InputError, Packet
from antecede.core.boxed import Letter
from antecede.protocols.buffered import Buffered
from antecede.simulate.explorer import explore, format_by_process
from tests.harness import maker
from tests.papers.programs_mattern import (
    FIG_1,
    FIG_4_1_2,
    FIG_4_2_1,
    FIG_4_ANY,
    FIG_7_ANY,
    FIG_7_SELECTIVE,
    FIG_8_SELECTIVE,
    TWO_SENDERS,
)
from tests.papers.stage import cast, hear_each, send, words

ALL_8 = {
    f"{one} | {two} | {three}" for one in ("a b", "b a") for two in ("e f", "f e") for three in ("c d", "d c")
}
NEVER_BUFFERED = "b a | f e | d c"

SYNC = {"protocol": "sync", "form": "rendezvous"}
SITE = {"protocol": "sync", "form": "site"}
BUFFER = {"protocol": "buffered"}
MATRIX = {"protocol": "matrix"}


def ends(program: str, how: dict[str, Any]) -> tuple[set[str], set[tuple[str, str]]]:
    """What is received where it completes; what is received, and what waits, where it blocks."""
    found = explore(program, **how)
    return {str(end) for end in found.outcomes}, {
        (str(end), format_by_process(end.arrived)) for end in found.blocked
    }


COMPLETES = [
    ("fig-1-buffer", FIG_1, BUFFER, {"b | a"}),
    ("fig-1-matrix", FIG_1, MATRIX, {"b | a"}),
    ("fig-1-site", FIG_1, SITE, {"b | a"}),
    ("fig-4-sync", FIG_4_ANY, SYNC, {"- | y | x z"}),
    ("fig-4-site", FIG_4_ANY, SITE, {"- | y | x z"}),
    ("fig-5-buffer", FIG_4_ANY, BUFFER, {"- | y | x z"}),
    ("fig-6-matrix", FIG_4_ANY, MATRIX, {"- | y | x z"}),
    ("fig-4-from-1-from-2-sync", FIG_4_1_2, SYNC, {"- | y | x z"}),
    ("fig-4-from-1-from-2-buffer", FIG_4_1_2, BUFFER, {"- | y | x z"}),
    ("fig-4-from-1-from-2-matrix", FIG_4_1_2, MATRIX, {"- | y | x z"}),
    ("fig-7-buffer", FIG_7_ANY, BUFFER, ALL_8 - {NEVER_BUFFERED}),
    ("fig-7-matrix", FIG_7_ANY, MATRIX, ALL_8),
    ("fig-7-selective-matrix", FIG_7_SELECTIVE, MATRIX, {"a b | e f | c d"}),
    ("fig-8-selective-matrix", FIG_8_SELECTIVE, MATRIX, {NEVER_BUFFERED}),
    ("two-senders-sync", TWO_SENDERS, SYNC, {"- | x y | -"}),
    ("two-senders-matrix", TWO_SENDERS, MATRIX, {"- | x y | -"}),
]


@pytest.mark.parametrize(
    ("program", "how", "outcomes"), [c[1:] for c in COMPLETES], ids=[c[0] for c in COMPLETES]
)
def test_mattern_always_completes(program: str, how: dict[str, Any], outcomes: set[str]) -> None:
    assert ends(program, how) == (outcomes, set())


BLOCKS = [
    ("fig-3-sync", FIG_1, SYNC, {("- | -", "b | a")}),
    ("fig-4-from-2-from-1-sync", FIG_4_2_1, SYNC, {("- | - | -", "- | - | x")}),
    ("fig-4-from-2-from-1-buffer", FIG_4_2_1, BUFFER, {("- | y | -", "- | - | x z")}),
    ("fig-4-from-2-from-1-matrix", FIG_4_2_1, MATRIX, {("- | y | -", "- | - | x z")}),
    ("fig-7-sync", FIG_7_ANY, SYNC, {("- | - | -", "a | e | c")}),
    ("fig-7-selective-sync", FIG_7_SELECTIVE, SYNC, {("- | - | -", "a | e | c")}),
    ("fig-8-selective-sync", FIG_8_SELECTIVE, SYNC, {("- | - | -", "a | e | c")}),
]


@pytest.mark.parametrize(("program", "how", "blocked"), [c[1:] for c in BLOCKS], ids=[c[0] for c in BLOCKS])
def test_mattern_always_blocks(program: str, how: dict[str, Any], blocked: set[tuple[str, str]]) -> None:
    assert ends(program, how) == (set(), blocked)


def blocks_of(
    finished: tuple[str, str, str], stuck: tuple[str, str, str], least: int
) -> set[tuple[str, str]]:
    """Each process has finished or is stuck, `least` or more of them stuck."""
    places = [[(finished[i], "-"), ("-", stuck[i])] for i in range(3)]
    ways = [(a, b, c) for a in places[0] for b in places[1] for c in places[2]]
    few = [way for way in ways if least <= sum(1 for _, waiting in way if waiting != "-")]
    return {(" | ".join(r for r, _ in way), " | ".join(w for _, w in way)) for way in few}


def test_mattern_figure_7_selective_under_buffer_may_finish_or_block() -> None:
    complete, blocked = ends(FIG_7_SELECTIVE, BUFFER)
    assert complete == {"a b | e f | c d"}
    everybody = {("- | - | -", "b a | f e | d c")}  # would be the receive order that no run has
    assert blocked == blocks_of(("a b", "e f", "c d"), ("b a", "f e", "d c"), 1) - everybody


def test_mattern_figure_8_selective_under_buffer_always_blocks() -> None:
    complete, blocked = ends(FIG_8_SELECTIVE, BUFFER)
    assert complete == set()
    assert blocked == blocks_of(("b a", "f e", "d c"), ("a b", "e f", "c d"), 1)


def test_mattern_two_senders_under_buffer_block_if_the_wrong_one_is_first() -> None:
    assert ends(TWO_SENDERS, BUFFER) == ({"- | x y | -"}, {("- | - | -", "- | y x | -")})


def test_mattern_figure_2_life_of_a_message() -> None:
    one, two = cast(Buffered, 2, manual=True)
    post = one.send(b"first", to=["p1"])
    later = one.send(b"second", to=["p1"])
    assert [packet.payload for packet in post.packets] == [b"first"]
    assert post.packets[0].control_bytes == 0
    assert later.packets == []
    assert [posting.payload for posting in one.outgoing.values()] == [b"second"]
    get = two.receive(post.packets[0])
    assert [packet.kind for packet in get.packets] == ["ack"]
    assert get.deliveries == []
    assert [letter.payload for letter in two.inbox] == [b"first"]
    assert words(two.take()) == "first"
    assert [packet.payload for packet in one.receive(get.packets[0]).packets] == [b"second"]


def test_mattern_section_4_receive_from_looks_at_the_head_only() -> None:
    one, two, three = cast(Buffered, 3, manual=True)
    two.receive(send(one, "x", 1))
    two.receive(send(three, "y", 1))
    assert words(two.take("p2")) == "" and two.blocked
    assert words(two.take("p0")) == "x"
    assert words(two.take("p2")) == "y"


class GetInTwoSteps(Buffered, kw_only=True):
    """The listing taken literally: acknowledge, and enqueue later; another get may come in between."""

    limbo: list[Letter] = msgspec.field(default_factory=list)

    def _put_in_inbox_and_acknowledge(self, packet: Packet) -> None:
        super()._put_in_inbox_and_acknowledge(packet)
        self.limbo.append(self.inbox.pop())

    def step(self) -> Effects | None:
        """Enqueue the latest; an earlier one was enqueued before or comes after."""
        if not self.limbo:
            return None
        self.inbox.append(self.limbo.pop())
        return Effects([], [])


def list_ends(program: str, kind: type[Buffered], **options: Any) -> set[str]:
    """What is received in any end under an endpoint that is not in the registry."""
    found = explore(program, kind, **options)
    return {str(end) for end in (*found.outcomes, *found.blocked)}


def test_mattern_listing_a_get_in_two_steps_loses_causal_order() -> None:
    assert list_ends(FIG_4_ANY, GetInTwoSteps) == {"- | y | x z", "- | y | z x"}


def test_mattern_footnote_4_posts_to_the_same_destination_without_waiting() -> None:
    one, two, _ = cast(Buffered, 3, pipelined=True)
    first = send(one, "first", 1)
    second = send(one, "second", 1)
    assert one.send(b"other", to=["p2"]).packets == []
    acks = [two.receive(packet).packets[0] for packet in (first, second)]
    assert one.receive(acks[0]).packets == []
    assert [packet.payload for packet in one.receive(acks[1]).packets] == [b"other"]


def test_mattern_footnote_4_refuses_what_overtook() -> None:
    one, two = cast(Buffered, 2, pipelined=True)
    first = send(one, "first", 1)
    second = send(one, "second", 1)
    with pytest.raises(InputError, match="FIFO"):
        two.receive(second)
    assert hear_each(two, first, second) == ["first", "second"]


class Unchecked(Buffered, kw_only=True):
    """Footnote 4 without the check of the channel's order."""

    def _decode_and_check_stamp(self, packet: Packet) -> int:
        self.pipelined = False
        number = super()._decode_and_check_stamp(packet)
        self.pipelined = True
        return number


def test_mattern_footnote_4_without_fifo_channels_loses_causal_order() -> None:
    program = "P1: s x->2; s y->2. P2: r; r"
    assert list_ends(program, Unchecked, pipelined=True) == {"- | x y", "- | y x"}


class WaitForAll(Buffered, kw_only=True):
    """Post all copies and wait for all acknowledgements; deliver at get."""

    def _must_wait_for_release(self, letter: Letter) -> bool:
        return False


MULTICAST = "P1: s m->2,3. P2: r; s z->3. P3: r; r"


def test_mattern_multicast_waiting_for_all_acknowledgements_is_not_causal() -> None:
    assert list_ends(MULTICAST, WaitForAll) == {"- | m | m z", "- | m | z m"}


@pytest.mark.parametrize("repair", ["two-phase", "hold"])
def test_mattern_multicast_repairs(repair: str) -> None:
    assert ends(MULTICAST, {"protocol": "buffered", "multicast": repair}) == ({"- | m | m z"}, set())


def test_mattern_section_2_a_synchronous_sender_is_blocked_until_the_partner_receives() -> None:
    rendezvous = [build_sync(name, "rendezvous") for name in ("p0", "p1")]
    message = send(rendezvous[0], "x", 1)
    assert rendezvous[1].receive(message).packets == []
    assert rendezvous[0].blocked
    with pytest.raises(CallerError, match="blocked"):
        rendezvous[0].send(b"y", to=["p1"])
    rendezvous[0].receive(rendezvous[1].take().packets[0])
    assert not rendezvous[0].blocked


def test_mattern_section_2_the_site_acknowledges_before_the_partner_receives() -> None:
    one, two = (build_sync(name, "site") for name in ("p0", "p1"))
    one.receive(two.receive(send(one, "x", 1)).packets[0])
    assert not one.blocked and words(two.take()) == "x"


def build_sync(process: str, form: str) -> Any:
    return maker("sync", form=form, manual=True)(process, ["p0", "p1"])
