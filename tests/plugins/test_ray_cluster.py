"""Addresses of Ray clusters, and one where nothing answers."""

import socket
import sys
from types import SimpleNamespace

import pytest

from clew.errors import InputError, ProviderError
from clew.plugins import ray_cluster
from clew.plugins.ray_cluster import check_address, connect_cluster


@pytest.mark.parametrize("address", ["local", "auto", "head:6379", "10.0.0.7:6379", "ray://head:10001", "[::1]:6379"])
def test_addresses(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize("address", ["", "head", "head:", ":6379", "http://head:6379", "head:6379/x", "a b:1"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"--ray is .*HOST:PORT, or auto, or local"):
        check_address(address)


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "127.0.0.1:99999"])
def test_an_address_where_nothing_answers_is_not_waited_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        pytest.fail("Ray would wait for minutes")

    ray = SimpleNamespace(is_initialized=lambda: False, init=init)
    monkeypatch.setitem(sys.modules, "ray", ray)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # it is not listened at
        place = address.format(unused.getsockname()[1])
        with (
            pytest.raises(ProviderError, match=r"cannot be reached .*: start it, or give local"),
            connect_cluster(place, 2),
        ):
            pytest.fail("it is not connected")


def test_what_was_connected_before_stays_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = SimpleNamespace(is_initialized=lambda: True, shutdown=lambda: pytest.fail("it belongs to another"))
    monkeypatch.setattr(ray_cluster, "import_extra", lambda *_: ray)
    with connect_cluster("auto", 2) as connected:
        assert connected is ray
