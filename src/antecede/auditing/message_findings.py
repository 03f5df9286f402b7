"""What is wrong with the messages of a trace themselves: orphan, astray, sent or delivered twice."""

from __future__ import annotations

import numpy as np

from antecede.auditing.findings import FindingRows, build_finding_rows
from antecede.events.graph import EventGraph
from antecede.kernels.links import SEND


def judge_messages(graph: EventGraph) -> list[FindingRows]:
    """All of them but lost copies, for which `late_findings` seeks what came in spite of them."""
    links, (send, delivery) = graph.messages.links, graph.causes.unsent
    orphans, copies, again = (
        links.list_orphan_deliveries(graph.messages.act),
        links.list_duplicate_deliveries(),
        links.list_repeated_sends(graph.messages.act),
    )
    by_message = graph.messages.act[send] == SEND
    astray = np.flatnonzero(links.misdelivered)
    wrong = np.flatnonzero(links.wrong_sender)
    senders = graph.events.look_up_process_names(graph.messages.sender[wrong])
    return [
        build_finding_rows("orphan", orphans, orphans),
        build_finding_rows("duplicate", copies, links.original[copies], copies),
        build_finding_rows("resent", again, links.send[again], again),
        build_finding_rows("unsent", delivery[by_message], delivery[by_message], send[by_message]),
        build_finding_rows("misdelivered", astray, links.send[astray], astray),
        build_finding_rows("wrong-sender", wrong, links.send[wrong], wrong, sender=senders),
    ]
