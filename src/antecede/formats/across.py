"""What readers of single files cannot tell: messages without ids, and causes, that lie in other files.

When all files of a format are there, the rows of each execution are settled once more together, by the same
rules as in a single file.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats.cloudevents import resolve_causes_across_files
from antecede.formats.matching import match_messages_across_files

RULES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "ndjson": match_messages_across_files,
    "cloudevents": resolve_causes_across_files,
}
"""The formats, and what is done with the events of all files together."""
CAN_BE_AMBIGUOUS = "cloudevents"
"""The format whose causes may be the ids of several events."""
AMBIGUOUS = "ambiguous"
"""The field in which its reader says so."""

# Rules must see the rows of an execution in the same order, wherever they come from.
_ORDER = [(name, "ascending") for name in ("execution", "process", "index", "file", "line")]


def link_events_across_files(events: pa.Table, format: str) -> pa.Table:
    """The events of one format, all files of whole executions, settled together; rows keep their places."""
    order = pc.sort_indices(events, sort_keys=_ORDER).to_numpy()
    settled = RULES[format](events.take(pa.array(order)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return settled.take(pa.array(place))


def describe_ambiguous_cause(file: str, line: int, text: str, count: int) -> str:
    """A sentence on causes that are the ids of several events: the first, and how many there are."""
    more = f" (and {count - 1:,} more like it)" if count > 1 else ""
    return f"{file}:{line}: {text}: all of them are taken for its causes{more}"
