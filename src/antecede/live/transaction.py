"""What an application does in one commit with its acknowledgement."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from antecede.core.errors import CallerError
from antecede.live.journal import Parameters, Statement

FORBIDDEN = (
    "begin",
    "commit",
    "end",
    "rollback",
    "savepoint",
    "release",
    "pragma",
    "attach",
    "detach",
    "vacuum",
)
"""They would end the commit that the journal is about to make, or change how it is made."""
_FIRST_WORD = re.compile(r"(?:\s|\ufeff|;|--[^\n]*|/\*.*?\*/)*(\w*)", re.DOTALL)


def check_and_make_statement(sql: str, parameters: Parameters) -> Statement:
    """A statement for the application's own tables, with its parameters as they are now."""
    first_word = _FIRST_WORD.match(sql)
    if first_word is None or first_word[1].lower() in FORBIDDEN or "antecede_" in sql.lower():
        raise CallerError(
            f"cannot run {sql!r}: statements here are for the application's own tables, and the journal "
            "commits them"
        )
    return sql, dict(parameters) if isinstance(parameters, Mapping) else tuple(parameters)


def copy_receivers(to: Any) -> Any:
    """The receivers as they are now, as a list; what is no collection of names is refused by the endpoint."""
    return list(to) if isinstance(to, Iterable) and not isinstance(to, str) else to


class Transaction:
    """Statements and sends, kept until the block ends."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.sends: list[tuple[bytes, list[str] | None]] = []

    def execute(self, sql: str, parameters: Parameters = ()) -> None:
        """A statement for the application's own tables; it is run, and may fail, when the block ends."""
        self.statements.append(check_and_make_statement(sql, parameters))

    def send(self, data: bytes, to: Iterable[str] | None = None) -> None:
        """A message that is sent if the commit succeeds."""
        self.sends.append((data, copy_receivers(to)))
