"""Tests reach this machine only: no key, setting or proxy of the user's, and no connection to any other address.

Processes that a test starts inherit the environment, so they have no key either.
"""

import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

USER_VARIABLES = re.compile(
    r"CLEW_.*|(OPENAI|ANTHROPIC|GOOGLE|GEMINI|OLLAMA|AZURE_OPENAI)_.*|.*_API_KEY|.*_BASE_URL|(HTTPS?|ALL|NO)_PROXY",
    re.IGNORECASE,
)
"""Names of variables that hold settings, keys and ways out: a proxy on this machine leads to any other."""


class OutsideError(ConnectionError):
    """A test tried to reach another machine."""


@contextmanager
def only_this_machine() -> Iterator[None]:
    """Take keys, settings and the network away for the time of the block."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def connected(self: socket.socket, address: Any) -> None:
        check(self, address)
        connect(self, address)

    def connected_ex(self: socket.socket, address: Any) -> int:
        check(self, address)
        return connect_ex(self, address)

    def resolved(host: Any, *arguments: Any, **named: Any) -> Any:
        refuse(host)
        return getaddrinfo(host, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if USER_VARIABLES.fullmatch(name)]:
            patch.delenv(name)
        patch.setattr(socket.socket, "connect", connected)
        patch.setattr(socket.socket, "connect_ex", connected_ex)
        patch.setattr(socket, "getaddrinfo", resolved)
        yield


def check(to_connect: socket.socket, address: Any) -> None:
    """Refuse an address of the internet that is not of this machine."""
    if to_connect.family in (socket.AF_INET, socket.AF_INET6):
        refuse(address[0])


def refuse(host: Any) -> None:
    """Raise an `OutsideError` for a host that is not this machine."""
    name = host.decode() if isinstance(host, bytes) else host
    if not name or name == "localhost":
        return
    try:
        here = ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        here = False
    if not here:
        raise OutsideError(f"a test tried to reach {name}: tests may reach this machine only")
