"""The library's records as those of the interfaces."""

from clew.query.graph_browsing import EntityMatch, GraphBrowser, StatedEdge
from clew.server import records
from clew.types import Answer, Citation, Evidence, Filter, Passage, Path, Scored, SentenceChain, Usage


def view_passage(passage: Passage) -> records.Passage:
    """Return a passage."""
    return records.Passage.model_validate(passage, from_attributes=True)


def view_found(scored: Scored[Passage]) -> records.FoundPassage:
    """Return a passage that was found."""
    return records.FoundPassage(score=scored.score, **view_passage(scored.item).model_dump())


def view_quote(citation: Citation) -> records.Quote:
    """Return a quoted sentence."""
    return records.Quote.model_validate(citation, from_attributes=True)


def view_evidence(question: str, retriever: str, version: int, evidence: Evidence) -> records.Evidence:
    """Return the evidence for a question."""
    return records.Evidence(
        question=question,
        retriever=retriever,
        version=version,
        passages=[view_found(scored) for scored in evidence.passages],
        paths=[_view_path(path) for path in evidence.paths],
        notes=list(evidence.notes),
        usage=_view_usage(evidence.usage),
        steps=[records.Step.model_validate(step, from_attributes=True) for step in evidence.steps],
        topics=list(evidence.topics),
        chains=[_view_chain(chain) for chain in evidence.chains],
    )


def view_answer(index: str, found: records.Evidence, answer: Answer) -> records.Answer:
    """Return an answer, with the evidence that it was read from."""
    return records.Answer(
        index=index,
        version=found.version,
        question=found.question,
        retriever=found.retriever,
        answer=answer.text,
        headline=answer.headline,
        weak=answer.weak,
        citations=[view_quote(citation) for citation in answer.citations],
        candidates=[records.Candidate(text=c.item, score=c.score) for c in answer.candidates],
        notes=list(answer.notes),
        usage=_view_usage(answer.usage),
        failure="" if answer.failure is None else "the language model gave no usable reply",
        evidence=found,
    )


def view_entity(match: EntityMatch) -> records.EntitySummary:
    """Return an entity."""
    return records.EntitySummary(id=match.id, name=match.name, passages=match.passages)


def view_edge(edge: StatedEdge, browser: GraphBrowser, where: Filter | None) -> records.StatedFact:
    """Return an edge of the graph, whose ends have the names that allowed passages give them."""
    head, tail = browser.match(edge.head, where), browser.match(edge.tail, where)
    return records.StatedFact(
        head=head.name,
        relation=edge.relation,
        tail=tail.name,
        head_id=head.id,
        tail_id=tail.id,
        passages=list(edge.passages),
        imported=edge.imported,
        quotes=[view_quote(quote) for quote in edge.quotes],
    )


def _view_usage(usage: Usage) -> records.Usage:
    return records.Usage.model_validate(usage, from_attributes=True)


def _view_path(path: Scored[Path]) -> records.FoundPath:
    facts = [records.Fact.model_validate(triple, from_attributes=True) for triple in path.item]
    return records.FoundPath(score=path.score, triples=facts)


def _view_chain(chain: Scored[SentenceChain]) -> records.FoundChain:
    quotes = [view_quote(sentence) for sentence in chain.item.sentences]
    return records.FoundChain(score=chain.score, sentences=quotes, bridges=list(chain.item.bridges))
