"""The device of a training process."""

import pytest
import torch

from clew.errors import InputError
from clew.training.checkpoint import join_process_group, single_process


def test_one_process_trains_on_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    for device in ("cpu", "mps"):
        with join_process_group(device) as group:
            assert (group.rank, group.size, group.device.type) == (0, 1, device)
        assert single_process(device) == group


def test_several_processes_train_on_processors_or_gpus_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setenv("WORLD_SIZE", "2")
    message = "^the device is 'mps', and 2 processes train on cpu or cuda: start one process$"
    with pytest.raises(InputError, match=message), join_process_group("mps"):
        pass
    with pytest.raises(InputError, match="wanted one of auto, cpu, cuda, mps"), join_process_group("gpu"):
        pass
