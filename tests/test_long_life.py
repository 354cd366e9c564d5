"""Processes that live long: indexes that are closed or left, many settings, and children by fork."""

import gc
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.threads import BackgroundThread, PerProcess
from clew.settings import Settings
from clew.store.passage_table import PassageTable
from tests.faults.commands import make_voyage

QUESTION = "Which captain took Voyage 12 to Hobart?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    documents = [
        clew.Document(str(row["id"]), str(row["title"]), str(row["text"])) for row in map(make_voyage, range(40))
    ]
    clew.create(folder, Settings(encoder="hashing:16", extractor="rules")).add(documents)
    clew.open(folder).search(QUESTION, 3, "pagerank")
    return folder


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_files() -> list[str]:
    """Return the names of the open descriptors of this process."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("no list of open files")
    names = []
    for path in folder.iterdir():
        try:
            names.append(str(path.readlink()))
        except FileNotFoundError:
            continue
    return names


def mapped_files(folder: Path) -> int:
    return sum(str(folder) in line for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("retriever", ["bm25", "pagerank", "frag", "fused"])
def test_an_open_index_has_few_descriptors_and_frees_them_at_once(folder: Path, retriever: str) -> None:
    def own() -> list[str]:
        return [name for name in open_files() if str(folder) in name]

    index = clew.open(folder)
    assert index.search(QUESTION, 3, retriever).passages
    assert len(own()) <= 4
    assert mapped_files(folder) > 0
    del index
    assert own() == []
    assert mapped_files(folder) == 0


@pytest.mark.usefixtures("no_collection")
def test_many_indexes_are_opened_one_after_the_other(folder: Path) -> None:
    clew.open(folder).search(QUESTION, 3, "bm25")
    before = len(open_files())
    for _ in range(60):
        assert clew.open(folder).search(QUESTION, 3, "bm25").passages
    assert len(open_files()) <= before + 4


@pytest.mark.usefixtures("no_collection")
def test_a_closed_index_holds_nothing_and_opens_again(folder: Path) -> None:
    with clew.open(folder) as index:
        retriever = index.retriever("bm25")
        expected = index.search(QUESTION, 3, "bm25").passages
    assert retriever.retrieve([QUESTION], 3)[0].passages == expected
    del retriever
    assert not [name for name in open_files() if str(folder) in name]
    assert mapped_files(folder) == 0
    assert index.search(QUESTION, 3, "bm25").passages == expected
    index.close()
    index.close()
    assert mapped_files(folder) == 0


def test_a_closed_index_lets_a_compaction_drop_its_version(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "i")
    index = clew.open(tmp_path / "i")
    writer = clew.open(tmp_path / "i")
    writer.remove(["v0001"])
    writer.compact()
    assert index.table.version in {one.version for one in writer.versions()}
    index.close()
    writer.remove(["v0002"])
    writer.compact()
    assert [one.version for one in PassageTable.open(tmp_path / "i").versions()] == [writer.table.version]


def test_retrievers_of_many_settings_are_bounded_and_the_latest_stay(folder: Path) -> None:
    index = clew.open(folder)

    def retriever(number: int) -> object:
        return index.retriever("bm25", paths=number)

    first = retriever(1)
    for number in range(2, 101):
        retriever(number)
        assert retriever(1) is first
    assert len(index._retrievers) <= 32
    assert retriever(2) is not retriever(3)


FORKED = """
import os, signal, sys
import clew
from clew.inference import relational_sums

relational_sums._MIN_PARALLEL_PRODUCTS = 0  # sums are in many threads, as on a graph of thousands of nodes
QUESTION = "Which captain took Voyage 12 to Hobart?"
documents = [clew.Document(f"v{n}", f"Voyage {n}", f"Captain Moe took Voyage {n} to Hobart.") for n in range(20)]
index = clew.create(sys.argv[1])
index.add(documents)
found = {name: index.search(QUESTION, 3, name).passages for name in ("gfm", "chains", "dense")}
child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that waits for ever is killed
    for name, passages in found.items():
        assert index.search(QUESTION, 3, name).passages == passages, name
        assert index.search("Who took Voyage 7?", 3, name).passages, name
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert index.search(QUESTION, 3, "gfm").passages == found["gfm"]
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_child_by_fork_searches_as_its_parent(tmp_path: Path) -> None:
    """In a process of its own (seconds): a fork of the tests' process would take over the threads of other tests."""
    script = tmp_path / "forked.py"
    script.write_text(FORKED, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(script), str(tmp_path / "index")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore:lance is not fork-safe")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_child_by_fork_does_not_wait_for_a_model_that_a_thread_of_its_parent_was_running() -> None:
    """The session of ONNX Runtime was taken over with the locks that the thread held: the child waited for ever."""
    started, release = threading.Event(), threading.Event()
    made = PerProcess(lambda: threading.Lock())

    def hold() -> None:
        with made.get():
            started.set()
            release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    started.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if made.get().acquire(timeout=5) else 1)
    status = os.waitpid(child, 0)[1]
    release.set()
    thread.join()
    assert status == 0
    assert made.get() is made.get()


TORCH_FORKED = """
import os, signal
import torch
import clew.models.threads  # as every open index does

torch.set_num_threads(2)
numbers = torch.ones(1000, 1000)
total = torch.relu(numbers).sum() + (numbers @ numbers).sum()
child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that waits for ever is killed
    os._exit(0 if torch.relu(numbers).sum() + (numbers @ numbers).sum() == total else 1)
assert os.waitpid(child, 0)[1] == 0
assert torch.get_num_threads() == 2
assert torch.relu(numbers).sum() + (numbers @ numbers).sum() == total
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the threads of torch are set on Linux")
def test_a_child_by_fork_does_not_wait_for_threads_of_torch(tmp_path: Path) -> None:
    """The threads of OpenMP were taken over without being there: the first kernel of a child waited for ever."""
    script = tmp_path / "forked.py"
    script.write_text(TORCH_FORKED, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr


COMPILING = """
import os, signal, threading
from numba.core.compiler_lock import global_compiler_lock
from clew.arrays.kernels import njit

@njit
def double(number):
    return 2 * number

started = threading.Event()
release = threading.Timer(0.5, lambda: None)

def compile_for_a_while():
    with global_compiler_lock:
        started.set()
        release.join()

thread = threading.Thread(target=compile_for_a_while)
release.start()
thread.start()
started.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that waits for ever is killed
    os._exit(0 if double(21) == 42 else 1)
assert os.waitpid(child, 0)[1] == 0
assert double(21) == 42
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_child_by_fork_does_not_wait_for_a_thread_of_its_parent_that_was_compiling(tmp_path: Path) -> None:
    """The lock of the compiler was taken over as the thread held it: at first use every child waited for ever."""
    script = tmp_path / "compiling.py"
    script.write_text(COMPILING, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(script)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr


def test_each_process_opens_the_encoder_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Int8MiniLM()
    model = encoder._load()
    rows = encoder.encode(["Fram"])
    assert encoder._load() is model
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert encoder._load() is not model
    assert (encoder.encode(["Fram"]) == rows).all()


def test_another_process_starts_a_background_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = BackgroundThread("clew-test")
    first, again = (thread.submit(threading.get_ident).result() for _ in range(2))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    executor = thread._executor
    assert first == again
    assert thread.submit(threading.get_ident).result() != first
    assert executor is not thread._executor is not None
