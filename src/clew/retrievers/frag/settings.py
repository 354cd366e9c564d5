"""Settings of `frag`, `frag-simple` and `frag-complex`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.query.mediators import mediators_setting

Search = Literal["bfs", "shortest", "cheapest", "chains"]


class Frag(SettingsRecord):
    """Settings of `frag`; `frag-simple` and `frag-complex` fix `complexity`."""

    label: ClassVar[str] = "frag"
    PAPER: ClassVar[Mapping[str, Any]] = {
        "simple_search": "bfs",
        "complex_search": "shortest",
        "rank": "paths",
        "question": "whole",
        "ranker": "bi-encoder",
        "lengths": False,
    }
    """Values of `preset=paper`; a setting that is given beside it counts."""

    preset: Literal["ours", "paper"] = setting(
        "ours", "default of all other settings: what is best here, or the published form with the index's encoder"
    )
    complexity: Literal["auto", "simple", "complex"] = setting("auto", "`auto` asks the hop predictor", "FRAG")
    search: Search | None = setting(None, "path search", "docs/graphs.md", "chains")
    simple_search: Search | None = setting(None, "path search for simple questions; bfs as published", unset="search")
    complex_search: Search | None = setting(
        None, "path search for complex questions; shortest as published", unset="search"
    )
    hops: WholeNumber | None = setting(None, "hops of a path, at most", unset="2 for simple questions, 4 for complex")
    simple_hops: WholeNumber | None = setting(None, "hops for simple questions (k)", "FRAG: 2", "hops, at most 2")
    complex_hops: WholeNumber | None = setting(None, "hops for complex questions (k)", "FRAG: 4", "hops")
    delta: WholeNumber = setting(2, "hops beyond which a question is complex", "FRAG")
    entities: WholeNumber = setting(2000, "entities that the entity ranking keeps", "FRAG: n = 2000")
    relations: WholeNumber = setting(64, "relations that the relation ranking keeps", "FRAG: m = 64")
    paths: WholeNumber = setting(32, "paths that the path ranking keeps", "FRAG: u = 32")
    simple_entities: WholeNumber | None = setting(None, "entities kept for simple questions", unset="entities")
    complex_entities: WholeNumber | None = setting(None, "entities kept for complex questions", unset="entities")
    simple_relations: WholeNumber | None = setting(None, "relations kept for simple questions", unset="relations")
    complex_relations: WholeNumber | None = setting(None, "relations kept for complex questions", unset="relations")
    simple_paths: WholeNumber | None = setting(None, "paths kept for simple questions", unset="paths")
    complex_paths: WholeNumber | None = setting(None, "paths kept for complex questions", unset="paths")
    rank: Literal["relations", "paths"] = setting(
        "relations", "what the path ranker reads: names of relations, or whole paths with their entities", "FRAG: paths"
    )
    question: Literal["masked", "whole"] = setting(
        "masked", "the question that relations and paths are ranked against: masked is without its names", "FRAG: whole"
    )
    directed: bool = setting(default=False, description="whether facts are followed from head to tail alone")
    mediators: str | None = mediators_setting()
    ends: WholeNumber = setting(8, "ends of one relation path that rank before those of the next")
    edges: WholeNumber = setting(300_000, "edges read for the neighbourhood, at most")
    grm: Literal["ppr", "rwr", "nibble"] = setting("ppr", "entity ranking", "FRAG")
    lengths: bool = setting(
        default=True, description="whether the predicted number of hops adds to the ranking of paths"
    )
    router: Literal["words", "tf-idf"] | None = setting(
        None, "kind of hop predictor", unset="words, or tf-idf for another encoder"
    )
    router_weights: Path | None = setting(
        None, "hop predictor that `clew train router` made", unset="the index's, else the package's"
    )
    ranker: str | None = setting(
        None,
        "path ranker: trained, bi-encoder, bi-encoder:NAME, bm25, cross-encoder:NAME, late-interaction or llm:MODEL",
        unset="trained, or bi-encoder for another encoder, or bm25 without one",
    )
    path_weights: Path | None = setting(
        None, "path ranker that `clew train paths` made", unset="the index's, else the package's"
    )
    temperature: Annotated[float, Field(ge=0.001, le=1000.0)] | None = setting(
        None, "divides the scores of an untrained path ranker", unset="0.05 for bi-encoder, else 1"
    )
    relations_by: str | None = setting(
        None, "relation ranker: as ranker, but trained", unset="bi-encoder, or bm25 without an encoder"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("preset") != "paper":
            return values
        search = {} if values.get("search") is None else dict.fromkeys(("simple_search", "complex_search"))
        return {**cls.PAPER, **search, **values}
