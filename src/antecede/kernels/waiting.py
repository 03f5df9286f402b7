"""How many rows of a graph of waits lead, directly or not, to each of its roots; each row counts once.

A root is a gap (a node that the caller names) or a cycle. The caller puts gaps on *tracks*: if the gaps of a
track are numbered by their height, from 1, then whoever leads to one of them leads to all lower ones as well.
So one number says what a node waits for on a track: the largest height. A cycle, or a gap that shares its
track with no other, is a track of height 1.

Nodes are visited dependencies first, which is the order in which Tarjan's algorithm numbers components; a
component stands for its members, since those of a cycle wait for the same. The heights of a component are the
largest of those it leads to, and of the roots in it. If all heights are 1 they are kept as bits.

Counting exactly what a node can reach is hard in general: no way is known that is much better than this one,
edges times tracks. It is kept small in three ways. A pass handles as many tracks as fit a cache line, 16
heights or 512 bits. A pass looks only at the parts of the graph (as if edges had no direction) that have so
many tracks. And it begins at the first component with a root of this pass, as all before it lead to none:
tracks are numbered by where they begin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints, compute_starts, invert_permutation
from antecede.kernels.topology import Cycles, find_strong_components, list_cyclic_components

_HEIGHTS = 16
"""Tracks in a pass: heights of 32 bits in a cache line."""
_WORDS = 8
"""Words of 64 tracks in a pass where heights are bits."""
_PLANES = 63
"""Binary digits of a count of rows."""


class WaitGraph(NamedTuple):
    """Node k waits for `targets[starts[k]:starts[k + 1]]`; the first `rows` nodes are rows."""

    rows: int
    starts: Ints
    targets: Ints


class WaitCounts(NamedTuple):
    """How many rows wait for each gap; the cycles of rows, and how many wait for each, its members too."""

    gaps: Ints
    cycles: Cycles
    on_cycles: Ints


class _Layout(NamedTuple):
    """The graph by component. Components are numbered part by part, dependencies first."""

    part_starts: Ints  # the components of part p are part_starts[p]:part_starts[p + 1]
    node_starts: Ints  # the nodes of component c are nodes[node_starts[c]:node_starts[c + 1]]
    nodes: Ints
    root_starts: Ints  # and its roots are roots[root_starts[c]:root_starts[c + 1]]
    roots: Ints
    edge_starts: Ints  # node k waits for the components targets[edge_starts[k]:edge_starts[k + 1]]
    targets: Ints


class _Tracks(NamedTuple):
    """Tracks are numbered part by part, and in a part by where they begin."""

    part_first: Ints  # the tracks of part p are part_first[p]:part_first[p + 1]
    begin: Ints  # the first component with a root on the track
    first: Ints  # the roots of track t have the places first[t]:first[t + 1], by height
    track: Ints  # of each root
    height: Ints  # of each root


def count_waiting_rows(graph: WaitGraph, gap_nodes: Ints, gap_tracks: Ints) -> WaitCounts:
    """Count the rows that wait for each gap and for each cycle; gaps are given by height on each track."""
    component = find_strong_components(graph.starts, graph.targets)
    cycles = list_cyclic_components(component, np.empty(0, dtype=np.int64))
    cycle_nodes = cycles.members[cycles.starts[:-1]]
    roots = np.concatenate((gap_nodes, cycle_nodes))
    cycle_tracks = int(gap_tracks.max(initial=-1)) + 1 + np.arange(len(cycle_nodes))
    names = np.concatenate((gap_tracks, cycle_tracks))

    part = _find_connected_parts(graph.starts, graph.targets)
    components = int(component.max(initial=-1)) + 1
    part_of_component = np.zeros(components, dtype=np.int64)
    part_of_component[component] = part
    by_part = np.argsort(part_of_component, kind="stable")
    position = invert_permutation(by_part)[component]
    part_starts = compute_starts(np.bincount(part_of_component))
    layout = _Layout(
        part_starts,
        *group_by_key(position, components),
        *group_by_key(position[roots], components),
        graph.starts,
        position[graph.targets],
    )
    tracks = _number_tracks(names, part[roots], position[roots])
    counts = _count_waiting_rows_per_root(graph.rows, layout, tracks)
    on_gaps, on_cycles = counts[: len(gap_nodes)], counts[len(gap_nodes) :]
    return WaitCounts(on_gaps, _drop_cycle_members_that_are_no_rows(cycles, graph.rows), on_cycles)


def _drop_cycle_members_that_are_no_rows(cycles: Cycles, row_count: int) -> Cycles:
    """The cycles without the nodes that are no rows: the first `row_count` nodes are."""
    is_row = cycles.members < row_count
    rows_before = np.concatenate(([0], np.cumsum(is_row)))
    return Cycles(rows_before[cycles.starts], cycles.members[is_row])


def _number_tracks(track_names: Ints, part: Ints, position: Ints) -> _Tracks:
    """Number the tracks; roots of one name are on one track, and lie by height."""
    roots = len(track_names)
    name_count = int(track_names.max(initial=-1)) + 1
    begin_of_name = np.full(name_count, np.iinfo(np.int64).max)
    np.minimum.at(begin_of_name, track_names, position)
    order = np.lexsort((np.arange(roots), track_names, begin_of_name[track_names], part))
    is_new = np.append(True, np.diff(track_names[order]) != 0)[:roots]
    first = np.append(np.flatnonzero(is_new), roots)
    track_in_order = np.cumsum(is_new) - 1
    height_in_order = np.arange(roots) - first[track_in_order] + 1
    place = invert_permutation(order)
    part_of_track = part[order][is_new]
    parts = int(part.max(initial=-1)) + 1
    return _Tracks(
        np.searchsorted(part_of_track, np.arange(parts + 1)),
        begin_of_name[track_names[order][is_new]],
        first,
        track_in_order[place],
        height_in_order[place],
    )


def _count_waiting_rows_per_root(row_count: int, layout: _Layout, tracks: _Tracks) -> Ints:
    """How many rows wait for each root."""
    components = len(layout.node_starts) - 1
    most_tracks = int(np.diff(tracks.part_first).max(initial=0))
    at_height = np.zeros(len(tracks.track), dtype=np.int64)
    if not most_tracks:
        return at_height
    if int(tracks.height.max()) == 1:
        words = min(_WORDS, -(-most_tracks // 64))
        sets = np.zeros((components, words), dtype=np.uint64)
        planes = np.zeros((words, _PLANES), dtype=np.uint64)
        for low in range(0, most_tracks, 64 * words):
            _add_waiting_rows_of_pass_by_bits(low, row_count, layout, tracks, sets, planes, at_height)
    else:
        lanes = min(_HEIGHTS, most_tracks)
        heights = np.zeros((components, lanes), dtype=np.uint32)
        for low in range(0, most_tracks, lanes):
            _add_waiting_rows_of_pass_by_height(low, row_count, layout, tracks, heights, at_height)
    # A row was counted at the height that it reaches: it waits for the lower ones, too.
    total = np.concatenate(([0], np.cumsum(at_height)))
    place = tracks.first[tracks.track] + tracks.height - 1
    waiting: Ints = total[tracks.first[tracks.track + 1]] - total[place]
    return waiting


@compiled
def _find_connected_parts(starts: Ints, targets: Ints) -> Ints:
    """A number from 0 for each part of the graph, as if edges had no direction (union and find)."""
    size = len(starts) - 1
    parent = np.arange(size)
    for node in range(size):
        for k in range(starts[node], starts[node + 1]):
            one, other = node, targets[k]
            while parent[one] != one:
                parent[one] = parent[parent[one]]
                one = parent[one]
            while parent[other] != other:
                parent[other] = parent[parent[other]]
                other = parent[other]
            parent[max(one, other)] = min(one, other)
    parts = 0
    part = np.empty(size, dtype=np.int64)
    for node in range(size):  # a parent is never larger than its children
        if parent[node] == node:
            part[node] = parts
            parts += 1
        else:
            part[node] = part[parent[node]]
    return part


@compiled
def _add_waiting_rows_of_pass_by_height(
    first_track: int, rows_in_graph: int, layout: _Layout, tracks: _Tracks, heights: Any, at_height: Ints
) -> None:
    """One pass over the tracks from `first_track` on of each part that has so many.

    Adds each row to the count of the height that it waits for.
    """
    part_starts, node_starts, nodes, root_starts, roots, edge_starts, targets = layout
    part_first, begin, first, track, height = tracks
    for part in range(len(part_first) - 1):
        base = part_first[part] + first_track
        used = min(part_first[part + 1] - base, heights.shape[1])
        if used <= 0:
            continue
        for position in range(begin[base], part_starts[part + 1]):
            own = heights[position]
            own[:] = 0
            for k in range(root_starts[position], root_starts[position + 1]):
                lane = track[roots[k]] - base
                if 0 <= lane < used:
                    own[lane] = max(own[lane], height[roots[k]])
            row_count = 0
            for k in range(node_starts[position], node_starts[position + 1]):
                row_count += nodes[k] < rows_in_graph
                for edge in range(edge_starts[nodes[k]], edge_starts[nodes[k] + 1]):
                    if targets[edge] >= begin[base]:
                        other = heights[targets[edge]]
                        for lane in range(used):
                            own[lane] = max(own[lane], other[lane])
            if row_count:
                for lane in range(used):
                    if own[lane]:
                        at_height[first[base + lane] + own[lane] - 1] += row_count


@compiled
def _add_waiting_rows_of_pass_by_bits(
    first_track: int,
    rows_in_graph: int,
    layout: _Layout,
    tracks: _Tracks,
    sets: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    counts: Ints,
) -> None:
    """The same where all heights are 1.

    The rows with each bit are counted in binary, for 64 bits at a time: `planes[word, p]` has the p-th binary
    digit of all 64 counts, and adding a word to them carries over from plane to plane.
    """
    part_starts, node_starts, nodes, root_starts, roots, edge_starts, targets = layout
    part_first, begin, first, track, _ = tracks
    one = np.uint64(1)
    for part in range(len(part_first) - 1):
        base = part_first[part] + first_track
        used = min(part_first[part + 1] - base, 64 * sets.shape[1])
        if used <= 0:
            continue
        words = (used + 63) // 64
        top = 0
        for position in range(begin[base], part_starts[part + 1]):
            own = sets[position]
            own[:] = 0
            for k in range(root_starts[position], root_starts[position + 1]):
                bit = track[roots[k]] - base
                if 0 <= bit < used:
                    own[bit // 64] |= one << np.uint64(bit % 64)
            row_count = 0
            for k in range(node_starts[position], node_starts[position + 1]):
                row_count += nodes[k] < rows_in_graph
                for edge in range(edge_starts[nodes[k]], edge_starts[nodes[k] + 1]):
                    if targets[edge] >= begin[base]:
                        other = sets[targets[edge]]
                        for word in range(words):
                            own[word] |= other[word]
            digit = 0
            while row_count >> digit:
                if (row_count >> digit) & 1:
                    for word in range(words):
                        carry, plane = own[word], digit
                        while carry:
                            digits = planes[word, plane]
                            planes[word, plane] = digits ^ carry
                            carry &= digits
                            plane += 1
                        top = max(top, plane)
                digit += 1
        for bit in range(used):
            word, shift = bit // 64, np.uint64(bit % 64)
            for plane in range(top):
                counts[first[base + bit]] += np.int64((planes[word, plane] >> shift) & one) << plane
        planes[:words, :top] = 0
