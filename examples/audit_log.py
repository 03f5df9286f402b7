"""Does a log obey causality? Reads it, prints what is wrong, and the events in causal order.

python examples/audit_log.py                     the log of a chat, beside this file
python examples/audit_log.py LOG [LOG ...]       your own, in any format that `antecede audit` reads
"""

import sys
from pathlib import Path

import antecede

CHAT = Path(__file__).parent / "chat.jsonl"


def main() -> None:
    logs = antecede.read_logs(sys.argv[1:] or [CHAT])
    print(f"{logs.events.num_rows} events, {logs.quarantine.num_rows} records that cannot be read")

    result = antecede.audit(logs.events)
    for kind, sentence in zip(
        *result.findings.select(["kind", "sentence"]).to_pydict().values(), strict=True
    ):
        print(f"{kind}: {sentence}")

    print("in causal order:")
    ordered, _, _ = antecede.order_events(logs.events)
    for event in ordered.select(["position", "process", "kind", "message"]).to_pylist():
        print("  {position} {process} {kind} {message}".format_map(event))


if __name__ == "__main__":
    main()
