"""All parts of the demo, one after the other; its files go to the folder antecede-demo."""

from pathlib import Path

from rich.console import Console

from antecede.demo import advice, lake, triangle

if __name__ == "__main__":
    console = Console(width=110)
    triangle.show_protocols(console)
    folder = Path("antecede-demo")
    lake.show_lake(console, folder)
    advice.show_advice(console, folder)
    console.print("Try it: .venv/bin/antecede audit examples/chat.jsonl --report page.html")
