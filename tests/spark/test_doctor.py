"""`antecede doctor`, as its user runs it."""

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

from typer.testing import CliRunner

from antecede import java
from antecede.cli import doctor as command
from antecede.cli.app import app
from antecede.core.errors import SetupError


def test_a_machine_that_has_all() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "antecede", "doctor", "--json"], capture_output=True, text=True, check=False
    )
    checks = {check["what"]: check for check in json.loads(done.stdout)}
    assert set(checks) == {"Python", "SQLite", "Java", "Spark", "memory", "temporary space", "leftovers"}
    assert done.returncode == 0, [check for check in checks.values() if check["remedy"]]


def test_each_thing_missing_has_its_remedy(monkeypatch) -> None:
    def no_java():
        raise SetupError("Spark needs Java 17 or newer, and none was found: install one")

    def no_package(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(java, "find_java", no_java)
    monkeypatch.setattr(command, "version", no_package)
    monkeypatch.setattr(command, "read_memory_gigabytes", lambda: 0.5)
    monkeypatch.setattr(command, "LEAST_SPACE", 10**9)
    result = CliRunner().invoke(app, ["doctor", "--json"])
    remedies = {check["what"]: check["remedy"] for check in json.loads(result.stdout)}
    assert result.exit_code == 2 and remedies["Python"] == ""
    assert "install one" in remedies["Java"] and "pip install" in remedies["Spark"]
    assert "--master" in remedies["memory"] and "TMPDIR" in remedies["temporary space"]


def test_people_see_signs_and_remedies(monkeypatch) -> None:
    monkeypatch.setattr(command, "read_memory_gigabytes", lambda: 0.5)
    result = CliRunner().invoke(app, ["doctor"], env={**os.environ, "COLUMNS": "150"})
    assert "✗" in result.output and "use a cluster" in result.output and "✓" in result.output


def test_the_versions_of_sqlite_with_a_race_are_told_and_do_no_harm(monkeypatch) -> None:
    for version, is_told in (((3, 6, 23), False), ((3, 7, 0), True), ((3, 51, 2), True), ((3, 51, 3), False)):
        monkeypatch.setattr("sqlite3.sqlite_version_info", version)
        (check,) = (check for check in command.check_machine() if check.what == "SQLite")
        assert ("leave its journal alone" in check.found) == is_told
        assert check.remedy == ""
