"""Mattern95 (buffers and acknowledgements): the atomic get, footnote 4, several destinations, others."""

import pytest

import antecede
from antecede import Endpoint
from antecede.protocols.buffered import Buffered
from antecede.protocols.matrix import Matrix
from antecede.protocols.server import Server
from antecede.protocols.sync import Sync
from tests.errata.scene import answer, cast, copies, send, texts
from tests.mutants import buffered
from tests.mutants.matrix import TakesMaximumAtArrival
from tests.mutants.monitors import ServerWithoutOwnEntry


@pytest.mark.parametrize(("kind", "delivered"), [(Buffered, "x z"), (buffered.SplitGet, "z x")])
def test_get_must_be_atomic(kind: type[Buffered], delivered: str) -> None:
    p1, p2, p3 = cast(kind, 3)
    x = send(p1, "x", 2)
    p1.send(b"y", to=["p1"])  # stays in the output buffer
    got_x = p3.receive(x)
    y = answer(p1, got_x.packets[0])
    p2.receive(y)
    z = send(p2, "z", 2)
    orders = [d.payload.decode() for d in (*got_x.deliveries, *p3.receive(z).deliveries)]
    assert " ".join(orders) == delivered


def test_footnote_4_needs_fifo_channels() -> None:
    p0, p1 = cast(buffered.PipelinesAnywhere, 2, pipelined=True)
    first = send(p0, "first", 1)
    second = send(p0, "second", 1)
    assert texts(p1, second, first) == "second first"
    p0, p1 = cast(Buffered, 2, pipelined=True)
    first = send(p0, "first", 1)
    second = send(p0, "second", 1)
    with pytest.raises(antecede.InputError, match="FIFO"):
        p1.receive(second)
    assert texts(p1, first, second) == "first second"


@pytest.mark.parametrize(("kind", "way"), [(buffered.NoRelease, "two-phase"), (buffered.NoHold, "hold")])
def test_waiting_for_all_copies_is_not_causal(kind: type[Buffered], way: str) -> None:
    p0, p1, p2 = cast(kind, 3, multicast=way)
    to_p1, to_p2 = copies(p0, "m", 1, 2)
    assert texts(p1, to_p1) == "m"
    reply = send(p1, "reply", 2)
    assert texts(p2, reply, to_p2) == "reply m"


@pytest.mark.parametrize("way", ["two-phase", "hold"])
def test_both_repairs_keep_the_reply_behind(way: str) -> None:
    p0, p1, p2 = cast(Buffered, 3, multicast=way)
    to_p1, to_p2 = copies(p0, "m", 1, 2)
    got = p1.receive(to_p1)
    replies = p1.send(b"reply", to=["p2"]).packets if got.deliveries else []
    assert (bool(got.deliveries), replies) == (way == "hold", [])  # waits before, or after, the delivery
    assert [d.payload for d in p2.receive(to_p2).deliveries] == ([b"m"] if way == "hold" else [])
    assert p0.receive(got.packets[0]).packets == []


def test_chain_of_the_proof_may_begin_with_the_message_itself() -> None:
    p0, p1, p2 = cast(Buffered, 3)
    assert texts(p1, send(p0, "m", 1)) == "m"
    assert texts(p2, send(p1, "y", 2)) == "y"
    assert texts(p1, send(p2, "m'", 1)) == "m'"


def test_rendezvous_blocks_where_an_acknowledging_site_does_not() -> None:
    p1, p2 = cast(Sync, 2, form="rendezvous")
    a = send(p1, "a", 1)
    b = send(p2, "b", 0)
    assert (texts(p1, b), texts(p2, a)) == ("", "")
    assert p1.blocked and p2.blocked
    p1, p2 = cast(Sync, 2, form="site")
    a = send(p1, "a", 1)
    b = send(p2, "b", 0)
    to_p2, to_p1 = answer(p1, b), answer(p2, a)
    assert (texts(p1, to_p1), texts(p2, to_p2)) == ("b", "a")


@pytest.mark.parametrize(("kind", "delivered"), [(Matrix, "m"), (TakesMaximumAtArrival, "")])
def test_matrix_algorithm_learns_at_delivery_not_at_receipt(kind: type[Endpoint], delivered: str) -> None:
    p0, p1 = cast(kind, 2)
    assert texts(p1, send(p0, "m", 1)) == delivered


@pytest.mark.parametrize(
    ("kind", "delivered"), [(Server, "first second"), (ServerWithoutOwnEntry, "second first")]
)
def test_server_algorithm_needs_the_own_entry_or_fifo(kind: type[Server], delivered: str) -> None:
    server, client = cast(kind, 2, server="p0")
    first = send(client, "first", 0)
    second = send(client, "second", 0)
    assert texts(server, second, first) == delivered
