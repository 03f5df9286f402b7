"""Replays in several processes: the same results as in one, and no waiting for a process that is gone."""

import os
from typing import Any

import pytest

from antecede.core.errors import SetupError
from antecede.study import compare
from antecede.study.compare import ExecutionFacts, ReplayCell, Variant, gather_comparisons, replay_cells
from tests.simulate.test_replay import triangle


def make_cells(*protocols: str) -> list[ReplayCell]:
    packed = triangle().pack()
    facts = ExecutionFacts(execution="run", copies=3)
    return [ReplayCell(facts, Variant(protocol), packed) for protocol in protocols]


@pytest.mark.slow
def test_several_processes_give_the_results_of_one(monkeypatch) -> None:
    cells = make_cells("matrix", "unordered", "buffered")
    here = gather_comparisons(replay_cells(cells))
    monkeypatch.setattr(compare, "SMALL", 0)
    monkeypatch.setattr(compare, "count_cores", lambda: 2)
    assert gather_comparisons(replay_cells(cells)) == here
    assert [variant.name for variant, _ in here[0].rows] == ["unordered", "matrix", "buffered"]


class Deadly:
    """Ends the process that unpacks it."""

    def __reduce__(self):
        return os._exit, (1,)


@pytest.mark.slow
def test_a_process_that_is_gone_is_told(monkeypatch) -> None:
    deadly: Any = Deadly()
    cells = [cell._replace(recording=deadly) for cell in make_cells("matrix", "unordered")]
    monkeypatch.setattr(compare, "SMALL", 0)
    monkeypatch.setattr(compare, "count_cores", lambda: 2)
    with pytest.raises(SetupError, match="was ended from outside"):
        list(replay_cells(cells))
