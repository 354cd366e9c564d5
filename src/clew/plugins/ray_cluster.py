"""The connection to a Ray cluster (extra `ray`): one that runs, or one of this machine that ends with the command."""

import logging
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.errors import InputError, ProviderError
from clew.plugins.extras import import_extra

LOCAL, AUTO = "local", "auto"
TRIES = 3
"""Times that a task is tried, in all, where the process of its actor is killed."""
_HOST_AND_PORT = re.compile(r"(?:ray://)?(?:\[(?P<ipv6>[^\]\s]+)\]|(?P<host>[^:/\s]+)):(?P<port>\d{1,5})")
_NO_LINES = "(?s).*"  # Ray skips what it matches of what it would print
_REASONS = {
    "OutOfMemoryError": "a machine ran out of memory, so give fewer actors",
    "OutOfDiskError": "the disk of a machine is full",
    "ObjectStoreFullError": "the memory that Ray shares is full",
    "LocalRayletDiedError": "Ray ended on this machine",
    "RayActorError": "its process was killed, or its machine is gone",
    "WorkerCrashedError": "its process was killed, or its machine is gone",
    "NodeDiedError": "its process was killed, or its machine is gone",
}
"""For each class of Ray's errors a description of what happened."""
_SECONDS = 10.0  # for an answer at an address; Ray itself waits for minutes


@contextmanager
def connect_cluster(address: str, actors: int) -> Iterator[Any]:
    """Connect to a cluster, and yield the package `ray`; what was connected or started here ends with the block.

    Args:
        address: `HOST:PORT` or `ray://HOST:PORT`, `auto` for the cluster that this machine belongs to, or `local` for
            one of its own with a core for each actor.
        actors: Number of actors of a local cluster.

    Raises:
        InputError: The address has another form.
        MissingPackageError: Ray is not installed.
        ProviderError: The cluster cannot be reached.
    """
    check_address(address)
    # Else each process that ends puts a paragraph among the results on standard output; it is read when Ray is loaded.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", _NO_LINES)
    ray = import_extra("ray", "ray", "--ray")
    started_here = not ray.is_initialized()
    try:
        if started_here:
            with warnings.catch_warnings():
                # Ray forks to start its daemons, which use nothing of Lance.
                warnings.filterwarnings("ignore", "lance is not fork-safe")
                _connect(ray, address, actors)
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        yield ray
    finally:
        if started_here and ray.is_initialized():
            ray.shutdown()


def describe_ray_error(error: Exception) -> str:
    """Return in a few words what an error of Ray says, which may be a page; the last line of one that is not known."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    known = next((_REASONS[kind] for kind in kinds if kind in _REASONS), None)
    return known or (str(error).strip().splitlines() or [type(error).__name__])[-1]


def check_address(address: str) -> None:
    """Refuse an address of another form than `connect_cluster` takes."""
    if address not in (LOCAL, AUTO) and _HOST_AND_PORT.fullmatch(address) is None:
        raise InputError(f"--ray is {address!r}: give the address of a cluster, HOST:PORT, or auto, or local")


def _connect(ray: Any, address: str, actors: int) -> None:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns of a change that concerns no actor
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    quiet = {"log_to_driver": False, "logging_level": "error"}
    try:
        if address == LOCAL:
            # One more than the actors hold, or a task of Ray's own would wait for them for ever.
            ray.init(address=LOCAL, num_cpus=actors + 1, _node_ip_address="127.0.0.1", include_dashboard=False, **quiet)
            return
        if match := _HOST_AND_PORT.fullmatch(address):
            socket.create_connection((match["ipv6"] or match["host"], int(match["port"])), _SECONDS).close()
        ray.init(address=address, **quiet)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        raise ProviderError(
            f"the Ray cluster {address!r} cannot be reached ({error}): start it, or give local"
        ) from error
