"""Settings of `gfm-paper`."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from clew.plugins.records import Cosine, CountOrAll, SettingsRecord, setting
from clew.query.entity_linker import LinkerMethod, LinkerSettings
from clew.retrievers.gfm.settings import EntityForm, Ranker, Seeds

ENTITY_SETTINGS = ("preset", "ranker", "entities", "rarity", "seeds")
"""Settings for weights that score entities."""

PUBLISHED_SETTINGS = ("preset", "seeds")
"""The settings among `ENTITY_SETTINGS` that weights of G-reasoner, which score documents, also take."""

NO_FLOOR = -1.0
"""The least cosine of GFM-RAG, whose code links every name to its nearest entity."""


class GFMPaper(SettingsRecord):
    """Settings of `gfm-paper`."""

    label: ClassVar[str] = "gfm-paper"

    nodes: CountOrAll | None = setting(
        None, "nodes of the graph near the question that the network runs on", "ours; GFM-RAG: all", "from the weights"
    )
    weights: Path | None = setting(
        None, "weights that `clew train gfm` or `clew weights import` made", unset="none: give them"
    )
    preset: Literal["ours", "paper"] = setting(
        "paper", "paper: the whole graph and the ranking of passages of GFM-RAG, for weights that score entities"
    )
    ranker: Ranker | None = setting(
        None,
        "how scores of entities rank passages, for weights that score entities",
        "docs/models/gfm.md",
        "from the weights, else weighted",
    )
    entities: CountOrAll | None = setting(
        None,
        "best entities that rank passages, for weights that score entities",
        "GFM-RAG: T = 20",
        "from the weights, else 20",
    )
    rarity: bool | None = setting(
        None,
        "whether rare entities count more in that ranking, for weights that score entities",
        "GFM-RAG",
        "from the weights, else yes",
    )
    seeds: Seeds | None = setting(
        None,
        "start of a named entity: rarity, 1 / its number of passages, or plain, 1; for weights that score entities",
        "GFM-RAG: plain in the paper, rarity in its code",
        "from the weights, else rarity",
    )

    linker: LinkerMethod | None = setting(
        None,
        "what links the names of a question to entities",
        "GFM-RAG: embedding",
        "as for the index, if set there, else from the weights; embedding for the preset paper",
    )

    linker_floor: Cosine | None = setting(
        None,
        "least score of a name and its entity, where the linker compares vectors",
        "GFM-RAG: none, which is -1",
        "as for the index; -1 for the preset paper",
    )

    def entity_settings(self) -> list[str]:
        """Return the settings given here that are for weights that score entities; the preset ours is for all."""
        given = [name for name in ENTITY_SETTINGS if name in self.model_fields_set]
        return [name for name in given if (name, self.preset) != ("preset", "ours")]

    def resolve_linking(self, of_index: LinkerSettings, trained: LinkerMethod) -> LinkerSettings:
        """Return how names are linked: as set here, by the preset, for the index if that is set, or in training."""
        default = of_index.method if of_index.is_chosen or of_index.method != "exact" else trained
        preset = "embedding" if self.preset == "paper" else default
        floor = NO_FLOOR if self.preset == "paper" else of_index.floor
        floor = floor if self.linker_floor is None else self.linker_floor
        return replace(of_index, method=self.linker or preset, floor=floor)

    def resolve_form(self, trained: EntityForm) -> EntityForm:
        """Return what surrounds a network: what is set here, else the preset, else what comes with the weights."""
        paper = self.preset == "paper"
        ranker, entities, rarity = ("paper", 20, True) if paper else (trained.ranker, trained.entities, trained.rarity)
        return EntityForm(
            self.seeds or trained.seeds,
            self.ranker or ranker,
            entities if self.entities is None else (None if self.entities == "all" else self.entities),
            rarity if self.rarity is None else self.rarity,
            trained.linker,
        )
