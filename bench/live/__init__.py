"""Section `live`: eight nodes on this machine.

packets        what a packet costs, beside raw streams and beside the endpoints alone
speed          messages a second and latency, with asyncio and with uvloop, beside others on the same loop
brokered       nodes as processes, beside Kafka alone
journal        what durable nodes cost, beside the same commits on a bare SQLite connection
round_trips    protocols that hold at the sender and `matrix`, from loopback to 50 ms
recovery       how long a node takes to come back, and what snapshots make of it
matrices       whether `matrix` would be better off without numpy in small groups
"""

from collections.abc import Iterator

from rich.table import Table

from bench.live import brokered, journal, matrices, packets, recovery, round_trips, speed


def tables(quick: bool) -> Iterator[Table]:
    for part in (packets, speed, brokered, journal, round_trips, recovery, matrices):
        yield from part.tables(quick)
