"""How a node comes to be: options checked, journal opened, connections begun."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from antecede.core.endpoint import Endpoint
from antecede.core.errors import CallerError
from antecede.core.station import Station, restore_station
from antecede.live.courier import Courier
from antecede.live.errors import NodeClosedError
from antecede.live.events import EventFile
from antecede.live.fitness import check_endpoint_for_node
from antecede.live.handshake import NONCE_BYTES, check_and_hash_key
from antecede.live.hub import Hub
from antecede.live.inputs import SendInput, apply_input
from antecede.live.journal import JournalHeader, NodeJournal, SqliteJournal
from antecede.live.kafka.address import Inboxes, locate_inboxes, uses_kafka
from antecede.live.node import Node
from antecede.live.pipeline import Pipeline
from antecede.live.settings import NodeSettings, split_node_settings
from antecede.live.transports import Transport, check_address
from antecede.live.transports.memory import PROGRAM
from antecede.live.transports.tcp import Certificate, TcpTransport
from antecede.protocols.membership import Probabilistic
from antecede.protocols.registry import endpoint, list_protocols, restore


@contextlib.asynccontextmanager
async def join(
    protocol: str,
    *,
    process: str,
    listen: str | None = None,
    peers: Mapping[str, str | None],
    journal: str | Path | NodeJournal | None = None,
    key: bytes | None = None,
    tls: Certificate | None = None,
    group: str = "antecede",
    events: str | Path | None = None,
    welcome: bytes | None = None,
    transports: Mapping[str, Transport] | None = None,
    **options: object,
) -> AsyncIterator[Node]:
    """Run one process of a group for as long as the block lasts.

    `peers` has the address of each other member (None: it will connect to this one), `listen` that of this
    one. With a `journal` the process survives being killed; `key` or `tls` keep strangers out; `events` is a
    file for the events table. A newcomer brings the `welcome` that it got from a sponsor (`Node.welcome`).
    Options are those of the protocol and of `NodeSettings`.
    """
    node = await open_node(
        protocol,
        process=process,
        listen=listen,
        peers=peers,
        journal=journal,
        key=key,
        tls=tls,
        group=group,
        events=events,
        welcome=welcome,
        transports=transports,
        **options,
    )
    try:
        yield node
    except BaseException:
        await node.close(linger=0)
        raise
    await node.close()


async def open_node(
    protocol: str,
    *,
    process: str,
    listen: str | None = None,
    peers: Mapping[str, str | None],
    journal: str | Path | NodeJournal | None = None,
    key: bytes | None = None,
    tls: Certificate | None = None,
    group: str = "antecede",
    events: str | Path | None = None,
    welcome: bytes | None = None,
    transports: Mapping[str, Transport] | None = None,
    **options: object,
) -> Node:
    """As `join`, for those who close the node themselves."""
    settings, own_options = split_node_settings(options)
    known: dict[str, Transport] = {"memory": PROGRAM, "tcp": TcpTransport(tls), **(transports or {})}
    _check_process_is_not_among_peers(process, peers)
    inboxes = None
    if uses_kafka(listen, peers):
        inboxes = locate_inboxes(process, listen, peers, group)
    else:
        _check_addresses(listen, peers, known)
    _check_option_names(protocol, own_options)
    made = endpoint(protocol, process=process, group=[process, *peers], **own_options)
    check_endpoint_for_node(made)
    if welcome is not None:
        _join_with_welcome(made, welcome)
    key_hash = check_and_hash_key(key)
    station, incarnation = Station(made), secrets.token_bytes(NONCE_BYTES)
    async with contextlib.AsyncExitStack() as opened:  # what to let go of, if no node comes of it
        file = pipeline = None
        if events is not None:
            file = EventFile(events, process)
            opened.callback(file.close)
        if journal is not None:
            if isinstance(journal, str | Path):
                journal = SqliteJournal(journal)
            pipeline = Pipeline(station, journal, settings.snapshot_every)
            opened.push_async_callback(pipeline.stop, NodeClosedError("the node was not opened"))
            station, incarnation = await _recover_station_and_incarnation(pipeline, group, incarnation, file)
        if file is not None:
            file.check_node_remembers_events(station.sent, station.delivered)
        courier: Courier
        if inboxes is not None:
            courier = _make_kafka_courier(
                station, inboxes, settings, group=group, incarnation=incarnation, key=key_hash, tls=tls
            )
        else:
            courier = Hub(
                station,
                _collect_member_addresses(station, peers),
                settings,
                known,
                group=group,
                incarnation=incarnation,
                key=key_hash,
                certified=tls is not None,
            )
        node = Node(station, courier, pipeline, file)
        opened.pop_all()
    try:
        await courier.open(listen)
    except BaseException:
        await node.close(linger=0)
        raise
    return node


def _join_with_welcome(endpoint: Endpoint, welcome: bytes) -> None:
    """Begin as a newcomer, with the state of a sponsor."""
    if not isinstance(endpoint, Probabilistic):
        raise CallerError(f"the members of {endpoint.facts.name!r} are fixed; use 'probabilistic'")
    endpoint.join(welcome)


def _collect_member_addresses(station: Station, peers: Mapping[str, str | None]) -> dict[str, str | None]:
    """Where the members are: as the caller says, or as was said when they were admitted."""
    admitted = {name: admission.address for name, admission in station.admissions.items()}
    addresses = {**admitted, **peers}
    unknown = [name for name in station.channels if name not in addresses]
    if unknown:
        raise CallerError(f"the journal tells of members that are not among `peers`: {', '.join(unknown)}")
    return addresses


async def _recover_station_and_incarnation(
    pipeline: Pipeline, group: str, incarnation_if_new: bytes, event_file: EventFile | None
) -> tuple[Station, bytes]:
    """The station as its journal has it, and its incarnation; the new ones in a new journal."""
    own = pipeline.station.endpoint
    header = JournalHeader(1, own.process, own.facts.name, group, own.group_fingerprint, incarnation_if_new)
    snapshot = pipeline.station.snapshot()
    stored = await pipeline.call_in_journal_thread(pipeline.journal.open, header, snapshot)
    station = restore_station(stored.snapshot, restore)
    for inputs in stored.records:
        for one in inputs:
            applied = apply_input(station, one)
            if event_file is not None and isinstance(one, SendInput) and applied.error is None:
                receivers = station.endpoint.group if one.to is None else one.to
                event_file.buffer_send_if_new(applied.sent, receivers)
    if event_file is not None:
        event_file.flush()
    pipeline.adopt_recovered_station(station, stored.records)
    return station, stored.incarnation


def _make_kafka_courier(station: Station, inboxes: Inboxes, settings: NodeSettings, **more: Any) -> Courier:
    from antecede.live.kafka.courier import KafkaCourier  # needs aiokafka, which is optional

    return KafkaCourier(station, inboxes, settings, **more)


def _check_option_names(protocol: str, options: Mapping[str, object]) -> None:
    facts = list_protocols().get(protocol)
    known = facts.options if facts is not None else options
    unknown = sorted(options.keys() - known)
    if unknown:
        names = ", ".join([*NodeSettings.__struct_fields__, *known])
        raise CallerError(f"no option {', '.join(unknown)}: a node of {protocol!r} has {names}")


def _check_process_is_not_among_peers(process: str, peers: Mapping[str, str | None]) -> None:
    if not isinstance(peers, Mapping) or process in peers:
        raise CallerError("`peers` has the addresses of the other members, by name: {'b': 'tcp://host:port'}")


def _check_addresses(
    listen: str | None, peers: Mapping[str, str | None], transports: Mapping[str, Transport]
) -> None:
    for address in [listen, *peers.values()]:
        if address is not None:
            check_address(address, transports)
    unreachable = [name for name, address in peers.items() if address is None]
    if unreachable and listen is None:
        raise CallerError(
            f"no address for {', '.join(unreachable)}, and none to listen at: nobody can connect"
        )
