"""The order in which a process took messages, against the times at which they were sent.

This is looked at where deliveries have no times of their own, as in partitions of Kafka: there the time of a
record is a reading of its producer's clock, and offsets tell in which order records came. That a sender's own
messages came in another order than they were sent is told elsewhere (`late_findings`).
"""

from __future__ import annotations

import numpy as np

from antecede.auditing.findings import FindingRows, build_finding_rows
from antecede.events.columns import get_column, to_floats
from antecede.events.graph import EventGraph
from antecede.kernels.links import DELIVER
from antecede.kernels.ragged import Ints, join_keys
from antecede.kernels.send_times import find_earlier_delivery_sent_later_by_another

KIND = "offset-time"


def judge_delivery_order_by_send_times(graph: EventGraph) -> FindingRows:
    """For each process and each sender the message that was farthest behind, and how many were at all."""
    deliveries = _list_untimed_deliveries_of_timed_sends(graph)
    if not len(deliveries):
        return build_finding_rows(KIND, deliveries)
    time = to_floats(get_column(graph.events.table, "time"))
    send = graph.messages.links.send[deliveries]
    process, sender = graph.events.process[deliveries], graph.events.process[send]
    later = find_earlier_delivery_sent_later_by_another(process, sender, time[send])
    pair = join_keys(process, sender, len(graph.events.process_names))
    behind = np.flatnonzero(later >= 0)
    distance = time[send[later[behind]]] - time[send[behind]]
    # By pair, the farthest first; of several the first.
    by_pair = np.lexsort((behind, -distance, pair[behind]))
    keys, first, counts = np.unique(pair[behind][by_pair], return_index=True, return_counts=True)
    worst = behind[by_pair[first]]
    middle = distance[by_pair[first + counts // 2]]
    all_keys, all_counts = np.unique(pair, return_counts=True)
    return build_finding_rows(
        KIND,
        deliveries[worst],
        send[later[worst]],
        send[worst],
        deliveries[worst],
        value=counts.tolist(),
        size=all_counts[np.searchsorted(all_keys, keys)].tolist(),
        middle=middle.tolist(),
    )


def _list_untimed_deliveries_of_timed_sends(graph: EventGraph) -> Ints:
    """First deliveries that have a place in their process and no time, of sends that have one, in order."""
    time = to_floats(get_column(graph.events.table, "time"))
    send = graph.messages.links.find_sends_of_deliveries(graph.messages.act)
    is_chosen = (graph.messages.act == DELIVER) & (send >= 0) & np.isnan(time)
    is_chosen &= graph.events.track < len(graph.events.process_names)
    rows = np.flatnonzero(is_chosen)
    rows = rows[~np.isnan(time[send[rows]])]
    return rows[np.lexsort((graph.events.place[rows], graph.events.track[rows]))]
