"""The last part of the demo: which protocol suits the shop's own traffic, and what it would cost there."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from rich.console import Console

from antecede.cli.compare_runs import run_comparison
from antecede.cli.compare_words import print_comparison
from antecede.cli.engine import choose_engine
from antecede.formats.settings import Settings
from antecede.study.advice import advise_on_execution
from antecede.study.compare_preferences import parse_preferences


def show_best_protocol_for_room(console: Console, folder: Path, room: int = 0) -> None:
    """Replay what one room of the shop wrote through every protocol that fits."""
    log = str(folder / "events" / f"room-{room:02}.parquet")
    console.print(f"\n[bold]Which protocol for this shop?[/] antecede compare {log}\n", soft_wrap=True)
    start = monotonic()
    engine = choose_engine("local", [log], None)
    with run_comparison(engine, [log], None, Settings(), None, None) as run:
        preferences = parse_preferences(None, [])
        print_comparison(
            run, [advise_on_execution(comparison, preferences) for comparison in run.comparisons]
        )
    console.print(f"Seconds in this process: {monotonic() - start:.0f}.", highlight=False)
