"""The Dockerfile copies all that the package is built from: nothing here can run it."""

import shlex
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def list_copied_files(dockerfile: str) -> set[str]:
    lines = [shlex.split(line) for line in dockerfile.splitlines() if line.startswith("COPY ")]
    return {source for _, *sources, _ in lines for source in sources}


def test_the_dockerfile_copies_what_the_wheel_is_built_from() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    forced = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    copied = list_copied_files((ROOT / "Dockerfile").read_text())
    assert {"pyproject.toml", project["readme"], *project["license-files"], *forced, "src"} <= copied
    assert all((ROOT / name).exists() for name in copied)
