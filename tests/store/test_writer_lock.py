import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clew.errors import IndexLockedError, InputError
from clew.store.writer_lock import writer_lock

HOLD = """
import sys
from clew.store.writer_lock import writer_lock
with writer_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def start_holder(folder: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLD, str(folder)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_the_error_of_a_second_process_names_the_holder_of_the_lock(tmp_path: Path) -> None:
    with start_holder(tmp_path) as child:
        with (
            pytest.raises(IndexLockedError, match=rf"process {child.pid}, since \d{{4}}-\d\d-\d\dT"),
            writer_lock(tmp_path),
        ):
            pass
        child.communicate("")
    with writer_lock(tmp_path):
        assert re.search(rf'"pid": {os.getpid()}', (tmp_path / "clew.lock").read_text())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    with start_holder(tmp_path) as child:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with writer_lock(tmp_path):
            pass


def test_the_lock_is_not_taken_twice_in_one_process(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        with pytest.raises(IndexLockedError, match=f"process {os.getpid()}"), writer_lock(tmp_path):
            pass
        with pytest.raises(IndexLockedError), writer_lock(tmp_path):
            pass
    with writer_lock(tmp_path):
        pass


def test_an_error_in_the_block_releases_the_lock(tmp_path: Path) -> None:
    with pytest.raises(KeyError), writer_lock(tmp_path):
        raise KeyError
    with writer_lock(tmp_path):
        pass


def test_a_file_in_the_place_of_a_folder_is_the_callers_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(InputError, match="choose another place"), writer_lock(place):
            pass
