"""This very package, sent to the workers of a cluster: with its kernels as they were compiled here.

Spark unpacks an archive on each worker, in a folder that its Python looks for modules in. So workers run what
the driver runs, whatever they have installed; and where their processors are like the driver's, they need not
compile anything.
"""

import atexit
import re
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

_COMPILED = (".nbi", ".nbc")
"""What numba has made of kernels; of what Python keeps beside sources, only that is sent."""
_NEEDED = "numpy, numba, pyarrow, pandas and msgspec"


def describe_worker_needs() -> str:
    """What the workers of a cluster must have that cannot be sent along."""
    return f"Python {sys.version_info.major}.{sys.version_info.minor} with {_NEEDED}"


def explain_worker_fault(text: str) -> str | None:
    """A sentence on a worker that cannot run this package, if that is what an error of Spark's tells of."""
    remedy = f"set PYSPARK_PYTHON to the path that {describe_worker_needs()} has on all of them"
    if match := re.search(r"No module named '([\w.]+)'", text):
        return f"the Python of a worker has no module {match[1]!r}: install it there, or {remedy}"
    if match := re.search(r"\[PACKAGE_NOT_INSTALLED\] (\w+)", text):
        return f"the Python of a worker has no {match[1]} that will do: install it there, or {remedy}"
    if match := re.search(
        r"Python in worker has different version: (\S+) than that in driver: (\d+\.\d+)", text
    ):
        return f"the workers have Python {match[1]} and this is Python {match[2]}: {remedy}"
    if match := re.search(r'Cannot run program "([^"]+)"', text):
        return f"a worker cannot run {match[1]}, its Python: {remedy}"
    return None


def ship_package(spark: SparkSession) -> None:
    """Let the workers of a session import this package, which they need not have installed.

    They need the same Python as the driver, by its minor version, with numpy, numba, pyarrow, pandas and
    msgspec.
    """
    folder = TemporaryDirectory(prefix="antecede-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)  # workers that come later fetch it, too
    archive = Path(folder.name) / "antecede.tar.gz"
    _write_package_archive(archive)
    spark.addArtifacts(f"{archive}#antecede", archive=True)


def _write_package_archive(archive: Path) -> None:
    package = Path(__file__).parents[1]
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        for file in sorted(package.rglob("*")):
            if file.is_file() and (file.suffix in _COMPILED or file.parent.name != "__pycache__"):
                packed.add(file, str(file.relative_to(package)), recursive=False)
