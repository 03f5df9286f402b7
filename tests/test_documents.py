"""The documents: their examples are run, their links lead somewhere, their tables are what the code says."""

import ast
import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

import antecede
from antecede.cli.app import COMMANDS, _load_command
from antecede.demo import triangle
from antecede.formats.registry import FORMATS
from tests.commands import here

ROOT = Path(__file__).parent.parent
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs" / "studies" / "README.md"]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def name_page(page: Path) -> str:
    return str(page.relative_to(ROOT))


def list_blocks(page: Path, *languages: str) -> list[str]:
    """The blocks of code in a page that are in one of these languages."""
    return [text for language, text in BLOCK.findall(page.read_text()) if language in languages]


def list_console_examples() -> Iterator[tuple[str, str, str]]:
    """Page, command and output of every example that shows a command of ours at work."""
    for page in GUIDES:
        for block in list_blocks(page, "console"):
            command, _, output = block.partition("\n")
            if command.startswith("$ antecede "):
                yield name_page(page), command.removeprefix("$ antecede "), output


@pytest.fixture
def beside_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which examples can be read and results be written."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


WITH_DOCTESTS = [name_page(page) for page in GUIDES if ">>> " in page.read_text()]


def test_the_documents_show_python() -> None:
    expected = {
        "README.md",
        "docs/endpoints.md",
        "docs/live.md",
        "docs/order-and-audit.md",
        "docs/simulate.md",
    }
    assert expected <= set(WITH_DOCTESTS)


@pytest.mark.parametrize("page", WITH_DOCTESTS)
def test_python_of_the_documents(page: str, beside_examples: None) -> None:
    result = doctest.testfile(str(ROOT / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", [name_page(page) for page in GUIDES])
def test_python_that_is_only_shown_uses_public_names(page: str) -> None:
    for block in list_blocks(ROOT / page, "python"):
        if ">>> " in block:
            continue
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("antecede"):
                public = import_module(node.module).__all__
                assert {name.name for name in node.names} <= set(public), f"{page}: {node.module}"


def test_the_documents_show_commands() -> None:
    shown = {command.split()[0] for _, command, _ in list_console_examples()}
    assert {"audit", "order", "simulate", "explore", "compare"} <= shown


@pytest.mark.parametrize(("page", "command", "output"), [*list_console_examples()])
def test_commands_of_the_documents_print_what_they_say(
    page: str, command: str, output: str, beside_examples: None, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    done = here(monkeypatch, capsys, *shlex.split(command))
    assert [line.rstrip() for line in done.out.rstrip().splitlines()] == output.splitlines()


@pytest.mark.parametrize("page", [name_page(page) for page in GUIDES])
def test_commands_of_the_documents_have_the_options_that_they_use(page: str) -> None:
    for line in "\n".join(list_blocks(ROOT / page, "sh", "console")).replace("\\\n", " ").splitlines():
        command = re.match(r"(?:\$ )?antecede ([a-z]+)(.*?)(?:  #|$)", line)
        if command is None:
            continue
        assert command[1] in COMMANDS, f"{page}: there is no command {command[1]}"
        used = set(re.findall(r" (--[a-z-]+)", command[2]))
        assert used <= list_options(command[1]), f"{page}: {line}"


def list_options(name: str) -> set[str]:
    """The options of a command and of its subcommands."""
    command = _load_command(name)
    commands = [command, *getattr(command, "commands", {}).values()]
    return {option for each in commands for parameter in each.params for option in parameter.opts}


@pytest.mark.parametrize("page", [name_page(page) for page in PAGES])
def test_links_of_the_documents_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", (ROOT / page).read_text())):
        if "://" in link:
            continue
        file, _, heading = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.exists(), f"{page}: {link}"
        if heading:
            assert heading in list_anchors(target), f"{page}: {link}"


def list_anchors(page: Path) -> list[str]:
    """What the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return [heading.replace(" ", "-") for heading in kept]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_tables_of_the_protocols() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "protocol_tables.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_every_format_is_in_the_table_of_formats() -> None:
    section = (
        (ROOT / "docs" / "order-and-audit.md").read_text().partition("\n## Input\n")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"^\|([^|]+)\|", section, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row)]
    assert sorted(named) == sorted(["--format", *FORMATS, "debezium"])


def test_the_readme_says_how_many_protocols_there_are() -> None:
    (said,) = re.findall(r"\[(\d+) protocols\]", (ROOT / "README.md").read_text())
    assert int(said) == len(antecede.list_protocols())


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    settings = (ROOT / "zensical.toml").read_text()
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r'"([\w/.-]+\.md)"', settings))


def test_the_newest_section_of_the_changelog_is_of_this_version() -> None:
    """What is *Unreleased* may stand above it."""
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    newest = sections[1] if sections[0] == "Unreleased" else sections[0]
    assert f'version = "{newest}"' in (ROOT / "pyproject.toml").read_text()


def test_demo_tells_who_waits_for_what() -> None:
    console = Console(width=110, record=True, file=io.StringIO())
    triangle.show_protocols_on_triangle_and_bad_network(console)
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
