"""The rules here that no linter knows. Prints each breach with its remedy; exit code 1 if there is any."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

# These patterns are written so that they do not match their own source.
UNFINISHED = re.compile(r"\b(?:TO[D]O|FI[X]ME|X{3})\b")
REGISTRY = re.compile(
    r"(?:https?:)?//[^\s\"'<>)]*(?:pypi\.|pythonhosted\.|/simple\b|artifactory|/nexus\b|"
    r"repo1?\.maven\.|npmjs\.|crates\.io|anaconda\.org)",
    re.IGNORECASE,
)
HOME = re.compile(r"(?<![\w.])/(?:home|Users|ro{2}t)/\w|\b[A-Z]:\\Users\\")
HERE = re.compile(
    "|".join(rf"(?<![\w.]){re.escape(str(p))}(?![\w-])" for p in (ROOT, Path.home()) if len(p.parts) > 1)
    or r"(?!)"
)
CHECKING_CALL = re.compile(r"_*(?:assert|check|expect|verify)\w*|raises|warns|fail|run_state_machine_as_test")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Breach(NamedTuple):
    file: PurePosixPath
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.sentence}"


def tracked_files() -> list[PurePosixPath]:
    """Every file that is in the repository, or would be after `git add`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(PurePosixPath(name) for name in set(names) if name and (ROOT / name).is_file())


def functions_of(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def check_text(file: PurePosixPath, text: str) -> Iterator[Breach]:
    """Nothing that holds only on one machine, and in code no unfinished business."""
    for number, line in enumerate(text.splitlines(), start=1):
        if REGISTRY.search(line):
            yield Breach(file, number, "address of a package registry; leave it to the user's own settings")
        if HOME.search(line) or HERE.search(line):
            yield Breach(file, number, "absolute path of one machine; write it relative to the repository")
        if file.suffix == ".py" and (word := UNFINISHED.search(line)):
            yield Breach(file, number, f"{word.group()} left in the code; do it, or file it as an issue")


def check_source(file: PurePosixPath, tree: ast.Module) -> Iterator[Breach]:
    """Each module under src says what it is for, and the room spark is for what needs Spark."""
    if ast.get_docstring(tree) is None:
        if file.name == "__init__.py":
            remedy = "open it with what the package owns and what it must not know"
        else:
            remedy = "open it with what the module is for"
        yield Breach(file, 1, f"no docstring; {remedy}")
    if file.parent.name != "src" and not (ROOT / file.parent / "__init__.py").is_file():
        yield Breach(file, 1, "its directory has no __init__.py; add one that says what the package owns")
    in_spark = file.is_relative_to("src/antecede/spark") and file.name != "__init__.py"
    if in_spark and not any(map(imports_pyspark, ast.walk(tree))):
        yield Breach(file, 1, "does not import pyspark; move it to a room without Spark")


def imports_pyspark(node: ast.AST) -> bool:
    """Whether a node is an import of pyspark."""
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] == "pyspark"
    return isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "pyspark" for alias in node.names)


def is_checking(node: ast.AST) -> bool:
    """Whether a node can make a test fail on purpose: an assert, or a call named like one."""
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return CHECKING_CALL.fullmatch(name) is not None


def check_tests(file: PurePosixPath, tree: ast.Module) -> Iterator[Breach]:
    """A test that cannot fail is no test."""
    for function in functions_of(tree):
        if function.name.startswith("test") and not any(map(is_checking, ast.walk(function))):
            sentence = f"{function.name} checks nothing; add an assert, pytest.raises or a check_... call"
            yield Breach(file, function.lineno, sentence)


def check_file(file: PurePosixPath) -> Iterator[Breach]:
    raw = (ROOT / file).read_bytes()
    if b"\0" in raw:
        return
    text = raw.decode("utf-8", errors="replace")
    yield from check_text(file, text)
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        yield Breach(file, error.lineno or 1, f"not Python: {error.msg}; repair the syntax")
        return
    if file.parts[0] == "src":
        yield from check_source(file, tree)
    if file.parts[0] == "tests" and file.name.startswith("test_"):
        yield from check_tests(file, tree)


def main() -> int:
    breaches = [breach for file in tracked_files() for breach in check_file(file)]
    for breach in breaches:
        print(breach)
    print(f"house rules: {len(breaches)} breach{'' if len(breaches) == 1 else 'es'}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
