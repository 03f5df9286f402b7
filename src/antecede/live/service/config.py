"""The configuration of a node that runs as a process: one TOML file, and the files that it names.

Paths are relative to the folder of the configuration.
"""

import tomllib
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec

from antecede.core.errors import CallerError
from antecede.live.joining import open_node
from antecede.live.transports.tcp import Certificate

EXAMPLE = 'protocol = "optimal", process = "a", listen = "tcp://0.0.0.0:7001", and a table [peers]'


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For mutual TLS, as `antecede node ca` makes them."""

    certificate: str
    private_key: str
    authority: str


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As the file has it. A peer with the address "" will connect to this one."""

    protocol: str
    process: str
    peers: dict[str, str]
    listen: str | None = None
    group: str = "antecede"
    journal: str | None = None
    events: str | None = None
    key_file: str | None = None
    tls: TlsFiles | None = None
    socket: str | None = None
    """A Unix socket for applications, and for `antecede node status`."""
    stdio: bool = True
    """Whether the application is at the standard input and output."""
    log: str | None = None
    """A file; the standard error output without one."""
    metrics: str | None = None
    """host:port for Prometheus."""
    options: dict[str, Any] = {}
    """Those of the protocol and of `NodeSettings`."""


class LoadedConfig:
    """A configuration, and the folder in which its files are."""

    def __init__(self, path: Path, config: NodeConfig) -> None:
        self.path = path
        self.config = config

    def resolve_path(self, name: str | Path) -> Path:
        """Where a file is that the configuration names."""
        return self.path.parent / name

    def read_group_key(self) -> bytes | None:
        """The key of the group, without the line break at its end."""
        if self.config.key_file is None:
            return None
        file = self.resolve_path(self.config.key_file)
        try:
            return file.read_bytes().rstrip(b"\r\n")
        except OSError as error:
            remedy = "make one with: openssl rand -base64 32"
            raise CallerError(f"{self.path}: key_file {file}: {error.strerror}; {remedy}") from None

    def resolve_certificate_paths(self) -> Certificate | None:
        """The files for mutual TLS."""
        tls = self.config.tls
        if tls is None:
            return None
        return Certificate(
            certificate=self.resolve_path(tls.certificate),
            private_key=self.resolve_path(tls.private_key),
            authority=self.resolve_path(tls.authority),
        )

    def list_secret_files(self) -> list[Path]:
        """The files that nobody else should read."""
        tls = self.config.tls
        names = [self.config.key_file, None if tls is None else tls.private_key]
        return [self.resolve_path(name) for name in names if name is not None]

    def make_node_arguments(self) -> dict[str, Any]:
        """What `open_node` is called with."""
        config = self.config
        return {
            **config.options,
            "protocol": config.protocol,
            "process": config.process,
            "listen": config.listen,
            "peers": {name: address or None for name, address in config.peers.items()},
            "group": config.group,
            "journal": None if config.journal is None else self.resolve_path(config.journal),
            "events": None if config.events is None else self.resolve_path(config.events),
            "key": self.read_group_key(),
            "tls": self.resolve_certificate_paths(),
        }


def read_config(path: Path) -> LoadedConfig:
    """Read a configuration; CallerError names what is wrong with it, and what to write instead."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CallerError(f"{path}: {error.strerror}; write a file with {EXAMPLE}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CallerError(f"{path} is not TOML: {error}") from None
    try:
        config = msgspec.convert(content, NodeConfig)
    except msgspec.ValidationError as error:
        raise CallerError(f"{path}: {error}; it needs {EXAMPLE}") from None
    _check_config(path, config)
    return LoadedConfig(path, config)


def _check_config(path: Path, config: NodeConfig) -> None:
    if not config.stdio and config.socket is None:
        remedy = 'name one, as in socket = "node.sock", or leave stdio out'
        raise CallerError(f"{path}: stdio = false, and no socket for an application: {remedy}")
    arguments = {*NodeConfig.__struct_fields__, *signature(open_node).parameters} - {"options"}
    taken = arguments & set(config.options)
    if taken:
        names = ", ".join(sorted(taken))
        raise CallerError(
            f"{path}: {names} in [options], which are those of the protocol and of the node; what else there "
            "is has a name of its own above the tables, such as key_file"
        )
    if config.metrics is not None:
        split_metrics_host_and_port(path, config.metrics)


def split_metrics_host_and_port(config_path: Path, host_and_port: str) -> tuple[str, int]:
    """Where metrics are served, as `metrics` in the configuration says."""
    host, _, port = host_and_port.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 2**16):
        raise CallerError(
            f'{config_path}: metrics = "{host_and_port}": write host:port, as in metrics = "127.0.0.1:9100"'
        )
    return host.strip("[]"), int(port)
