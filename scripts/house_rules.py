"""The rules here that no linter knows. Prints each breach with its remedy; exit code 1 if there is any."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
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

NOT_UNDER_CONNECT = ("_jvm", "sparkContext", "rdd")
"""Attributes that a session or a DataFrame has not under Spark Connect."""

WITH_JVM = ("spark", "engines", "kafka")
"""The folders of tests that start a JVM."""
NO_JVM = "No test in this folder starts a JVM."

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
    """Each module under src says what it is for, and Spark stays in its room."""
    if ast.get_docstring(tree) is None:
        if file.name == "__init__.py":
            remedy = "open it with what the package owns and what it must not know"
        else:
            remedy = "open it with what the module is for"
        yield Breach(file, 1, f"no docstring; {remedy}")
    if file.parent.name != "src" and not (ROOT / file.parent / "__init__.py").is_file():
        yield Breach(file, 1, "its directory has no __init__.py; add one that says what the package owns")
    yield from check_use_of_spark(file, tree)


def check_use_of_spark(file: PurePosixPath, tree: ast.Module) -> Iterator[Breach]:
    """All files of the room spark import pyspark and no other file does; others load that room when they run.

    What is imported for its types alone is not loaded at all, and so it is free.
    """
    if file.is_relative_to("src/pyspark_antecede"):  # which is loaded by Spark alone
        return
    if file.is_relative_to("src/antecede/spark"):
        yield from check_manners(file, tree)
        if file.name != "__init__.py" and not any(imports(node, "pyspark") for node in ast.walk(tree)):
            yield Breach(file, 1, "does not import pyspark; move it to a room without Spark")
        return
    for node in loaded_nodes(tree):
        if imports(node, "pyspark"):
            yield Breach(file, node.lineno, "imports pyspark outside the room spark; move it there")
    for node in loaded_nodes(tree, inside_functions=False):
        if imports(node, "antecede.spark"):
            sentence = "loads the room spark at once; import it in the function that needs it"
            yield Breach(file, node.lineno, sentence)


def check_manners(file: PurePosixPath, tree: ast.Module) -> Iterator[Breach]:
    """The caller's session is not changed, and may be one of Spark Connect."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if node.attr in NOT_UNDER_CONNECT:
            yield Breach(file, node.lineno, f"{node.attr} is not there under Spark Connect; do without it")
        is_of_session = isinstance(node.value, ast.Attribute) and node.value.attr == "conf"
        if is_of_session and node.attr in ("set", "unset"):
            yield Breach(file, node.lineno, "changes a setting of the caller's session; do without it")


def loaded_nodes(node: ast.AST, inside_functions: bool = True) -> Iterator[ast.stmt]:
    """The statements below a node that are run, but not those for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.stmt):
            yield child
        if inside_functions or not isinstance(child, Function):
            yield from loaded_nodes(child, inside_functions)


def imports(node: ast.AST, package: str) -> bool:
    """Whether a node is an import of a package or of something in it."""
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        return False
    return any(f"{name}.".startswith(f"{package}.") for name in names)


def check_class_names(trees: dict[PurePosixPath, ast.Module]) -> Iterator[Breach]:
    """One name, one thing: no two classes under src are called the same."""
    first: dict[str, PurePosixPath] = {}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            if node.name in first:
                sentence = f"a second class {node.name}, besides that of {first[node.name]}; rename one"
                yield Breach(file, node.lineno, sentence)
            first.setdefault(node.name, file)


def check_test_folder(file: PurePosixPath, tree: ast.Module) -> Iterator[Breach]:
    """A folder of tests says what it is for, and that it starts no JVM where that is so."""
    text = " ".join((ast.get_docstring(tree) or "").split())
    if not text:
        yield Breach(file, 1, "no docstring; say what these tests are for")
    elif file.parent.name not in WITH_JVM and NO_JVM not in text:
        yield Breach(file, 1, f"does not say {NO_JVM!r}; tests with a JVM belong to {' or '.join(WITH_JVM)}")


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


def check_file(file: PurePosixPath, text: str) -> Iterator[Breach]:
    """Whatever can be said of one file."""
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
    if file.parts[0] == "tests" and file.name == "__init__.py" and len(file.parts) > 2:
        yield from check_test_folder(file, tree)


def parse_sources(texts: dict[PurePosixPath, str]) -> dict[PurePosixPath, ast.Module]:
    """The modules under src that are Python."""
    trees = {}
    for file, text in texts.items():
        if file.parts[0] == "src" and file.suffix == ".py":
            with suppress(SyntaxError):
                trees[file] = ast.parse(text)
    return trees


def read_texts() -> dict[PurePosixPath, str]:
    """Every file of the repository that is text."""
    texts = {}
    for file in tracked_files():
        raw = (ROOT / file).read_bytes()
        if b"\0" not in raw:
            texts[file] = raw.decode("utf-8", errors="replace")
    return texts


def main() -> int:
    texts = read_texts()
    breaches = [breach for file, text in texts.items() for breach in check_file(file, text)]
    breaches += check_class_names(parse_sources(texts))
    for breach in breaches:
        print(breach)
    print(f"house rules: {len(breaches)} breach{'' if len(breaches) == 1 else 'es'}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
