"""The algorithms that the papers build on: RST91 (matrix), SES89 (pairs), the textbook's KS98 (optimal)."""

import pytest

from antecede import Endpoint
from antecede.protocols.matrix import Matrix
from antecede.protocols.optimal import Optimal
from antecede.protocols.pairs import Pairs89
from tests.errata.scene import cast, copies, send, texts
from tests.mutants import matrix, optimal, pairs


@pytest.mark.parametrize(
    ("kind", "delivered"), [(matrix.MatrixSelfSends, "s"), (matrix.WithoutCountAtDelivery, "s s2")]
)
def test_rst_jams_after_a_message_to_oneself(kind: type[Matrix], delivered: str) -> None:
    p0, _ = cast(kind, 2)
    first = texts(p0, send(p0, "s", 0))
    second = texts(p0, send(p0, "s2", 0))
    assert f"{first} {second}".strip() == delivered


def test_shipped_matrix_may_write_to_itself() -> None:
    p0, p1 = cast(Matrix, 2)
    assert [d.payload for d in p0.send(b"s", to=["p0"]).deliveries] == [b"s"]
    assert texts(p1, send(p0, "m", 1)) == "m"
    assert texts(p0, send(p1, "answer", 0)) == "answer"


@pytest.mark.parametrize(
    ("kind", "delivered"),
    [(Matrix, "a m reply"), (matrix.AddsToLocalMatrix, "a reply m"), (matrix.AddsOwnCopy, "a reply m")],
)
def test_rst_for_several_counts_every_copy_in_the_packet(kind: type[Matrix], delivered: str) -> None:
    p0, p1, p2 = cast(kind, 3)
    a = send(p0, "a", 2)
    to_p1, to_p2 = copies(p0, "m", 1, 2)
    texts(p1, to_p1)
    reply = send(p1, "reply", 2)
    assert texts(p2, a, reply, to_p2) == delivered


@pytest.mark.parametrize(("kind", "delivered"), [(Matrix, "answer"), (matrix.CountsBetweenCopies, "")])
def test_rst_for_several_stamps_before_it_counts(kind: type[Matrix], delivered: str) -> None:
    p0, p1, p2 = cast(kind, 3)
    to_p1, to_p2 = copies(p0, "m", 1, 2)
    texts(p1, to_p1)
    texts(p2, to_p2)
    assert texts(p1, send(p2, "answer", 1)) == delivered


@pytest.mark.parametrize(("kind", "delivered"), [(Pairs89, "m m2"), (pairs.StampsBeforeTick, "m2 m")])
def test_ses_ticks_before_it_stamps(kind: type[Pairs89], delivered: str) -> None:
    p0, p1 = cast(kind, 2)
    m = send(p0, "m", 1)
    m2 = send(p0, "m2", 1)
    assert texts(p1, m2, m) == delivered


@pytest.mark.parametrize(
    ("kind", "delivered"), [(Pairs89, "m m2"), (pairs.Strict, "m"), (pairs.StrictTicking, "m m2")]
)
def test_ses_test_is_not_strict_unless_deliveries_tick(kind: type[Pairs89], delivered: str) -> None:
    p0, p1 = cast(kind, 2)
    m = send(p0, "m", 1)
    m2 = send(p0, "m2", 1)
    assert texts(p1, m, m2) == delivered


def test_ses_does_not_order_messages_to_oneself() -> None:
    p0, _ = cast(pairs.PairsSelfSends, 2)
    s = send(p0, "s", 0)
    s2 = send(p0, "s2", 0)
    assert texts(p0, s2, s) == "s2 s"


def worked_vector(kind: type[Endpoint]) -> str:
    """A to p1, p2, p3; B in answer to p2, p3; C in answer to p3, where all come in reverse order."""
    p0, p1, p2, p3 = cast(kind, 4)
    a = copies(p0, "A", 1, 2, 3)
    texts(p1, a[0])
    b = copies(p1, "B", 2, 3)
    texts(p2, b[0], a[1])
    c = send(p2, "C", 3)
    return texts(p3, c, b[1], a[2])


def test_ks_newest_empty_entry_is_not_needed_for_safety() -> None:
    assert worked_vector(Optimal) == worked_vector(optimal.PurgesAll) == "A B C"
