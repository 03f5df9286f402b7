"""`antecede.compare` and `antecede.spark.compare`: tables of events in, costs and advice out."""

from typing import Any

import pyarrow as pa
import pytest

import antecede
from antecede.tables import COMPARISON
from tests.commands import story
from tests.engines.engines import Engine, in_any_order

ROUNDS = 30


def make_events(execution: str = "x", **more: Any) -> list[dict[str, Any]]:
    """Triangles one after the other; each has an answer that overtakes what led to it by 83 ms."""
    rows: list[dict[str, Any]] = []
    for at in range(ROUNDS):
        told = story("a send x; a send y; b deliver y; b send z; c deliver z; c deliver x")
        for record, time in zip(told, (0, 1, 11, 12, 17, 100), strict=True):
            named = {"message": f"{record['message']}{at}", "index": len(rows), "execution": execution}
            rows.append(record | named | {"time": 200.0 * at + time} | more)
    return rows


def make_table(*executions: str) -> pa.Table:
    return pa.Table.from_pylist([row for name in executions for row in make_events(name)])


def test_costs_and_advice_for_each_execution(engine: Engine) -> None:
    report = engine.compare(make_table("x", "y"))
    assert report.costs.schema.names == COMPARISON.names
    assert [one.facts.execution for one in report.advice] == ["x", "y"]
    for advice in report.advice:
        assert advice.winner is not None and advice.winner.variant.name == "bounded k=3"
        assert advice.use == 'antecede.endpoint("bounded", process="a", group=["a", "b", "c"], k=3)'
    rows = report.costs.to_pylist(maps_as_pydicts="strict")
    (delay,) = (
        row for row in rows
        if (row["execution"], row["protocol"], row["metric"]) == ("y", "matrix", "delay")
    )  # fmt: skip
    # In each round one of three messages waits 83 ms for the one that it overtook.
    assert delay["value"] == pytest.approx(83 / 3)
    assert delay["low"] < 83 / 3 < delay["high"]


def test_weights_and_limits_say_what_matters(engine: Engine) -> None:
    table = make_table("x")
    (advice,) = engine.compare(table, weights={"delay": 1}).advice
    assert advice.winner is not None and advice.winner.variant.name == "history"
    limits = {"delay": "1ms", "bytes": 1000}
    (advice,) = engine.compare(table, limits=limits).advice
    reasons = {one.variant.name: one.reason for one in advice.candidates}
    assert reasons["matrix"] == "beyond the limit delay=1ms"
    assert reasons["history"] == ""


@pytest.mark.parametrize(
    ("wishes", "reason"),
    [
        ({"weights": {"speed": 1}}, "weights speed: unknown 'speed'; choose of bytes, delay, packets"),
        ({"weights": {"bytes": -1}}, "weights bytes=-1: a weight is a number that is not below 0"),
        ({"weights": {"bytes": 0.0}}, "weights bytes=0.0: at least one must be more than 0"),
        ({"limits": {"delay": "50 miles"}}, "limits delay=50 miles: a limit is a number"),
        ({"limits": {"early": float("nan")}}, "limits early=nan: a limit is a number"),
        ({"limits": {"delay": "5steps"}}, "delays of x are in ms"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(engine: Engine, wishes: Any, reason: str) -> None:
    with pytest.raises(antecede.CallerError, match=reason):
        engine.compare(make_table("x"), **wishes)


def test_an_execution_without_communication_says_so_beside_others(engine: Engine) -> None:
    silent = {"execution": "quiet", "process": "a", "index": 0, "kind": "internal", "time": 0.0}
    report = engine.compare(pa.Table.from_pylist([*make_events("x"), silent]))
    quiet, busy = report.advice
    assert quiet.facts.execution == "quiet" and quiet.candidates == [] and quiet.winner is None
    assert quiet.sentence.startswith("Nothing to compare: ")
    assert busy.winner is not None
    assert set(report.costs["execution"].to_pylist()) == {"x"}


def test_a_table_without_communication_is_refused_with_the_reason(engine: Engine) -> None:
    silent = [{"process": "a", "index": at, "kind": "internal"} for at in range(3)]
    with pytest.raises(antecede.CallerError, match="nothing to compare: "):
        engine.compare(pa.Table.from_pylist(silent))
    with pytest.raises(antecede.CallerError, match="nothing to compare: the logs have no events"):
        engine.compare(pa.Table.from_pylist(silent).slice(0, 0))


def test_both_engines_give_the_same_costs(engine: Engine) -> None:
    table = make_table("x", "y")
    report, local = engine.compare(table), antecede.compare(table)
    assert in_any_order(report.costs) == in_any_order(local.costs)
    assert [one.sentence for one in report.advice] == [one.sentence for one in local.advice]
