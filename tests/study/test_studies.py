"""The studies of the papers: every figure has points, and the smallest of them can be run and answered."""

import pytest

from antecede.core.errors import CallerError
from antecede.study.experiment import SCALES
from antecede.study.mostefaoui import (
    compute_chance_that_bloom_keys_are_covered,
    compute_chance_that_distinct_keys_are_covered,
    make_plan,
)
from antecede.study.registry import STUDIES, get_study, list_studies
from antecede.study.running import run_cell
from antecede.study.sanchez import list_thresholds_by_name


@pytest.mark.parametrize("name", STUDIES)
def test_every_figure_has_points_at_every_scale_and_no_cell_twice(name):
    study = get_study(name)
    assert study.name == name
    for scale in SCALES:
        cells = list(study.list_cells(scale))
        assert len({cell.key for cell in cells}) == len(cells)
        assert {cell.figure for cell in cells} == {figure.name for figure in study.figures}


@pytest.mark.parametrize("name", STUDIES)
def test_the_first_cell_of_every_figure_runs_and_measures_what_is_plotted(name):
    study = get_study(name)
    cells = {cell.figure: cell for cell in reversed(list(study.list_cells("quick")))}
    for figure in study.figures:
        result = run_cell(study, cells[figure.name])
        assert result.reason is None
        assert result.metrics
        named = {*cells[figure.name].parameters, "protocol"}
        assert all(plot.x in named for plot in figure.plots)


def test_an_unknown_study_is_told_the_known_ones():
    with pytest.raises(CallerError, match="unknown study 'sanches'; choose one of sanchez"):
        get_study("sanches")
    assert [study.name for study in list_studies("all")] == list(STUDIES)


def test_points_of_mostefaoui_are_those_of_the_paper():
    study = get_study("mostefaoui")
    cells = [cell for cell in study.list_cells("paper") if cell.figure == "figure_3"]
    points = {(cell.parameters["N"], cell.parameters["K"]) for cell in cells}
    assert points == {(n, k) for n in (500, 1000, 1500, 2000) for k in range(1, 9)}
    for cell in cells:
        plan = make_plan(cell)
        assert plan.processes / plan.gap * 1000 == pytest.approx(200)
    deliveries = sum(
        make_plan(cell).messages * (make_plan(cell).processes - 1)
        for cell in cells
        if (cell.parameters["N"], cell.parameters["K"]) == (1000, 4)
    )
    assert deliveries == pytest.approx(1e8, rel=0.01)


def test_the_exact_theory_is_the_share_of_covered_key_sets():
    """Three other messages with two of five keys each: by counting all 10^3 cases."""
    from itertools import combinations, product

    sets = list(combinations(range(5), 2))
    covered = sum({0, 1} <= set().union(*others) for others in product(sets, repeat=3))
    assert compute_chance_that_distinct_keys_are_covered(5, 2, 3) == pytest.approx(covered / len(sets) ** 3)
    assert compute_chance_that_bloom_keys_are_covered(5, 1, 3) == pytest.approx(
        compute_chance_that_distinct_keys_are_covered(5, 1, 3)
    )


def test_thresholds_begin_where_extras_end_and_end_where_none_is_sent():
    for n in (4, 8, 32):
        thresholds = list(list_thresholds_by_name(n).values())
        assert thresholds[0] == n + 1
        assert max(thresholds) == thresholds[-1] == (n - 1) ** 2 + 1


def test_in_a_mixed_group_only_those_with_a_small_threshold_send_extras():
    study = get_study("sanchez")
    cells = [cell for cell in study.list_cells("quick") if cell.figure == "mixed_thresholds"]
    metrics = {cell.parameters["mixture"]: run_cell(study, cell).metrics for cell in cells if cell.seed == 0}
    assert metrics["one small"]["extras_of_the_first"] > 0 == metrics["one small"]["extras_of_the_others"]
    assert metrics["one large"]["extras_of_the_first"] == 0 < metrics["one large"]["extras_of_the_others"]
    assert metrics["all large"]["extras"] == 0


def test_the_monitor_holds_nothing_where_delays_are_equal():
    study = get_study("hoogerwoord")
    cells = [cell for cell in study.list_cells("quick") if cell.figure == "buffer" and cell.seed == 0]
    held = {(c.parameters["spread"], c.parameters["load"]): run_cell(study, c).metrics for c in cells}
    assert held[0.0, 8.0]["buffer_peak"] == 0
    assert held[20.0, 8.0]["buffer_mean"] > held[2.0, 8.0]["buffer_mean"] > 0
    assert all(metrics["early_rate"] == 0 for metrics in held.values())
