"""The errors of running nodes."""

from antecede.core.errors import AntecedeError, InputError


class JournalError(InputError):
    """A journal that is damaged, incomplete, in use, or of another process: nothing of it was used."""


class NodeClosedError(AntecedeError):
    """The node was closed, or has failed; the text says why."""
