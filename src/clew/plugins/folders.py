"""The folder of this machine for what can be made again, after the platform's convention."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """Return the folder for data that can be recomputed: `CLEW_CACHE`, else the platform's cache folder for `clew`."""
    if path := os.environ.get("CLEW_CACHE"):
        return Path(path).expanduser().absolute()
    return user_cache_path("clew", appauthor=False)
