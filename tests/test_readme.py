"""README's example is run, and its tables are what the protocols say of themselves."""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from antecede.demo import triangle

ROOT = Path(__file__).parent.parent


def test_example_of_the_readme() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


CONSOLE = re.findall(r"```console\n\$ antecede (.*?)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=lambda text: text.split()[0])
def test_commands_of_the_readme_print_what_it_says(command: str, output: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    words = [sys.executable, "-m", "antecede", *shlex.split(command)]
    environment = {**os.environ, "COLUMNS": "110"}
    run = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert [line.rstrip() for line in run.stdout.rstrip().splitlines()] == output.splitlines()


def test_the_readme_shows_commands() -> None:
    assert [command.split()[0] for command, _ in CONSOLE] == [
        "audit",
        "order",
        "simulate",
        "explore",
        "compare",
    ]


def test_tables_of_the_readme() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "readme_tables.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_demo_tells_who_waits_for_what() -> None:
    console = Console(width=110, record=True, file=io.StringIO())
    triangle.show_protocols(console)
    text = console.export_text()
    for told in (
        "early: x came first",
        "waits for P1 #1",
        "acknowledgement by P3 #1",
        "declared independent",
        "faults that happened: ",
        "bounded kept its promise",
    ):
        assert told in text


def test_guarantees_name_tests_that_exist() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / "guarantees.md").read_text())
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
