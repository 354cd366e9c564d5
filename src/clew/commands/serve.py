"""`clew serve`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

import typer

from clew.commands.options import DeviceOption, LLMOptions, find_default_index
from clew.commands.output import print_note
from clew.commands.record_options import Without
from clew.errors import InputError
from clew.plugins.extras import require_extra
from clew.server.options import ServerOptions

PORT = 8377
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_RESERVED = frozenset({"indexes", "models", "chat"})
IndexesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="NAME=DIR for each index; NAME stands in paths. Else CLEW_INDEX, or index in clew.toml, by the name of "
        "its folder.",
    ),
]


@dataclass(frozen=True, slots=True)
class AddressOptions:
    """Where the server listens, and whom it answers."""

    host: Annotated[str, typer.Option(help="Address to listen on; other than loopback only with --keys.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")] = PORT
    keys: Annotated[
        Path | None, typer.Option(help="File of keys, made by clew keys --add; then each request needs one.")
    ] = None
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Name under which the server is asked, beside localhost; repeatable.")
    ] = None
    read_only: Annotated[bool, typer.Option("--read-only", help="Take no documents, whatever a key allows.")] = False


def serve(
    indexes: IndexesArgument = None,
    *,
    address: AddressOptions,
    limits: ServerOptions,
    model: Annotated[list[str] | None, typer.Option(help="Language model that ask may use; repeatable.")] = None,
    device: DeviceOption = None,
    llm: Annotated[LLMOptions, Without("model")],
    stdio: Annotated[
        Literal["read", "write"] | None,
        typer.Option(
            help="Offer MCP tools to one assistant, over standard input and output: those that read, or also add and "
            "remove."
        ),
    ] = None,
) -> None:
    """Answer questions over HTTP and MCP, from any number of indexes, and take documents.

    With --stdio it offers the tools search, ask, read, connect, entity, about and recall to an assistant.
    """
    require_extra(("fastapi", "uvicorn", "mcp", "python_multipart"), "server", "clew serve")
    locations = parse_indexes(indexes) if indexes else default_indexes()
    from clew.commands.serving import check_indexes, make_opener, run_server, run_tools, start_tracing

    if stdio is not None:
        run_tools(locations, make_opener(llm, device), ServerOptions(write=stdio == "write"))
        return
    check_address(address)
    from clew.server.http.app import make_app, make_state

    check_indexes(locations)
    if not is_loopback(address.host) and not address.allow_host:
        print_note("without --allow-host NAME only requests for localhost are answered")
    hosts = (*limits.hosts, *(name.lower() for name in address.allow_host or ()))
    options = replace(limits, hosts=hosts, models=tuple(model or ()), write=not address.read_only)
    opener = make_opener(llm, device)
    start_tracing()
    state = make_state(locations, opener, options, address.keys)
    run_server(make_app(state), address.host, address.port)


def parse_indexes(texts: Sequence[str]) -> dict[str, str]:
    """Return the location of each index by its name; raises InputError for another form, or a name given twice."""
    locations: dict[str, str] = {}
    for text in texts:
        name, equals, location = text.partition("=")
        if not (equals and location and _NAME.fullmatch(name)) or name in _RESERVED:
            raise InputError(
                f"{text!r} names no index: give NAME=DIR, the name of letters, digits, dots, - and _, and none of "
                f"{', '.join(sorted(_RESERVED))}"
            )
        if name in locations:
            raise InputError(f"two indexes are called {name!r}: give them different names")
        locations[name] = location
    return locations


def default_indexes() -> dict[str, str]:
    """Return the index of the settings by the name of its folder, `index` where that is none; else an InputError."""
    location = find_default_index()
    if location is None:
        raise InputError(
            "there is no index: give NAME=DIR for each, or set CLEW_INDEX, or index in clew.toml, for a single one"
        )
    name = re.split(r"[/\\]", location.rstrip("/\\"))[-1]
    return {name if _NAME.fullmatch(name) and name not in _RESERVED else "index": location}


def check_address(address: AddressOptions) -> None:
    """Refuse another address than loopback without keys, and a file without keys."""
    if address.keys is not None:
        from clew.server.keys import KeyFile

        if not KeyFile(address.keys).list_keys():
            raise InputError(f"{address.keys} holds no key: make one by clew keys {address.keys} --add LABEL")
        return
    if not is_loopback(address.host):
        raise InputError(
            f"--host is {address.host!r}, which other machines reach, and no --keys are given: make a key by "
            "clew keys FILE --add LABEL, and give --keys FILE"
        )


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
