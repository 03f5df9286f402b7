"""Messages that landed out of order, in a table: put them right, and see what never landed.

    python examples/order_table.py

A pandas or polars DataFrame, a relation of DuckDB or an Arrow table can all be given to `antecede.order`.
"""

import pyarrow as pa

import antecede

MESSAGES = pa.table(
    {
        "room": ["lobby"] * 4,
        "who": ["bob", "ann", "ann", "cid"],
        "clock": pa.array(
            [
                {"ann": 1, "bob": 1},
                {"ann": 1},
                {"ann": 3, "bob": 1},
                {"ann": 3, "bob": 1, "cid": 1},
            ],
            pa.map_(pa.string(), pa.int64()),
        ),
        "text": ["sold!", "the price is 5", "so it is a deal", "what is?"],
    }
)
LOST = pa.table(
    {
        "room": ["lobby"],
        "who": ["ann"],
        "clock": pa.array([{"ann": 2, "bob": 1}], pa.map_(pa.string(), pa.int64())),
        "text": ["5 it is"],
    }
)
"""The second message of ann, which comes too late for the first run."""


def show(messages: pa.Table) -> None:
    result = antecede.order(messages, group="room", sender="who", stamp="clock")
    for row in result.ordered.to_pylist():
        print(f"  {row['position']} {row['who']}: {row['text']}")
    for row in result.held.to_pylist():
        print(f"  held {row['who']}: {row['text']} (lacks {', '.join(row['missing'])})")
    for gap in result.gaps.to_pylist():
        print(f"  missing: {gap['missing']}, {gap['waiting']} rows wait for it")


def main() -> None:
    print("as it landed:")
    show(MESSAGES)
    print("when the lost message is there:")
    show(pa.concat_tables([MESSAGES, LOST]))


if __name__ == "__main__":
    main()
