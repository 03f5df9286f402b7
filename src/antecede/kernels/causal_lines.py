"""Which processes are ordered by causes alone: each of their events leads to the next one.

Events are known by their positions in an order that has every cause before its effects. Where the events of a
process follow from one another at all, they do so in this order; so it is enough to ask of each whether the
one before it led to it.

Theory of operation. Mostly that one is a direct cause. Else it is sought backwards from the later event,
among what lies between the two in the order. What lies between the events of one process overlaps nowhere, so
a process costs at most one look at every edge of its execution; and it costs no more once two of its events
do not follow from one another. As many processes could still make this a long search, an execution has a
number of looks, and processes that are left when these are used up count as not ordered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

MOST_LOOKS = 2**25
"""Edges that are looked at for an execution: about a second."""


@compiled
def mark_lines_ordered_by_causes(
    line_starts: Ints,
    members: Ints,
    execution_of_line: Ints,
    cause_starts: Ints,
    causes: Ints,
    most_looks: int,
) -> NDArray[np.bool_]:
    """Of each line, whether all its events follow from one another.

    Line k has the positions members[line_starts[k]:line_starts[k + 1]], ascending, and is of the execution
    execution_of_line[k]; executions ascend. Causes of event e are at cause_starts[e]:cause_starts[e + 1];
    those that come later, as on cycles, are not followed.
    """
    found = np.zeros(len(line_starts) - 1, dtype=np.bool_)
    size = len(cause_starts) - 1
    met_for = np.full(size, -1, dtype=np.int64)  # stamps: the event from which it was met last
    waiting = np.empty(size, dtype=np.int64)  # events whose causes are still to be looked at
    looks = 0
    for line in range(len(found)):
        if line == 0 or execution_of_line[line] != execution_of_line[line - 1]:
            looks = 0
        is_line = True
        for k in range(line_starts[line] + 1, line_starts[line + 1]):
            before, event = members[k - 1], members[k]
            is_line = False
            waiting[0], left = event, 1
            while left and not is_line and looks < most_looks:
                left -= 1
                effect = waiting[left]
                for i in range(cause_starts[effect], cause_starts[effect + 1]):
                    cause = causes[i]
                    looks += 1
                    if cause == before:
                        is_line = True
                        break
                    if before < cause < effect and met_for[cause] != event:
                        met_for[cause] = event
                        waiting[left] = cause
                        left += 1
            if not is_line:
                break
        found[line] = is_line
    return found
