"""What the columns are called that an order adds to those of its input, which all keep their names."""

from collections.abc import Collection, Iterable

from antecede.core.errors import CallerError


def choose_names_of_added_columns(
    existing_columns: Iterable[str], added_columns: Iterable[str], *, exact: bool = False
) -> dict[str, str]:
    """A name for each column of ours: as it should be, or with `antecede_` in front where it is taken.

    Names that differ only in upper and lower case are the same, as in SQL, unless they are compared exactly.
    """
    taken = normalize_column_names_and_refuse_equal_ones(existing_columns, exact=exact)
    return {name: _find_free_name(name, taken) for name in added_columns}


def normalize_column_names_and_refuse_equal_ones(
    columns: Iterable[str], *, exact: bool = False
) -> Collection[str]:
    """The names as they are compared; refuses two that are the same."""
    known: dict[str, str] = {}
    for column in columns:
        key = column if exact else column.lower()
        if key in known:
            other = known[key]
            how = "are called the same" if other == column else "differ only in upper and lower case"
            raise CallerError(f"the columns {other!r} and {column!r} {how}, and are one in SQL: rename one")
        known[key] = column
    return known.keys()


def _find_free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"antecede_{name}"
    return name


def describe_renamed_columns(names: dict[str, str]) -> list[str]:
    """A line for each column of ours whose name the table has already."""
    return [
        f"the table has a column {name!r} of its own: ours is called {ours}"
        for name, ours in list_renamed_columns(names).items()
    ]


def list_renamed_columns(names: dict[str, str]) -> dict[str, str]:
    """The columns of ours whose names the table has already, by what they should be called."""
    return {name: ours for name, ours in names.items() if name != ours}
