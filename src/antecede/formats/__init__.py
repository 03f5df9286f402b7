"""Readers and writers of logs, one file per format, to the Arrow tables of `antecede.tables`.

Owns: what each format looks like, how it is recognised, and how its records become rows of the events
table; a record that cannot be read becomes a row of the quarantine table. Must not know: where bytes come
from (except for `sources`, which lists files), what is done with the rows, Spark, the terminal. Everything
here runs inside Spark tasks: functions of modules, plain arguments.
"""

from antecede.formats.parts import NotInParts, PartPlan, find_common_index_basis, plan_parts, read_part
from antecede.formats.registry import FORMATS, Format, detect, read
from antecede.formats.rows import Parsed, Part
from antecede.formats.settings import Settings

__all__ = [
    "FORMATS",
    "Format",
    "NotInParts",
    "Parsed",
    "Part",
    "PartPlan",
    "Settings",
    "detect",
    "find_common_index_basis",
    "plan_parts",
    "read",
    "read_part",
]
