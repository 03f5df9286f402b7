"""Reading a file with lines in parts, each of them by a task of its own.

First `plan_parts` looks at the head of the file; it answers None if the file must be read as a whole. Then
each part, which is made of whole lines, goes through `read_part`. When all are there,
`find_common_index_basis` says whether they were read on the same grounds; if it raises NotInParts, the file
must be read as a whole after all, since what one part lacks another one has (an index, clocks, parents, ids
of messages).

What is then left to do, so that the table is the one that `read` would have given:

- The index counts from where the part begins. By basis: "line" goes on behind the events of the same
  execution and process in the parts before; so does "clock", if for every execution and process the own
  entries in a part are all larger than those in the parts before it (else the file must be read as a
  whole); "given" and "parents" stay.
- An event without an id is null. It is called process#index; without an index, file:line.
- If sends and receives are `unmatched`, `matching.match_messages_across_files` matches those of all parts.
"""

from collections.abc import Iterable
from typing import NamedTuple

from antecede.core.errors import InputError
from antecede.formats import csv_table, jsonl, jsons, ndjson
from antecede.formats.collection import pause_garbage_collection
from antecede.formats.detection import guess_format
from antecede.formats.indexing import BY_SOME_CLOCKS
from antecede.formats.rows import Part
from antecede.formats.settings import DEFAULT, Settings
from antecede.formats.shiviz_forms import CLOCK_LINE
from antecede.formats.source import GZIP, UTF8, Source

WITH_LINES = ("jsonl", "ndjson", "csv")
"""Formats whose records are lines that can be read without the lines around them."""
HEAD_BYTES = 1_000_000
"""What `plan_parts` wants to see of a file. Shorter files are not worth parts."""


class NotInParts(Exception):  # noqa: N818
    """The parts of a file cannot be put together; the file must be read as a whole."""


class PartPlan(NamedTuple):
    """What readers of parts must know of the file."""

    format: str
    header: str = ""
    """The first line of CSV."""
    is_guessed: bool = False


def plan_parts(
    head: bytes, name: str, format: str | None = None, settings: Settings = DEFAULT
) -> PartPlan | None:
    """How to read the file with this head (HEAD_BYTES of it) in parts; None if it must be read as a whole."""
    if head.startswith((GZIP, b"\xff\xfe", b"\xfe\xff")):
        return None
    head = head.removeprefix(UTF8)
    head = head[: head.rfind(b"\n") + 1]
    try:
        chosen = format or guess_format(Source(head, name), settings)
    except InputError:
        return None
    if chosen not in WITH_LINES:
        return None
    if chosen == "csv":
        header = csv_table.find_header(head)
        return None if header is None else PartPlan(chosen, header, format is None)
    return PartPlan(chosen) if jsons.looks_like_json_lines(head) else None


def read_part(data: bytes, name: str, plan: PartPlan, settings: Settings, first_line: int) -> Part:
    """The events of some whole lines of a file, the first of which is `first_line`, counted from 1."""
    with pause_garbage_collection():
        return _read_part_in_format(data, name, plan, settings, first_line)


def _read_part_in_format(data: bytes, name: str, plan: PartPlan, settings: Settings, first_line: int) -> Part:
    if first_line == 1:
        data = data.removeprefix(UTF8)
    if plan.format == "jsonl":
        return jsonl.read_part(data, name, settings, first_line)
    if plan.format == "ndjson":
        return ndjson.read_part(data, name, settings, first_line)
    while first_line <= plan.header.count("\n"):
        data = data.partition(b"\n")[2]
        first_line += 1
    part = csv_table.read_part(data, name, settings, first_line, plan.header)
    # One line of host and clock is enough for `detect` to take the file for ShiViz text.
    if plan.is_guessed and CLOCK_LINE.search(Source(data, name).text()):
        return part._replace(alone=False)
    return part


def find_common_index_basis(parts: Iterable[tuple[str | None, bool, bool]]) -> tuple[str | None, bool]:
    """The basis of the index in all parts, and whether messages are unmatched; of each part basis, unmatched
    and alone are given."""
    bases: set[str] = set()
    matches: set[bool] = set()
    for basis, unmatched, alone in parts:
        if not alone:
            raise NotInParts("a record may go on from one part to the next")
        if basis is not None:
            bases.add(basis)
            matches.add(unmatched)
    if len(bases) > 1 or len(matches) > 1 or BY_SOME_CLOCKS in bases:
        raise NotInParts("what some parts have, others have not")
    return next(iter(bases), None), True in matches
