"""The audit of tables of callers in this process. What both engines do alike is tested in tests/engines."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import antecede
from antecede.core.errors import CallerError
from antecede.tables import EVENTS


def test_a_note_tells_of_kinds_that_are_not_known() -> None:
    columns = {"process": ["a", "b"], "message": ["m", "m"], "index": [0, 0]}
    known = antecede.audit(pa.table({**columns, "kind": ["Sent", "Received"]}))
    assert known.note is None and known.summary().totals["deliveries"] == 1
    unknown = antecede.audit(pa.table({**columns, "kind": ["publish", "deliver"]}))
    note = "kinds that are not known are taken as local: publish; name them send, receive, deliver, local"
    assert unknown.note == note and note in unknown._repr_html_()


@pytest.mark.parametrize("run", [antecede.audit, antecede.order_events])
@pytest.mark.parametrize(
    ("count", "told"), [(-1, "-1"), (None, "nothing"), (2**62, "4611686018427387904")], ids=str
)
def test_a_count_that_is_none_is_refused_with_its_row(
    run: Callable[[pa.Table], Any], count: int | None, told: str
) -> None:
    rows = [{"process": "b", "clock": [("b", 1)]}, {"process": "a", "clock": [("b", 1), ("a", count)]}]
    parts = [pa.Table.from_pylist([row], EVENTS) for row in rows]
    sentence = (
        f"column 'clock' has {told} as the count of 'a' in row 1 \\(from 0\\): counts are whole numbers"
    )
    with pytest.raises(CallerError, match=sentence):
        run(pa.concat_tables(parts))


@pytest.mark.parametrize("run", [antecede.audit, antecede.order_events])
def test_clocks_may_be_dictionaries_of_libraries_without_maps(run: Callable[[Any], Any]) -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"process": ["a", "b"], "kind": ["send", "receive"], "message": ["m", "m"]}
    run(pandas.DataFrame({**columns, "clock": [{"a": 1}, {"a": 1, "b": 1}]}))
    structs = pa.table({**columns, "clock": [{"a": 1, "z": None}, None]})
    assert len(antecede.order_events(structs).ordered) == 2
    assert antecede.audit(structs).summary().counts == {}
