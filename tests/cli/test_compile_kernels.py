"""Kernels compiled beforehand: afterwards no command compiles. The first use says that it does.

Compiling all kernels takes more than a minute. So nothing is compiled here to see what the set-up compiles:
which kernels it calls, and with arguments of which types, is the same where they are only loaded.
"""

import ast
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

import antecede
from antecede.cli import compile_kernels
from antecede.cli.logs import open_spark
from antecede.kernels import announcement
from antecede.kernels.compiled import kernels, list_kernel_modules
from antecede.spark import running

SOURCE = Path(antecede.__file__).parent
EXAMPLE = Path(__file__).parents[2] / "examples" / "chat.jsonl"
ANNOUNCEMENT = "compiling for this machine: once, for about a minute\n"

PROGRAM = """
import sys
from contextlib import redirect_stdout, suppress
from antecede.cli.compile_kernels import compile_kernels, list_uncompiled_kernels
from antecede.cli.app import app
from antecede.kernels.compiled import kernels

def list_signatures():
    return {(kernel.__name__, str(signature)) for kernel in kernels for signature in kernel.signatures}

def list_reached():
    reached = [kernel for kernel in kernels if kernel.signatures]
    for kernel in reached:
        function = kernel.py_func
        for name in function.__code__.co_names:
            callee = function.__globals__.get(name)
            if hasattr(callee, "py_func") and callee not in reached:
                reached.append(callee)
    return reached

compile_kernels()
list_uncompiled_kernels()  # imports the modules of all kernels
reached = list_reached()
print("never compiled:", *(kernel.__name__ for kernel in kernels if kernel not in reached))
before = list_signatures()
for command in sys.argv[1:]:
    with redirect_stdout(sys.stderr), suppress(SystemExit):
        app(command.split())
print("compiled later:", *(list_signatures() - before))
"""
"""Does what the set-up does, then the commands. Prints the kernels that the set-up does not compile, also not
as a part of others, and what the commands compile that the set-up did not."""


def test_the_set_up_compiles_every_kernel_and_afterwards_no_command_compiles(tmp_path) -> None:
    commands = (
        "simulate --protocol matrix -n 3 -m 50 --crashes 1 --out run",
        f"audit {EXAMPLE} --report page.html --shiviz shiviz.log",
        "audit run/events.parquet",
        "compare run/events.parquet",
        f"compare {EXAMPLE}",
        "order run/messages.parquet --out ordered-messages",
        f"order {EXAMPLE} --out ordered-events",
    )
    program = [sys.executable, "-c", PROGRAM, *commands]
    done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.splitlines() == ["never compiled:", "compiled later:"]
    assert (tmp_path / "page.html").exists() and (tmp_path / "ordered-events").exists()


def test_all_functions_that_are_compiled_are_known_as_kernels() -> None:
    compile_kernels.list_uncompiled_kernels()
    modules = {module.rpartition(".")[2] for module in list_kernel_modules()}
    names = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and is_marked_as_compiled(node):
                assert file.stem in modules
                names.add((file.stem, node.name))
    assert names == {(kernel.__module__.rpartition(".")[2], kernel.__name__) for kernel in kernels}


def is_marked_as_compiled(function: ast.FunctionDef) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "compiled" for mark in function.decorator_list)


def test_the_first_use_says_that_it_compiles(tmp_path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    command = [sys.executable, "-m", "antecede", "audit", str(EXAMPLE)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        first_line = process.stderr.readline()
        process.kill()
    assert first_line == ANNOUNCEMENT


@pytest.fixture
def said(monkeypatch) -> list[str]:
    """What the screen shows, and what is started, one behind the other."""
    said: list[str] = []
    monkeypatch.setattr(announcement, "listener", lambda: said.append("announcement"))
    monkeypatch.setattr(subprocess, "run", lambda command, **options: said.append(command[-1]))
    monkeypatch.setattr(running, "open_session", lambda master, **settings: nullcontext())
    return said


def enter_spark(master: str | None) -> None:
    """Do all that comes before a session is opened."""
    with open_spark(master):
        pass


def test_before_spark_starts_on_this_machine_what_is_missing_is_compiled(said, monkeypatch) -> None:
    monkeypatch.setattr(compile_kernels, "list_uncompiled_kernels", lambda: kernels[:1])
    enter_spark(None)
    assert said == ["announcement", "antecede.cli.compile_kernels"]


def test_before_spark_starts_nothing_is_compiled_twice(said, monkeypatch) -> None:
    monkeypatch.setattr(compile_kernels, "list_uncompiled_kernels", list)
    enter_spark("local[2]")
    assert said == []


def test_where_nothing_can_be_kept_workers_compile_and_the_screen_says_so(said, monkeypatch) -> None:
    kernel = kernels[0]
    monkeypatch.setattr(compile_kernels, "list_uncompiled_kernels", lambda: [kernel])
    monkeypatch.setattr(kernel, "_cache", object())
    enter_spark(None)
    assert said == ["announcement"]


def test_a_kernel_is_missing_until_something_is_kept_of_it(monkeypatch) -> None:
    kernel = kernels[0]
    index = kernel._cache._cache_file
    monkeypatch.setattr(index, "_load_index", lambda: {"types of arguments": "file"})
    assert kernel not in compile_kernels.list_uncompiled_kernels()
    monkeypatch.setattr(index, "_load_index", dict)
    assert kernel in compile_kernels.list_uncompiled_kernels()
