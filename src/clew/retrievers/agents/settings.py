"""Settings of the retrievers that work above a base: `naive-ge`, `sync-ge`, `gear` and `ircot`."""

from typing import ClassVar

from clew.plugins.records import Amount, SettingsRecord, WholeNumber, setting
from clew.retrievers.agents.gear import GearSettings
from clew.retrievers.graph_expansion import ExpansionSettings

LOCAL_READER = "local"
_BASE = "retriever whose passages are read"
_READER = "`local`, or a language model such as openai:gpt-4o-mini"
_EXPANSION = ExpansionSettings()
_GEAR = GearSettings()


class Expansion(SettingsRecord):
    """Settings of expansion along triples, of all retrievers that do it."""

    base: SettingsRecord | str = setting("bm25", _BASE)
    width: WholeNumber = setting(
        _EXPANSION.beam.width, "beams that each step keeps", "published for relatives of GeAR: 10"
    )
    length: WholeNumber = setting(
        _EXPANSION.beam.length, "triples of a chain, at most", "published for relatives of GeAR: 2; docs/decisions.md"
    )
    gamma: Amount = setting(_EXPANSION.beam.gamma, "penalty of a beam's later siblings", "GeAR")
    context: Amount = setting(
        _EXPANSION.context, "share of the stating passage in a triple's score", "docs/decisions.md, GeAR"
    )
    read: WholeNumber = setting(
        _EXPANSION.read_depth, "passages of the base that are read", "published for relatives of GeAR: 10"
    )
    weight: Amount | None = setting(
        None,
        "weight of the base's ranking; 1 as published",
        "docs/decisions.md, GeAR",
        "2 above a base that follows the graph, else 1",
    )
    constant: Amount = setting(
        _EXPANSION.rank_constant, "rank constant of the fusion; 60 as published", "docs/decisions.md, GeAR"
    )


class NaiveGE(Expansion):
    """Settings of `naive-ge`."""

    label: ClassVar[str] = "naive-ge"


class SyncGE(Expansion):
    """Settings of `sync-ge`."""

    label: ClassVar[str] = "sync-ge"

    reader: str = setting(LOCAL_READER, _READER)


class Gear(Expansion):
    """Settings of `gear`."""

    label: ClassVar[str] = "gear"

    reader: str = setting(LOCAL_READER, _READER)
    steps: WholeNumber = setting(_GEAR.steps, "steps, at most", "docs/decisions.md")
    expand: bool = setting(_GEAR.expand, "whether passages are searched along triples", "GeAR")
    gist: bool = setting(_GEAR.gist, "whether the memory's triples bring passages to the final ranking", "GeAR")
    later: Amount | None = setting(
        None,
        "weight of later steps; 1 as published",
        "docs/decisions.md, GeAR",
        "1 above a base that follows the graph, else 0.5",
    )
    gist_weight: Amount = setting(
        _GEAR.gist_weight, "weight of the passages of a memory triple; 1 as published", "docs/decisions.md, GeAR"
    )


class IRCoT(SettingsRecord):
    """Settings of `ircot`."""

    label: ClassVar[str] = "ircot"

    base: SettingsRecord | str = setting("bm25", _BASE)
    reader: str = setting(LOCAL_READER, _READER)
    steps: WholeNumber = setting(4, "steps, at most")
    context: Amount = setting(
        _EXPANSION.context, "share of the stating passage in a triple's score", "docs/decisions.md"
    )
