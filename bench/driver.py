"""The memory of the driver, ten times the input against one time: each in a process of its own.

`python -m bench.driver FOLDER HUGE` audits the events in a folder and prints what it took, in megabytes.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

from rich.table import Table

from bench import traffic
from bench.measure import count, verdict

GROWTH = 1.3
PROCESSES = 200
HEAP = "2g"


def memory(folder: Path, size: int) -> Table:
    """The table of what audits of two sizes took on the driver."""
    title = f"Memory of the driver: audits of {count(size)} and {count(10 * size)} events, heap limit {HEAP}"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = (
        "Most memory of the Python process; Java heap in use after a collection, with all results at hand."
    )
    table.add_column("", no_wrap=True)
    for name in ("one time", "ten times", "ratio", "bar", "verdict"):
        table.add_column(name, justify="right", no_wrap=True)
    found = [_measured(folder / f"memory-{events}", events, size // 2) for events in (size, 10 * size)]
    for name in found[0]:
        one, ten = (sizes[name] for sizes in found)
        shown = f"{one:.0f} MB", f"{ten:.0f} MB", f"{ten / one:.2f} ×", f"{GROWTH} ×"
        table.add_row(name, *shown, verdict(ten / one <= GROWTH))
    return table


def _measured(place: Path, events: int, huge: int) -> dict[str, float]:
    place.mkdir()
    traffic.write(events, PROCESSES, place)
    command = [sys.executable, "-m", "bench.driver", str(place), str(huge)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    answer: dict[str, float] = json.loads(told.splitlines()[-1])
    return answer


def _audit(folder: str, huge: int) -> dict[str, float]:
    from antecede.spark.auditing.event_audit import audit
    from antecede.spark.session import get_session

    spark = get_session("local[*]", spark_driver_memory=HEAP)
    found = audit(spark.read.parquet(folder), huge=huge)
    found.summary()
    java = spark.sparkContext._jvm.java.lang  # type: ignore[union-attr]
    java.System.gc()
    heap = java.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    spark.stop()
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"Python, most resident": python, "Java heap in use": heap / 2**20}


if __name__ == "__main__":
    print(json.dumps(_audit(sys.argv[1], int(sys.argv[2]))))
