"""A chat of three people in which no answer is read before what it answers.

    make chat                                  the same conversation twice, side by side
    python examples/chat.py ann                a terminal for ann; open two more, for bob and cid, and type
    python examples/chat.py ann unordered      the same without causal order

There is no server: everybody sends to everybody. `make chat` runs three processes with people who follow a
script, and delays the link between ann and cid. So cid gets bob's answer first. With `unordered` it is shown
as it comes; with `vector` it waits for the question.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from group import Link, audit_folder, find_free_ports, make_folder, wait_until_connected

from antecede import live

PEOPLE = ["ann", "bob", "cid"]
FIRST_PORT = int(os.environ.get("CHAT_PORT", "7310"))
"""Of three, for those who type; another one if these are taken."""
DELAY = 1.0
"""Seconds, for whatever goes between ann and cid."""

QUESTION = "Shall we meet at five?"
ANSWERS = {
    ("bob", QUESTION): "Five is fine.",
    ("ann", "Five is fine."): "Then I book a table.",
}
"""Who says what when they read something."""
MESSAGES = 3


# -- one person --------------------------------------------------------------------------------------


def list_addresses(ports: list[int]) -> dict[str, str]:
    """Where everybody listens."""
    return {name: f"tcp://127.0.0.1:{port}" for name, port in zip(PEOPLE, ports, strict=True)}


async def chat_by_hand(name: str, protocol: str) -> None:
    """A terminal: what is typed goes to all, and what is delivered is shown."""
    addresses = list_addresses([FIRST_PORT, FIRST_PORT + 1, FIRST_PORT + 2])
    listen = addresses.pop(name)
    async with live.join(protocol, process=name, listen=listen, peers=addresses) as node:
        reading = asyncio.create_task(show_messages(node))
        print(f"You are {name}. Type a line; end with Ctrl-D.", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            await node.send(line.strip().encode())
        reading.cancel()


async def show_messages(node: live.Node) -> None:
    """Print what is delivered, but for one's own lines."""
    async for delivery in node:
        if delivery.sender != node.process:
            print(f"{delivery.sender}: {delivery.payload.decode()}", flush=True)


async def chat_by_script(name: str, protocol: str, plan: Path) -> None:
    """A process of `make chat`: prints all that this person reads, and answers by the script."""
    settings = json.loads(plan.read_text())
    addresses = settings["addresses"]
    peers = {other: address for other, address in addresses.items() if other != name}
    if name == "ann":
        peers["cid"] = settings["slow link"]
    events = plan.parent / f"{name}.jsonl"
    async with live.join(
        protocol, process=name, listen=addresses[name], peers=peers, events=events, linger=0.5
    ) as node:
        await wait_until_connected(node)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)  # until all are
        if name == "ann":
            await node.send(QUESTION.encode())
        for _ in range(MESSAGES):
            delivery = await anext(node)
            text = delivery.payload.decode()
            print(f"{delivery.sender}: {text}", flush=True)
            if (name, text) in ANSWERS:
                await node.send(ANSWERS[name, text].encode())
        await asyncio.to_thread(sys.stdin.readline)  # until all have read all


# -- all of them -------------------------------------------------------------------------------------


async def run_conversation(protocol: str, folder: Path) -> list[str]:
    """Run the three processes; returns what cid read, line by line."""
    ports = find_free_ports(3)
    link = Link(ports[PEOPLE.index("cid")])
    await link.open()
    plan = folder / "plan"
    plan.write_text(json.dumps({"addresses": list_addresses(ports), "slow link": link.address}))
    people = [await start_person(name, protocol, plan) for name in PEOPLE]
    for person in people:
        await read_lines(person, 1)  # "ready"
    link.delay = DELAY
    for person in people:
        person.stdin.write(b"begin\n")
    lines = await asyncio.gather(*(read_lines(person, MESSAGES) for person in people))
    for person in people:
        person.stdin.write(b"end\n")
        await person.wait()
    link.close()
    plan.unlink()
    return lines[PEOPLE.index("cid")]


async def read_lines(person: asyncio.subprocess.Process, count: int) -> list[str]:
    """What a process prints."""
    lines = [await person.stdout.readline() for _ in range(count)]
    if not all(lines):
        sys.exit("a process has ended too early")
    return [line.decode().rstrip() for line in lines]


async def start_person(name: str, protocol: str, plan: Path) -> asyncio.subprocess.Process:
    """A process of its own."""
    command = [sys.executable, __file__, name, protocol, str(plan)]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)


async def show_side_by_side(folder: Path) -> None:
    """The same conversation with and without causal order."""
    protocols = ("unordered", "vector")
    folders = [make_folder(folder, protocol) for protocol in protocols]
    conversations = [run_conversation(*each) for each in zip(protocols, folders, strict=True)]
    print(f"The link between ann and cid takes {DELAY:g} s. What cid reads:\n")
    print(f"  {'without order (unordered)':32}  in causal order (vector)")
    for left, right in zip(*await asyncio.gather(*conversations), strict=True):
        print(f"  {left:32}  {right}")
    print(f"\n  {'audit: ' + audit_folder(folders[0]):32}  audit: {audit_folder(folders[1])}")


def main() -> None:
    """Without a name, show both; with one, be that person."""
    match sys.argv[1:]:
        case []:
            with tempfile.TemporaryDirectory() as folder:
                asyncio.run(show_side_by_side(Path(folder)))
        case ["--keep", folder]:
            asyncio.run(show_side_by_side(Path(folder)))
        case [name, protocol, plan] if name in PEOPLE:
            asyncio.run(chat_by_script(name, protocol, Path(plan)))
        case [name, *rest] if name in PEOPLE and len(rest) < 2:
            asyncio.run(chat_by_hand(name, rest[0] if rest else "vector"))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
