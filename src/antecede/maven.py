"""Jars that Maven fetches, once for this user, from wherever it is set up to fetch things."""

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from antecede.core.errors import SetupError
from antecede.machine import make_user_folder

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>antecede</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>{0.group}</groupId><artifactId>{0.name}</artifactId><version>{0.version}</version>
      <exclusions>{1}</exclusions>
    </dependency>
"""
_EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>*</artifactId></exclusion>"


class Artifact(NamedTuple):
    """Something that Maven fetches, with what it needs, but for that of some groups (`*`: of all)."""

    group: str
    name: str
    version: str
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"


def has_maven() -> bool:
    """Whether there is a Maven on this machine."""
    return shutil.which("mvn") is not None


def fetch_jars(folder_name: str, artifacts: Sequence[Artifact]) -> Path:
    """The folder of this name with the jars; they are fetched if it is not there."""
    with make_folder_once(folder_name) as place:
        if place is not None:
            _copy_jars_with_maven(place, artifacts)
    return make_user_folder() / folder_name


def _copy_jars_with_maven(folder: Path, artifacts: Sequence[Artifact]) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise SetupError(f"{artifacts[0]} is fetched by Maven: install it (Debian: apt-get install maven)")
    with tempfile.TemporaryDirectory() as temporary:
        pom = Path(temporary) / "pom.xml"
        pom.write_text(_POM.format(dependencies="".join(map(_format_dependency_xml, artifacts))))
        goal = "dependency:copy-dependencies"
        options = ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        command = [maven, "-q", "-B", "-f", str(pom), goal, *options]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"Maven cannot fetch {artifacts[0]}: {done.stdout[-2000:]}{done.stderr[-500:]}")


def _format_dependency_xml(artifact: Artifact) -> str:
    return _DEPENDENCY.format(artifact, "".join(map(_EXCLUSION.format, artifact.without)))


@contextmanager
def make_folder_once(name: str) -> Iterator[Path | None]:
    """A folder to be filled, if there is none of that name yet; it gets its name when it is complete."""
    place = make_user_folder() / name
    with (make_user_folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.exists():
            yield None
            return
        part = Path(tempfile.mkdtemp(dir=place.parent, prefix=f"{name}-"))
        try:
            yield part
            part.rename(place)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
