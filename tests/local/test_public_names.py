"""What `import antecede` offers: every name is there, and nothing is imported before it is asked for."""

import subprocess
import sys
from importlib.metadata import version

import pandas as pd
import pyarrow as pa
import pytest

import antecede
from antecede.core.errors import AntecedeError, CallerError
from antecede.local.outcome import check_each_row_is_in_one_table
from tests.docstrings import check_docstrings

PACKAGES = (antecede, antecede.live, antecede.simulate, antecede.study)
PUBLIC = [(package, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_every_name_is_there_and_tells_what_it_is(package, name) -> None:
    check_docstrings(getattr(package, name))


def test_the_version_is_that_of_the_package() -> None:
    assert antecede.__version__ == version("antecede")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        antecede.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, antecede, antecede.simulate, antecede.spark; antecede.__version__; "
        "print({'numpy', 'numba', 'pyarrow', 'msgspec', 'pyspark'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(CallerError, match="two columns 'process': rename one"):
        antecede.audit(pa.table([["a"], ["b"]], names=["process", "process"]))


def test_huge_indexes_and_unknown_lines_are_audited_and_drawn(tmp_path) -> None:
    columns = {"process": ["a", "a"], "index": [-1, 2**62], "kind": ["local", "send"], "message": [None, "m"]}
    audit = antecede.audit(pa.table(columns | {"line": [1, None]}))
    audit.page(tmp_path / "page.html")
    assert audit.summary().counts == {"lost": 1}


def test_a_log_is_read_and_audited_in_three_lines(tmp_path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"process": "a", "kind": "send", "message": "m"}\n')
    logs = antecede.read_logs(log)
    audit = antecede.audit(logs.events)
    assert [row["kind"] for row in audit.findings.to_pylist()] == ["lost"]
    assert audit.summary().counts == {"lost": 1}


def test_a_pandas_table_is_audited_as_it_is() -> None:
    events = pd.DataFrame(
        {"process": ["a", "b"], "index": [0, 0], "kind": ["send", "deliver"], "message": "m"}
    )
    assert antecede.audit(events).findings.num_rows == 0
    assert antecede.audit(pa.Table.from_pandas(events)).totals.to_pylist()[0]["events"] == 2


HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def hostile_logs(tmp_path) -> antecede.Logs:
    """Names that would run if they were not escaped, in every field; and a record that cannot be read."""
    log = tmp_path / "log.jsonl"
    line = f'{{"process": "{HOSTILE}", "kind": "send", "message": "{HOSTILE}", "event": "{HOSTILE}"}}'
    log.write_text(f"{line}\n{HOSTILE}\n")
    return antecede.read_logs(log)


def test_logs_are_three_things_and_their_counts_add_up(hostile_logs) -> None:
    events, quarantine, files = hostile_logs
    assert (len(events), len(quarantine), files[0].format) == (1, 1, "jsonl")
    assert hostile_logs.counts() == {"files": 1, "events": 1, "quarantined": 1}
    hostile_logs.files.pop()
    with pytest.raises(AntecedeError, match="internal error: 0 events"):
        hostile_logs.counts()


def test_notebooks_show_results_and_run_nothing_of_a_log(hostile_logs, tmp_path) -> None:
    audit = antecede.audit(hostile_logs.events)
    outcome = antecede.order_events(hostile_logs.events)
    shown = [result._repr_html_() for result in (hostile_logs, audit, outcome)]
    headings = ("1 file: 1 event, 1 cannot be read", "1 finding: 1 lost", "1 row = 1 ordered + 0 held")
    assert all(heading in text for heading, text in zip(headings, shown, strict=True))
    audit.page(tmp_path / "page.html", HOSTILE)
    page = (tmp_path / "page.html").read_text()
    assert all("<script>alert" not in text and "&lt;script&gt;" in text for text in (*shown[1:], page))


def test_a_row_in_no_table_or_in_two_is_told() -> None:
    columns = {"position": [1, None, 3], "missing": [None, None, ["a"]], "reason": [None, None, None]}
    answers = pa.StructArray.from_arrays([pa.array(values) for values in columns.values()], list(columns))
    with pytest.raises(AntecedeError, match="internal error: 2 of 3 rows are not in exactly one of ordered"):
        check_each_row_is_in_one_table(answers)
    check_each_row_is_in_one_table(answers.slice(0, 1))


def test_no_column_has_a_hyphen_or_a_blank(hostile_logs) -> None:
    audit = antecede.audit(hostile_logs.events)
    names = [*audit.findings.column_names, *audit.totals.column_names, *hostile_logs.quarantine.column_names]
    assert [name for name in names if not name.isidentifier()] == []
    assert "clock_not_transitive" in names
