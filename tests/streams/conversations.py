"""Small random conversations with their causes known, written in every form of stamps that can stream."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from tests.message_rows import Row

NAMES = ("a", "b", "c")


class Message(NamedTuple):
    """A broadcast: its id, what its sender knew, and all messages that caused it."""

    group: str
    id: str
    sender: str
    past: dict[str, int]
    causes: frozenset[str]

    @property
    def number(self) -> int:
        return self.past[self.sender]


def converse(random: Random, groups: int, count: int) -> list[Message]:
    """Messages in the order in which they were sent."""
    messages = []
    for group in (f"g{n}" for n in range(groups)):
        past = {name: dict.fromkeys(NAMES, 0) for name in NAMES}
        known: dict[str, frozenset[str]] = {name: frozenset() for name in NAMES}
        for _ in range(random.randrange(1, count)):
            me, other = random.choice(NAMES), random.choice(NAMES)
            past[me] = {name: max(past[me][name], past[other][name]) for name in NAMES}
            known[me] |= known[other]
            past[me][me] += 1
            message = Message(group, f"{group}{me}{past[me][me]}", me, dict(past[me]), known[me])
            known[me] |= {message.id}
            messages.append(message)
    return messages


def _by_name(message: Message) -> Any:
    return [(name, count) for name, count in message.past.items() if count]


def _parents(message: Message) -> list[str]:
    last = {**message.past, message.sender: message.number - 1}
    return [f"{message.group}{name}{count}" for name, count in last.items() if count]


class StreamForm(NamedTuple):
    """How a message is written."""

    write: Any
    type: pa.DataType
    options: dict[str, Any]
    names_causes: bool = True

    @property
    def schema(self) -> pa.Schema:
        texts = {name: pa.string() for name in ("group", "sender", "id", "text")}
        return pa.schema({**texts, "stamp": self.type})

    def row(self, message: Message) -> Row:
        stamp = self.write(message)
        return {
            "group": message.group,
            "sender": message.sender,
            "id": message.id,
            "text": "",
            "stamp": stamp,
        }

    def find_causes(self, message: Message, messages: list[Message]) -> set[str]:
        """The ids of what must come before a message, as far as its stamp tells."""
        if self.names_causes:
            return set(message.causes)
        mine = (m for m in messages if (m.group, m.sender) == (message.group, message.sender))
        return {m.id for m in mine if m.number < message.number}


COUNTS = pa.map_(pa.string(), pa.int64())
FORMS = {
    "vector by name": StreamForm(_by_name, COUNTS, {}),
    "vector by place": StreamForm(
        lambda m: list(m.past.values()), pa.list_(pa.int32()), {"members": list(NAMES)}
    ),
    "parents": StreamForm(_parents, pa.list_(pa.string()), {"id": "id"}),
    "sequence": StreamForm(lambda m: m.number, pa.int64(), {}, names_causes=False),
}


def spoil(random: Random, form: StreamForm, messages: list[Message]) -> list[Row]:
    """The rows as they arrive: shuffled, some lost, some twice, some without a stamp."""
    rows = []
    for message in messages:
        row = form.row(message)
        rows += [row] * random.choice((0, 1, 1, 1, 1, 1, 1, 1, 2))
        if random.random() < 0.05:
            rows.append({**row, "group": None})
    return random.sample(rows, len(rows))
