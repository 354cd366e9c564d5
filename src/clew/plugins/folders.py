"""The folder of this machine for what can be made again, after the platform's convention."""

import os
from pathlib import Path

from platformdirs import user_cache_path

from clew.errors import InputError


def cache_folder() -> Path:
    """Return the folder for data that can be recomputed: `CLEW_CACHE`, else the platform's cache folder for `clew`.

    It need not exist yet. Raises InputError where `CLEW_CACHE` is a file, or below one.
    """
    if not (path := os.environ.get("CLEW_CACHE")):
        return user_cache_path("clew", appauthor=False)
    folder = Path(path).expanduser().absolute()
    existing = next((place for place in (folder, *folder.parents) if os.path.lexists(place)), folder)
    if os.path.lexists(existing) and not existing.is_dir():
        below = "" if existing == folder else f", below {existing}"
        raise InputError(
            f"CLEW_CACHE is {path!r}{below}, which is no folder: give one that exists or can be made, or unset it"
        )
    return folder
