"""`antecede demo`: what antecede does, on a shop that is simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from antecede.core.errors import CallerError

Follow = Annotated[
    bool, typer.Option("--follow", help="The shop live: messages are put in order while they land.")
]
Seconds = Annotated[float, typer.Option(help="With --follow: how long the shop is open.")]
Folder = Annotated[Path, typer.Option("--out", help="Folder for its files; --follow replaces it.")]


def demo_command(
    follow: Follow = False, seconds: Seconds = 45.0, out: Folder = Path("antecede-demo")
) -> None:
    """Show what antecede does, on a shop that is simulated; with --follow, live.

    Protocols first, then order and audit on Spark.

    Example: antecede demo --follow
    """
    from rich.console import Console

    console = Console(width=110)
    if not follow:
        from antecede.demo.tour import show_tour

        show_tour(console, out)
        return
    if seconds < 1:
        raise CallerError(f"--seconds must be at least 1, and is {seconds:g}")
    from antecede.demo.feed import LiveShop
    from antecede.demo.follow import run_live_shop_demo

    shop = LiveShop(seconds=seconds, stall_begins=seconds / 4, stall_ends=seconds / 2)
    run_live_shop_demo(console, out / "live", shop)
