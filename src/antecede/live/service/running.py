"""A node as a process: opened as its configuration says, served until it is told to end, closed in order.

It ends by SIGTERM or SIGINT, by the command `close`, with the application at its standard input, or when its
journal fails. A second signal ends it at once.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from antecede.core.errors import AntecedeError, CallerError
from antecede.live.errors import NodeClosedError
from antecede.live.joining import open_node
from antecede.live.node import Node
from antecede.live.service.config import LoadedConfig, split_metrics_host_and_port
from antecede.live.service.lines import encode_line
from antecede.live.service.logs import configure_json_log
from antecede.live.service.session import Desk, Session
from antecede.live.service.stdio import LAST_WORDS, StandardStreams
from antecede.live.settings import NodeSettings, split_node_settings

MOST_SESSIONS = 64
LONGEST_ESCAPE = 6
"""JSON may need so many bytes for one of a payload, as in \\u0000."""
ROOM_FOR_NAMES = 64 * 1024
OTHERS_MAY_READ = stat.S_IRGRP | stat.S_IROTH

log = logging.getLogger("antecede.live")


async def run_node(loaded: LoadedConfig) -> None:
    """Run a node until it ends; raises why, if that was not asked for."""
    config = loaded.config
    settings, _ = split_node_settings(config.options)
    path = None if config.socket is None else loaded.resolve_path(config.socket)
    if path is not None:
        _remove_stale_socket(path)
    configure_json_log(config.process, None if config.log is None else loaded.resolve_path(config.log))
    try:
        await _open_and_serve_node(loaded, settings, path)
    except AntecedeError as error:
        log.error("%s has failed", config.process, extra={"facts": {"reason": str(error)}})
        raise


async def _open_and_serve_node(
    loaded: LoadedConfig, settings: NodeSettings, socket_path: Path | None
) -> None:
    config = loaded.config
    node = await _open_node(loaded)
    for file in loaded.list_secret_files():
        if file.stat().st_mode & OTHERS_MAY_READ:
            log.warning("others may read a secret; run chmod 600", extra={"facts": {"file": str(file)}})
    try:
        with contextlib.ExitStack() as stack:
            if config.metrics is not None:
                _serve_metrics(loaded, node, config.metrics, stack)
            await NodeService(node, settings).run(socket_path, config.stdio)
    finally:
        await node.close(linger=0)
        log.info("%s is closed", config.process)


async def _open_node(loaded: LoadedConfig) -> Node:
    try:
        return await open_node(**loaded.make_node_arguments())
    except OSError as error:
        where = error.filename or f"listen = {loaded.config.listen!r}"
        raise CallerError(f"{loaded.path}: {where}: {error.strerror or error}; choose another") from None


def _serve_metrics(loaded: LoadedConfig, node: Node, host_and_port: str, stack: contextlib.ExitStack) -> None:
    from antecede.live.service.metrics import MetricsServer

    host, port = split_metrics_host_and_port(loaded.path, host_and_port)
    server = MetricsServer(node, host, port)
    stack.callback(server.close)
    log.info("metrics are served", extra={"facts": {"address": f"http://{host}:{server.port}/metrics"}})


class NodeService:
    """The sessions of a node, and its end."""

    def __init__(self, node: Node, settings: NodeSettings) -> None:
        self.node = node
        self.desk = Desk(node, settings)
        self._longest_line = LONGEST_ESCAPE * settings.largest_message + ROOM_FOR_NAMES
        self._sessions: set[asyncio.Task[None]] = set()

    async def run(self, socket_path: Path | None, use_stdio: bool) -> None:
        """Serve until the node is to end, and close it."""
        ended = asyncio.create_task(self.node.wait_until_closed())
        stopping = asyncio.create_task(self.desk.stopping.wait())
        async with self._listen_on_socket(socket_path), self._connect_stdio(use_stdio):
            with self._catch_signals():
                log.info("%s is ready", self.node.process, extra={"facts": {"address": self.node.address}})
                await asyncio.wait([ended, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            self.desk.stopping.set()
            await self.node.close()
            self.desk.closed.set()
            await self._wait_for_sessions_then_cancel()
        reason = await ended
        if not isinstance(reason, NodeClosedError):
            raise reason

    @contextlib.contextmanager
    def _catch_signals(self) -> Iterator[None]:
        """The first signal asks for the end; the next one does what it always does."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_on_signal, number)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _stop_on_signal(self, signal_number: int) -> None:
        name = signal.Signals(signal_number).name
        log.info("%s is to end", self.node.process, extra={"facts": {"signal": name}})
        self.desk.stopping.set()

    # -- connections -------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _listen_on_socket(self, socket_path: Path | None) -> AsyncIterator[None]:
        """Accept applications at a Unix socket that only this user may open."""
        if socket_path is None:
            yield
            return
        mask = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(
                self._accept_or_refuse_connection, socket_path, limit=self._longest_line
            )
        except OSError as error:
            raise CallerError(
                f"socket {socket_path}: {error.strerror or error}; choose another path"
            ) from None
        finally:
            os.umask(mask)
        try:
            yield
        finally:
            server.close()
            socket_path.unlink(missing_ok=True)

    @contextlib.asynccontextmanager
    async def _connect_stdio(self, enabled: bool) -> AsyncIterator[None]:
        if not enabled:
            yield
            return
        loop, input_ended = asyncio.get_running_loop(), asyncio.Event()

        def tell_session_of_end() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(input_ended.set)

        streams = StandardStreams(tell_session_of_end)
        reader, writer = await asyncio.open_connection(sock=streams.connection, limit=self._longest_line)
        self._begin_session(Session(self.desk, reader, writer, owns=True, input_ended=input_ended))
        try:
            yield
        finally:
            await asyncio.to_thread(streams.wait_until_output_written)

    def _accept_or_refuse_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._sessions) >= MOST_SESSIONS:
            reason = f"there are {MOST_SESSIONS} connections; close some"
            writer.write(encode_line("error", reason=reason))
            writer.close()
            return
        self._begin_session(Session(self.desk, reader, writer))

    def _begin_session(self, session: Session) -> None:
        task = asyncio.create_task(session.run())
        self._sessions.add(task)
        task.add_done_callback(self._forget_session_and_log_failure)

    def _forget_session_and_log_failure(self, task: asyncio.Task[None]) -> None:
        self._sessions.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a session of %s has failed", self.node.process, exc_info=error)

    async def _wait_for_sessions_then_cancel(self) -> None:
        """Let all say what is left to say; whoever does not read is not waited for."""
        if self._sessions:
            await asyncio.wait(self._sessions, timeout=LAST_WORDS)
        remaining = list(self._sessions)
        for task in remaining:
            task.cancel()
        await asyncio.gather(*remaining, return_exceptions=True)


def _remove_stale_socket(path: Path) -> None:
    """Remove what a node that was killed has left behind; refuse what is in use, or is no socket."""
    try:
        kind = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(kind):
        raise CallerError(f"socket {path} exists and is no socket: choose another path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise CallerError(f"socket {path}: a node is running there; stop it, or choose another path")
