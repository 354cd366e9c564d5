"""Answers from a selected subgraph, read by a graph reader such as a causal language model with a trained soft prompt.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3: the reader generates the answer from the question and the text of the selected subgraph.
Differs from the source: a question for which no fact was selected is not read; an answer that names no selected node is
marked as weak.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from clew.answering.kg_paths import NO_PATHS_NOTE
from clew.answering.replies import empty_answer
from clew.errors import InputError
from clew.graph.paths.simple_paths import path_entities
from clew.index import Index, RetrieverSpec
from clew.protocols import fingerprint_of
from clew.retrievers.subgraph.retriever import SubgraphRetriever
from clew.text.display import format_count, to_single_line
from clew.text.normalization import name_key
from clew.types import Answer, Evidence, Filter, Scored, Usage
from clew_lab.graph.reader_context import GraphContext, build_context
from clew_lab.graph_readers.protocols import GeneratedText, GraphReader, TokenCounter

NOTHING_READ_NOTE = "the model's reply is empty"
OUTSIDE_NOTE = "the answer is the name of no selected entity: the model knows it from elsewhere, or made it up"
OTHER_SELECTION_NOTE = "the soft prompt was trained with another selection than this retriever's: name its weights"


def subgraph_source(index: Index, retriever: RetrieverSpec) -> SubgraphRetriever:
    """Return a retriever of an index that selects subgraphs; raises InputError for one that does not."""
    if isinstance(opened := index.retriever(retriever), SubgraphRetriever):
        return opened
    name = retriever if isinstance(retriever, str) else getattr(type(retriever), "label", type(retriever).__name__)
    raise InputError(
        f"a reader of subgraphs answers from what gcn-subgraph or steiner selects, not {name}: give --retriever "
        "gcn-subgraph or steiner"
    )


def retrieve_subgraphs(
    retriever: SubgraphRetriever,
    questions: Sequence[str],
    topics: Sequence[Sequence[str]],
    k: int,
    where: Filter | None = None,
) -> list[tuple[Evidence, str, GraphContext | None]]:
    """Return the evidence of each question, its text without brackets, and its subgraph; None if it is empty.

    `topics`, `k` and `where` are those of `TopicRetriever.retrieve_about`.
    """
    return [
        (evidence, "", None) if found is None else (evidence, found.text, build_context(found.query, found.subgraph))
        for evidence, found in retriever.retrieve_with_trace(questions, topics, k, where)
    ]


def ask_subgraph(
    index: Index,
    question: str,
    reader: GraphReader,
    retriever: RetrieverSpec = "gcn-subgraph",
    k: int = 5,
    where: Filter | None = None,
    topics: Sequence[str] = (),
    trained_with: str = "",
) -> Answer:
    """Return the answer that a graph reader gives from the subgraph that a retriever of an index selects.

    `reader` is for example a `SoftPromptReader`; `k`, `where` and `topics` are those of `Index.search`. `trained_with`
    is the fingerprint of the selection that the reader was trained with, if it is known; another one is noted in the
    answer. Raises InputError where the retriever selects no subgraph.
    """
    opened = subgraph_source(index, retriever)
    ((evidence, text, context),) = retrieve_subgraphs(opened, [question], [topics], k, where)
    answer = answer_from_subgraph(reader, text, index.finish(evidence, where), context)
    if trained_with in ("", fingerprint_of(opened.selector)):
        return answer
    return replace(answer, notes=(*answer.notes, OTHER_SELECTION_NOTE))


def answer_from_subgraph(
    reader: GraphReader, question: str, evidence: Evidence, context: GraphContext | None
) -> Answer:
    """Return a reader's answer to a question without brackets, from what `retrieve_subgraphs` found.

    The paths that end at the answer are moved to the front of the evidence. The score of the answer is 1 where it names
    a selected entity, else 0; tokens are counted where the reader is a `TokenCounter`. Raises InputError and
    ProviderError as `GraphReader.generate` does.
    """
    if context is None:
        return empty_answer(evidence, ("the question is empty", *evidence.notes))
    if not len(context.subgraph.edges):
        return empty_answer(evidence, (NO_PATHS_NOTE, *evidence.notes))
    started = time.perf_counter()
    if isinstance(reader, TokenCounter):
        (reply,) = reader.generate_counted([question], [context])
    else:
        reply = GeneratedText(reader.generate([question], [context])[0], 0, 0)
    text, tokens = to_single_line(reply.text), (reply.input_tokens, reply.output_tokens)
    usage = Usage(time.perf_counter() - started, 1, *tokens)
    size = (
        f"{format_count(len(context.subgraph.nodes), 'entity')} and {format_count(len(context.subgraph.edges), 'fact')}"
    )
    written = f"written by {reader.name}, which read {size}"
    if not text:
        return empty_answer(evidence, (written, NOTHING_READ_NOTE), usage)
    key, names = name_key(text), context.query.graph.graph.nodes
    is_selected = key in {name_key(names[node]) for node in context.subgraph.nodes.tolist()}
    notes = (written,) if is_selected else (written, OUTSIDE_NOTE)
    candidates = (Scored(text, float(is_selected)),)
    return Answer(
        text, (), candidates, _move_paths_first(evidence, key), weak=not is_selected, notes=notes, usage=usage
    )


def _move_paths_first(evidence: Evidence, key: str) -> Evidence:
    """Move the paths that end at the entity of a name key to the front, in their order."""
    ends = [name_key(path_entities(path.item, evidence.topics)[-1]) == key for path in evidence.paths]
    order = sorted(range(len(ends)), key=lambda place: not ends[place])
    return replace(evidence, paths=tuple(evidence.paths[place] for place in order))
