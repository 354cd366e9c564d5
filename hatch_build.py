"""The extras of the package: those of pyproject.toml, and in a clone `lab`, the laboratory in the folder beside it."""

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ExtrasHook(MetadataHookInterface):
    """Adds `lab` by the place of its folder, unless `CLEW_RELEASE` is set: a release names no place of one machine."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the optional dependencies."""
        extras = {name: list(needed) for name, needed in self.config["optional-dependencies"].items()}
        laboratory = Path(self.root) / "lab"
        if (laboratory / "pyproject.toml").is_file() and "CLEW_RELEASE" not in os.environ:
            extras["lab"] = [f"clew-lab @ {laboratory.as_uri()}"]
        metadata["optional-dependencies"] = extras
