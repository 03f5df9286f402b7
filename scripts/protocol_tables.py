"""Write the tables of docs/protocols.md from the protocols' own facts; `--check` fails where they differ."""

import sys
from pathlib import Path

import antecede

PAGE = Path(__file__).parent.parent / "docs" / "protocols.md"


def protocol_rows() -> list[str]:
    """One row per protocol."""
    rows = []
    for facts in antecede.list_protocols().values():
        kinds = [kind for kind in ("unicast", "multicast", "broadcast") if getattr(facts, kind)]
        to = {"unicast": "one", "unicast multicast broadcast": "one, some, all", "broadcast": "all"}[
            " ".join(kinds)
        ]
        order = facts.order if facts.exact else f"*{facts.order}*"
        delays = "no" if facts.delay_optimal else "yes" if facts.exact else "-"
        rows.append(
            f"| `{facts.name}` | {facts.title} | {facts.paper} | {to} | {order} | {delays} | {facts.stamp} |"
        )
    return rows


def option_rows() -> list[str]:
    """One row per option of a protocol."""
    all_facts = antecede.list_protocols().values()
    return [f"| `{f.name}` | `{option}` | {text} |" for f in all_facts for option, text in f.options.items()]


def with_tables(text: str) -> str:
    """The page with both tables made anew."""
    text = with_rows(text, "| name | what it is ", protocol_rows())
    return with_rows(text, "| option of ", option_rows())


def with_rows(text: str, header: str, rows: list[str]) -> str:
    """The text with other rows in the table that starts with this header."""
    lines = text.split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith(header)) + 2
    last = next(at for at, line in enumerate(lines[first:], first) if not line.startswith("|"))
    return "\n".join([*lines[:first], *rows, *lines[last:]])


def main() -> int:
    """Write, or check."""
    old = PAGE.read_text()
    new = with_tables(old)
    if "--check" in sys.argv:
        if new != old:
            print(f"{PAGE}: its tables differ from the protocols' facts; run .venv/bin/python {sys.argv[0]}")
        return int(new != old)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
