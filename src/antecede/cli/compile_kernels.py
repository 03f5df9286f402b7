"""Compiles all kernels beforehand: `python -m antecede.cli.compile_kernels`, which `make setup` runs.

The kernels are compiled for the types of the arrays that they get. So the commands themselves are run, on a
small simulated run and on a small log that has something wrong of every kind.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from antecede.cli.app import app
from antecede.kernels.announcement import announce_compilation_once
from antecede.kernels.compiled import has_cache_folder, is_cached_on_disk, kernels, list_kernel_modules
from antecede.scratch import make_scratch_folder

LOG = """\
{"process": "a", "event": "a1", "kind": "send", "message": "x", "receivers": ["b", "c"], "time": 5}
{"process": "a", "event": "a2", "kind": "send", "message": "y", "receivers": ["b"], "time": 6}
{"process": "b", "event": "b1", "kind": "deliver", "message": "y", "time": 1}
{"process": "b", "event": "b2", "kind": "deliver", "message": "x", "parents": ["b3"], "time": 2}
{"process": "b", "event": "b3", "kind": "send", "message": "z", "receivers": ["c"], "parents": ["b2"]}
{"process": "c", "event": "c1", "kind": "deliver", "message": "z", "time": 4}
{"process": "c", "event": "c2", "kind": "deliver", "message": "x", "time": 5}
{"process": "c", "event": "c3", "kind": "local", "parents": ["c3", "nowhere"]}
"""
"""Messages too early and too late, lost and repeated; causes that lead in a circle; times that run back."""

CLOCKED_LOG = """\
a {"a": 1}
send
b {"a": 1, "b": 1}
receive
b {"a": 2, "b": 3}
a clock that knows more than there is
a {"a": 2, "b": 3}
a clock that leads back
"""
"""Clocks that contradict each other and the log."""

DEPENDENT_LOG = """\
{"process": "a", "index": 0, "event": "a1", "kind": "send", "message": "x", "parents": []}
{"process": "a", "index": 1, "event": "a2", "kind": "send", "message": "y", "parents": []}
{"process": "b", "index": 0, "event": "b1", "kind": "deliver", "message": "y"}
{"process": "b", "index": 1, "event": "b2", "kind": "send", "message": "z", "parents": ["b1"]}
{"process": "c", "index": 0, "event": "c1", "kind": "deliver", "message": "z"}
{"process": "c", "index": 1, "event": "c2", "kind": "deliver", "message": "x"}
"""
"""Sends that name what they depend on."""

UNTIMED_LOG = """\
{"process": "a", "index": 0, "event": "a1", "kind": "send", "message": "x", "time": 5}
{"process": "b", "index": 0, "event": "b1", "kind": "send", "message": "y", "time": 9}
{"process": "c", "index": 0, "event": "c1", "kind": "deliver", "message": "y"}
{"process": "c", "index": 1, "event": "c2", "kind": "deliver", "message": "x"}
{"process": "b", "event": "b2", "kind": "receive", "message": "x"}
{"process": "b", "index": 1, "event": "b3", "kind": "local", "parents": ["b2"]}
"""
"""Deliveries without times, in another order than that of the sends; an event that follows from a receipt."""

VECTORS = """\
{"sender": "a", "stamp": {"a": 2}}
{"sender": "a", "stamp": {"a": 1}}
{"sender": "b", "stamp": {"a": 1, "b": 2}}
{"sender": "c", "stamp": {"c": 1000}}
{"sender": "a", "stamp": {"a": 3}}
{"sender": "a", "stamp": {"a": 5}}
{"sender": "a", "stamp": {"a": 7}}
"""
SHARED = """\
{"sender": "a", "stamp": [1, 1, 0], "keys": [0, 1]}
{"sender": "b", "stamp": [1, 3, 1], "keys": [1, 2]}
"""
PARENTS = """\
{"sender": "a", "id": "1", "parents": ["2"]}
{"sender": "a", "id": "2", "parents": ["1"]}
{"sender": "a", "id": "3", "parents": ["0"]}
{"sender": "a", "id": "4", "parents": []}
"""
"""Messages to be ordered, of which some wait, and some for each other."""

FILES = {
    "log.jsonl": LOG,
    "clocks.log": CLOCKED_LOG,
    "dependent.jsonl": DEPENDENT_LOG,
    "untimed.jsonl": UNTIMED_LOG,
    "vectors.jsonl": VECTORS,
    "shared.jsonl": SHARED,
    "parents.jsonl": PARENTS,
}
COMMANDS = (
    "simulate --protocol optimal -n 4 -m 60 --fanout 2 --loss 0.1 --out run",
    "simulate --protocol unordered -n 4 -m 400 --workload broadcast --out unordered",
    "audit run/events.parquet --engine local --report page.html",
    "audit unordered/events.parquet --engine local",
    "audit log.jsonl --engine local",
    "audit dependent.jsonl --engine local --shiviz shiviz.log",
    "audit clocks.log --engine local",
    "audit untimed.jsonl --engine local",
    "compare run/events.parquet --engine local",
    "compare dependent.jsonl --engine local",
    "order run/messages.parquet --engine local --out ordered-packets",
    "order log.jsonl --engine local --out ordered-events",
    "order vectors.jsonl --stamp stamp --engine local --out ordered-vectors",
    "order shared.jsonl --keys keys --stamp stamp --engine local --out ordered-shared",
    "order parents.jsonl --id id --stamp parents --form parents --engine local --out ordered-parents",
)


def compile_kernels() -> None:
    """Run what compiles all kernels, where they are not compiled yet."""
    with (
        make_scratch_folder() as folder,
        chdir(folder),
        open(os.devnull, "w") as null,
    ):
        for name, text in FILES.items():
            Path(name).write_text(text)
        for command in COMMANDS:
            # That a command finds something, and exits with 1, is no error here.
            with redirect_stdout(null), redirect_stderr(null), suppress(SystemExit):
                app(command.split())
    _compile_gate_kernels_for_wide_number_types()
    _compile_pair_counting_for_large_executions()
    _compile_broadcast_simulation_for_studies()


def _compile_gate_kernels_for_wide_number_types() -> None:
    """The gate reads numbers in types that fit their size; small inputs need only the narrowest."""
    from antecede.kernels.gate import release_items
    from antecede.kernels.ragged import Rows, Runs
    from antecede.kernels.root_gaps import find_root_gaps_by_replay, select_unmet_needs

    nothing = np.zeros(1, dtype=np.int64)
    starts = np.arange(2)
    for slots in (np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint32)):
        for counts in (np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint32), nothing):
            for needs in (Rows(starts, slots, counts), Runs(starts, nothing, counts)):
                release_items(nothing, needs, Rows(starts, nothing, nothing))
                select_unmet_needs(needs, nothing, nothing)
        unmet = Rows(starts, nothing, nothing)
        find_root_gaps_by_replay(nothing, unmet, Rows(starts, slots, nothing), counted=1)


def _compile_pair_counting_for_large_executions() -> None:
    """Pairs are counted in another way where there are many events."""
    from antecede.kernels.pair_counts import count_ordered_pairs_by_bits

    nothing = np.zeros(0, dtype=np.int64)
    count_ordered_pairs_by_bits(np.zeros(1, dtype=np.int64), nothing, 1)


def _compile_broadcast_simulation_for_studies() -> None:
    """Broadcasts with shared entries are run by a study, which takes longer than the set-up should."""
    from antecede.simulate.shared_entries import BroadcastPlan, run_broadcasts

    run_broadcasts(BroadcastPlan(processes=5, R=3, K=2, gap=50, messages=200, detect=True))


def compile_missing_kernels_for_workers() -> None:
    """Compile what is not compiled yet, so that no worker of Spark does: nobody sees what workers do."""
    missing = list_uncompiled_kernels()
    if not missing:
        return
    announce_compilation_once()
    if all(map(has_cache_folder, missing)):
        # Apart from this process: the commands that compile write into another folder and onto the screen.
        # In a group of its own it does not hear Ctrl-C, and is ended if this process does.
        subprocess.run(
            [sys.executable, "-m", __name__], check=False, stdout=subprocess.DEVNULL, process_group=0
        )


def list_uncompiled_kernels() -> list[Any]:
    """The kernels for which nothing compiled is at hand."""
    for module in list_kernel_modules():
        import_module(module)
    return [kernel for kernel in kernels if not is_cached_on_disk(kernel)]


if __name__ == "__main__":
    compile_kernels()
