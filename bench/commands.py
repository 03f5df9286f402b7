"""Section `commands`: what a user waits for at the command line, each command in a process of its own.

Local and Spark run the same command on the same input, one after the other, in this run. The other baselines
are a process that imports every subcommand (as the command did before they were loaded one by one), and a
script that starts Spark and sorts the same table to Parquet.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from rich.table import Table

from antecede.cli.app import COMMANDS
from bench.logs import write_jsonl
from bench.measure import Spent, count, verdict
from bench.stamped import stamped

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "chat.jsonl"
IMPORT_ALL = "import " + ", ".join(place.partition(":")[0] for place, _ in COMMANDS.values())
SORT = """
import sys
from antecede.spark.session import get_session
spark = get_session()
spark.read.parquet(sys.argv[1]).sort("time").write.parquet(sys.argv[2])
spark.stop()
"""


def tables(quick: bool) -> Iterator[Table]:
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as name:
        folder = Path(name)
        run(["audit", str(EXAMPLE), "--engine", "local"])  # compiles the kernels, if that was not done yet
        yield _start_up()
        yield _audits(folder, 5_000 if quick else 100_000)
        yield _orders(folder, 20_000 if quick else 1_000_000)


def _start_up() -> Table:
    """What the command needs before it does anything."""
    table = _new_table("Start: processor time of commands that do nothing", "every subcommand imported")
    everything = _best(lambda: _python("-c", IMPORT_ALL))
    for option in ("--version", "--help"):
        _add(table, f"antecede {option}", _best(lambda option=option: run([option])), everything, 1 / 3)  # type: ignore[misc]
    return table


def _audits(folder: Path, size: int) -> Table:
    table = _new_table("Audit at the command line: local against Spark", "--engine spark")
    log = write_jsonl(size, folder / "events.jsonl")
    cases = (("examples/chat.jsonl", str(EXAMPLE), 1 / 10), (f"{count(size)} events", log, 1 / 3))
    for name, path, bar in cases:
        local = _best(lambda path=path: run(["audit", path, "--engine", "local"]))  # type: ignore[misc]
        _add(table, name, local, run(["audit", path, "--engine", "spark"]), bar)
    return table


def _orders(folder: Path, size: int) -> Table:
    """The issue's bars: local a quarter of what the command took before, which was 2.3 times this script."""
    title = f"Order at the command line: a Parquet table of {count(size)} messages"
    table = _new_table(title, "a script that sorts on Spark")
    messages = stamped(size, folder / "messages")
    sort = _python("-c", SORT, messages, str(folder / "sorted"))
    for engine, bar in (("local", 2.3 / 4), ("spark", 1.6)):
        options = ["--group", "group", "--time", "time", "--engine", engine, "--out", str(folder / engine)]
        _add(table, f"--engine {engine}", run(["order", messages, *options]), sort, bar)
    return table


def _best(call: object) -> Spent:
    """The least of three calls."""
    return min((call() for _ in range(3)), key=lambda time: time.wall)  # type: ignore[operator]


def run(arguments: list[str]) -> Spent:
    return _python("-m", "antecede", *arguments)


def _python(*arguments: str) -> Spent:
    """The time of a process and of all its children."""
    before = os.times()
    start = perf_counter()
    process = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    wall = perf_counter() - start
    after = os.times()
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{json.dumps(arguments)} failed: {process.stderr[-2000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(wall, used)


def _new_table(title: str, against: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = "Wall time (processor time)."
    table.add_column("", no_wrap=True)
    for name in ("ours", against, "ratio", "of processor time", "bar", ""):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, name: str, ours: Spent, theirs: Spent, bar: float) -> None:
    ratio = ours.wall / theirs.wall
    shown = [f"{time.wall:.1f} s ({time.processor:.1f})" for time in (ours, theirs)]
    ratios = f"{ratio:.2f} ×", f"{ours.processor / max(theirs.processor, 0.01):.2f} ×"
    table.add_row(name, *shown, *ratios, f"{bar:.2f} ×", verdict(ratio <= bar))
