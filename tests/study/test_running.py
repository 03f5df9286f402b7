"""Cells are run once, whatever happens; what fails is kept with its reason; folders are not mixed up."""

import math
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from antecede.core.errors import CallerError, SetupError
from antecede.study import Point, Study, run_study
from antecede.study.running import CellWork, run_cells_in_process
from antecede.study.store import FAILED
from antecede.tables import COSTS
from tests.study.small_study import SEEDS, count_cells, make_figure, make_study, measure_line


class Interrupted(BaseException):
    """Somebody stops the run."""


def test_the_costs_table_has_a_row_for_each_measured_value(tmp_path):
    run = run_study(make_study(), str(tmp_path / "out"))
    costs = pq.read_table(run.written["costs"])
    assert costs.schema.equals(COSTS)
    assert len(costs) == 2 * 2 * SEEDS * 2
    row = costs.to_pylist(maps_as_pydicts="strict")[0]
    assert row == {
        "study": "small", "figure": "line", "protocol": "plain", "parameters": {"x": "1", "where": ""},
        "seed": 0, "metric": "y", "value": 1.0, "reason": None,
    }  # fmt: skip


def test_finished_cells_are_never_run_again(tmp_path):
    seen: list[str] = []

    def measure(cell):
        seen.append(cell.key)
        return measure_line(cell)

    first = run_study(make_study(measure=measure), str(tmp_path))
    second = run_study(make_study(measure=measure), str(tmp_path))
    assert (first.finished.run_now, second.finished.run_now) == (12, 0)
    assert len(seen) == len(set(seen)) == 12
    assert second.finished.costs.equals(first.finished.costs)


def test_a_run_that_is_stopped_goes_on_where_it_was(tmp_path):
    seen: list[str] = []

    def measure(cell):
        if len(seen) == 5 and not is_second_run:
            raise Interrupted
        seen.append(cell.key)
        return measure_line(cell)

    is_second_run = False
    with pytest.raises(Interrupted):
        run_study(make_study(measure=measure), str(tmp_path))
    assert count_cells(tmp_path) == 5
    is_second_run = True
    run = run_study(make_study(measure=measure), str(tmp_path))
    assert run.finished.run_now == 7
    assert len(seen) == len(set(seen)) == 12
    whole = run_study(make_study(), str(tmp_path / "whole"))
    assert run.finished.costs.equals(whole.finished.costs)


def test_a_larger_scale_keeps_the_cells_that_both_have(tmp_path):
    run_study(make_study(), str(tmp_path), "quick")
    run = run_study(make_study(), str(tmp_path), "paper")
    assert (run.finished.cells, run.finished.run_now) == (18, 6)


def test_a_damaged_result_is_run_again(tmp_path):
    run_study(make_study(), str(tmp_path))
    broken = next((tmp_path / "cells").glob("*.json"))
    broken.write_bytes(broken.read_bytes()[:20])
    assert run_study(make_study(), str(tmp_path)).finished.run_now == 1


def test_a_cell_that_fails_is_a_row_with_its_reason_and_is_tried_again(tmp_path):
    def measure(cell):
        if cell.protocol == "double" and cell.seed == 1 and not is_repaired:
            raise CallerError("cannot multicast")
        return measure_line(cell)

    is_repaired = False
    run = run_study(make_study(measure=measure), str(tmp_path))
    failed = [row for row in run.finished.costs.to_pylist() if row["metric"] == FAILED]
    assert [row["reason"] for row in failed] == ["CallerError: cannot multicast"] * 2
    assert all(row["value"] is None for row in failed)
    assert len(run.finished.failures) == 2
    assert "2 cells failed" in (tmp_path / "result.md").read_text()
    is_repaired = True
    again = run_study(make_study(measure=measure), str(tmp_path))
    assert again.finished.run_now == 2
    assert not again.finished.failures


def test_a_study_of_which_every_cell_fails_still_says_so(tmp_path):
    def measure(cell):
        raise ValueError("nothing works")

    run = run_study(make_study(measure=measure), str(tmp_path))
    assert len(run.finished.failures) == 12
    assert run.answers[0].text == "Nothing was measured."


def test_an_answer_that_needs_what_failed_is_not_given(tmp_path):
    def measure(cell):
        if cell.parameters["x"] == 2:
            raise CallerError("too large")
        return measure_line(cell)

    run = run_study(make_study(measure=measure, conclude=name_largest), str(tmp_path))
    assert run.answers[0].text.startswith("Some cells failed, and without them there is no answer")


def name_largest(results):
    """Needs what is not there."""
    return str(results.list_points("y", x=2)[0])


def test_a_conclusion_that_is_wrong_by_itself_is_not_hidden(tmp_path):
    with pytest.raises(IndexError):
        run_study(make_study(conclude=lambda results: str([][0])), str(tmp_path))


def test_the_costs_are_written_before_anything_is_concluded(tmp_path):
    with pytest.raises(ZeroDivisionError):
        run_study(make_study(conclude=lambda results: str(1 / 0)), str(tmp_path))
    assert len(pq.read_table(tmp_path / "costs")) == 24


@pytest.mark.parametrize(
    ("metrics", "reason"),
    [
        (None, "AttributeError"),
        ({"y": "much"}, "ValueError: could not convert"),
        ({"y": math.nan}, "y is nan: leave out what cannot be measured"),
        ({"x": 1.0, "y": math.inf}, "y is inf: leave out what cannot be measured"),
    ],
)
def test_a_cell_that_measures_no_number_is_one_that_fails(tmp_path, metrics, reason):
    def measure(cell):
        return metrics if cell.seed == 1 else measure_line(cell)

    run = run_study(make_study(measure=measure), str(tmp_path))
    assert len(run.finished.failures) == 4
    assert all(str(failure.reason).startswith(reason) for failure in run.finished.failures)
    assert run_study(make_study(), str(tmp_path)).finished.run_now == 4


def give_points(*points):
    return {"grid": lambda scale: [Point("plain", parameters) for parameters in points]}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (give_points({"x": 1}, {"x": 1}), "the grid has this point twice"),
        (give_points({"x": None}), "'x' must be a text, a finite number"),
        (give_points({"x": math.nan}), "'x' must be a text, a finite number"),
        (give_points({"x": [1]}), "'x' must be a text, a finite number"),
        ({"seeds": {"paper": 3}}, "do not say how many for scale 'quick'"),
        ({"name": "a/b"}, "'a/b': its name must be its own"),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_before_anything_is(tmp_path, parts, words):
    study = Study("small", "A small study", "", (replace(make_figure(), **parts),))
    with pytest.raises(CallerError, match=words):
        run_study(study, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_two_figures_of_one_name_are_refused(tmp_path):
    study = Study("small", "A small study", "", (make_figure(), make_figure()))
    with pytest.raises(CallerError, match="'line': its name must be its own"):
        run_study(study, str(tmp_path / "out"))


def test_a_figure_says_what_its_rates_are_out_of(tmp_path):
    figure = make_figure(measure=lambda cell: {"y": 0.0}, conclude=lambda results: "")
    counted = replace(figure, count_trials=lambda metric, parameters: 1000.0)
    for name, one in (("plain", figure), ("counted", counted)):
        run_study(Study("small", "A small study", "", (one,)), str(tmp_path / name))
    plain, known = ((tmp_path / name / "result.md").read_text() for name in ("plain", "counted"))
    assert "| plain | 1 | 0 |" in plain
    assert "| plain | 1 | 0 ± 0.0013 |" in known  # none of 3000


def test_a_bar_in_a_parameter_does_not_end_a_cell_of_the_table(tmp_path):
    grid = give_points({"x": 1, "where": "here|there"}, {"x": 2, "where": "nowhere"})["grid"]
    run_study(make_study(grid=grid, conclude=lambda results: ""), str(tmp_path))
    assert "| here\\|there |" in (tmp_path / "result.md").read_text()


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda folder: run_study(make_study(name="other"), folder), "holds the study 'other'"),
        (lambda folder: run_study(make_study(version=2), folder), "holds version 2"),
    ],
)
def test_the_folder_of_another_study_or_version_is_refused(tmp_path, prepare, words):
    prepare(str(tmp_path))
    cells = count_cells(tmp_path)
    with pytest.raises(CallerError, match=words):
        run_study(make_study(), str(tmp_path))
    assert count_cells(tmp_path) == cells


def test_a_folder_with_something_else_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CallerError, match="is not empty and holds no study"):
        run_study(make_study(), str(tmp_path))


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CallerError, match="name another folder"):
        run_study(make_study(), str(tmp_path / "file"))


def test_an_engine_whose_workers_write_elsewhere_is_found_out(tmp_path):
    def spread(cells, work: CellWork):
        run_cells_in_process(cells[:-2], work)

    with pytest.raises(SetupError, match=r"2 of 12 cells left no result"):
        run_study(make_study(), str(tmp_path), spread=spread)


def test_the_text_answers_with_intervals_and_shows_the_chart(tmp_path):
    run = run_study(make_study(), str(tmp_path))
    text = (tmp_path / "result.md").read_text()
    # y = 4, 5, 6 with three seeds: mean 5, standard error 1 / sqrt(3), t = 4.303.
    assert f"At x = 2 y is 5 ± {4.303 / math.sqrt(3):.2g}." in text
    assert "Scale 'quick': 12 cells, 3 seeds for each point." in text
    assert "![A line](charts/line_1.svg)" in text
    assert "| double | 2 | 5 ± 2.5 | 1 ± 2.5 |" in text
    assert (tmp_path / "charts" / "line_1.svg").read_text().startswith("<svg")
    assert "A small study" in (tmp_path / "page.html").read_text()
    assert run.written["page"] == str(tmp_path / "page.html")


def test_a_long_answer_is_whole_on_the_page(tmp_path):
    sentences = " ".join(f"Point {number} says nothing new." for number in range(200))
    run_study(make_study(conclude=lambda results: sentences), str(tmp_path))
    assert sentences in (tmp_path / "page.html").read_text()
