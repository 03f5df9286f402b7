"""Gambhire00 (reducing false causality): what Figure 3 needs beyond what it says, and lemmas off by one."""

import pytest

import antecede
from antecede import Endpoint
from antecede.protocols.matrix import Matrix
from antecede.protocols.semantic import Semantic
from tests.errata.scene import cast, copies, send, texts
from tests.mutants import semantic
from tests.mutants.drives import Drive, dependences, dependences_slow_link
from tests.mutants.matrix import ReadsOwnMatrix, ReadsWholeMatrix
from tests.mutants.table import Mutant, play
from tests.mutants.trials import SemanticTrial

VARIANTS = pytest.mark.parametrize("variant", ["printed", "corrected"])


@pytest.mark.parametrize(("kind", "fires"), [(Semantic, False), (semantic.KeepsOwnMcv, True)])
def test_figure_3_without_mcv_fires_more_often(kind: type[Semantic], fires: bool) -> None:
    p0, p1 = cast(kind, 2)
    texts(p1, send(p0, "a", 1, depends_on=0))  # event 1 of p0
    b = send(p1, "b", 0, depends_on=1)  # fires, with a in its past
    assert texts(p0, b) == "b"
    send(p0, "c", 1, depends_on=1)  # a is covered by what b brought
    assert bool(p0.sp[1, 0]) == fires


@pytest.mark.parametrize(("variant", "covered"), [("printed", 2), ("corrected", 1)])
def test_lemmas_3_and_4_miss_the_message_that_fires(variant: str, covered: int) -> None:
    p0, _ = cast(Semantic, 2, variant=variant)
    p0.local()  # event 1
    send(p0, "m", 1, depends_on=1)  # event 2, fires
    assert (p0.mcv[0], p0.sp[0, 1], p0.sc[0, 1]) == (covered, 0, 1)  # m is event 2, and not in SENT_PREV


@pytest.mark.parametrize(("variant", "delivered"), [("printed", "m2 m"), ("corrected", "m m2")])
def test_figure_3_is_unsafe_on_channels_that_reorder(variant: str, delivered: str) -> None:
    p0, p1 = cast(Semantic, 2, variant=variant)
    p0.local()
    m = send(p0, "m", 1, depends_on=1)
    m2 = send(p0, "m2", 1, depends_on=2)
    assert texts(p1, m2, m) == delivered


@pytest.mark.parametrize(
    ("kind", "variant", "delivered"),
    [
        (Semantic, "printed", "x m m2"),
        (semantic.AnyRelease, "printed", "x m2 m"),
        (semantic.AnyRelease, "corrected", "x m m2"),
    ],
)
def test_fifo_channels_are_not_enough(kind: type[Semantic], variant: str, delivered: str) -> None:
    p1, p2, p3 = cast(kind, 3, variant=variant)
    x = send(p2, "x", 2, depends_on=0)
    texts(p1, send(p2, "y", 0, depends_on=1))
    m = send(p1, "m", 2, depends_on=1)
    m2 = send(p1, "m2", 2, depends_on=2)
    assert texts(p3, m, m2) == ""  # they arrive in order, and wait for x
    assert texts(p3, x) == delivered


@pytest.mark.parametrize("kind", [semantic.NoSequenceAnyRelease, semantic.PrintedWithSequence])
@pytest.mark.parametrize("drive", [dependences, dependences_slow_link])
def test_either_repair_is_enough_for_one_destination(kind: type[Semantic], drive: Drive) -> None:
    variant = "printed" if kind is semantic.PrintedWithSequence else "corrected"
    row = Mutant("", "", "", "clean", kind, drive, trial=SemanticTrial, runs=30)
    assert play(row, kind, {"variant": variant}).verdict == "clean"


@VARIANTS
def test_lemma_1_is_false_at_deliveries(variant: str) -> None:
    p0, p1 = cast(Semantic, 2, variant=variant)
    assert texts(p1, send(p0, "m", 1, depends_on=0)) == "m"
    assert p1.mcv[0] == 0  # and yet the delivery depends on event 1 of p0, the send


@pytest.mark.parametrize(("variant", "delivered"), [("printed", "reply m"), ("corrected", "m reply")])
def test_step_r3_loses_the_other_copies(variant: str, delivered: str) -> None:
    p0, p1, p2 = cast(Semantic, 3, variant=variant)
    to_p1, to_p2 = copies(p0, "m", 1, 2)
    texts(p1, to_p1)
    reply = send(p1, "reply", 2, depends_on=1)
    assert texts(p2, reply, to_p2) == delivered


def test_with_several_destinations_the_own_channel_must_be_tested() -> None:
    row = next(row for row in semantic.ROWS if row.name == "gambhire-no-sequence")
    assert play(row, row.kind, row.options).verdict == "unsafe"
    assert play(row, row.shipped, row.options).verdict == "clean"


def test_event_cannot_depend_on_itself() -> None:
    p0, _ = cast(Semantic, 2)
    p0.local()
    with pytest.raises(antecede.CallerError, match="depends_on=2"):
        p0.send(b"m", to=["p1"], depends_on=2)


@pytest.mark.parametrize(("kind", "delivered"), [(Matrix, "x z"), (ReadsOwnMatrix, "z")])
def test_rst_test_of_the_introduction_reads_the_wrong_matrix(kind: type[Endpoint], delivered: str) -> None:
    p1, p2, p3 = cast(kind, 3)
    x = send(p1, "x", 2)
    y = send(p1, "y", 1)
    texts(p2, y)
    assert texts(p3, send(p2, "z", 2), x) == delivered  # z first, and then x waits for itself


@pytest.mark.parametrize(("kind", "delivered"), [(Matrix, "b"), (ReadsWholeMatrix, "")])
def test_rst_test_of_the_introduction_is_about_one_column(kind: type[Endpoint], delivered: str) -> None:
    p0, _, p2 = cast(kind, 3)
    send(p0, "a", 1)
    assert texts(p2, send(p0, "b", 2)) == delivered
