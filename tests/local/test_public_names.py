"""What `import antecede` offers: every name is there, and nothing is imported before it is asked for."""

import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pytest

import antecede


@pytest.mark.parametrize("name", antecede.__all__)
def test_every_name_is_there(name) -> None:
    assert getattr(antecede, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        antecede.nothing  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, antecede; print({'numpy', 'numba', 'pyarrow', 'msgspec', 'pyspark'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


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
