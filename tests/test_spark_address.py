"""What `--master` may be, and who is there: told before Spark starts. No test in this folder starts a JVM."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from antecede import spark_address
from antecede.core.errors import CallerError, SetupError
from antecede.spark_address import check_spark_answers, find_spark_address, parse_spark_address
from tests.commands import here


@pytest.mark.parametrize(
    ("text", "kind", "hosts"),
    [
        ("local", "embedded", ()),
        ("local[2]", "embedded", ()),
        ("local[*, 3]", "embedded", ()),
        ("local-cluster[2, 1, 1024]", "embedded", ()),
        ("yarn", "cluster", ()),
        ("k8s://https://10.0.0.1:6443", "cluster", ()),
        ("spark://one:7077", "cluster", (("one", 7077),)),
        ("spark://one:7077,two:7078", "cluster", (("one", 7077), ("two", 7078))),
        ("sc://one", "connect", (("one", 15002),)),
        ("sc://[::1]:15003/;token=x;use_ssl=true", "connect", (("::1", 15003),)),
    ],
)
def test_what_spark_takes_is_an_address(text: str, kind: str, hosts: tuple[tuple[str, int], ...]) -> None:
    address = parse_spark_address(text)
    assert (address.text, address.kind, address.hosts) == (text, kind, hosts)


@pytest.mark.parametrize(
    "text", ["", "spark:/foo", "spark://one", "spark://one:7077/x", "loc", "local[two]", "http://one:8080"]
)
def test_what_it_does_not_take_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(CallerError, match=r"is no address of a Spark; write local\[2\], spark://HOST:7077"):
        parse_spark_address(text)


def test_the_environment_may_name_a_server(monkeypatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "local[2]")
    assert find_spark_address(None).is_remote
    assert not find_spark_address("local[2]").is_remote
    monkeypatch.delenv("SPARK_REMOTE")
    assert find_spark_address(None) == parse_spark_address("local[*]")
    assert find_spark_address("sc://one").is_remote


@contextmanager
def listen(answer: bytes | None) -> Iterator[int]:
    """A port at which somebody answers so; or takes calls, and is silent."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def answer_one() -> None:
            with server.accept()[0] as connection:
                connection.recv(100)
                connection.sendall(answer or b"")

        if answer is not None:
            threading.Thread(target=answer_one, daemon=True).start()
        yield server.getsockname()[1]


@pytest.mark.parametrize("form", ["spark://127.0.0.1:{}", "sc://127.0.0.1:{}"])
def test_who_is_silent_is_named_in_time(form: str, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setattr(spark_address, "ANSWER_TIME", 0.5)
    (tmp_path / "log.jsonl").write_text('{"process": "a", "event": "a1"}\n')
    begin = time.monotonic()
    with listen(None) as port:
        master = form.format(port)
        done = here(monkeypatch, capsys, "audit", tmp_path / "log.jsonl", "--master", master)
    assert time.monotonic() - begin < 10
    said = f"error: --master {master}: 127.0.0.1:{port} does not answer within 0.5 seconds; start Spark there"
    assert (done.code, done.err.count("\n")) == (2, 1) and done.err.startswith(said)
    assert spark_address.ANSWER_TIME < 10


def test_where_nobody_listens_is_told() -> None:
    with listen(None) as port:
        pass
    with pytest.raises(SetupError, match=rf"127.0.0.1:{port} does not answer \(.*refused\); start Spark"):
        check_spark_answers(parse_spark_address(f"spark://127.0.0.1:{port}"))
    with pytest.raises(SetupError, match=r"no-such-host.invalid:7077 does not answer \("):
        check_spark_answers(parse_spark_address("spark://no-such-host.invalid:7077"))


def test_a_web_page_is_not_taken_for_a_master() -> None:
    with listen(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port, pytest.raises(SetupError, match="web page"):
        check_spark_answers(parse_spark_address(f"spark://127.0.0.1:{port}"))


def test_one_master_that_answers_is_enough() -> None:
    with listen(None) as gone:
        pass
    with listen(b"anything") as port:
        check_spark_answers(parse_spark_address(f"spark://127.0.0.1:{gone},127.0.0.1:{port}"))


def test_a_command_refuses_other_masters_before_spark(monkeypatch, capsys, tmp_path) -> None:
    (tmp_path / "log.jsonl").write_text('{"process": "a", "event": "a1"}\n')
    for engine in ("auto", "spark"):
        words = ("audit", tmp_path / "log.jsonl", "--master", "spark:/foo", "--engine", engine)
        done = here(monkeypatch, capsys, *words)
        assert done.code == 2
        assert done.err.startswith("error: --master spark:/foo: is no address of a Spark; write local[2], ")
