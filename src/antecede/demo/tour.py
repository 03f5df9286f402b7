"""All parts of the demo but the live one, one after the other."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from antecede.demo import advice, lake, triangle


def show_tour(console: Console, folder: Path) -> None:
    """Protocols on a small example, then the shop; its files go to the folder."""
    triangle.show_protocols_on_triangle_and_bad_network(console)
    lake.show_lake_demo(console, folder)
    advice.show_best_protocol_for_room(console, folder)
    console.print("Try it: .venv/bin/antecede audit examples/chat.jsonl --report page.html")
