"""The forms of stamps are listed once: every other place that has one of the names has them all."""

import json
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.ordering import projection
from antecede.ordering.forms import FORMS, OPTION_MEANINGS, join_form_names, write_forms_as_markdown_table
from antecede.ordering.stamp_types import TYPE_CHECKS, choose_form, describe_type
from antecede.ordering.text_stamps import KINDS, list_stamp_kinds
from tests.commands import here
from tests.sql_tables import parse_type

ROOT = Path(__file__).parents[2]


def test_every_form_has_a_type_check_and_a_projection() -> None:
    assert list(TYPE_CHECKS) == list(projection._PROJECTIONS) == list(FORMS)
    assert {option for form in FORMS.values() for option in form.needs} == set(OPTION_MEANINGS)


def test_every_form_but_packets_stands_in_text_with_a_type_that_fits() -> None:
    for form in FORMS:
        kinds = list_stamp_kinds(form, has_id=False)
        assert bool(kinds) == (form != "packets")
        assert all(TYPE_CHECKS[form](KINDS[kind].type) for kind in kinds)


def test_the_document_has_the_table() -> None:
    assert write_forms_as_markdown_table() in (ROOT / "docs" / "forms.md").read_text()


EXAMPLES = re.findall(
    r"^### (\w+)\n.*?```json\n(.*?)```\n\n```sh\nantecede (.*?)\n```",
    (ROOT / "docs" / "forms.md").read_text(),
    re.DOTALL | re.MULTILINE,
)


def test_the_document_has_an_example_of_each_form() -> None:
    assert [form for form, _, _ in EXAMPLES] == [form for form in FORMS if form != "packets"]


@pytest.mark.parametrize(("form", "rows", "command"), EXAMPLES)
def test_an_example_of_the_document(form, rows, command, tmp_path, monkeypatch, capsys) -> None:
    """The rows are out of order, and the command puts them right; it takes them for what the heading says."""
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    assert Path("examples", "forms", f"{form}.jsonl").read_text() == rows
    texts = [json.loads(row)["text"] for row in rows.splitlines()]
    done = here(monkeypatch, capsys, *shlex.split(command))
    assert done.code == 0, done.err
    assert pq.read_table("tidy/ordered")["text"].to_pylist() == texts[::-1]


def test_the_example_of_packets(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    section = (ROOT / "docs" / "forms.md").read_text().partition("### packets")[2].partition("\n## ")[0]
    commands = re.findall(r"^antecede (.*)$", section, re.MULTILINE)
    assert [here(monkeypatch, capsys, *shlex.split(command)).code for command in commands] == [0, 0]
    assert pq.read_table("tidy/ordered").num_rows == 20


def test_the_guide_names_every_form() -> None:
    guide = (ROOT / "docs" / "order-and-audit.md").read_text()
    assert [form for form in FORMS if form != "packets" and f"`{form}`" not in guide] == []


def test_the_help_names_every_form(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert join_form_names() in here(monkeypatch, capsys, "order", "--help").out


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("map<string,int>", "vector"),
        ("map<int,bigint>", "vector"),
        ("array<bigint>", "vector"),
        ("array<array<int>>", "matrix"),
        ("array<struct<a:string,b:string,c:int>>", "triples"),
        ("struct<t:array<int>,l:array<struct<p:int,t:array<int>>>>", "pairs"),
        ("struct<t:map<string,int>,l:map<string,map<string,int>>>", "pairs"),
        ("array<struct<s:string,n:int>>", "log"),
        ("array<struct<s:string,n:int,d:array<string>>>", "log"),
        ("array<string>", "parents"),
        ("int", "sequence"),
    ],
)
def test_a_type_tells_its_form(kind, form) -> None:
    assert choose_form("stamp", parse_type(kind), has_keys=False, has_id=False) == form
    assert describe_type(parse_type(kind)) == kind


def test_other_columns_decide_where_several_forms_fit() -> None:
    counts = pa.list_(pa.int64())
    assert choose_form("stamp", counts, has_keys=True, has_id=False) == "shared"
    assert choose_form("stamp", counts, has_keys=False, has_id=True) == "parents"
