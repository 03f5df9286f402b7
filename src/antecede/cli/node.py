"""`antecede node`: a node as a process of its own, its status, and certificates for a group."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from antecede.cli.output import Json, print_json, print_lines
from antecede.core.errors import CallerError

Config = Annotated[Path | None, typer.Option(help="The configuration: a TOML file (see docs/node.md).")]
StatusConfig = Annotated[
    Path, typer.Option("--config", help="The configuration of the running node; it names the socket.")
]
Members = Annotated[list[str], typer.Argument(metavar="NAME", help="The members of the group.")]
Out = Annotated[Path, typer.Option(help="Folder for the files.")]
Days = Annotated[int, typer.Option(min=1, max=3650, help="How long the certificates of members hold.")]


def node_command(context: typer.Context, config: Config = None) -> None:
    """Run a node of a group that delivers in causal order, for programs in any language.

    The application speaks with it in JSON lines, at its standard input and output or at a Unix socket; the
    log goes to the standard error output, as JSON lines, too. SIGTERM and SIGINT end it in order.

    Example: antecede node --config node.toml

    Exit code: 0 if it was told to end, 2 for wrong usage, a configuration that cannot be used, or a journal
    that failed.
    """
    if context.invoked_subcommand is not None:
        return
    if config is None:
        raise CallerError("name the configuration, as in: antecede node --config node.toml")
    import asyncio

    from antecede.live.service.config import read_config
    from antecede.live.service.running import run_node

    asyncio.run(run_node(read_config(config)))


def node_status_command(config: StatusConfig, json: Json = False) -> None:
    """Ask a running node how it is doing: what waits for what, and which peer is silent.

    Example: antecede node status --config node.toml

    Exit code: 0, or 2 if no node answers.
    """
    from antecede.cli.node_words import describe_node
    from antecede.live.service.asking import ask_status
    from antecede.live.service.config import read_config

    loaded = read_config(config)
    if loaded.config.socket is None:
        raise CallerError(
            f'{config} names no socket: add one, as in socket = "node.sock", and start the node'
        )
    status = ask_status(loaded.resolve_path(loaded.config.socket))
    if json:
        print_json(status)
    else:
        print_lines(describe_node(status))


def make_certificates_command(members: Members, out: Out = Path("certificates"), days: Days = 825) -> None:
    """Make a certificate authority and a certificate for each member of a group, for mutual TLS.

    An authority that is in the folder already is used again; no file is overwritten. Keep ca.key to yourself;
    a member needs ca.pem and its own two files.

    Example: antecede node ca a b c --out certificates

    Exit code: 0, or 2 if a file exists already.
    """
    from antecede.live.service.authority import make_certificates_and_tell_if_authority_is_new

    is_new = make_certificates_and_tell_if_authority_is_new(out, members, days)
    origin = "a new authority" if is_new else "the authority that was there"
    print_lines([f"{out}: {', '.join(members)}, certified for {days} days by {origin} (ca.pem)"])


SUBCOMMANDS = {"status": node_status_command, "ca": make_certificates_command}
