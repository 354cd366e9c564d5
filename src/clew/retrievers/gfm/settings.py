"""Settings of `gfm`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from clew.plugins.records import Cosine, CountOrAll, SettingsRecord, setting
from clew.query.entity_linker import LinkerMethod, LinkerSettings

Targets = Literal["passages", "entities", "documents"]
"""The nodes that a network scores: passages, entities, or the passages of a graph that has all entities too."""

Ranker = Literal["weighted", "paper"]
Seeds = Literal["rarity", "plain"]


@dataclass(frozen=True, slots=True)
class EntityForm:
    """Surroundings of a network that scores entities: the weights of its seeds, and the ranking of passages."""

    seeds: Seeds = "rarity"  # a named entity starts at 1 / its number of passages (the authors' code), or at 1
    ranker: Ranker = "weighted"  # entities count by their probability, or as published all the same
    entities: int | None = 20  # number of best entities that count; None for all
    rarity: bool = True  # whether an entity's weight is divided by its number of passages
    linker: LinkerMethod = "exact"  # what linked the names of its questions, of whatever it scores


class GFM(SettingsRecord):
    """Settings of `gfm`."""

    label: ClassVar[str] = "gfm"

    nodes: CountOrAll | None = setting(
        None, "nodes of the graph near the question that the network runs on", "ours; GFM-RAG: all", "from the weights"
    )
    weights: Path | None = setting(None, "weights that `clew adapt` made", unset="the index's, else the package's")
    linker: LinkerMethod | None = setting(
        None,
        "what links the names of a question to entities",
        "GFM-RAG: embedding",
        "as for the index, if set there, else from the weights",
    )
    linker_floor: Cosine | None = setting(
        None,
        "least score of a name and its entity, where the linker compares vectors",
        "GFM-RAG: none, which is -1",
        "as for the index",
    )

    def resolve_linking(self, of_index: LinkerSettings, trained: LinkerMethod) -> LinkerSettings:
        """Return how names are linked: as set here, for the index if that is set, or as in training."""
        default = of_index.method if of_index.is_chosen or of_index.method != "exact" else trained
        floor = of_index.floor if self.linker_floor is None else self.linker_floor
        return replace(of_index, method=self.linker or default, floor=floor)
