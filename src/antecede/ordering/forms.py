"""The forms of stamps in a table of messages. Type checks, errors, help texts and documents read this list.

With `receiver`, what the receiver itself has sent is taken to be there, but for its rows in the table, which
come first: a table of what arrived at a process need not have them. Without, all messages of the group must
be in the table.

The stamps of a matrix, of triples, pairs, a log and predecessors are made for their receiver: rows are put in
order for each receiver by itself.

The numbers of a vector have no holes: one that is missing is a message that is missing, and what comes after
it is held. The numbers of a clock may have holes, which are events of other kinds. So nothing is waited for
but rows that are there, and a message that is lost is not missed.

Stamps of pairs, log and predecessors, and triples of a matrix that is kept small, leave out causes that their
sender knows the receiver to have. Where no column tells in which order rows arrived, the rest of the stamp
does: the time of pairs knows all of them, a log with destinations some, predecessors and triples none: name a
column there, `arrival` or `time`.
"""

from typing import NamedTuple

OPTION_MEANINGS = {
    "receiver": "the process that the message is for",
    "number": "the number of the message at its sender, to whomever",
    "keys": "the places that the sender counts on",
    "id": "the id of the message itself",
}
"""What stands in the columns that some forms need."""

LEAVE_OUT_CAUSES = ("triples", "log", "predecessors")
"""Forms of stamps that may leave out causes, and have nothing that would tell of all of them."""
FOR_ONE_RECEIVER = ("matrix", "triples", "pairs", "log", "predecessors")
"""Forms of stamps that are made for the receiver of their row."""


class StampForm(NamedTuple):
    """What a user must know to have stamps of a form put in order."""

    type: str
    """The type of the column with the stamps. Structs are read by the order of their fields."""
    needs: tuple[str, ...]
    """The options, by their names, that this form cannot do without."""
    meaning: str


FORMS: dict[str, StampForm] = {
    "vector": StampForm(
        "map<name, int> or array<int>",
        (),
        "a count for each sender; its own counts the message",
    ),
    "clock": StampForm(
        "map<name, int> or array<int>",
        (),
        "a vector clock that counts other events as well, such as receives",
    ),
    "matrix": StampForm(
        "array<array<int>>",
        ("receiver",),
        "row x has what x has sent to each process before",
    ),
    "triples": StampForm(
        "array<struct<from, to, count>>",
        ("receiver",),
        "the entries of a matrix that are not 0",
    ),
    "pairs": StampForm(
        "struct<time vector, array<struct<process, time vector>>>",
        ("receiver",),
        "SES: the time of the message, and of the last one to each process",
    ),
    "log": StampForm(
        "array<struct<sender, number>> or array<struct<sender, number, array<destination>>>",
        ("number", "receiver"),
        "KS: messages of the past, and whom they were for",
    ),
    "predecessors": StampForm(
        "array<struct<sender, number>> or array<struct<sender, number, array<destination>>>",
        ("number",),
        "PRS: the last messages before this one",
    ),
    "shared": StampForm(
        "array<int>",
        ("keys",),
        "R entries that senders share, of which each has K",
    ),
    "parents": StampForm(
        "array<string> or struct<array<string>, array<string>>",
        ("id",),
        "the ids of the messages directly before; in a struct, also of those that must have come with it",
    ),
    "sequence": StampForm(
        "int",
        (),
        "the number of the message at its sender, from 1",
    ),
    "packets": StampForm(
        "binary",
        (),
        "packets as `antecede simulate --out` writes them, known by their columns",
    ),
}


def join_form_names() -> str:
    """The names of all forms, for a sentence."""
    return ", ".join(FORMS)


def write_forms_as_markdown_table() -> str:
    """The forms as a table in Markdown, for documents."""
    lines = ["| form | column `stamp` | needs | meaning |", "|---|---|---|---|"]
    for name, form in FORMS.items():
        needs = ", ".join(f"`{option}`" for option in form.needs)
        lines.append(f"| `{name}` | `{form.type}` | {needs} | {form.meaning} |")
    return "\n".join(lines)
