"""What is released: a wheel that works in an empty environment, and an archive of our files alone.

The environment has Python, the wheel, and of the packages of this one exactly those that the wheel says it
needs, with all that these need: links to the files that are here, since to fetch them anew takes minutes. So
a module that the wheel forgets, a package that it uses and does not name, and a broken command are found.
That the lowest versions that it names are enough is not shown here.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from importlib.metadata import Distribution, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from antecede.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what `make dist` builds."""
    if find_spec("hatchling") is None and not os.environ.get("CI"):
        pytest.skip("hatchling is not installed: make setup")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (built,) = dist.glob("*.whl")
    return built


def test_the_source_archive_holds_what_the_repository_holds(dist: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    held = {file for file in done.stdout.splitlines() if (ROOT / file).exists()}
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        packed = {name.partition("/")[2] for name in opened.getnames()}
    assert packed == {*held, "PKG-INFO"}


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it needs; its folder of programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*install, "--no-compile", str(wheel)], check=True, capture_output=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (installed,) = packages.glob("antecede-*.dist-info")
    for needed in list_needed(Distribution.at(installed)):
        link_files(needed, packages)
    bring_compiled_kernels(packages / "antecede")
    return folder / "bin"


def list_needed(start: Distribution) -> list[Distribution]:
    """The distributions that one needs, directly or not, without extras."""
    needed: dict[str, Distribution] = {}
    unseen = [start]
    while unseen:
        for text in unseen.pop().requires or []:
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            if requirement.name not in needed:
                needed[requirement.name] = distribution(requirement.name)
                unseen.append(needed[requirement.name])
    return list(needed.values())


def link_files(package: Distribution, target: Path) -> None:
    """Make what a distribution has put beside others appear in another folder."""
    for name in sorted({file.parts[0] for file in package.files or []} - {"..", "__pycache__"}):
        if not (target / name).exists():
            (target / name).symlink_to(Path(str(package.locate_file(name))))


def bring_compiled_kernels(package: Path) -> None:
    """Kernels that are compiled here serve there: their files are known by the times of their sources.

    To compile them anew takes half a minute, and is another test's business.
    """
    for source in (ROOT / "src" / "antecede").rglob("*"):
        place = package / source.relative_to(ROOT / "src" / "antecede")
        if source.suffix in (".nbi", ".nbc"):
            place.parent.mkdir(exist_ok=True)
            shutil.copy2(source, place)
        elif source.suffix == ".py":
            assert place.read_bytes() == source.read_bytes()
            shutil.copystat(source, place)


def run_there(environment: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(environment / "antecede"), *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        check=False,
    )


def test_nothing_else_is_there(environment: Path) -> None:
    there = [str(environment / "python"), "-c", "import antecede; print(antecede.__file__); import pyspark"]
    done = subprocess.run(there, capture_output=True, text=True, check=False, cwd=environment, env={})
    assert str(environment.parent) in done.stdout
    assert "No module named 'pyspark'" in done.stderr


def test_the_commands_are_listed(environment: Path, tmp_path: Path) -> None:
    done = run_there(environment, tmp_path, "--help")
    assert done.returncode == 0 and all(name in done.stdout for name in COMMANDS), done.stderr
    version = run_there(environment, tmp_path, "--version").stdout
    assert f'version = "{version.split()[1]}"' in (ROOT / "pyproject.toml").read_text()


def test_the_errata_of_protocols_are_there(environment: Path, tmp_path: Path) -> None:
    done = run_there(environment, tmp_path, "protocols", "bounded")
    assert done.returncode == 0 and "errata: 10 in the paper" in done.stdout, done.stderr


def test_a_log_is_audited_with_a_page(environment: Path, tmp_path: Path) -> None:
    log = str(ROOT / "examples" / "chat.jsonl")
    done = run_there(environment, tmp_path, "audit", log, "--report", "page.html")
    assert done.returncode == 1 and "3 findings: 1 late, 1 lost, 1 timestamp" in done.stdout, done.stderr
    assert "<svg" in (tmp_path / "page.html").read_text()
