"""Questions to one version of an index: search and ask, within what a key may see.

A request chooses a retriever by names and numbers, never by files, models or addresses.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from threading import Event
from typing import Any, Protocol, get_args

from clew.errors import InputError
from clew.index import Index
from clew.plugins.records import SettingsRecord
from clew.plugins.tracing import trace_calls
from clew.protocols import Retriever, TopicRetriever
from clew.retrievers.registry import RETRIEVERS, open_retriever, parse_retriever
from clew.server import records
from clew.server.access import Access
from clew.server.open_indexes import OpenVersion
from clew.server.refusals import Refusal
from clew.types import AUTO_RETRIEVER, Answer, Evidence, Filter

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_WORDS = frozenset({"local", "none", "all", "auto", "bm25", "g-rag", "tf-idf"})
"""Values of settings that are free texts, and that stand for something built in."""


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
    results = [_view_evidence(question, name, version.number, evidence) for question, evidence in pairs]
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
    shown = _view_evidence(request.question, name, version.number, evidence)
    if listener is not None:
        listener.on_evidence(shown)
    if cancelled is not None and cancelled.is_set():
        raise Refusal(499, "the client has left", "left")
    on_text = None if listener is None else listener.on_text
    answer = answerer.answer([request.question], [evidence], on_text)[0]
    return _view_answer(version.name, shown, answer)


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
    notes = index.describe_default(describe_retriever(spec)) if chosen == AUTO_RETRIEVER else ()
    within = access.where if index is version.index else None
    finished = [request.times.mark(index.finish(evidence, where, within)) for evidence in found]
    return describe_retriever(spec), [replace(each, notes=(*each.notes, *notes)) for each in finished]


def _visible_index(
    version: OpenVersion, access: Access, request: records.EvidenceOptions
) -> tuple[Index, Filter | None]:
    """Return the index that a key searches, and the filter of its searches: its own is none in a strict key's index."""
    limited = request.times.restrict(request.where)
    where = access.restrict(limited, version.scope)
    if not access.strict or access.where is None:
        return version.index, where
    return version.restrict(access.where), limited


def open_version_retriever(version: OpenVersion, spec: str | SettingsRecord, paths: int) -> Retriever:
    """Return a retriever over a version; the most recently used ones are kept."""
    return version.retriever(
        (spec, paths), lambda: open_retriever(spec, version.index.context.with_paths_per_passage(paths))
    )


def _view_evidence(question: str, retriever: str, version: int, found: Evidence) -> records.Evidence:
    return records.Evidence(
        question=question,
        retriever=retriever,
        version=version,
        usage=found.usage,
        steps=found.steps,
        topics=found.topics,
        as_of=found.as_of,
        **view_found(found),
    )


def view_found(found: Evidence) -> dict[str, Any]:
    """Return passages, paths, chains and notes as records have them."""
    names = tuple(records.Passage.model_fields)
    return {
        "passages": [
            records.FoundPassage(score=each.score, **{name: getattr(each.item, name) for name in names})
            for each in found.passages
        ],
        "paths": [records.FoundPath(score=path.score, triples=path.item) for path in found.paths],
        "chains": [
            records.FoundChain(score=chain.score, sentences=chain.item.sentences, bridges=chain.item.bridges)
            for chain in found.chains
        ],
        "notes": found.notes,
    }


def _view_answer(index: str, found: records.Evidence, answer: Answer) -> records.Answer:
    failure = "" if answer.failure is None else "the language model gave no usable reply"
    given = {"index": index, "version": found.version, "question": found.question, "retriever": found.retriever}
    own = replace(answer, evidence=Evidence()).to_dict()  # without the evidence, which is viewed already
    return records.Answer.model_validate(own | given | {"failure": failure, "evidence": found})


def choose_retriever(choice: str | records.RetrieverChoice, rerank: str = "none") -> str | SettingsRecord:
    """Return "auto" or the settings record of a retriever; text is read as on the command line, `gfm:nodes=all`.

    Raises InputError for an unknown name or setting, and for a value that names a file, a model or an address.
    """
    if isinstance(choice, str):
        name, _, settings = choice.partition(":")
        given = [part for part in settings.split(",") if part]
    else:
        name, given = choice.name, [f"{key}={_format(value)}" for key, value in choice.settings.items()]
    if rerank != "none":
        given.append(f"rerank={rerank}")
    if name == AUTO_RETRIEVER and not given:
        return AUTO_RETRIEVER
    if name == AUTO_RETRIEVER:
        raise InputError("the retriever auto takes no settings and no rerank: name one that GET /v1/indexes lists")
    if not _WORD.fullmatch(name):
        raise InputError(f"no retriever is called {name[:80]!r}: name one that GET /v1/indexes lists")
    for part in given:
        _check_word(part)
    record = parse_retriever(f"{name}:{','.join(given)}" if given else name)
    _check_record(record)
    return record


def describe_retriever(spec: str | SettingsRecord) -> str:
    """Return the name of a retriever."""
    return spec if isinstance(spec, str) else str(getattr(type(spec), "label", type(spec).__name__))


def _format(value: records.Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_word(part: str) -> None:
    key, _, value = part.partition("=")
    if not (_WORD.fullmatch(key) and (_WORD.fullmatch(value) or re.fullmatch(r"-?[0-9.]+", value))):
        raise InputError(
            f"the setting {part[:80]!r} cannot be given in a request: wanted NAME=VALUE, of letters and digits; files "
            "and models are chosen by whoever runs the server"
        )


def _check_record(record: SettingsRecord) -> None:
    for name in record.model_fields_set:
        value = getattr(record, name)
        if isinstance(value, SettingsRecord):
            _check_record(value)
        elif isinstance(value, str) and not _is_word(value, type(record).model_fields[name].annotation):
            raise InputError(f"{name} cannot be {value!r} in a request: files and models are chosen by the server")
        elif not (value is None or isinstance(value, str | int | float)):
            raise InputError(f"{name} names a file, which a request cannot choose: leave it out")


def _is_word(value: str, annotation: Any) -> bool:
    return value in _WORDS or value in _literals(annotation) or all(part in RETRIEVERS for part in value.split("+"))


def _literals(annotation: Any) -> set[object]:
    """Return the values of the literals in a type, however deep."""
    arguments = get_args(annotation)
    return {a for a in arguments if isinstance(a, str)} | {v for a in arguments for v in _literals(a)}
