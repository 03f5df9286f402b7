"""Root gaps straight from their definition: slow, and without the package.

A row is held; it has needs and gains, lists of (slot, count). A *thing* is a (slot, number): message 7 of a
sender, or the seventh count on an entry. A row waits for things; a thing that no held row is, is missing, and
belongs to a root gap. All rows that wait for one of its things, directly or through other rows, wait for it.
"""

from typing import NamedTuple

Pairs = list[tuple[int, int]]
Thing = tuple[int, int]
Gap = tuple[int, int, int]
"""Slot, first and last number."""


class Row(NamedTuple):
    """Something that is held."""

    needs: Pairs
    gains: Pairs


def root_gaps(
    rows: list[Row], have: dict[int, int], *, dense: bool, add: bool = False
) -> dict[Gap, set[int]]:
    """Every root gap with the rows (by their place in the list) that wait for it."""
    waits = [things_needed(row, have, dense or add) for row in rows]
    brought = things_brought_by_adding(rows, have) if add else things_brought_by_name(rows)
    lacking = [things_lacking({at}, waits, brought) for at in range(len(rows))]
    missing = set().union(*lacking) if lacking else set()
    gaps = (
        stretches(missing) if dense or add else [(slot, number, number) for slot, number in sorted(missing)]
    )
    return {gap: {at for at, things in enumerate(lacking) if things & set(things_of(gap))} for gap in gaps}


def cycles(rows: list[Row], have: dict[int, int], *, dense: bool) -> dict[frozenset[int], set[int]]:
    """Rows that wait for each other, with all rows that wait for one of them."""
    waits = [things_needed(row, have, dense) for row in rows]
    brought = things_brought_by_name(rows)
    behind = [rows_awaited(at, waits, brought) for at in range(len(rows))]
    rings = {frozenset(b for b in behind[a] if a in behind[b]) for a in range(len(rows)) if a in behind[a]}
    return {ring: {at for at in range(len(rows)) if behind[at] & ring} for ring in rings}


def things_needed(row: Row, have: dict[int, int], all_below: bool) -> set[Thing]:
    unmet = [(slot, count) for slot, count in row.needs if count > have.get(slot, 0)]
    if not all_below:
        return set(unmet)
    return {(slot, number) for slot, count in unmet for number in range(have.get(slot, 0) + 1, count + 1)}


def things_brought_by_name(rows: list[Row]) -> dict[Thing, set[int]]:
    """A row is the thing that its first gain says."""
    brought: dict[Thing, set[int]] = {}
    for at, row in enumerate(rows):
        for thing in row.gains[:1]:
            brought.setdefault(thing, set()).add(at)
    return brought


def things_brought_by_adding(rows: list[Row], have: dict[int, int]) -> dict[Thing, set[int]]:
    """Rows take the next numbers when they go: a ready one first, else the one that needs least in all."""
    level = dict(have)
    brought: dict[Thing, set[int]] = {}
    left = sorted(range(len(rows)), key=lambda at: (sum_of_unmet(rows[at], have), at))
    while left:
        ready = [at for at in left if all(level.get(s, 0) >= c for s, c in rows[at].needs)]
        at = (ready or left)[0]
        left.remove(at)
        for slot, count in rows[at].needs:
            level[slot] = max(level.get(slot, 0), count)
        for slot, value in rows[at].gains:
            before = level.get(slot, 0)
            brought |= {(slot, number): {at} for number in range(before + 1, before + value + 1)}
            level[slot] = before + value
    return brought


def sum_of_unmet(row: Row, have: dict[int, int]) -> int:
    return sum(count for slot, count in row.needs if count > have.get(slot, 0))


def rows_awaited(at: int, waits: list[set[Thing]], brought: dict[Thing, set[int]]) -> set[int]:
    """The rows that a row waits for, directly or not."""
    awaited: set[int] = set()
    front = {at}
    while front:
        named = {other for one in front for thing in waits[one] for other in brought.get(thing, ())}
        front = named - awaited
        awaited |= named
    return awaited


def things_lacking(rows: set[int], waits: list[set[Thing]], brought: dict[Thing, set[int]]) -> set[Thing]:
    """The missing things that the rows wait for, directly or not."""
    everyone = rows.union(*(rows_awaited(at, waits, brought) for at in rows))
    return {thing for at in everyone for thing in waits[at] if thing not in brought}


def stretches(things: set[Thing]) -> list[Gap]:
    """Neighbouring numbers of a slot as one gap."""
    gaps: list[Gap] = []
    for slot, number in sorted(things):
        if gaps and gaps[-1][0] == slot and gaps[-1][2] + 1 == number:
            gaps[-1] = (slot, gaps[-1][1], number)
        else:
            gaps.append((slot, number, number))
    return gaps


def things_of(gap: Gap) -> list[Thing]:
    slot, first, last = gap
    return [(slot, number) for number in range(first, last + 1)]
