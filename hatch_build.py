"""The extras of the package: those of pyproject.toml, and in a clone `lab`, the laboratory in the folder beside it."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ExtrasHook(MetadataHookInterface):
    """Adds `lab` where its folder is; a source archive, and so a release, has neither."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the optional dependencies."""
        extras = {name: list(needed) for name, needed in self.config["optional-dependencies"].items()}
        laboratory = Path(self.root) / "lab"
        if (laboratory / "pyproject.toml").is_file():
            extras["lab"] = [f"clew-lab @ {laboratory.as_uri()}"]
        metadata["optional-dependencies"] = extras
