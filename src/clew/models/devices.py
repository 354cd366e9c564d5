"""The device that models run on."""

import importlib.util

from clew.errors import InputError
from clew.plugins.extras import import_extra

DEVICES = ("auto", "cpu", "cuda", "mps")


def check_device(name: str) -> None:
    """Raise an InputError where a device is unknown, or this machine lacks it; "auto" and "cpu" load no torch."""
    if name not in ("auto", "cpu"):
        choose_device(name)


def choose_device(name: str) -> str:
    """Return the name of a torch device: "auto" is a CUDA device where torch can use one, else the processor.

    Raises InputError where there is no such device, or torch cannot use it on this machine; MissingPackageError where
    a device is asked for and torch is not installed.
    """
    if name not in DEVICES:
        raise InputError(
            f"the device is {name!r}; wanted one of {', '.join(DEVICES)}: give another --device, or correct "
            "clew.toml or CLEW_DEVICE"
        )
    if name == "cpu" or (name == "auto" and importlib.util.find_spec("torch") is None):
        return "cpu"
    torch = import_extra("torch", "train", f"the device {name!r}", "use cpu")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    backend = torch.cuda if name == "cuda" else torch.backends.mps
    if not backend.is_available():
        raise InputError(f"the device is {name!r}, and torch finds none on this machine: use cpu, or repair the driver")
    return name
