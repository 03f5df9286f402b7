"""A network of real interfaces: a network namespace for each process, joined by a bridge in one of its own.

    p0 [eth0] --- [p0]            [p1] --- [eth0] p1
                       bridge one
    p2 [eth0] --- [p2] bridge two [p3] --- [eth0] p3

Each process sees one interface. A port that is set down, or belongs to the other bridge, is a partition; a
process that has a wrong hardware address for another one does not reach it, and is reached by it.
"""

import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache

_numbers = itertools.count()
NOWHERE = "02:00:00:00:ff:ff"
"""A hardware address that nobody has."""


def run_ip(*words: str) -> None:
    """Run `ip`; its complaint is the error."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


@cache
def find_obstacle() -> str:
    """Why there can be no namespaces here; empty if there can."""
    if shutil.which("ip") is None:
        return "needs ip, of the package iproute2"
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        Namespaces(["p0"]).remove()
    except OSError as error:
        return f"no rights for network namespaces: {error}"
    return ""


class Namespaces:
    """The network of some processes."""

    def __init__(self, names: Iterable[str]) -> None:
        self.prefix = f"antecede-{os.getpid()}-{next(_numbers)}"
        self.names = list(names)
        self.places = {name: f"10.77.0.{at}" for at, name in enumerate(self.names, 1)}
        self._made: list[str] = []
        try:
            self._build()
        except OSError:
            self.remove()
            raise

    def _build(self) -> None:
        self._add("bridge")
        for bridge in ("one", "two"):
            self._configure("bridge", "link", "add", bridge, "type", "bridge")
            self._configure("bridge", "link", "set", bridge, "up")
        for name in self.names:
            self._add(name)
            peer = ["peer", "name", name, "netns", self.locate("bridge")]
            run_ip("link", "add", "eth0", "netns", self.locate(name), "type", "veth", *peer)
            self._configure(name, "address", "add", f"{self.places[name]}/24", "dev", "eth0")
            for interface in ("lo", "eth0"):
                self._configure(name, "link", "set", interface, "up")
            self._configure("bridge", "link", "set", name, "master", "one", "up")

    def _add(self, name: str) -> None:
        run_ip("netns", "add", self.locate(name))
        self._made.append(self.locate(name))

    def _configure(self, name: str, *words: str) -> None:
        run_ip("-n", self.locate(name), *words)

    def locate(self, name: str) -> str:
        """The namespace of a process."""
        return f"{self.prefix}-{name}"

    def remove(self) -> None:
        """Leave nothing behind."""
        while self._made:
            run_ip("netns", "delete", self._made.pop())

    # -- faults ------------------------------------------------------------------------------------------

    def set_port(self, name: str, state: str) -> None:
        """Plug the cable of a process in (`up`), or pull it out (`down`)."""
        self._configure("bridge", "link", "set", name, state)

    def set_interface(self, name: str, state: str) -> None:
        """Switch the interface of a process on or off: while it is off, the process has no route at all."""
        self._configure(name, "link", "set", "eth0", state)

    def part(self, names: Iterable[str]) -> None:
        """Let these reach each other, and not the others."""
        for name in names:
            self._configure("bridge", "link", "set", name, "master", "two")

    def join(self, names: Iterable[str]) -> None:
        """Make an end to a partition."""
        for name in names:
            self._configure("bridge", "link", "set", name, "master", "one")

    def mislead(self, name: str, other: str) -> None:
        """Nothing of a process reaches another one from now on; the other way is open."""
        way = [self.places[other], "lladdr", NOWHERE, "dev", "eth0", "nud", "permanent"]
        self._configure(name, "neighbour", "replace", *way)

    def lead(self, name: str, other: str) -> None:
        """Make an end to that."""
        self._configure(name, "neighbour", "delete", self.places[other], "dev", "eth0")

    def count_resent(self, name: str) -> int:
        """How many TCP segments a process has sent again, by its system."""
        command = ["ip", "netns", "exec", self.locate(name), "cat", "/proc/net/snmp"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        titles, values = re.findall(r"^Tcp: (.*)$", text, re.MULTILINE)
        return int(dict(zip(titles.split(), values.split(), strict=True))["RetransSegs"])
