"""The choice of a device, and the thread beside the caller."""

import pytest
import torch

from clew.errors import InputError
from clew.models.threads import BackgroundThread, check_device, choose_device
from tests.faults.python_process import run_python


def test_the_processor_is_always_there() -> None:
    assert choose_device("cpu") == "cpu"
    assert choose_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused_in_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(InputError, match=f"^the device is '{name}', and torch finds none on this machine: use cpu"):
        check_device(name)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(InputError, match="wanted one of auto, cpu, cuda, mps"):
        check_device("gpu")


def test_auto_and_cpu_are_checked_without_torch() -> None:
    program = (
        "import sys; from clew.models.threads import check_device; check_device('auto'); check_device('cpu');"
        "assert 'torch' not in sys.modules"
    )
    run_python(program)


def test_a_background_thread_is_lent_to_a_caller_that_is_alone() -> None:
    thread = BackgroundThread("clew-test")
    with thread.borrow() as first:
        assert first is thread
        with thread.borrow() as second:
            assert second is None
    with thread.borrow() as alone:
        assert alone is thread
