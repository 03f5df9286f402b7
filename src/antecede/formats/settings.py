"""What a user can say about a log that its content does not say by itself."""

import msgspec

from antecede.core.errors import CallerError
from antecede.events.kinds import KINDS


class Settings(msgspec.Struct, frozen=True):
    """Overrides; each is empty where the content or the usual names are to be trusted."""

    regex: str | None = None
    """ShiViz's parser expression with the named groups host, clock and event."""
    delimiter: str | None = None
    """ShiViz's expression for the line before an execution, with the named group trace."""
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    """Own field name to the name in the file; dots lead into nested objects."""
    kinds: dict[str, str] = msgspec.field(default_factory=dict)
    """Values of the kind field to send, receive, deliver or local."""

    def __post_init__(self) -> None:
        for value, kind in self.kinds.items():
            if kind not in KINDS:
                raise CallerError(f"kind {value!r} cannot mean {kind!r}; choose one of {', '.join(KINDS)}")


DEFAULT = Settings()
