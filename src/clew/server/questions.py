"""Questions to one version of an index: search and ask, within what a key may see."""

from collections.abc import Sequence
from dataclasses import replace
from threading import Event
from typing import Protocol

from clew.errors import InputError
from clew.index import Index
from clew.plugins.records import SettingsRecord
from clew.plugins.tracing import trace_calls
from clew.protocols import Retriever, TopicRetriever
from clew.retrievers.registry import describe_default, open_retriever
from clew.server import records
from clew.server.access import Access
from clew.server.open_indexes import OpenVersion
from clew.server.refusals import Refusal
from clew.server.retriever_choice import choose_retriever, describe_retriever
from clew.server.views import view_answer, view_evidence
from clew.types import AUTO_RETRIEVER, Evidence, Filter


class Listener(Protocol):
    """Receives the parts of an answer while it is made; all calls come from the thread that makes it."""

    def on_evidence(self, evidence: records.Evidence) -> None:
        """Take the evidence, before the answer is written."""

    def on_text(self, text: str) -> None:
        """Take the text of the answer written so far."""


@trace_calls("clew.search")
def search(version: OpenVersion, access: Access, request: records.SearchRequest) -> records.SearchReply:
    """Return the evidence for each question of a request."""
    questions = _questions(request)
    name, found = _retrieve(version, access, questions, request)
    pairs = zip(questions, found, strict=True)
    results = [view_evidence(question, name, version.number, evidence) for question, evidence in pairs]
    return records.SearchReply(index=version.name, version=version.number, results=results)


@trace_calls("clew.ask")
def ask(
    version: OpenVersion,
    access: Access,
    request: records.AskRequest,
    models: Sequence[str],
    listener: Listener | None = None,
    cancelled: Event | None = None,
) -> records.Answer:
    """Return the answer to a question; nothing more is done once `cancelled` is set after the search."""
    spec = check_request(request, models)
    index, where = _visible_index(version, access, request)
    answerer = index.answerer(request.model, index.resolve_retriever(spec), where=where)
    name, (evidence,) = _retrieve(version, access, [request.question], request)
    shown = view_evidence(request.question, name, version.number, evidence)
    if listener is not None:
        listener.on_evidence(shown)
    if cancelled is not None and cancelled.is_set():
        raise Refusal(499, "the client has left", "left")
    on_text = None if listener is None else listener.on_text
    answer = answerer.answer([request.question], [evidence], on_text)[0]
    return view_answer(version.name, shown, answer)


def check_request(request: records.AskRequest, models: Sequence[str]) -> str | SettingsRecord:
    """Return the retriever of a request, "auto" or its settings.

    Raises:
        InputError: The model is none of those that are allowed, or the retriever is unknown.
    """
    if request.model and request.model not in models:
        raise InputError(
            f"model is {request.model!r}; this server allows: {', '.join(models) or 'none, leave it empty'}"
        )
    return choose_retriever(request.retriever, request.rerank)


def _questions(request: records.SearchRequest) -> list[str]:
    if (request.question is None) == (request.questions is None):
        raise InputError("give a question or questions, and not both")
    return [request.question] if request.question is not None else list(request.questions or ())


def _retrieve(
    version: OpenVersion, access: Access, questions: Sequence[str], request: records.EvidenceOptions
) -> tuple[str, list[Evidence]]:
    """Return the name of the retriever that was used, and what it found for each question."""
    index, where = _visible_index(version, access, request)
    chosen = choose_retriever(request.retriever, request.rerank)
    spec = index.resolve_retriever(chosen)
    if index is version.index:
        retriever = open_version_retriever(version, spec, request.paths)
    else:
        context = index.context.with_paths_per_passage(request.paths)
        retriever = version.retriever((access.where, spec, request.paths), lambda: open_retriever(spec, context))
    if not request.topics:
        found = retriever.retrieve(list(questions), request.k, where)
    elif isinstance(retriever, TopicRetriever):
        found = retriever.retrieve_about(list(questions), [request.topics] * len(questions), request.k, where)
    else:
        raise InputError(f"topics are for retrievers of paths, such as frag, not {describe_retriever(spec)}")
    notes = describe_default(describe_retriever(spec)) if chosen == AUTO_RETRIEVER else ()
    within = access.where if index is version.index else None
    finished = [index.finish(evidence, where, within) for evidence in found]
    return describe_retriever(spec), [replace(each, notes=(*each.notes, *notes)) for each in finished]


def _visible_index(
    version: OpenVersion, access: Access, request: records.EvidenceOptions
) -> tuple[Index, Filter | None]:
    """Return the index that a key searches, and the filter of its searches: its own is none in a strict key's index."""
    where = access.restrict(request.where, version.scope)
    if not access.strict or access.where is None:
        return version.index, where
    return version.restrict(access.where), request.where


def open_version_retriever(version: OpenVersion, spec: str | SettingsRecord, paths: int) -> Retriever:
    """Return a retriever over a version; the most recently used ones are kept."""
    return version.retriever(
        (spec, paths), lambda: open_retriever(spec, version.index.context.with_paths_per_passage(paths))
    )
