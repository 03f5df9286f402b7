"""All parts of the demo, one after the other; its files go to the folder antecede-demo."""

from pathlib import Path

from rich.console import Console

from antecede.demo import lake, triangle

if __name__ == "__main__":
    console = Console(width=110)
    triangle.show_protocols(console)
    lake.show_lake(console, Path("antecede-demo"))
    console.print("Try it: .venv/bin/antecede audit examples/chat.jsonl --report page.html")
