"""Parameters of networks as numpy arrays, as they are stored and as the forward passes without torch read them."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from clew.arrays import FloatArray


def export_arrays(module: nn.Module) -> dict[str, FloatArray]:
    """Return copies of the parameters and buffers by name, in float32, each in the shape that it has in the module."""
    return {name: value.detach().cpu().float().numpy().copy() for name, value in sorted(module.state_dict().items())}


def load_arrays(module: nn.Module, arrays: Mapping[str, FloatArray]) -> None:
    """Set the parameters of a module to the arrays of their names, of the same shapes; other arrays are ignored."""
    module.load_state_dict({name: torch.tensor(arrays[name]) for name in module.state_dict()})


def to_tensor(array: FloatArray, device: torch.device) -> Tensor:
    """Return an array as a tensor of its shape on a device; a read-only one, such as a mapped file, is copied."""
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)
