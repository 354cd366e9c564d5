"""Addresses of Ray clusters, and one where nothing answers."""

import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from clew.errors import InputError, ProviderError
from clew.plugins import ray_cluster
from clew.plugins.ray_cluster import check_address, connect_cluster, describe_ray_error


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


def test_pages_of_ray_are_a_few_words() -> None:
    exceptions = pytest.importorskip("ray").exceptions
    page = "The actor died.\nRay could not retrieve it (1) ... (2) ... see raylet.out"
    gone = "its process was killed, or its machine is gone"
    assert describe_ray_error(exceptions.ActorDiedError()) == gone
    assert describe_ray_error(exceptions.WorkerCrashedError()) == gone
    assert describe_ray_error(exceptions.OutOfMemoryError(page)) == "a machine ran out of memory, so give fewer actors"
    assert describe_ray_error(exceptions.RaySystemError("a fault")) == "System error: a fault"
    assert all(hasattr(exceptions, name) for name in ray_cluster._REASONS)


def test_a_process_that_ends_prints_nothing_among_the_results() -> None:
    pytest.importorskip("ray")
    program = """
import sys
from clew.plugins import ray_cluster
ray_cluster.import_extra = lambda *names: sys.exit(show())
def show():
    from ray._private.worker import print_to_stdstream
    print_to_stdstream({"lines": ["A worker died:\\nsee raylet.out"], "pid": "raylet", "is_err": False}, False)
with ray_cluster.connect_cluster("local", 1):
    pass
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
