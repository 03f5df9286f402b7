"""Which stamps can be put in order while rows are still to come, and why others cannot.

A stream must tell of each row, from its stamp and from what is out, whether something is missing before it,
and whether it came before. It can if every count up to the one that is needed is a message to the same
group: then counters tell both. Parents name what they need, and the ids of what is out are remembered.
"""

from __future__ import annotations

from antecede.core.errors import CallerError
from antecede.ordering.message_plan import MessagePlan

_LEAVE_OUT = (
    "leave out causes that their sender knows the receiver to have, so whether one is missing cannot be told "
    "while rows are still to come: order them in batch, or stamp messages with a vector, a matrix or parents"
)
REFUSED = {
    "clock": "count events that are no rows, so a row that is missing and an event of another kind look "
    "the same while rows are still to come: order them in batch, or let senders count messages alone and "
    "name the form 'vector'",
    "pairs": _LEAVE_OUT,
    "log": _LEAVE_OUT,
    "predecessors": _LEAVE_OUT,
    "shared": "do not tell messages of a sender apart, so a copy of one that is out cannot be told from a "
    "new one: order them in batch, or stamp messages with a vector or parents",
    "packets": "are written by runs that are over: order them in batch",
}
"""What is said of stamps of these forms."""
STREAMING = ("vector", "matrix", "triples", "parents", "sequence")


def refuse_unstreamable_form(form: str | None) -> None:
    """Refuse a form that cannot stream; one that is not known yet may."""
    if form in REFUSED:
        raise CallerError(f"stamps of form {form!r} {REFUSED[form]}")


def refuse_unstreamable_plan(plan: MessagePlan, horizon: int | None) -> None:
    """Refuse stamps that cannot be put in order while rows are still to come."""
    form = plan.stamps.form
    refuse_unstreamable_form(form)
    if plan.reading.shape == "entries" and plan.stamps.members is None:
        raise CallerError(
            "stamps with entries by place need members= in a stream, the names in the order of the entries: "
            "how many entries are right cannot be told by the rows that happen to be there"
        )
    if horizon is not None and form != "parents":
        raise CallerError(
            f"horizon= bounds the ids that form 'parents' remembers, and {form!r} has none: leave it out"
        )
    if horizon is not None and horizon < 1:
        raise CallerError(f"horizon= must be at least 1 row, and is {horizon}")
