"""What was refused, counted; the first of a kind from a peer is logged, the others only count.

Lines of the log carry their `facts` apart from their text, for whoever writes logs that programs read.
"""

import logging

log = logging.getLogger("antecede.live")


class Refusals:
    """Counts by kind and peer; strangers are all one peer, so that nobody can fill the memory with names."""

    def __init__(self, process: str) -> None:
        self.process = process
        self.counts: dict[tuple[str, str], int] = {}

    def count_and_log_refusal(self, kind: str, peer: str, reason: str) -> None:
        """Count one more, and log the first of its kind from a peer."""
        key = kind, peer
        before = self.counts.get(key, 0)
        self.counts[key] = before + 1
        if not before:
            who = peer or "a stranger"
            text = "%s refused %s (%s): %s; further ones only count"
            facts = {"peer": peer, "refused": kind, "reason": reason}
            log.warning(text, self.process, who, kind, reason, extra={"facts": facts})
