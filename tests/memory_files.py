"""Where temporary files cost no disk: a folder in memory, which Linux alone has."""

import os
from pathlib import Path

_FOLDER = Path("/dev/shm")


def find_memory_folder(least: int) -> Path | None:
    """Return a folder in memory with room for so many bytes; in a container it is often too small.

    None where there is none, or none that a program or library can be loaded from.
    """
    if not os.access(_FOLDER, os.W_OK):
        return None
    state = os.statvfs(_FOLDER)
    has_room = state.f_bavail * state.f_frsize >= least
    return _FOLDER if has_room and not state.f_flag & os.ST_NOEXEC else None
