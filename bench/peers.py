"""Section `peers`: the Python gate beside others, on the same work in the same run."""

from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec

from rich.table import Table

from bench.contenders import CONTENDERS, Contender
from bench.measure import count, least

COLUMNS = (
    "", "messages", "seconds", "messages/s", "time / that\nof our gate", "time when\nN doubles",
    "shuffled /\nin order", "left over",
)  # fmt: skip
CAPTION = (
    "Figures are for shuffled arrivals. A queue that is rescanned takes 4 times as long when N doubles. "
    "Compare those who do more than order messages by growth and by shuffled / in order, not by seconds."
)


def tables(quick: bool) -> Iterator[Table]:
    remarks = "\n".join(f"{contender.name}: {contender.differs}." for contender in CONTENDERS)
    table = Table(title="Others on the same work", caption=f"{CAPTION}\n{remarks}")
    table.title_justify = table.caption_justify = "left"
    for name in COLUMNS:
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for contender in CONTENDERS:
        table.add_row(*_row(contender, quick))
    yield table


def _row(contender: Contender, quick: bool) -> list[str]:
    if contender.module and find_spec(contender.module) is None:
        return [f"{contender.name}: not installed"]
    name = f"{contender.name} {version(contender.module)}" if contender.module else contender.name
    sizes = [size // 10 for size in contender.sizes] if quick else contender.sizes
    shuffled = [least(contender.prepare(size, "shuffled")) for size in sizes]
    size, (seconds, out) = sizes[-1], shuffled[-1]
    ratio = seconds / least(contender.reference(size, "shuffled"))[0]
    ordered, _ = least(contender.prepare(size, "in order"))
    figures = [f"{ratio:.2f}", f"{seconds / shuffled[-2][0]:.1f} ×", f"{seconds / ordered:.1f}"]
    left = f"{size - out:,}" if out < size else "none"
    return [name, count(size), f"{seconds:.3f}", count(size / seconds), *figures, left]
