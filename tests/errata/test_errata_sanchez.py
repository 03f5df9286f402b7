"""Sanchez (matrix clocks with extra messages): what the text leaves open, says in two ways, or leaves out."""

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import antecede
from antecede.protocols.bounded import Bounded
from tests.errata.scene import cast, send, stamp, texts
from tests.harness import World, maker, run_script
from tests.mutants import bounded
from tests.mutants.matrix import Printed, WithoutCountAtDelivery


def four_entries(kind: type[Bounded], **options: Any) -> SimpleNamespace:
    """p0 has written to p1 and p2, and learns from each of a message to the other: four entries in M.

    `extras` is what p0 then emits; `late` is p2's message to p1, which is still under way.
    """
    p0, p1, p2 = cast(kind, 3, **options)
    texts(p1, send(p0, "a", 1))
    texts(p2, send(p0, "b", 2))
    send(p1, "unseen", 2)
    from_p1 = send(p1, "c", 0)
    late = send(p2, "late", 1)
    from_p2 = send(p2, "d", 0)
    extras = [*p0.receive(from_p1).packets, *p0.receive(from_p2).packets]
    return SimpleNamespace(p0=p0, p1=p1, late=late, extras=extras)


def test_threshold_is_said_in_two_ways() -> None:
    at_k = four_entries(Bounded, k=4, rule=">=")
    assert [extra.target for extra in at_k.extras] == ["p1"]
    assert np.count_nonzero(at_k.p0.m) == 3
    above_k = four_entries(Bounded, k=4, rule=">")
    assert above_k.extras == []
    assert np.count_nonzero(above_k.p0.m) == 4


@pytest.mark.parametrize(("kind", "carried"), [(Bounded, 3), (bounded.ShrinksAtSendsOnly, 4)])
def test_threshold_is_tested_after_deliveries_too(kind: type[Bounded], carried: int) -> None:
    story = four_entries(kind, k=4)
    assert len(stamp(send(story.p0, "e", 1))) // 3 == carried  # k - 1 is the most that a message may carry


@pytest.mark.parametrize(("rule", "least"), [(">=", 3), (">", 2)])
def test_extras_end_from_n_on_and_not_below(rule: str, least: int) -> None:
    assert four_entries(Bounded, k=least, rule=rule).extras  # the paper asks for more than n
    with pytest.raises(bounded.EndlessError):
        four_entries(bounded.TooSmall, k=least - 1, rule=rule)
    with pytest.raises(antecede.CallerError, match="too small"):
        cast(Bounded, 3, k=least - 1, rule=rule)


@pytest.mark.parametrize(("kind", "delivered"), [(Bounded, "late e"), (bounded.LosesExtras, "late")])
def test_extra_counts_as_delivered(kind: type[Bounded], delivered: str) -> None:
    story = four_entries(kind, k=4)
    e = send(story.p0, "e", 1)
    assert texts(story.p1, story.late, *story.extras, e) == delivered


@pytest.mark.parametrize(("kind", "delivered"), [(Bounded, "late e f"), (bounded.ClearsOwnRow, "f e late")])
def test_own_counter_is_never_cleared(kind: type[Bounded], delivered: str) -> None:
    story = four_entries(kind, k=4)
    e = send(story.p0, "e", 1)
    f = send(story.p0, "f", 1)
    assert texts(story.p1, f, e, *story.extras, story.late) == delivered


def test_message_to_oneself_loses_its_count() -> None:
    p0, _ = cast(bounded.BoundedSelfSends, 2, k=4)
    first = send(p0, "first", 0)
    second = send(p0, "second", 0)
    assert texts(p0, first) == "first"
    third = send(p0, "third", 0)
    assert texts(p0, third, second) == "third second"
    shipped = cast(Bounded, 2, k=4)[0]
    assert [shipped.send(text, to=["p0"]).deliveries[0].payload for text in (b"1", b"2")] == [b"1", b"2"]


def test_own_column_of_rst_is_not_what_was_delivered() -> None:
    for kind, counted in ((Printed, 1), (WithoutCountAtDelivery, 0)):
        p0, p1 = cast(kind, 2)
        assert texts(p1, send(p0, "m", 1)) == "m"
        assert (p1.sent[0, 1], p1.gate.have[0]) == (counted, 1)


def test_matrix_never_has_more_than_n_minus_1_squared_entries() -> None:
    assert np.count_nonzero(four_entries(Bounded, k=5).p0.m) == 4
    for seed in range(20):
        world = World(maker("bounded", k=10), 4)
        pick = Random(seed).randrange
        run_script(world, [(pick(4), pick(999), pick(999)) for _ in range(80)], "unicast")
        assert {packet.kind for packet in world.packets} == {"message"}


def test_message_may_wait_for_an_extra() -> None:
    p0, p1, p2, p3 = cast(Bounded, 4, k=5)
    b, c, a = (send(p0, text, target) for text, target in (("b", 2), ("c", 3), ("a", 1)))
    d, e, _ = (send(p1, text, target) for text, target in (("d", 2), ("e", 3), ("h", 0)))
    (extra,) = p1.receive(a).packets
    q = send(p1, "q", 3)
    assert texts(p3, e, c, q) == "e c q"
    w = send(p3, "w", 2)
    assert texts(p2, w, b, d) == "b d"  # no message is missing any more
    assert texts(p2, extra) == "w"


def test_constraints_hold_a_message_only_after_its_send() -> None:
    p0, _ = cast(Bounded, 2, k=4)
    assert stamp(send(p0, "m", 1)) == []
    assert stamp(send(p0, "next", 1)) == [0, 1, 1]
