"""Every mutant is caught, by the verdict that its row names; the protocol as shipped passes the same runs."""

import pytest

import antecede
from tests.mutants.rows import MUTANTS
from tests.mutants.table import MEANING, Mutant, outcomes, verdict


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught_and_the_original_is_not(mutant: Mutant) -> None:
    sound, mutated = outcomes(mutant)
    assert sound.verdict == "clean", sound.says
    assert verdict(sound, mutated) == mutant.verdict
    assert mutant.says in mutated.says


def test_rows_are_distinct_and_say_what_they_are() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert all(mutant.verdict in MEANING and mutant.wrong and mutant.source for mutant in MUTANTS)
    assert [mutant.name for mutant in MUTANTS if mutant.verdict == "clean"] == ["ks-as-is"]
    assert all(bool(mutant.says) == (mutant.verdict == "error") for mutant in MUTANTS)


def test_every_protocol_that_promises_an_order_is_mutated() -> None:
    promising = {
        name for name, facts in antecede.list_protocols().items() if facts.order not in ("none", "fifo")
    }
    assert {mutant.shipped.facts.name for mutant in MUTANTS} == promising
