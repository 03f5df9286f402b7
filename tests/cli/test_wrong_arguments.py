"""What can be judged without Spark is judged before it starts; inputs that attack are refused in words."""

import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.cli import logs as cli_logs
from antecede.formats import source
from tests.commands import TRIANGLE, here, story
from tests.formats.samples import lines

HOSTILE = "<script>alert(1)</script>\x1b[31m\x1b]0;owned\x07\u202e[bold]\u2066\x00\r\n"
"""Script, escape codes, marks that turn the direction of writing, and markup."""


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs a command in a folder with a log; it fails where Spark would be started."""
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(TRIANGLE)
    Path("file").write_text("")
    pq.write_table(pa.table({"sender": ["a"], "stamp": [1], "topic": ["t"]}), "m.parquet")
    Path("m.csv").write_text("sender,stamp\na,1\n")
    Path("csv").mkdir()
    Path("csv/m.csv").write_text("sender,stamp\na,1\n")
    Path("in").mkdir()
    pq.write_table(pa.table({"sender": ["a"], "stamp": [1]}), "in/m.parquet")

    def start_spark(*_: object, **__: object) -> None:
        raise AssertionError("Spark was to be started")

    monkeypatch.setattr(cli_logs, "open_spark", start_spark)
    return lambda *words: here(monkeypatch, capsys, *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("audit", "log", "--staging", "file"), "--staging file: is a file; name a folder"),
        (("audit", "log", "--staging", "file/below"), "--staging file/below:"),
        (("audit", "log", "--format", "shivis"), "no format 'shivis'; choose one of"),
        (("audit", "log", "--regex", "("), "is no regular expression"),
        (("audit", "log", "--field", "proces=host"), "no field proces; fields are"),
        (("compare", "log", "--format", "shivis"), "no format 'shivis'; choose one of"),
        (("order", "log", "--format", "shivis", "--out", "out"), "no format 'shivis'; choose one of"),
        (("order", "log", "--staging", "file", "--out", "out"), "--staging file: is a file; name a folder"),
        (
            ("order", "m.parquet", "--group", "tpic", "--out", "out"),
            "no column 'tpic'; there are: sender, stamp",
        ),
        (
            ("order", "m.csv", "--group", "topic", "--out", "out"),
            "no column 'topic'; there are: sender, stamp",
        ),
        (
            ("order", "m.csv", "--form", "vektor", "--out", "out"),
            "'vektor' is no form of stamps: give --form, one of",
        ),
        (("order", "m.csv", "--format", "xml", "--group", "topic", "--out", "out"), "not 'xml'"),
    ],
)
def test_a_wrong_argument_is_told_before_spark_starts(run, words, sentence) -> None:
    done = run(*words, "--engine", "spark")
    assert done.code == 2 and done.out == ""
    assert sentence in " ".join(done.err.split())
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("csv", "--stamp", "stamp"), "not CSV"),
        (("in", "--stamp", "clock"), "no column 'clock'"),
        (("in", "--stamp", "stamp", "--sink", "iceberg"), "not 'iceberg'"),
        (("in", "csv", "--stamp", "stamp"), "reads one folder"),
        (("m.parquet", "--stamp", "stamp"), "--follow m.parquet: is no folder; name the one that"),
        (("in/*.parquet", "--stamp", "stamp"), "--follow in/*.parquet: is no folder; name the one that"),
    ],
)
def test_a_wrong_stream_is_told_before_spark_starts(run, words, sentence) -> None:
    done = run("order", *words, "--follow", "--out", "out", "--checkpoint", "state")
    assert done.code == 2 and sentence in " ".join(done.err.split())
    assert not Path("out").exists() and not Path("state").exists()


@pytest.mark.parametrize(
    ("out", "checkpoint", "sentence"),
    [
        ("state", "state", "--out and --checkpoint are both state: name two folders"),
        ("a/../state", "state", "--out and --checkpoint are both a/../state: name two folders"),
        ("state/out", "state", "--out state/out: is inside of --checkpoint state; name a folder elsewhere"),
        ("out", "out/state", "--checkpoint out/state: is inside of --out out; name a folder elsewhere"),
    ],
)
def test_tables_and_checkpoint_of_a_stream_are_two_folders(run, out, checkpoint, sentence) -> None:
    words = ("order", "in", "--stamp", "stamp", "--follow", "--out", out, "--checkpoint", checkpoint)
    done = run(*words)
    assert done.code == 2 and sentence in " ".join(done.err.split())
    assert not Path("out").exists() and not Path("state").exists()
    # A stream that began so goes on.
    Path(checkpoint, "spark").mkdir(parents=True)
    Path(checkpoint, "spark", "metadata").write_text("")
    with pytest.raises(AssertionError, match="Spark was to be started"):
        run(*words)


@pytest.fixture
def little_memory(monkeypatch):
    """A machine whose memory lets 125 kB be unpacked."""
    monkeypatch.setattr(source, "read_memory_gigabytes", lambda: 1e6 / 2**30)


@pytest.mark.usefixtures("little_memory")
def test_a_gzip_bomb_is_refused_in_one_sentence(run) -> None:
    Path("bomb.gz").write_bytes(gzip.compress(b" " * 10_000_000))
    done = run("audit", "bomb.gz")
    assert done.code == 2 and done.out == ""
    said = " ".join(done.err.split())
    assert "bomb.gz: gzip unpacks to more than 0.00013 GB, too much for the memory of this machine" in said
    assert "unpack it" in said


@pytest.mark.usefixtures("little_memory")
def test_a_gzip_bomb_beside_a_log_is_put_aside(run) -> None:
    Path("bomb.gz").write_bytes(gzip.compress(b" " * 10_000_000))
    done = run("audit", "log", "bomb.gz")
    assert done.code == 1 and "bomb.gz: cannot be read: gzip unpacks to more than" in " ".join(
        done.out.split()
    )
    assert "[late]" not in done.err


@pytest.mark.usefixtures("little_memory")
def test_a_packed_table_of_messages_that_unpacks_to_too_much(run) -> None:
    row = json.dumps({"sender": "a", "stamp": 1}) + "\n"
    Path("m.gz").write_bytes(gzip.compress(row.encode() * 100_000))
    done = run("order", "m.gz", "--stamp", "stamp", "--out", "out", "--engine", "local")
    assert done.code == 2 and "gzip unpacks to more than" in done.err and "--engine spark" in done.err
    assert not Path("out").exists()


def test_a_packed_log_that_fits_is_read(run) -> None:
    Path("log.gz").write_bytes(gzip.compress(TRIANGLE.encode()))
    assert "1 late" in " ".join(run("audit", "log.gz").out.split())


@pytest.mark.parametrize("command", [("audit",), ("order", "--out", "out"), ("compare",)])
def test_names_in_a_log_do_nothing_in_a_terminal(run, command) -> None:
    records = story("p1 send x; p1 send y; p2 deliver y; p2 send z; p3 deliver z; p3 deliver x; p3 deliver w")
    records += [{"process": "p4", "kind": HOSTILE, "event": "k"}, {"process": 7, "kind": HOSTILE}]
    for record in records:
        for name in ("process", "message", "event"):
            record[name] = f"{record.get(name)}{HOSTILE}"
    records.append({"process": HOSTILE, "event": "e", "parents": [HOSTILE], "execution": HOSTILE})
    Path(f"a{HOSTILE.replace('/', '')[:20]}.log").write_text(lines(*records) + f"{{{HOSTILE}\n")
    name, *options = command
    done = run(name, *Path().glob("a*.log"), *options)
    assert done.code in (0, 1), done
    said = done.out + done.err
    assert "script" in said
    assert not set("\x1b\x07\x00\r\u202e\u2066") & set(said)


ATTACKS = {
    "braces": "{" * 2_000_000,
    "brackets": "[" * 200_000 + "]" * 200_000,
    "nested value": '{"process": "a", "event": ' + "[" * 200_000 + "]" * 200_000 + "}",
    "digits": '{"process": "a", "event": "e", "time": ' + "9" * 100_000 + "}",
    "quotes": '"' * 1_000_000,
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(
    "options", [("audit",), ("order", "--out", "out"), ("order", "--out", "out", "--stamp", "s")]
)
def test_text_that_attacks_readers_is_refused_in_one_sentence(run, attack, options) -> None:
    Path("attack").write_text(ATTACKS[attack])
    command, *more = options
    done = run(command, "attack", *more)
    assert done.code in (1, 2)
    assert len(done.out + done.err) < 2_000 and "Traceback" not in done.err, done


def test_a_cell_of_csv_that_is_too_long_goes_to_quarantine(run) -> None:
    Path("long.csv").write_text(f'sender,stamp\na,1\n"{"x" * 200_000}",2\n')
    done = run("order", "long.csv", "--stamp", "stamp", "--out", "out")
    assert done.code == 1 and "1 quarantined" in done.out
    assert "long.csv:3: is no record of CSV (field larger than field limit" in " ".join(done.out.split())


@pytest.mark.parametrize("times", [(1e300, -1e300), (1e18, 0), (1e308, 1)])
def test_absurd_times_do_not_fill_the_screen(run, times) -> None:
    records = story("p1 send x; p2 deliver x")
    for record, time in zip(records, times, strict=True):
        record["time"] = time
    Path("absurd").write_text(lines(*records))
    for command in (("audit", "absurd"), ("compare", "absurd"), ("order", "absurd", "--out", "out")):
        done = run(*command)
        assert not re.search("[0-9,]{30}", done.out + done.err), done
