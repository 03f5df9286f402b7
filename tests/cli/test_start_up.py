"""What the command loads before it does anything, and the list of its subcommands."""

import re
import subprocess
import sys

import pytest

from antecede.cli.app import COMMANDS, app
from tests.commands import TRIANGLE, here


def test_the_list_of_commands_says_what_their_help_says() -> None:
    for name, (place, first_line) in COMMANDS.items():
        module, function = place.split(":")
        command = getattr(__import__(module, fromlist=[function]), function)
        assert command.__doc__.partition("\n")[0] == first_line, name
    assert sorted(COMMANDS) == sorted(command.name or "" for command in app.registered_commands)


def list_modules(*words: str) -> set[str]:
    """The modules that are loaded when a command has run in a process of its own."""
    code = (
        "import sys\n"
        "from antecede.cli.app import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: print('loaded:', *sys.modules)\n"
    )
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.partition("loaded: ")[2].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name, monkeypatch, capsys) -> None:
    done = here(monkeypatch, capsys, name, "--help")
    assert done.code == 0
    assert f"Example: antecede {name}" in " ".join(done.out.split())


@pytest.mark.parametrize("subcommand", ["status", "ca"])
def test_help_of_the_parts_of_node_has_an_example(subcommand, monkeypatch, capsys) -> None:
    done = here(monkeypatch, capsys, "node", subcommand, "--help")
    assert done.code == 0
    assert f"Example: antecede node {subcommand}" in " ".join(done.out.split())


def test_version_and_help_load_nothing_heavy() -> None:
    for option in ("--version", "--help"):
        heavy = {"numpy", "numba", "pyarrow", "pyspark", "msgspec", "asyncio", "ssl", "antecede.live"}
        assert not list_modules(option) & heavy


def test_a_local_audit_loads_neither_spark_nor_pandas_nor_the_simulator(tmp_path) -> None:
    log = tmp_path / "log"
    log.write_text(TRIANGLE)
    modules = list_modules("audit", str(log))
    assert "antecede.local.audit" in modules
    assert not modules & {"pyspark", "py4j", "pandas", "antecede.simulate.run", "antecede.spark"}


def test_arrow_still_makes_pandas_tables() -> None:
    code = (
        "from antecede.cli.arrow import load_arrow_without_pandas as load; load(); import pyarrow as pa; "
        "frame = pa.table({'a': [1, None]}).to_pandas(); print(pa.table(frame)['a'].null_count)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize("name", [*COMMANDS, "node status", "node ca"])
def test_help_is_plain_and_fits_80_columns(name, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = here(monkeypatch, capsys, *name.split(), "--help").out
    assert not re.findall(r"<\w+>|list\[|[{}]", out)
    assert max(map(len, out.splitlines())) <= 80
