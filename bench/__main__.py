"""`python -m bench [SECTION...] [--quick]`: the named sections, or all."""

import argparse
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table

from bench import (
    commands,
    comparing,
    control_bytes,
    gate,
    judging,
    live,
    page,
    peers,
    pipeline,
    reading,
    simulator,
    streams,
    studies,
)
from bench.measure import machine

SECTIONS: dict[str, Callable[[bool], Iterator[Table]]] = {
    "gate": gate.tables,
    "peers": peers.tables,
    "bytes": control_bytes.tables,
    "simulator": simulator.tables,
    "live": live.tables,
    "studies": studies.tables,
    "compare": comparing.tables,
    "commands": commands.tables,
    "reading": reading.tables,
    "judging": judging.tables,
    "page": page.tables,
    "pipeline": pipeline.tables,
    "streams": streams.tables,
}
WIDTH = 120  # so that no table is folded where the output is not a terminal


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("section", nargs="*", help=f"of {', '.join(SECTIONS)}; all, if none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    unknown = [name for name in options.section if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    console = Console()
    console.width = max(console.width, WIDTH)
    for name in options.section or SECTIONS:
        for table in SECTIONS[name](options.quick):
            table.caption = f"{table.caption or ''}\n{machine()}".strip()
            console.print(table)
            console.print()


if __name__ == "__main__":
    main()
