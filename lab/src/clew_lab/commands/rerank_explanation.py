"""`clew explain --rerank g-rag`: its search, and its output as text and as JSON."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import Progress
    from clew_lab.candidates.edge_explanations import ExplainedEdge, RerankExplanation

_MAX_PARTS = 5


def explain_reranker(
    question: str,
    location: str,
    target: str | None,
    retriever: str,
    count: int,
    where: str | None,
    device: str | None,
    progress: "Progress",
    *,
    strict: bool = False,
) -> "RerankExplanation":
    """Return the explanation of a passage of the pool of a retriever with its reranker, as `NAME:rerank=...`."""
    from clew.commands.opening import open_index, parse_retriever
    from clew.commands.options import apply_strict
    from clew.retrievers.reranked import RerankedRetriever
    from clew_lab.candidates.edge_explanations import explain_reranking

    opened, where = apply_strict(open_index(location, progress, None, device), where, strict=strict)
    if not len(opened.snapshot.passage_ids):
        raise InputError("this index has no passages, so nothing is reranked: add documents with `clew index`")
    ranked = opened.retriever(parse_retriever(retriever), 0)
    if not isinstance(ranked, RerankedRetriever):
        raise InputError(f"{retriever} reranks nothing: name the reranker g-rag")
    parts = ranked.base, ranked.reranker, ranked.rerank_depth
    return explain_reranking(opened.context, *parts, question, target, count, where)


def format_reranking(explanation: "RerankExplanation", form: str) -> str:
    """Return an explanation as "text" or "json"."""
    if form == "json":
        return json.dumps(reranking_json(explanation), ensure_ascii=False, indent=2)
    moved = f"rank {explanation.rank}, found at {explanation.rank_before}"
    lines = [f"{_name(explanation.passage)}: {moved}, score {explanation.score:.4f}; edges by their effect on it"]
    lines += [_edge_line(number, edge) for number, edge in enumerate(explanation.edges, 1)]
    lines += [] if explanation.edges else ["no edge has an effect"]
    return "\n".join([*lines, *(f"note: {note}" for note in explanation.notes)])


def reranking_json(explanation: "RerankExplanation") -> dict[str, Any]:
    """Return an explanation as JSON values."""
    return {
        "question": explanation.question,
        "passage": explanation.passage.id,
        "score": explanation.score,
        "rank": explanation.rank,
        "rank_before": explanation.rank_before,
        "edges": [
            {**{key: value for key, value in asdict(edge).items() if key not in ("first", "second", "parts")},
             "between": [edge.first.id, edge.second.id],
             "parts": {kind: list(names) for kind, names in edge.parts.items()}}
            for edge in explanation.edges
        ],
        "notes": list(explanation.notes),
    }  # fmt: skip


def _edge_line(number: int, edge: "ExplainedEdge") -> str:
    features = ", ".join(f"{name} {effect:+.4f}" for name, effect in edge.features.items())
    parts = "; ".join(f"{kind}: {', '.join(names[:_MAX_PARTS])}" for kind, names in edge.parts.items() if names)
    line = f"{number}. {edge.effect:+.4f}  {_name(edge.first)} -- {_name(edge.second)}  ({features})"
    return f"{line}\n   {parts}" if parts else line


def _name(passage: Any) -> str:
    return f"{passage.title} [{passage.id}]" if passage.title else f"[{passage.id}]"
