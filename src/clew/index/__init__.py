"""An index: documents in, evidence and answers out; the Python API of everything the command line does."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from clew.arrays.threads import one_blas_thread
from clew.errors import InputError
from clew.index.async_calls import as_change, as_question
from clew.index.contents import ReadableIndex
from clew.index.entity_changes import CorrectableIndex
from clew.index.version import EncoderOpener
from clew.models.encoders.registry import ENGLISH_ENCODERS, accept_index_encoder
from clew.models.llm.access import LLMClientFactory
from clew.models.reader.reader import Reader, open_reader
from clew.models.threads import check_device
from clew.plugins.arguments import check_count, check_string, check_strings, describe_value
from clew.plugins.records import SettingsRecord, record_label
from clew.protocols import Answerer, Encoder, Extractor, Retriever, TopicRetriever
from clew.query.entity_linker import LinkerSettings
from clew.query.evidence_gate import check_evidence, drop_hidden_ties
from clew.query.time_limits import NO_LIMITS, TimeLimits
from clew.retrievers.object_retriever import accept_retriever
from clew.retrievers.registry import (
    default_retriever,
    describe_default,
    finds_nothing,
    is_path_retriever,
    names_that_find_paths,
    open_retriever,
)
from clew.settings import Settings, load_settings
from clew.store.location import locate, reply_cache_path
from clew.store.passage_table import PassageTable
from clew.store.writer_lock import writer_lock
from clew.types import AUTO_RETRIEVER, Answer, Evidence, Filter, Progress, ignore_progress

if TYPE_CHECKING:
    from clew.answering.selection import ModelSpec
    from clew.arrays import FloatArray
    from clew.query.example_questions import ExampleQuestion

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MAX_RETRIEVERS = 32  # that an index holds; each may hold megabytes
_TRIED_EXAMPLES = 4  # questions that are made for each one that is wanted
_MAX_SELECTIONS = 4  # restricted indexes kept open per index
_CACHE_LOCK = Lock()  # held for microseconds

# A retriever as users give it: a name, a settings record, or an object that retrieves.
RetrieverSpec = str | SettingsRecord | Retriever


class Index(CorrectableIndex, ReadableIndex):
    """One version of an index, from `clew.open` or `clew.create`; adding and removing moves the object to a newer one.

    `asearch`, `aask`, `aretrieve` and `aadd` are the async calls; those that are not must not run at the same time.

    Attributes:
        table: The passages on disk.
        llm_factory: How language models are asked, and what was spent on them.
        device: Where models run: "auto", "cpu", "cuda" or "mps"; it is checked where one does.
        similar_names: Whether names in questions that the index does not know are taken for those most like them.
        linking: How names in questions are found and linked else.
        selection: The passages that it has, from `restrict`; None for all of the table.
    """

    @cached_property
    def _retrievers(self) -> dict[tuple[str | SettingsRecord, int], Retriever]:
        return {}

    @cached_property
    def _selections(self) -> "dict[Filter, Index]":
        return {}

    def retriever(self, spec: RetrieverSpec = AUTO_RETRIEVER, paths: int = 1) -> Retriever:
        """Return a retriever over this version.

        Args:
            spec: A name (see `clew.RETRIEVERS`), "auto" for the one that serves this index best; a settings record such
                as `GFM(nodes="all")`; or any object that is a `Retriever`, whose evidence is checked at each search.
            paths: Number of paths that explain each passage, for a retriever that computes them (`gfm`).

        Raises:
            InputError: No retriever has that name, or it needs vectors that the index lacks.
        """
        if isinstance(spec, type) or not (isinstance(spec, str | SettingsRecord) or hasattr(spec, "retrieve")):
            raise InputError(f"the retriever is {spec!r}; give a name, a settings record such as GFM(), or a retriever")
        if not isinstance(spec, str | SettingsRecord):
            return accept_retriever(spec, self.context.scope)
        check_device(self.device)
        named = self.resolve_retriever(spec)
        key = named, paths
        with nullcontext() if key in self._retrievers else self._calls.opening:
            return _find_or_add(
                self._retrievers,
                key,
                lambda: open_retriever(named, self.context.with_paths_per_passage(paths)),
                _MAX_RETRIEVERS,
            )

    def resolve_retriever(self, spec: str | SettingsRecord = AUTO_RETRIEVER) -> str | SettingsRecord:
        """Return the name that "auto" stands for here, and any other name or record as it is."""
        if spec != AUTO_RETRIEVER:
            return spec
        return default_retriever(self.context, str(self.table.settings["encoder_fingerprint"]))

    def describe_default(self, name: str) -> tuple[str, ...]:
        """Return a note on why a retriever was chosen for "auto" here; none for the usual one."""
        return describe_default(name, str(self.table.settings["encoder_fingerprint"]))

    def search(
        self,
        question: str,
        k: int = 5,
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        where: Filter | None = None,
        paths: int = 1,
        topics: Sequence[str] = (),
        times: TimeLimits = NO_LIMITS,
    ) -> Evidence:
        """Return the evidence for one question.

        Args:
            question: Any string.
            k: Passages, at most.
            retriever: As in `retriever`.
            where: Which passages may be found.
            paths: As in `retriever`.
            topics: Entities that it is about, else they are linked; an InputError where the retriever finds no paths.
            times: Which days are seen.
        """
        check_string(question, "question")
        check_string(where, "where", optional=True)
        check_count(paths, "paths")
        check_strings(topics, "topics")
        if isinstance(retriever, str) and retriever == AUTO_RETRIEVER:
            evidence = self.search(question, k, chosen := self.resolve_retriever(), where, paths, topics, times)
            return replace(evidence, notes=(*evidence.notes, *self.describe_default(str(chosen))))
        opened, where = self.retriever(retriever, paths), times.restrict(where)
        with one_blas_thread():
            if not topics:
                found = opened.retrieve([question], k, where)
            elif isinstance(opened, TopicRetriever):
                found = opened.retrieve_about([question], [topics], k, where)
            else:
                able = ", ".join(names_that_find_paths())
                raise InputError(f"topics are for the retrievers {able}, not {_describe_retriever(retriever)}")
        return times.mark(self.finish(found[0], where))

    @as_question
    def aretrieve(
        self,
        questions: Sequence[str],
        k: int = 5,
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        where: Filter | None = None,
    ) -> list[Evidence]:
        """Return the evidence for each of some questions, in their order, from one call of the retriever."""
        check_strings(questions, "questions")
        return [self.finish(one, where) for one in self.retriever(retriever).retrieve(questions, k, where)]

    def finish(self, evidence: Evidence, where: Filter | None, within: Filter | None = None) -> Evidence:
        """Return what a retriever found, checked against the filter; `search` does this by itself.

        Where the filter allows no passage, that is the only note. `within` is the filter of what the caller may see at
        all, which `where` includes: nothing else is counted.

        Raises RuntimeError where it shows what the filter hides, which is a fault of the retriever, and InputError for
        what is no Evidence.
        """
        if not isinstance(evidence, Evidence):
            raise InputError(f"evidence is {describe_value(evidence)}; give the Evidence of a retriever")
        scope = self.context.scope
        if where is not None:
            check_evidence(evidence, scope, where)
            evidence = drop_hidden_ties(evidence, scope, where)
            if note := scope.describe_empty(where, within):
                return replace(evidence, notes=(note,))
        elif self.selection is not None and not len(scope):
            return replace(evidence, notes=("no passage meets the filter",))
        return evidence

    def ask(
        self,
        question: str,
        k: int = 5,
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        where: Filter | None = None,
        paths: int = 1,
        model: "ModelSpec" = "",
        topics: Sequence[str] = (),
        times: TimeLimits = NO_LIMITS,
    ) -> Answer:
        """Return an answer quoted from the evidence, or written by a language model with quotes that were checked.

        The model is as in `answerer`, all else as in `search`.
        """
        evidence = self.search(question, k, retriever, where, paths, topics, times)
        return self.answerer(model, retriever, where=times.restrict(where)).answer([question], [evidence])[0]

    def answerer(
        self,
        model: "ModelSpec" = "",
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        prompts: str = "json",
        where: Filter | None = None,
    ) -> Answerer:
        """Return the answerer for evidence of a retriever; paths of a path retriever are answered by their ends.

        A model is `provider:model`, or "" for sentences quoted without a language model; an unknown provider, a missing
        package or key is an InputError. It is also an object with `name` and `complete`, a function from a prompt to a
        reply, or an `Answerer` in its place. `prompts` is "json", or "text" for replies in plain text, from paths alone
        and for the retriever `none`, which has to have a model. `where` is the filter of the searches: what is said of
        names that are missing is said of the passages that it allows.
        """
        from clew.answering.selection import NOTHING, PASSAGES, PATHS, open_answerer

        if isinstance(retriever, str | SettingsRecord):
            spec = self.resolve_retriever(retriever)
            evidence = NOTHING if finds_nothing(spec) else PATHS if is_path_retriever(spec) else PASSAGES
        else:
            evidence = PATHS if isinstance(retriever, TopicRetriever) else PASSAGES

        def has_words(keys: Sequence[str]) -> list[bool]:
            scope = self.context.scope
            return self.context.lexical.has_words(keys, scope.restriction(scope.mask(where)))

        def reader() -> Reader:
            return open_reader(self.context.weights_folder("reader"))

        def cosines(texts: Sequence[str]) -> "FloatArray":
            vectors = self.context.encoder.encode(texts)
            return vectors @ vectors.T

        is_default = self.table.settings["encoder"] in ENGLISH_ENCODERS  # whose cosines the answerer knows
        near = cosines if is_default else None
        return open_answerer(model, self.open_model, reader, evidence, prompts, has_words, near)

    asearch = as_question(search)
    aask = as_question(ask)
    aadd = as_change(CorrectableIndex.add)

    def example_questions(self, count: int = 5) -> "list[ExampleQuestion]":
        """Return at most `count` questions that the index can answer, made by rules from chains of two facts.

        Each was asked without a language model: the passages that state its facts are among the first five, and the
        answer quotes the one of the last fact.
        """
        from clew.query.example_questions import list_example_questions

        check_count(count, "count", least=0)
        found: list[ExampleQuestion] = []
        for question in islice(list_example_questions(self.snapshot), _TRIED_EXAMPLES * count):
            if len(found) == count:
                break
            answer = self.ask(question.text)
            passages = {scored.item.id for scored in answer.evidence}
            quoted = {citation.passage_id for citation in answer.citations}
            if question.passages and question.passages[-1] in quoted and passages.issuperset(question.passages):
                found.append(question)
        return found

    def restrict(self, where: Filter) -> "Index":
        """Return an index of the passages alone that a filter allows: its order, scores and counts are of them alone.

        It is made in a folder beside this one's derived data, where the latest eight stay until the next change, and
        can be asked, but not changed. Weights that were adapted to this index are not used in it.

        Args:
            where: Which passages it has; imported graphs stay.

        Raises:
            InputError: The filter cannot be parsed, names a field that no passage has, or allows more than 100,000
                passages; or this is such an index itself.
        """
        check_string(where, "where")
        self._check_whole()
        return _find_or_add(self._selections, where, lambda: self._select(where), _MAX_SELECTIONS)

    def _select(self, where: Filter) -> "Index":
        from clew.indexing import entry

        selected = Index(
            self.table,
            self.llm_factory,
            self._progress,
            self.device,
            similar_names=self.similar_names,
            linking=self.linking,
            selection=entry.select_passages(self.table, self.snapshot, self.context.scope.mask(where)),
        )
        vars(selected)["_encoder_opener"] = self._encoder_opener  # holds a model
        return selected

    def close(self) -> None:
        """Let go of the files, memory, threads and version of this index; it is opened again where it is used again.

        Retrievers that were taken from it go on working, and hold what they need.
        """
        super().close()
        self._calls.end_threads()

    def _let_go(self) -> None:
        super()._let_go()
        self._retrievers.clear()
        for selected in self._selections.values():
            selected.close()
        self._selections.clear()


def open(  # noqa: A001
    location: str | Path,
    progress: Progress = ignore_progress,
    llm_factory: LLMClientFactory | None = None,
    device: str | None = None,
    encoder: Encoder | None = None,
    extractor: Extractor | None = None,
) -> Index:
    """Open the newest version of an index.

    Args:
        location: A folder, or an object-store URI such as `s3://bucket/prefix`.
        progress: Called with `(stage, done, total)` where something takes long.
        llm_factory: How language models are asked, where one is; else as the settings say.
        device: Where models run: "auto", "cpu", "cuda" or "mps"; else as the settings say.
        encoder: The object that the index was made with, where it was made with one.
        extractor: Likewise; it is needed for adding documents alone.

    Raises:
        IndexFormatError: There is no index, or one this version of Clew cannot read.
        InputError: This machine has no such device, or the index was made with another encoder or extractor.
    """
    _check_location(location)
    settings = load_settings()
    factory = settings.make_llm_factory() if llm_factory is None else llm_factory
    if device is not None:
        check_device(device)
    where = settings.device if device is None else device
    table = PassageTable.open(location)
    index = Index(
        table,
        factory,
        progress,
        where,
        similar_names=settings.unknown_names == "similar",
        linking=_linker_settings(settings),
    )
    if encoder is not None:
        accepted = accept_index_encoder(encoder, table.settings, table.dimension, table.location.name)
        vars(index)["_encoder_opener"] = EncoderOpener(table, where, factory, accepted)
    if extractor is not None:
        from clew.indexing import entry

        entry.check_index_extractor(entry.accept_extractor(extractor), str(table.settings["extractor"]))
        vars(index)["_extractor"] = extractor
    return index


def create(
    location: str | Path,
    settings: Settings | None = None,
    progress: Progress = ignore_progress,
    llm_factory: LLMClientFactory | None = None,
    device: str | None = None,
    encoder: Encoder | None = None,
    extractor: Extractor | None = None,
) -> Index:
    """Make an empty index; its settings are stored in it and need not be given again.

    `device` is where models run, "auto", "cpu", "cuda" or "mps"; else as the settings say. An `encoder` or `extractor`
    is an object in the place of the one that the settings name; opening the index needs it again (see
    docs/extend.md).

    Raises:
        InputError: There is an index already, or the encoder, extractor or its language model cannot be used.
        MissingPackageError: The encoder needs a package that is not installed; nothing was created.
        ProviderError: Its weights cannot be opened; nothing was created.
    """
    from clew.indexing import entry

    _check_location(location)
    if not isinstance(settings, Settings | None):
        raise InputError(f"the settings are {type(settings).__name__} {settings!r:.80}; give a Settings, or None")
    chosen, opened = entry.choose_settings(load_settings() if settings is None else settings, device, encoder)
    asked = llm_factory or LLMClientFactory()
    place = locate(location)
    if extractor is None:
        entry.open_extractor(
            chosen.new_extractor, lambda name: asked.open(name, reply_cache_path(place)), chosen.extraction_calls
        )
    else:
        entry.accept_extractor(extractor)
    stored = entry.stored_settings(chosen, opened, extractor)
    entry.Chunker.from_settings(stored)
    if opened.dimension:
        opened.encode_queries(["a"])  # what it lacks is refused now, and leaves no empty index that is tied to it
    with writer_lock(place):
        table = PassageTable.create(place, stored, opened.dimension)
        similar, linking = chosen.unknown_names == "similar", _linker_settings(chosen)
        index = Index(table, asked, progress, chosen.device, similar_names=similar, linking=linking)
    vars(index)["_encoder_opener"] = EncoderOpener(table, chosen.device, asked, opened)  # is loaded
    vars(index)["_extractor"] = extractor
    return index


def hash_new_index_settings(settings: Settings | None = None, device: str | None = None) -> str:
    """Return a hash of all that decides what an index made now holds beside its documents: encoder, extractor, sizes.

    A file of published triples counts by its content. Raises InputError as `create`.
    """
    from clew.indexing import entry

    return entry.hash_new_index_settings(load_settings() if settings is None else settings, device)


def _find_or_add(cache: dict[K, V], key: K, make: Callable[[], V], most: int) -> V:
    """Return the value of a key, made where it is missing; of more than `most` the least recently used ones go.

    Threads may call it at the same time: those that find none each make one, and get the one that was made first.
    """
    found = cache.get(key)
    made = make() if found is None else found
    with _CACHE_LOCK:
        found = cache.pop(key, made)
        cache[key] = found  # the latest one stands last
        while len(cache) > most:
            del cache[next(iter(cache))]
    return found


def _check_location(location: object) -> None:
    if not isinstance(location, str | Path):
        raise InputError(f"the index is {type(location).__name__} {location!r:.80}; give a folder or a URI")


def _linker_settings(settings: Settings) -> LinkerSettings:
    chosen = "linker" in settings.model_fields_set
    return LinkerSettings(settings.linker, settings.linker_floor, settings.question_names, is_chosen=chosen)


def _describe_retriever(spec: RetrieverSpec) -> str:
    if isinstance(spec, str):
        return spec
    return record_label(type(spec)) if isinstance(spec, SettingsRecord) else type(spec).__name__
