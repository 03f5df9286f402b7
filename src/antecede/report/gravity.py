"""How grave findings are: kinds in groups, the gravest first. Each group has a color in static/page.css."""

GROUPS = {
    "order": ("late", "fifo", "unsent", "cycle", "self-parent", "clock-cyclic"),
    "messages": ("lost", "orphan", "duplicate", "resent", "misdelivered", "wrong-sender"),
    "clocks": (
        "clock-backwards", "clock-hole", "clock-repeat", "clock-restart", "clock-uncounted", "clock-unknown",
        "clock-beyond", "clock-not-transitive", "concurrent",
    ),
    "records": ("missing", "same-id", "timestamp", "offset-time", "false-causality"),
}  # fmt: skip
"""The kinds of each group: order that is broken; messages that are not as they were sent; clocks that cannot
be right; and what is wrong with the records alone."""
_GROUP_OF_KIND = {kind: group for group, kinds in GROUPS.items() for kind in kinds}


def find_severity_group(kind: str) -> str:
    """The group of a kind; one that nobody knows is not grave."""
    return _GROUP_OF_KIND.get(kind, "records")
