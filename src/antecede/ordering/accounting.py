"""The accounting of an order: every row is in exactly one of ordered, held and quarantine."""

from collections.abc import Mapping

from antecede.core.errors import AntecedeError


def refuse_misplaced_rows(row_count: int, misplaced_count: int) -> None:
    """Refuse an outcome with rows that are in none of the tables, or in several."""
    if misplaced_count:
        raise AntecedeError(
            f"internal error: {misplaced_count:,} of {row_count:,} rows are not in exactly one of ordered, "
            "held and quarantine; this outcome cannot be trusted: please report this with the call and, if "
            "you can, the input"
        )


def describe_row_counts_as_sum(counts: Mapping[str, int]) -> str:
    """The accounting as a sum: 6 rows = 4 ordered + 1 held + 1 quarantined."""
    rows, *parts = counts.items()
    amounts = [f"{count:,} {name}" for name, count in parts]
    return f"{rows[1]:,} row{'s' * (rows[1] != 1)} = {' + '.join(amounts)}"
