"""docs/errata.md and the tests here: nothing is claimed without a test, nothing is tested and not told."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
NAMED = re.findall(r"(tests/[\w/]+\.py)::(test_\w+)", TEXT)


def test_every_test_named_exists() -> None:
    assert NAMED
    for file, name in NAMED:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file} has no {name}"


def test_every_erratum_tested_is_told() -> None:
    files = [file for file in Path(__file__).parent.glob("test_errata_*.py") if file != Path(__file__)]
    for file in files:
        here = re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
        missing = {*here} - {name for path, name in NAMED if path.endswith(file.name)}
        assert not missing, f"docs/errata.md does not name {missing} of {file.name}"


def test_every_file_named_exists() -> None:
    for file in re.findall(r"`((?:src|tests)/[\w/.]+)`", TEXT):
        assert (ROOT / file).exists(), f"docs/errata.md names {file}, which does not exist"
