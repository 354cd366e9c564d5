"""Settings of `frag`, `frag-simple` and `frag-complex`."""

from pathlib import Path
from typing import ClassVar, Literal

from clew.plugins.records import Amount, SettingsRecord, WholeNumber, setting


class Frag(SettingsRecord):
    """Settings of `frag`; `frag-simple` and `frag-complex` fix `complexity`."""

    label: ClassVar[str] = "frag"

    complexity: Literal["auto", "simple", "complex"] = setting("auto", "`auto` asks the hop predictor", "FRAG")
    search: Literal["bfs", "shortest", "cheapest", "chains"] | None = setting(
        None, "path search", "docs/graphs.md", "chains"
    )
    hops: WholeNumber | None = setting(None, "hops of a path, at most", unset="2 for simple questions, 4 for complex")
    delta: WholeNumber = setting(2, "hops beyond which a question is complex", "FRAG")
    entities: WholeNumber = setting(2000, "entities that the entity ranking keeps", "FRAG: n = 2000")
    relations: WholeNumber = setting(64, "relations that the relation ranking keeps", "FRAG: m = 64")
    paths: WholeNumber = setting(32, "paths that the path ranking keeps", "FRAG: u = 32")
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
        "path ranker: trained, bi-encoder, bm25 or cross-encoder:NAME",
        unset="trained, or bi-encoder for another encoder, or bm25 without one",
    )
    path_weights: Path | None = setting(
        None, "path ranker that `clew train paths` made", unset="the index's, else the package's"
    )
    temperature: Amount | None = setting(
        None, "divides the scores of an untrained path ranker", unset="0.05 for bi-encoder, else 1"
    )
    relations_by: str | None = setting(
        None, "relation ranker: bi-encoder, bm25 or cross-encoder:NAME", unset="bi-encoder, or bm25 without an encoder"
    )
