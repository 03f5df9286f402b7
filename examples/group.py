"""What the examples share: nodes on this machine, links between them that one can disturb, and the audit.

Nothing here is needed to use antecede: on a real network there are no such links, only addresses.
"""

import argparse
import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import antecede
from antecede import live


class Link:
    """A TCP proxy in front of a port. What passes is delayed; while the link is cut nothing passes."""

    def __init__(self, port: int, delay: float = 0.0) -> None:
        self.target = port
        self.delay = delay
        self.is_cut = False
        self.address = ""
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self) -> None:
        """Accept connections from now on."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"

    def cut(self) -> None:
        """Lose whatever comes; the connections stay, as they do when a cable is pulled."""
        self.is_cut = True

    def heal(self) -> None:
        """Break the old connections; on new ones everything passes."""
        self.is_cut = False
        self._break_connections()

    def close(self) -> None:
        """Accept no more, and break what is there."""
        self._server.close()
        self._break_connections()

    def _break_connections(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        self._writers += [writer, far_writer]
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def write() -> None:
            while True:
                due, data = await queue.get()
                await asyncio.sleep(due - loop.time())
                if not self.is_cut:
                    writer.write(data)

        writing = asyncio.create_task(write())
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                queue.put_nowait((loop.time() + self.delay, data))
        writing.cancel()
        writer.close()


def find_free_ports(count: int) -> list[int]:
    """Ports on which nobody listens."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@contextlib.asynccontextmanager
async def join_group(
    protocol: str, names: list[str], folder: Path, disturbed: tuple[str, str]
) -> AsyncIterator[tuple[dict[str, live.Node], Link]]:
    """A node for each name, connected over TCP, and the link between two of them that can be disturbed."""
    ports = dict(zip(names, find_free_ports(len(names)), strict=True))
    addresses = {name: f"tcp://127.0.0.1:{port}" for name, port in ports.items()}
    dialer, listener = sorted(disturbed)  # of two nodes the one whose name sorts first dials
    link = Link(ports[listener])
    await link.open()
    async with contextlib.AsyncExitStack() as stack:
        nodes = {}
        for name in names:
            peers = {other: address for other, address in addresses.items() if other != name}
            if name == dialer:
                peers[listener] = link.address
            events = folder / f"{name}.jsonl"
            joining = live.join(
                protocol, process=name, listen=addresses[name], peers=peers, events=events, linger=0.5
            )
            nodes[name] = await stack.enter_async_context(joining)
        for node in nodes.values():
            await wait_until_connected(node)
        yield nodes, link
        await asyncio.sleep(0.1)  # for all to have heard that all has arrived
    link.close()


async def wait_until_connected(node: live.Node) -> None:
    """Wait for all peers of a node."""
    await wait_for(lambda: all(peer.connected for peer in node.status().peers.values()))


async def wait_for(is_so: Callable[[], object]) -> None:
    """Wait for something to be true."""
    while not is_so():
        await asyncio.sleep(0.01)


def audit_folder(folder: Path) -> str:
    """What `antecede audit FOLDER` finds in the events that the nodes have written there, in a few words."""
    kinds = antecede.audit(antecede.read_logs(str(folder)).events).findings["kind"].to_pylist()
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("late", "lost", "twice"))


@contextlib.contextmanager
def choose_folder(description: str | None) -> Iterator[Path]:
    """The folder for the events of all nodes: that of the command line, or one that is removed afterwards."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--keep", metavar="FOLDER", type=Path, help="keep the events files, for antecede audit"
    )
    keep = parser.parse_args().keep
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def make_folder(parent: Path, name: str) -> Path:
    """A folder for one run."""
    folder = parent / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
