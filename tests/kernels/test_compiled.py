"""Kernels are compiled once per machine, by one process at a time, and again when any of them has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import antecede
from antecede.kernels import compiled

SOURCE = Path(antecede.__file__).parent

PROGRAM = """
import numpy as np
from antecede.kernels import announcement
said = []
announcement.listener = lambda: said.append("compiling")
from antecede.kernels.arrays import group_by_key
group_by_key(np.array([1, 0, 1]), 2)
print(*said)
"""
"""Prints a word if a kernel had to be compiled."""


WAITING_THREAD = """
import threading, time
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from antecede.kernels import compiled
from antecede.kernels.arrays import group_by_key
thread = threading.Thread(target=group_by_key, args=(np.array([1, 0, 1]), 2))
with global_compiler_lock:
    thread.start()
    time.sleep(1)
    print(*compiled._locked_folders)
thread.join()
"""
"""Prints the folders that are locked while a thread waits for its turn to compile."""


@pytest.fixture
def package(tmp_path):
    """A copy of the package that nothing was compiled for."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE, tmp_path / "antecede", ignore=ignored)
    return tmp_path


def start(package, program=PROGRAM, **variables):
    environment = {**os.environ, "PYTHONPATH": str(package), **variables}
    environment.pop("NUMBA_CACHE_DIR", None)  # else kernels are kept in the folder that `make matrix` names
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def output_of(process):
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return output.strip()


def test_of_two_processes_that_start_together_one_compiles(package):
    processes = [start(package), start(package)]
    assert sorted(map(output_of, processes)) == ["", "compiling"]


def test_what_was_compiled_is_loaded_until_any_kernel_changes(package):
    assert output_of(start(package)) == "compiling"
    assert output_of(start(package)) == ""
    with (package / "antecede" / "kernels" / "bits.py").open("a") as other_kernel:
        other_kernel.write("# changed\n")
    assert output_of(start(package)) == "compiling"


def forbid_folders(package):
    """Let nothing be kept beside the sources: files stand where the folders should be."""
    for folder in ("kernels", "simulate/verdict"):
        (package / "antecede" / folder / "__pycache__").touch()


def test_where_the_package_cannot_be_written_to_the_users_cache_is_taken(package):
    forbid_folders(package)
    assert output_of(start(package, XDG_CACHE_HOME=str(package / "cache"))) == "compiling"
    assert output_of(start(package, XDG_CACHE_HOME=str(package / "cache"))) == ""


def test_where_nothing_can_be_written_each_process_compiles(package):
    forbid_folders(package)
    (package / "cache").touch()
    for _ in range(2):
        assert output_of(start(package, XDG_CACHE_HOME=str(package / "cache"))) == "compiling"


def test_a_kernel_that_calls_those_of_another_folder_takes_both_locks_once(monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(compiled, "_open_and_lock_file", opened.append)
    for _ in range(2):
        with (
            compiled._lock_folder("verdict"),
            compiled._lock_folder("kernels"),
            compiled._lock_folder("kernels"),
            compiled._lock_folder("verdict"),
        ):
            pass
    assert opened == ["verdict", "kernels"] * 2


def test_a_thread_that_waits_for_another_one_to_compile_locks_no_folder(package):
    """Else the two wait for each other, if what the other one compiles needs a kernel of that folder."""
    assert output_of(start(package, WAITING_THREAD)) == ""
