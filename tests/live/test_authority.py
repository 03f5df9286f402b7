"""`antecede node ca`: certificates with which nodes know each other, and keep others out."""

import asyncio
import stat
from pathlib import Path

import pytest

from antecede import CallerError, live
from antecede.live.service.authority import make_certificates_and_tell_if_authority_is_new
from tests.commands import here
from tests.live.cluster import find_free_port


def load(folder: Path, name: str, authority: Path | None = None) -> live.Certificate:
    return live.Certificate(
        certificate=folder / f"{name}.pem",
        private_key=folder / f"{name}.key",
        authority=(authority or folder) / "ca.pem",
    )


def test_the_command_makes_files_for_their_owner_alone(tmp_path: Path, monkeypatch, capsys) -> None:
    out = tmp_path / "certificates"
    done = here(monkeypatch, capsys, "node", "ca", "a", "b", "--out", out)
    assert done.code == 0 and "a, b, certified for 825 days by a new authority" in done.out
    assert {file.name for file in out.iterdir()} == {"ca.pem", "ca.key", "a.pem", "a.key", "b.pem", "b.key"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in out.iterdir()} == {0o600}
    before = {file: file.read_bytes() for file in out.iterdir()}
    again = here(monkeypatch, capsys, "node", "ca", "c", "b", "--out", out)
    assert again.code == 2 and "b.pem" in again.err and "not overwritten" in again.err
    assert {file: file.read_bytes() for file in out.iterdir()} == before
    more = here(monkeypatch, capsys, "node", "ca", "c", "--out", out)
    assert more.code == 0 and "by the authority that was there" in more.out


@pytest.mark.parametrize("name", ["", "ca", "..", "x/y", "x" * 65])
def test_names_that_cannot_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="cannot be the name"):
        make_certificates_and_tell_if_authority_is_new(tmp_path / "out", ["a", name], 1)
    with pytest.raises(CallerError, match="named twice"):
        make_certificates_and_tell_if_authority_is_new(tmp_path / "out", ["a", "a"], 1)
    assert not (tmp_path / "out").exists()


def test_half_an_authority_is_refused(tmp_path: Path) -> None:
    make_certificates_and_tell_if_authority_is_new(tmp_path, ["a"], 1)
    (tmp_path / "ca.key").unlink()
    with pytest.raises(CallerError, match=r"ca\.pem exist"):
        make_certificates_and_tell_if_authority_is_new(tmp_path, ["b"], 1)
    make_certificates_and_tell_if_authority_is_new(tmp_path / "other", ["a"], 1)
    (tmp_path / "ca.key").write_bytes((tmp_path / "other" / "ca.key").read_bytes())
    with pytest.raises(CallerError, match="is not the key of"):
        make_certificates_and_tell_if_authority_is_new(tmp_path, ["b"], 1)
    (tmp_path / "ca.key").write_text("nonsense")
    with pytest.raises(CallerError, match="cannot be read"):
        make_certificates_and_tell_if_authority_is_new(tmp_path, ["b"], 1)


async def _try_to_connect(first: live.Certificate, second: live.Certificate) -> tuple[bool, bool]:
    """Whether b is connected with a, and whether a has refused somebody."""
    place = f"tcp://127.0.0.1:{find_free_port()}"
    async with (
        live.join("vector", process="a", listen=place, peers={"Zoë": None}, tls=first, linger=0.0) as a,
        live.join("vector", process="Zoë", peers={"a": place}, tls=second, linger=0.0) as b,
    ):
        for _ in range(100):
            await asyncio.sleep(0.02)
            if b.status().peers["a"].connected or a.status().refused:
                break
        return b.status().peers["a"].connected, bool(a.status().refused)


def test_members_connect_and_others_do_not(tmp_path: Path) -> None:
    make_certificates_and_tell_if_authority_is_new(tmp_path, ["a"], 1)
    make_certificates_and_tell_if_authority_is_new(tmp_path, ["Zoë", "c"], 1)  # the group grows
    make_certificates_and_tell_if_authority_is_new(tmp_path / "other", ["Zoë"], 1)
    a = load(tmp_path, "a")
    assert asyncio.run(_try_to_connect(a, load(tmp_path, "Zoë"))) == (True, False)
    assert asyncio.run(_try_to_connect(a, load(tmp_path, "c"))) == (False, True)
    connected, _ = asyncio.run(_try_to_connect(a, load(tmp_path / "other", "Zoë", tmp_path)))
    assert not connected
