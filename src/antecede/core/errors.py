"""The error family: one base, and children that say whose fault it is."""


class AntecedeError(Exception):
    """Base of every error raised on purpose by this package."""


class CallerError(AntecedeError, ValueError):
    """The caller asked for something that cannot be done; the text says what to do instead."""


class TooEarlyError(CallerError):
    """What the caller asked for cannot be done yet. It may ask again."""


class NewColumnsError(CallerError):
    """Rows have columns, or types, that were not there when somebody looked. Who looks again finds them."""


class InputError(AntecedeError, ValueError):
    """Bytes, a packet or a record from outside is malformed or does not belong here."""


class DuplicateError(InputError):
    """The packet was received before. A link that resends may ignore this one."""


class SetupError(AntecedeError):
    """Something that this machine should have is missing; the text names the next step."""
