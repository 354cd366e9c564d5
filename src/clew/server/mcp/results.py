"""The results of tools: short, since an assistant pays for each word; `read` gives the whole."""

from pydantic import Field

from clew.server import records
from clew.types import Evidence, Triple

_SHORT = 400  # characters of a passage
_MAX_PATHS = 5
_MAX_CHAINS = 2
_MAX_FACTS = 20


class ShortPassage(records.Record):
    """A passage that was found."""

    id: str
    title: str
    text: str = Field(description="Cut unless `full` was asked for; `read` gives the whole.")
    score: float
    time: str = Field(default="", description="When it was written; empty where it is not known.")


class ShortEvidence(records.OfVersion):
    """The evidence for a question."""

    passages: list[ShortPassage]
    connections: list[str] = Field(description="How the passages connect: facts, or sentences joined by names.")
    notes: list[str]


class ShortQuote(records.Record):
    """A sentence as it stands in a passage."""

    passage_id: str
    title: str
    quote: str


class ShortAnswer(records.OfVersion):
    """An answer with quotes."""

    answer: str = Field(description="Empty where the evidence holds no answer.")
    weak: bool = Field(description="Whether the answer is not likely enough to be asserted, or nothing supports it.")
    quotes: list[ShortQuote]
    other_candidates: list[str]
    other_times: list[str] = Field(default=[], description="Answers of other times, and what is said against it.")
    passages: list[str] = Field(description="Ids of the passages that were found, best first.")
    notes: list[str]


class ReadPassage(records.OfVersion):
    """A passage with its neighbours in the document."""

    id: str
    document_id: str
    title: str
    text: str
    before: str = Field(default="", description="The text before it.")
    after: str = Field(default="", description="The text after it.")
    entities: list[str]


class ShortStep(records.Record):
    """A step of a path."""

    fact: str
    quote: str
    passage_id: str


class Connection(records.Record):
    """A path between two things."""

    entities: list[str]
    steps: list[ShortStep]


class Connections(records.OfVersion):
    """The shortest paths between two things."""

    paths: list[Connection]


class ShortEntity(records.OfVersion):
    """An entity."""

    name: str
    facts: list[str]
    passages: list[str] = Field(description="Ids of passages that mention it.")


class About(records.OfVersion):
    """The contents of an index."""

    documents: int
    passages: int
    entities: int
    facts: int
    titles: list[str] = Field(description="Titles of some of its documents.")


class Stored(records.Record):
    """The state of a document that was added or removed."""

    index: str
    job: str
    status: str
    reason: str = ""


class RecalledTurn(records.Record):
    """A turn that was found."""

    id: str
    speaker: str
    time: str
    text: str


class RecalledTurns(records.Record):
    """Turns that bear on a question, best first."""

    index: str
    turns: list[RecalledTurn]
    notes: list[str]


def short_turns(index: str, found: Evidence) -> RecalledTurns:
    """Return the turns of evidence."""
    passages = [scored.item for scored in found.passages]
    turns = [
        RecalledTurn(id=p.document_id, speaker=p.title, time=str(p.metadata.get("time", "")), text=p.text)
        for p in passages
    ]
    return RecalledTurns(index=index, turns=turns, notes=[*found.notes])


def short_evidence(reply: records.SearchReply, *, full: bool) -> ShortEvidence:
    """Return the evidence for the first question of a reply."""
    found = reply.results[0]
    passages = [
        ShortPassage(
            id=p.id,
            title=p.title,
            text=p.text if full else shorten(p.text),
            score=round(p.score, 4),
            time=str(p.time or ""),
        )
        for p in found.passages
    ]
    paths = [" ; ".join(map(_fact, path.triples)) for path in found.paths[:_MAX_PATHS]]
    chains = [" -> ".join(f"{q.title}: {q.quote}" for q in chain.sentences) for chain in found.chains[:_MAX_CHAINS]]
    return ShortEvidence(
        index=reply.index,
        version=reply.version,
        passages=passages,
        connections=[*paths, *chains],
        notes=[*found.notes],
    )


def short_answer(answer: records.Answer) -> ShortAnswer:
    """Return an answer without its evidence."""
    return ShortAnswer(
        index=answer.index,
        version=answer.version,
        answer=answer.answer,
        weak=answer.weak,
        quotes=[ShortQuote.model_validate(citation) for citation in answer.citations],
        other_times=[f"{other}: {other.citation.quote}" for other in answer.others],
        other_candidates=[c.text for c in answer.candidates if c.text != answer.answer][:5],
        passages=[p.id for p in answer.evidence.passages],
        notes=[*answer.evidence.notes, *answer.notes],
    )


def read_passage(view: records.PassageView) -> ReadPassage:
    """Return a passage with the texts beside it."""
    return ReadPassage(
        index=view.index,
        version=view.version,
        id=view.id,
        document_id=view.document_id,
        title=view.title,
        text=view.text,
        before="" if view.previous is None else view.previous.text,
        after="" if view.next is None else view.next.text,
        entities=[entity.name for entity in view.entities],
    )


def short_paths(found: records.PathList) -> Connections:
    """Return paths with one quote a step."""
    paths = [
        Connection(
            entities=[entity.name for entity in path.entities],
            steps=[
                ShortStep(
                    fact=_fact(edge),
                    quote=edge.quotes[0].quote if edge.quotes else "",
                    passage_id=edge.quotes[0].passage_id if edge.quotes else "",
                )
                for edge in path.edges
            ],
        )
        for path in found.paths
    ]
    return Connections(index=found.index, version=found.version, paths=paths)


def short_entity(entity: records.Entity) -> ShortEntity:
    """Return an entity with its first facts."""
    return ShortEntity(
        index=entity.index,
        version=entity.version,
        name=entity.name,
        facts=[f"{_fact(r)} ({', '.join(r.passages)})" for r in entity.relations[:_MAX_FACTS]],
        passages=entity.passage_ids[:_MAX_FACTS],
    )


def shorten(text: str) -> str:
    """Return the beginning of a text, of whole words."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHORT else f"{flat[:_SHORT].rsplit(' ', 1)[0]} ..."


def _fact(fact: Triple | records.StatedFact) -> str:
    return f"{fact.head} | {fact.relation} | {fact.tail}"
