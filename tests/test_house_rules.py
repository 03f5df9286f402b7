"""The rules of the house find what they are for, and nothing else."""

import ast
import importlib.util
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def load_rules() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house_rules", ROOT / "scripts" / "house_rules.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rules = load_rules()


def list_sentences(check: str, file: str, source: str) -> list[str]:
    breaches = getattr(rules, check)(PurePosixPath(file), ast.parse(source))
    return [breach.sentence for breach in breaches]


@pytest.mark.parametrize(
    ("file", "source", "breaches"),
    [
        ("spark/a.py", "from pyspark.sql import functions", 0),
        ("spark/a.py", "def f():\n    import pyspark", 0),
        ("spark/a.py", "import numpy", 1),
        ("spark/__init__.py", "", 0),
        ("spark/a.py", "import pyspark\nspark.conf.set('a', 'b')", 1),
        ("spark/a.py", "import pyspark\nspark.conf.get('a')\nspark.sparkContext", 1),
        ("cli/a.py", "from pyspark import sql", 1),
        ("cli/a.py", "def f():\n    from pyspark import sql", 1),
        ("cli/a.py", "if TYPE_CHECKING:\n    from pyspark import sql\n    import antecede.spark", 0),
        ("cli/a.py", "def f():\n    from antecede.spark import order", 0),
        ("cli/a.py", "from antecede.spark.session import session", 1),
        ("cli/a.py", "from antecede import spark", 1),
        ("cli/a.py", "try:\n    import antecede.spark\nexcept ImportError:\n    pass", 1),
        ("cli/a.py", "import antecede.sparkling", 0),
    ],
)
def test_spark_stays_in_its_room(file, source, breaches) -> None:
    assert len(list_sentences("check_use_of_spark", f"src/antecede/{file}", source)) == breaches


def test_two_classes_of_one_name_are_found() -> None:
    sources = {"a.py": "class Row: pass", "b.py": "class Line: pass\nclass Row: pass", "c.py": "Row = int"}
    trees = {PurePosixPath(name): ast.parse(source) for name, source in sources.items()}
    (breach,) = rules.check_class_names(trees)
    assert (str(breach.file), breach.line) == ("b.py", 2)
    assert "that of a.py" in breach.sentence


def test_a_folder_of_tests_says_that_it_starts_no_jvm() -> None:
    assert list_sentences("check_test_folder", "tests/core/__init__.py", '"""Tests of core."""')
    said = '"""Tests of core. No test in this\nfolder starts a JVM."""'
    assert not list_sentences("check_test_folder", "tests/core/__init__.py", said)
    assert not list_sentences("check_test_folder", "tests/spark/__init__.py", '"""Tests on Spark."""')
    assert list_sentences("check_test_folder", "tests/spark/__init__.py", "")


@pytest.mark.parametrize(
    ("body", "breaches"),
    [
        ("assert f()", 0),
        ("check_all(f())", 0),
        ("with pytest.raises(KeyError):\n        f()", 0),
        ("f()", 1),
        ("pass", 1),
    ],
)
def test_tests_that_cannot_fail_are_found(body, breaches) -> None:
    source = f"def test_it():\n    {body}\n"
    assert len(list_sentences("check_tests", "tests/test_it.py", source)) == breaches


@pytest.mark.parametrize(
    ("text", "breaches"),
    [
        ("/" + "home/ann/log", 1),
        (f"{ROOT}/src", 1),
        ("https://" + "pypi.org/project/antecede", 1),
        ("x = 1  # " + "TO" + "DO later", 1),
        ("/etc/hosts and ../shared", 0),
    ],
)
def test_what_holds_on_one_machine_only_is_found(text, breaches) -> None:
    assert len(list(rules.check_text(PurePosixPath("a.py"), text))) == breaches
