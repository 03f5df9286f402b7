"""The errors of running nodes."""

from antecede.core.errors import AntecedeError, InputError


class JournalError(InputError):
    """A journal that is damaged, incomplete, in use, or of another process: nothing of it was used."""


class NodeClosedError(AntecedeError):
    """The node was closed by its application."""


class NodeFailedError(AntecedeError):
    """The node could not go on; the text says why. What is in its journal is safe."""
