"""The position of an event in its process's own order, where a log tells it."""

from collections.abc import Hashable, Sequence

Key = int | tuple[int, int]


def positions(groups: Sequence[Hashable], keys: Sequence[Key]) -> list[int]:
    """Each row's place among the rows of its group, sorted by key; equal keys stay in file order."""
    order: Sequence[int] = range(len(keys))
    if not _sorted_within(groups, keys):
        order = sorted(order, key=keys.__getitem__)
    counts: dict[Hashable, int] = {}
    result = [0] * len(keys)
    for row in order:
        group = groups[row]
        result[row] = counts.get(group, 0)
        counts[group] = result[row] + 1
    return result


def _sorted_within(groups: Sequence[Hashable], keys: Sequence[Key]) -> bool:
    last: dict[Hashable, Key] = {}
    for group, key in zip(groups, keys, strict=True):
        if key < last.get(group, key):  # type: ignore[operator]
            return False
        last[group] = key
    return True


def restarts(groups: Sequence[Hashable], owns: Sequence[int]) -> Sequence[Key]:
    """Keys that sort by own entry, but after a restart: when an own entry of 1 comes again, a new run begins.

    A restart and a late copy of the first event look alike; both come after what was logged before them.
    """
    ones: dict[Hashable, int] = {}
    keys: list[tuple[int, int]] = []
    for group, own in zip(groups, owns, strict=True):
        if own == 1:
            ones[group] = ones.get(group, 0) + 1
        keys.append((max(ones.get(group, 0) - 1, 0), own))
    return keys if any(count > 1 for count in ones.values()) else owns


def unique(ids: Sequence[str], groups: Sequence[Hashable]) -> list[str]:
    """The ids, with ~2, ~3, ... behind those that come again in their group."""
    seen: dict[tuple[Hashable, str], int] = {}
    result = []
    for group, name in zip(groups, ids, strict=True):
        count = seen[group, name] = seen.get((group, name), 0) + 1
        result.append(name if count == 1 else f"{name}~{count}")
    return result
