"""Settings of `gear`, and of the expansion along triples that it does."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from clew.models.llm.prompts.proximal_triples import MAX_FACTS
from clew.plugins.records import Amount, CountOrAll, SettingsRecord, Share, WholeNumber, setting
from clew.protocols import LOCAL_READER
from clew.retrievers.agents.gear import GearSettings
from clew.retrievers.agents.local_reader import MAX_FACTS as MAX_LOCAL_FACTS
from clew.retrievers.graph_expansion import ExpansionSettings

LOCAL_NOTES, LOCAL_EXPANDED_NOTES, LOCAL_LATER_READ = 4, 2, 3
_BASE = "retriever whose passages are read"
_READER = "`local`, or a language model such as openai:gpt-4o-mini"
_EXPANSION = ExpansionSettings()
_GEAR = GearSettings()
_CAPS = "published: all; docs/decisions, GeAR"


class Expansion(SettingsRecord):
    """Settings of expansion along triples, of all retrievers that do it."""

    PAPER: ClassVar[Mapping[str, Any]] = {
        "length": 2,
        "width": 10,
        "context": 0.0,
        "hub": "all",
        "triples": "encoded",
        "weight": 1.0,
        "constant": 60.0,
    }
    """Values of `preset=paper`; a setting that is given beside it counts."""

    preset: Literal["ours", "paper"] = setting(
        "ours", "default of all other settings: what is best here, or the published form"
    )
    base: SettingsRecord | str = setting("bm25", _BASE)
    width: Annotated[int, Field(ge=1, le=1000)] = setting(
        _EXPANSION.beam.width, "beams that each step keeps", "published for relatives of GeAR: 10"
    )
    length: Annotated[int, Field(ge=1, le=16)] = setting(
        _EXPANSION.beam.length, "triples of a chain, at most", "published for relatives of GeAR: 2; docs/decisions"
    )
    gamma: Amount = setting(_EXPANSION.beam.gamma, "penalty of a beam's later siblings", "GeAR")
    context: Amount = setting(
        _EXPANSION.context, "share of the stating passage in a triple's score", "docs/decisions, GeAR"
    )
    read: WholeNumber = setting(
        _EXPANSION.read_depth, "passages of the base that are read", "published for relatives of GeAR: 10"
    )
    weight: Amount | None = setting(
        None,
        "weight of the base's ranking; 1 as published",
        "docs/decisions, GeAR",
        "2 above a base that follows the graph, else 1",
    )
    constant: Amount = setting(
        _EXPANSION.rank_constant, "rank constant of the fusion; 60 as published", "docs/decisions, GeAR"
    )
    hub: CountOrAll = setting(
        _EXPANSION.beam.hub, "triples of a node through which a chain goes, at most; all as published", "bench/beam.py"
    )
    triples: Literal["composed", "encoded"] = setting(
        "composed",
        "vectors of triples: of names and relation, added, or of each triple's text, which takes about a minute for "
        "ten thousand triples once",
        "docs/decisions; GeAR: encoded",
    )
    candidates: WholeNumber = setting(
        _EXPANSION.candidates, "passages of each ranking that are fused", "published for relatives of GeAR: 100"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("preset") != "paper":
            return values
        return {**cls.published_values(values), **values}

    @classmethod
    def published_values(cls, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of `preset=paper`, beside those that are given."""
        return cls.PAPER


class ReaderExpansion(Expansion):
    """Settings of expansion along triples that a reader picks."""

    reader: str = setting(LOCAL_READER, _READER)
    facts: CountOrAll | None = setting(
        None,
        "facts that the reader takes from the passages, at most",
        "GeAR: all",
        f"{MAX_LOCAL_FACTS} with the local reader, {MAX_FACTS} with a language model",
    )

    @classmethod
    def published_values(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of `preset=paper`; the local reader keeps its number of facts, since it selects by it."""
        return {**cls.PAPER, "facts": "all"} if ":" in str(given.get("reader", LOCAL_READER)) else cls.PAPER


class Gear(ReaderExpansion):
    """Settings of `gear`."""

    label: ClassVar[str] = "gear"
    PAPER: ClassVar[Mapping[str, Any]] = {
        **Expansion.PAPER,
        "notes": "all",
        "expanded_notes": "all",
        "notes_from": "expanded",
        "passage_link": "query",
        "later_read": 10,
        "later": 1.0,
        "gist_weight": 1.0,
        "prompts": "separate",
        "gain": 0.0,
    }

    steps: WholeNumber = setting(_GEAR.steps, "steps, at most", "docs/decisions")
    expand: bool = setting(_GEAR.expand, "whether passages are searched along triples", "GeAR")
    gist: bool = setting(_GEAR.gist, "whether the memory's triples bring passages to the final ranking", "GeAR")
    notes: CountOrAll | None = setting(
        None,
        "facts of the base's passages that a step notes, at most",
        _CAPS,
        f"all; {LOCAL_NOTES} with the local reader",
    )
    expanded_notes: CountOrAll | None = setting(
        None,
        "facts of the passages found by expansion that a step notes, at most",
        _CAPS,
        f"all; {LOCAL_EXPANDED_NOTES} with the local reader",
    )
    notes_from: Literal["found", "expanded"] = setting(
        "found",
        "passages whose facts are noted: of base and expansion, none read twice in a step, or as published of the "
        "expansion alone",
        "docs/decisions, GeAR",
    )
    passage_link: Literal["query", "stated"] | None = setting(
        None,
        "passages that a memory triple brings: those that the base ranks for its text, as published, or those that "
        "state the nearest triple",
        "docs/decisions, GeAR",
        "query; stated with the local reader",
    )
    later_read: WholeNumber | None = setting(
        None,
        "passages that steps after the first read",
        "docs/decisions, GeAR; published: 10",
        f"as many as the first; {LOCAL_LATER_READ} with the local reader",
    )
    prompts: Literal["joint", "separate"] = setting(
        "joint",
        "whether a language model judges the memory and writes the next query in one call or, as published, in two",
        "docs/decisions",
    )
    gain: Share = setting(
        0.1,
        "share of the question's words that a passage has to add, for the local reader to follow its name",
        "docs/decisions, GeAR",
    )
    later: Amount | None = setting(
        None,
        "weight of later steps; 1 as published",
        "docs/decisions, GeAR",
        "1 above a base that follows the graph, else 0.5",
    )
    gist_weight: Amount = setting(
        _GEAR.gist_weight, "weight of the passages of a memory triple; 1 as published", "docs/decisions, GeAR"
    )
