"""What `antecede node status` says to people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.markup import escape

LISTED = 10
"""Of what is held, and of what is missing."""


def describe_node(status: dict[str, Any]) -> Iterator[str]:
    """Lines in rich's markup."""
    where = f" at {status['address']}" if status["address"] else ""
    yield escape(f"{status['process']}: {status['protocol']}{where}")
    yield (
        f"sent {status['sent']}, delivered {status['delivered']}: "
        f"{status['queued']} not handed over, {status['handed']} not done"
    )
    if status["backlog"]:
        yield f"{status['backlog']} own messages are kept until others answer"
    for name, peer in sorted(status["peers"].items()):
        yield escape(f"  {name}: {_describe_peer(peer)}")
    yield from _format_first_items("held", status["held"])
    yield from _format_first_items("missing", status["root_gaps"])
    for refusal in status["refused"]:
        yield escape(f"refused {refusal['count']} x {refusal['kind']} of {refusal['peer'] or 'strangers'}")


def _describe_peer(peer: dict[str, Any]) -> str:
    if peer["excluded"]:
        return "excluded"
    words = ["connected" if peer["connected"] else "not connected"]
    silent = peer["silent_for"]
    words.append("never heard from" if silent is None else f"heard {silent:.1f} s ago")
    if peer["waiting"] or peer["unacknowledged"]:
        words.append(f"{peer['waiting']} waiting for it, {peer['unacknowledged']} on their way")
    if peer["untaken"]:
        words.append(f"{peer['untaken']} of its packets not taken")
    if peer["unread"]:
        words.append(f"{peer['unread']} of its records not read")
    return ", ".join(words)


def _format_first_items(heading: str, items: list[str]) -> Iterator[str]:
    if not items:
        return
    yield f"{heading} {len(items)}"
    for item in items[:LISTED]:
        yield f"  {escape(item)}"
    if len(items) > LISTED:
        yield f"  and {len(items) - LISTED} more"
