"""Settings of the reranker `g-rag`."""

from pathlib import Path
from typing import ClassVar

from clew.plugins.records import SettingsRecord, setting


class GRag(SettingsRecord):
    """Settings of the reranker `g-rag`."""

    label: ClassVar[str] = "g-rag"

    weights: Path | None = setting(None, "weights that `clew train reranker` made", unset="the package's")
