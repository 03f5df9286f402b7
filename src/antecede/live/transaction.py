"""What an application does in one commit with its acknowledgement."""

from collections.abc import Sequence
from typing import Any

from antecede.core.errors import CallerError
from antecede.live.journal import Statement

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


class Transaction:
    """Statements and sends, kept until the block ends."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.sends: list[tuple[bytes, list[str] | None]] = []

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """A statement for the application's own tables; it is run, and may fail, when the block ends."""
        first, *_ = sql.split(maxsplit=1) or [""]
        if first.lower() in FORBIDDEN or "antecede_" in sql.lower():
            raise CallerError(f"a transaction writes the application's own tables; it cannot run {sql!r}")
        self.statements.append((sql, tuple(parameters)))

    def send(self, data: bytes, to: list[str] | None = None) -> None:
        """A message that is sent if the commit succeeds."""
        self.sends.append((data, to))
