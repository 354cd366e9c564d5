"""The devices that a test of networks runs on: always the processor, and a GPU where there is one."""

import pytest
import torch

NEEDS_GPU = (pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))
DEVICES = ("cpu", pytest.param("cuda", marks=NEEDS_GPU))
