"""The demo; its files go to the folder antecede-demo."""

from pathlib import Path

from rich.console import Console

from antecede.demo.tour import show_tour

if __name__ == "__main__":
    show_tour(Console(width=110), Path("antecede-demo"))
