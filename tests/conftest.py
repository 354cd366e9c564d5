"""Indexes that many tests search, made once a run; keys, settings and all other machines are out of reach."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from multiprocessing.util import Finalize
from pathlib import Path

import pytest
from hypothesis import settings

import clew
from clew.index import Index
from clew.settings import Settings
from tests.encoded_texts import remember_texts
from tests.memory_files import find_memory_folder
from tests.only_this_machine import only_this_machine
from tests.small_index import DOCUMENTS, make_index

EXAMPLES = Path(__file__).parents[1] / "examples"
LEAST_MEMORY = 6 * 2**30  # a run leaves some 1.5 GB of files until it ends

# A busy machine is no failure, and generated cases are the same in every run; `make fuzz` draws others.
settings.register_profile("clew", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None, print_blob=True)
settings.load_profile("clew")


def pytest_configure(config: pytest.Config) -> None:
    """Set what the tests' processes take over; it costs most of a run's time where it is left as it is."""
    if hasattr(config, "workerinput"):
        return
    if getattr(config.option, "numprocesses", None):
        # Threads of one product that wait for each other, and spin while they do, take the other worker's core: a
        # training took four times as long. A limit on threads is no way out: oneDNN then returns sums of fewer parts.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        os.environ.setdefault("GOMP_SPINCOUNT", "0")
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not config.option.basetemp and "TMPDIR" not in os.environ:
        _use_memory_for_files()


def _use_memory_for_files() -> None:
    """Make temporary folders in memory where there is room: on a disk an index waits half a second for 100 flushes."""
    if (memory := find_memory_folder(LEAST_MEMORY)) is not None:
        folder = tempfile.mkdtemp(prefix="clew-", dir=memory)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        # After those of `multiprocessing`, which removes a folder of its own in it.
        Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=-200)


@pytest.fixture(autouse=True, scope="session")
def _isolate_from_user_and_network() -> Iterator[None]:
    with only_this_machine():
        yield


@pytest.fixture(autouse=True, scope="session")
def _encode_each_text_once() -> Iterator[None]:
    with remember_texts():
        yield


@pytest.fixture(autouse=True, scope="session")
def _enable_ctrl_c() -> Iterator[None]:
    # A shell that starts the tests in the background lets them, and all that they start, ignore Ctrl-C.
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def plain_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of `small_index.DOCUMENTS` with the encoder `hashing`; tests must not write to it."""
    folder = tmp_path_factory.mktemp("small") / "index"
    make_index(folder, DOCUMENTS)
    return folder


@pytest.fixture(scope="session")
def small_folder(plain_folder: Path) -> Path:
    """The index that tests search unless they need another encoder."""
    return plain_folder


@pytest.fixture(scope="session")
def small(small_folder: Path) -> Index:
    """The small index, opened."""
    return clew.open(small_folder)


@pytest.fixture(scope="session")
def plain_polar(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of the example corpus with the encoder `hashing`; tests must not write to it."""
    index = clew.create(tmp_path_factory.mktemp("polar") / "index", Settings(encoder="hashing", extractor="rules"))
    report = index.add([EXAMPLES / "polar"])
    assert not report.failures
    return index


@pytest.fixture(scope="session")
def polar(plain_polar: Index) -> Index:
    """The index of the example corpus that tests search unless they need another encoder."""
    return plain_polar


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no temporary folder behind, also after Ctrl-C."""
    factory = getattr(config, "_tmp_path_factory", None)
    base = getattr(factory, "_basetemp", None)
    if base is not None and not hasattr(config, "workerinput"):
        shutil.rmtree(base, ignore_errors=True)
