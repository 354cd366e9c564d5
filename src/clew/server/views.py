"""The library's records as those of the interfaces."""

from clew.query.graph_browsing import EntityMatch, GraphBrowser, StatedEdge
from clew.server import records
from clew.types import AgentStep, Answer, Citation, Evidence, Passage, Path, Scored, SentenceChain, Usage


def view_usage(usage: Usage) -> records.Usage:
    """Return a cost."""
    return records.Usage(
        seconds=usage.seconds,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
    )


def view_passage(passage: Passage) -> records.Passage:
    """Return a passage."""
    return records.Passage(
        id=passage.id,
        document_id=passage.document_id,
        title=passage.title,
        text=passage.text,
        start=passage.start,
        end=passage.end,
        metadata=dict(passage.metadata),
    )


def view_found(scored: Scored[Passage]) -> records.FoundPassage:
    """Return a passage that was found."""
    return records.FoundPassage(score=scored.score, **view_passage(scored.item).model_dump())


def view_path(path: Scored[Path]) -> records.FoundPath:
    """Return a path of facts."""
    facts = [
        records.Fact(
            head=t.head,
            relation=t.relation,
            tail=t.tail,
            passages=list(t.passages),
            head_name=t.head_name,
            tail_name=t.tail_name,
        )
        for t in path.item
    ]
    return records.FoundPath(score=path.score, triples=facts)


def view_quote(citation: Citation) -> records.Quote:
    """Return a quoted sentence."""
    return records.Quote(
        document_id=citation.document_id,
        passage_id=citation.passage_id,
        title=citation.title,
        start=citation.start,
        end=citation.end,
        quote=citation.quote,
    )


def view_step(step: AgentStep) -> records.Step:
    """Return a step of an agent."""
    return records.Step(
        query=step.query,
        read=list(step.read),
        linked=list(step.linked),
        new=list(step.new),
        gist=list(step.gist),
        verdict=step.verdict,
        reasoning=step.reasoning,
        usage=view_usage(step.usage),
    )


def view_evidence(question: str, retriever: str, version: int, evidence: Evidence) -> records.Evidence:
    """Return the evidence for a question."""
    return records.Evidence(
        question=question,
        retriever=retriever,
        version=version,
        passages=[view_found(scored) for scored in evidence.passages],
        paths=[view_path(path) for path in evidence.paths],
        notes=list(evidence.notes),
        usage=view_usage(evidence.usage),
        steps=[view_step(step) for step in evidence.steps],
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
        weak=answer.weak,
        citations=[view_quote(citation) for citation in answer.citations],
        candidates=[records.Candidate(text=c.item, score=c.score) for c in answer.candidates],
        notes=list(answer.notes),
        usage=view_usage(answer.usage),
        failure="" if answer.failure is None else "the language model gave no usable reply",
        evidence=found,
    )


def view_entity(match: EntityMatch) -> records.EntitySummary:
    """Return an entity."""
    return records.EntitySummary(id=match.id, name=match.name, passages=match.passages)


def view_edge(edge: StatedEdge, browser: GraphBrowser) -> records.StatedFact:
    """Return an edge of the graph."""
    head, tail = browser.match(edge.head), browser.match(edge.tail)
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


def _view_chain(chain: Scored[SentenceChain]) -> records.FoundChain:
    quotes = [view_quote(sentence) for sentence in chain.item.sentences]
    return records.FoundChain(score=chain.score, sentences=quotes, bridges=list(chain.item.bridges))
