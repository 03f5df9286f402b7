"""What Spark people expect: the session stays as it is, results are lazy and give back what they keep."""

import json
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark import StorageLevel
from pyspark.sql import functions as sf

import antecede
import antecede.spark as causal
from antecede.core.errors import AntecedeError
from antecede.spark.ordering.outcome import ANSWER, SparkOutcome
from antecede.tables import EVENTS
from tests.engines.engines import in_any_order

pytestmark = pytest.mark.spark

LOG = """\
{"process": "a", "kind": "send", "message": "m", "receivers": ["b", "c"]}
{"process": "b", "kind": "deliver", "message": "m", "sender": "a"}
{"process": "b", "kind": "send", "message": "n", "receivers": ["c"]}
{"process": "c", "kind": "deliver", "message": "n", "sender": "b"}
{"process": "c", "kind": "deliver", "message": "m", "sender": "a"}
this is no event
"""
EAGER = "spark.sql.repl.eagerEval.enabled"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(LOG)
    return path


@pytest.fixture(scope="module")
def messages(spark):
    """Two that are in order, one that waits, one that came twice."""
    rows = [("a", {"a": 1}), ("b", {"a": 1, "b": 1}), ("c", {"c": 2}), ("a", {"a": 1})]
    return spark.createDataFrame(rows, "sender string, stamp map<string, bigint>")


@pytest.fixture
def eager(spark):
    """The session shows rows, as in some notebooks."""
    spark.conf.set(EAGER, "true")
    yield
    spark.conf.unset(EAGER)


def test_no_setting_of_the_session_is_changed(spark, log, messages, tmp_path) -> None:
    """Those of `compare` and `order_stream` are looked at where these are tested."""
    theirs = spark.newSession()
    before = dict(theirs.conf.getAll)
    rows = theirs.createDataFrame(messages.toArrow())
    causal.order(rows).counts()
    with causal.read_logs(theirs, log) as logs, causal.audit(logs.events) as audit:
        causal.order_events(logs.events).counts()
        audit.page(tmp_path / "page.html")
    causal.write_ordered(rows, 0, out=tmp_path / "out", checkpoint=tmp_path / "checkpoint")
    assert dict(theirs.conf.getAll) == before


def test_a_block_keeps_the_rows_of_an_order_and_gives_them_back(messages) -> None:
    nothing = StorageLevel(False, False, False, False)
    with causal.order(messages) as outcome:
        ordered, held, quarantine = outcome
        assert outcome._plan.rows.storageLevel != nothing
        assert (ordered.count(), held.count(), quarantine.count()) == (2, 1, 1)
        assert outcome.counts() == {"input": 4, "ordered": 2, "held": 1, "quarantined": 1}
    assert outcome._plan.rows.storageLevel == nothing


def test_a_block_gives_back_what_an_audit_keeps_also_when_it_fails(spark, log) -> None:
    events = spark.createDataFrame(antecede.read_logs(log).events)
    with suppress(ZeroDivisionError), causal.audit(events, huge=0) as audit:
        assert audit.summary().counts == {"late": 1} and audit.huge == 1
        raise ZeroDivisionError
    assert not any(source.storageLevel.useDisk for source in audit._sources)


def test_a_block_removes_what_was_staged(spark, log, tmp_path) -> None:
    staging = tmp_path / "staging"
    staging.mkdir()
    with causal.read_logs(spark, log, staging=str(staging)) as logs:
        assert logs.counts() == {"files": 1, "events": 5, "quarantined": 1}
        assert len(list(staging.iterdir())) == 1
    assert not any(staging.iterdir())
    events, quarantine, files = causal.read_logs(spark, log)  # these stay while nobody says that he is done
    assert (events.count(), quarantine.count(), files[0].format) == (5, 1, "jsonl")


def test_a_row_in_no_table_or_in_two_is_told(messages) -> None:
    plan = causal.order(messages)._plan
    for position, misplaced in (("null", 3), ("1", 1)):
        answer = f"named_struct('position', {position}, 'missing', `{ANSWER}`.missing, 'reason', null)"
        rows = plan.rows.selectExpr(f"{answer} as `{ANSWER}`")
        with pytest.raises(AntecedeError, match=f"internal error: {misplaced} of 4 rows are not in exactly"):
            SparkOutcome(plan._replace(rows=rows)).counts()


def test_counts_of_a_log_that_do_not_add_up_are_told(spark, log) -> None:
    with causal.read_logs(spark, log) as logs:
        logs.files[0] = logs.files[0]._replace(events=6)
        with pytest.raises(AntecedeError, match=r"internal error: 6 events .* the tables have 5 and 1"):
            logs.counts()


def test_steps_of_a_chain_leave_no_row_out(spark, log, messages) -> None:
    rows = messages.transform(causal.with_order()).collect()
    became = [(row.position is not None, row.missing is not None, row.reason is not None) for row in rows]
    assert len(rows) == 4 and all(sum(one) == 1 for one in became)
    events = spark.createDataFrame(antecede.read_logs(log).events)
    placed = events.transform(causal.with_event_order())
    assert placed.columns == [*EVENTS.names, "position", "ghosts", "reason"]
    assert sorted(row.position for row in placed.collect()) == [0, 1, 2, 3, 4]
    assert [row.kind for row in events.transform(causal.to_findings()).collect()] == ["late"]


def test_a_page_is_that_of_the_local_audit(spark, log, tmp_path) -> None:
    events = antecede.read_logs(log).events
    antecede.audit(events).page(tmp_path / "local.html", "A log")
    with causal.audit(spark.createDataFrame(events.drop_columns(["text"]))) as audit:
        audit.page(tmp_path / "spark.html", "A log")
    assert (tmp_path / "spark.html").read_text() == (tmp_path / "local.html").read_text()


def test_a_notebook_runs_no_job_unless_the_session_shows_rows(spark, messages, log) -> None:
    assert "position, arrival" in causal.order(messages)._repr_html_()
    assert "computed when used" in causal.order(messages)._repr_html_()
    events = spark.createDataFrame(antecede.read_logs(log).events)
    assert "sentence" in causal.audit(events)._repr_html_()


@pytest.mark.usefixtures("eager")
def test_a_notebook_shows_rows_where_the_session_does(spark, messages, log) -> None:
    assert "4 rows = 2 ordered + 1 held + 1 quarantined" in causal.order(messages)._repr_html_()
    with causal.read_logs(spark, log) as logs, causal.audit(logs.events) as audit:
        assert "1 file: 5 events, 1 cannot be read" in logs._repr_html_()
        assert "<b>1 finding: 1 late</b>" in audit._repr_html_()


@pytest.mark.parametrize("table", ["events", "quarantine"])
def test_logs_are_a_data_source(spark, log, table) -> None:
    rows = spark.read.format("antecede").option("table", table).load(str(log.parent))
    assert in_any_order(rows.toArrow()) == in_any_order(getattr(antecede.read_logs(log), table))


def test_a_data_source_reads_each_file_in_a_task_as_if_it_knew_the_others(spark, tmp_path) -> None:
    def write(name: str, process: str, *times: int) -> None:
        rows = [json.dumps({"process": process, "time": time}) for time in times]
        (tmp_path / name).write_text("\n".join(rows))

    write("a1", "a", 1, 2)
    write("a2", "a", 3, 4)  # goes on behind the other file: each can be read by itself
    write("b1", "b", 1, 3)
    write("b2", "b", 2, 4)  # written at the same time as the other
    pq.write_table(antecede.read_logs(tmp_path / "a1").events, tmp_path / "own")
    (tmp_path / "unknown").write_text("nobody knows this")
    for table, expected in zip(("events", "quarantine"), antecede.read_logs(tmp_path), strict=False):
        rows = spark.read.format("antecede").option("table", table).load(str(tmp_path))
        assert in_any_order(rows.toArrow()) == in_any_order(expected)
    tasks = (
        spark.read.format("antecede")
        .load(str(tmp_path))
        .select("file", sf.spark_partition_id().alias("task"))
    )
    task_of = {row.file: row.task for row in tasks.distinct().collect() if not row.file.endswith("a1")}
    assert task_of[f"{tmp_path}/b1"] == task_of[f"{tmp_path}/b2"] != task_of[f"{tmp_path}/a2"]
    assert tasks.select("task").distinct().count() == 4


def test_a_data_source_takes_several_paths_and_settings(spark, log, tmp_path) -> None:
    (tmp_path / "other.txt").write_text('{"who": "d", "kind": "publish", "message": "x"}\n')
    reader = spark.read.format("antecede").option("fields", '{"process": "who"}')
    reader = reader.option("kinds", '{"publish": "send"}').option("log_format", "jsonl")
    (row,) = reader.load([str(tmp_path / "other.txt")]).select("process", "kind").collect()
    assert tuple(row) == ("d", "send")


def test_what_is_wrong_with_the_options_of_a_data_source_is_said(spark, log) -> None:
    reader = spark.read.format("antecede")
    with pytest.raises(Exception, match="option table is 'nothing': choose events or quarantine"):
        reader.option("table", "nothing").load(str(log)).collect()
    with pytest.raises(Exception, match="write a JSON object"):
        spark.read.format("antecede").option("fields", "process").load(str(log)).collect()
