"""Files of questions with the passages that a retriever found for each: the pools that rerankers order.

A file is a JSON list, or JSON lines, of {question, answers, ctxs}; `id` is optional. Each of `ctxs` is a passage
{title, text} with, where there are any, `id`, `score` (a number, also in quotes; the passages are in its order, else in
that of the file), `has_answer` or `hasanswer` (whether it is a positive passage; else those that hold an answer string
are), and the AMR graph of question and passage as `nodes` [concept] and `edges` [[position, relation, position]].

Source: Karpukhin et al. (2020) for the layout of DPR's retriever, Izacard and Grave, "Leveraging Passage Retrieval with
Generative Models for Open Domain Question Answering" (2021) for that of FiD, and Wang et al., "Exploiting Abstract
Meaning Representation for Open-Domain Question Answering" (2023) for AMR graphs in it, which G-RAG's data sets have.
Differs from the source: nothing.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from clew.datasets.questions import Record, check_unique, preview, read_records
from clew.errors import InputError
from clew.types import Document, Evidence, Passage, Question, Scored
from clew_lab.datasets.answer_strings import holds_answer

CONTEXTS = "ctxs"
"""The key by which a file of candidates is known."""
_POSITIVE_KEYS = ("has_answer", "hasanswer")  # DPR's and FiD's spelling
AMR_NODES, AMR_EDGES = "nodes", "edges"
"""Keys of an AMR graph, in a file and in the metadata of a candidate."""


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """A question and the passages that a retriever found for it, best first."""

    question: Question  # its gold are the ids of its positive passages, each a document of its own
    passages: tuple[Scored[Passage], ...]  # AMR graphs, as they are written, in the metadata

    def evidence(self, depth: int) -> Evidence:
        """Return the first passages as evidence."""
        return Evidence(self.passages[:depth])


def load_candidates(path: str | Path) -> list[CandidatePool]:
    """Return the pools of a file, in its order.

    Raises InputError with file and record where the file cannot be read, a key is missing or has the wrong type, an id
    repeats, or one question stands there twice with different passages.
    """
    with closing(read_records(Path(path))) as records:  # the file too, where a record is refused
        located = [(record.location, _make_pool(record, number)) for number, record in enumerate(records)]
    check_unique((location, pool.question) for location, pool in located)
    first: dict[str, tuple[str, CandidatePool]] = {}
    for location, pool in located:
        known, other = first.setdefault(pool.question.text, (location, pool))
        if [scored.item.id for scored in other.passages] != [scored.item.id for scored in pool.passages]:
            raise InputError(
                f"{location}: the question {pool.question.text[:60]!r} stands at {known} with other passages; wanted "
                "one pool a question: remove one of them"
            )
    return [pool for _, pool in located]


def candidate_documents(pools: Iterable[CandidatePool]) -> Iterator[Document]:
    """Yield each passage of the pools once as a document; two texts of one id are an InputError."""
    texts: dict[str, bytes] = {}
    for pool in pools:
        for scored in pool.passages:
            item = scored.item
            digest = _digest(item.title, item.text)
            known = texts.setdefault(item.id, b"")
            if known and known != digest:
                raise InputError(
                    f"the passage {item.id!r} has two texts, one of them for the question "
                    f"{pool.question.text[:60]!r}; wanted one text for an id: correct the file of candidates"
                )
            if not known:
                texts[item.id] = digest
                yield Document(item.id, item.title, item.text)


def _make_pool(record: Record, number: int) -> CandidatePool:
    text = record.text("question")
    answers = record.texts("answers") if record.fields.get("answers") is not None else ()
    identifier = record.identifier("id") if record.fields.get("id") is not None else str(number)
    contexts = [
        record.nested_record(item, f"{CONTEXTS} {place}") for place, item in enumerate(record.items(CONTEXTS), 1)
    ]
    passages = [_make_passage(context) for context in contexts]
    if twice := next((id_ for id_, count in Counter(p.id for p in passages).items() if count > 1), ""):
        raise record.error(f"the passage {twice!r} stands there twice", "each passage once")
    gold = [p.id for p, context in zip(passages, contexts, strict=True) if _is_positive(context, p, answers)]
    question = Question(identifier, text, answers, tuple(gold))
    return CandidatePool(question, _in_order(passages, _scores(record, contexts)))


def _make_passage(context: Record) -> Passage:
    title = context.text("title") if context.fields.get("title") is not None else ""
    text = context.text("text")
    if any(context.fields.get(key) is not None for key in ("id", "passage_id")):
        identifier = context.identifier(*(key for key in ("id", "passage_id") if context.fields.get(key) is not None))
    else:
        identifier = f"{title}@{_digest(title, text).hex()}"
    graph = {key: context.items(key) for key in (AMR_NODES, AMR_EDGES) if key in context.fields}
    if len(graph) == 1:
        raise context.error(f"there are {next(iter(graph))!r} alone", f"both {AMR_NODES!r} and {AMR_EDGES!r}, or none")
    return Passage(identifier, identifier, title, text, 0, len(text), graph)


def _is_positive(context: Record, passage: Passage, answers: Sequence[str]) -> bool:
    stated = {key: context.fields[key] for key in _POSITIVE_KEYS if context.fields.get(key) is not None}
    if not stated:
        return holds_answer(passage.text, answers)
    for key, value in stated.items():
        if not isinstance(value, bool):
            raise context.error(f"{key!r} is {preview(value)}", "true or false")
    if len(set(stated.values())) > 1:
        raise context.error(f"{' and '.join(map(repr, stated))} differ", "one of them, or the same for both")
    return any(stated.values())


def _scores(record: Record, contexts: Sequence[Record]) -> list[float]:
    """Return the scores of passages, or one over the rank where none has any."""
    given = [context.fields.get("score") for context in contexts]
    if all(score is None for score in given):
        return [1.0 / rank for rank in range(1, len(contexts) + 1)]
    if any(score is None for score in given):
        raise record.error("some passages have a score and others have none", "scores for all of them, or for none")
    return [_score(context) for context in contexts]


def _score(context: Record) -> float:
    stated = context.fields["score"]
    try:
        score = float(stated) if isinstance(stated, int | float | str) and not isinstance(stated, bool) else math.nan
    except (ValueError, OverflowError):
        score = math.nan
    if not math.isfinite(score):
        raise context.error(f"'score' is {preview(stated)}", "a finite number")
    return score


def _in_order(passages: Sequence[Passage], scores: Sequence[float]) -> tuple[Scored[Passage], ...]:
    pairs = zip(passages, scores, strict=True)
    return tuple(Scored(passage, score) for passage, score in sorted(pairs, key=lambda pair: -pair[1]))


def _digest(title: str, text: str) -> bytes:
    return blake2b(f"{title}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
