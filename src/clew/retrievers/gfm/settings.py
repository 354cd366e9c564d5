"""Settings of `gfm`."""

from pathlib import Path
from typing import ClassVar, Literal

from clew.plugins.records import CountOrAll, SettingsRecord, setting

ENTITY_SETTINGS = ("ranker", "entities", "rarity")
"""Settings for weights that score entities; weights that score passages take none of them."""


class GFM(SettingsRecord):
    """Settings of `gfm`."""

    label: ClassVar[str] = "gfm"

    nodes: CountOrAll | None = setting(
        None, "nodes of the graph near the question that the network runs on", "ours; GFM-RAG: all", "from the weights"
    )
    weights: Path | None = setting(None, "weights that `clew train gfm` made", unset="the index's, else the package's")
    ranker: Literal["weighted", "paper"] = setting(
        "weighted", "how scores of entities rank passages, for weights that score entities", "docs/models/gfm.md"
    )
    entities: CountOrAll = setting(
        20, "best entities that rank passages, for weights that score entities", "GFM-RAG: T = 20"
    )
    rarity: bool = setting(
        default=True, description="whether rare entities count more, for weights that score entities", source="GFM-RAG"
    )
