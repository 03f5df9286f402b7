"""Broadcasters that come and go while messages are under way, watched by the oracle."""

from typing import Any

import antecede
from antecede import CallerError, Effects, Packet
from antecede.protocols.detectors import SHARPER
from antecede.protocols.keys import count_key_sets
from antecede.protocols.membership import Probabilistic
from antecede.simulate.oracle import Oracle

FOUNDERS, NEWCOMERS = ["a", "b", "c"], ["d", "e"]
NAMES = [*FOUNDERS, *NEWCOMERS]
EXACT = {"R": 8, "K": 1}
SHARED = {"R": 3, "K": 2}
Script = list[tuple[int, int]]


def member(name: str, group: list[str], **options: Any) -> Probabilistic:
    """With K = 1 everybody has an entry of its own; otherwise sets of keys are shared by some."""
    set_id = NAMES.index(name) % count_key_sets(options["K"], options["R"])
    made = antecede.endpoint("probabilistic", process=name, group=group, set_id=set_id, **options)
    assert isinstance(made, Probabilistic)
    return made


class Crowd:
    """Founders broadcast; newcomers are admitted by one member after the other, welcomed, and join.

    Packets for a newcomer stay in the network until it has joined. The oracle takes it that a newcomer has
    received what its sponsor had received.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.endpoints = {name: member(name, FOUNDERS, **options) for name in FOUNDERS}
        self.joined = [*FOUNDERS]
        self.answers: dict[str, dict[str, int | None]] = {}
        self.letters: dict[str, tuple[bytes, int, int]] = {}
        self.refusals = 0
        self.oracle = Oracle(NAMES)
        self.network: list[Packet] = []
        self.violations: list[tuple[str, int]] = []
        self.unnoticed: list[tuple[str, int]] = []

    def broadcast(self, name: str) -> None:
        message = self.oracle.record_send(name, self.endpoints[name].group)
        self._take_effects(name, self.endpoints[name].send(str(message).encode()))

    def arrive(self, choice: int) -> bool:
        """Let a packet arrive at somebody who has joined; False if there is none."""
        here = [packet for packet in self.network if packet.target in self.joined]
        if here:
            packet = here[choice % len(here)]
            self.network.remove(packet)
            self._take_effects(packet.target, self.endpoints[packet.target].receive(packet))
        return bool(here)

    def _take_effects(self, name: str, effects: Effects) -> None:
        self.network += effects.packets
        for delivery in effects.deliveries:
            message = int(delivery.payload)
            if (
                self.oracle.is_late(name, message)
                and delivery.sender != name
                and SHARPER not in delivery.alarms
            ):
                self.unnoticed.append((name, message))
            if self.oracle.record_delivery_and_list_missing_causes(name, message):
                self.violations.append((name, message))

    def advance(self, name: str, choice: int) -> None:
        """The next step of joining: to be announced, admitted by one more, welcomed, to join."""
        if name not in self.endpoints:
            self.endpoints[name] = member(name, [*self.endpoints, name], **self.options)
            self.answers[name] = dict.fromkeys(self.endpoints)
        elif unasked := [other for other in self.answers[name] if self.answers[name][other] is None]:
            asked = unasked[choice % len(unasked)]
            self.answers[name][asked] = 0 if asked == name else self.endpoints[asked].admit(name)
        elif name not in self.letters:
            self.welcome(name, self.joined[choice % len(self.joined)])
        elif name not in self.joined:
            self.join(name, *self.letters[name])

    def welcome(self, name: str, sponsor: str) -> None:
        """Ask a sponsor, who may refuse for now. A newcomer of later knows of this one from the start."""
        endpoint, answers = self.endpoints[sponsor], self.answers[name]
        try:
            letter = endpoint.welcome(name, {p: answers.get(p) or 0 for p in endpoint.group if p != name})
        except CallerError:
            self.refusals += 1
        else:
            self.letters[name] = letter, self.oracle.delivered[sponsor], self.oracle.past[sponsor]

    def join(self, name: str, letter: bytes, delivered: int, past: int) -> None:
        self.endpoints[name].join(letter)
        self.joined.append(name)
        self.oracle.addressed[name] |= delivered
        self.oracle.delivered[name], self.oracle.past[name] = delivered, past

    def leave(self, name: str) -> None:
        """The others send to it no more; what it has sent is still under way."""
        self.joined.remove(name)
        sent = self.endpoints[name].sent
        for other in self.joined:
            self.endpoints[other].dismiss(name, sent)

    def steps(self, script: Script, joins: bool = True) -> None:
        for action, choice in script:
            if action < 4:
                self.broadcast(self.joined[choice % len(self.joined)])
            elif action < 8:
                self.arrive(choice)
            elif joins:
                self.advance(NEWCOMERS[choice % 2], choice // 2)

    def finish(self) -> None:
        """Let everything arrive, and the newcomers join; once all has arrived no sponsor may refuse."""
        self.drain()
        for _ in range(len(NAMES) + 4):
            for name in NEWCOMERS:
                self.advance(name, 0)
        assert set(self.joined) == set(NAMES)
        self.drain()

    def drain(self) -> None:
        while self.arrive(len(self.network)):
            pass

    def check(self) -> None:
        """Nothing stuck, nothing lost (a second delivery makes the oracle raise), no late one unnoticed."""
        assert [(name, m) for name, m in self.oracle.list_undelivered_messages() if name in self.joined] == []
        assert not any(self.endpoints[name].held() for name in self.joined)
        assert self.unnoticed == []
