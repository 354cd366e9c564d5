"""Estimate of what indexing with a language model or a paid encoder would cost: calls, tokens, money and time.

Calls are new or changed passages times the calls per passage, less the cached replies; repeated and failed calls are
not included. Tokens out are a share of the bytes of title and text (`REPLY_SHARES`), measured on 1,890 passages of
MuSiQue with published triples (484 bytes, 9.3 names and 9.1 triples a passage) in the form of our replies. The share
falls with the length of a passage (names 0.53 for the shortest quarter, 0.26 for the longest; triples 1.51 and 0.90),
so that long passages are over- rather than underestimated. Of an encoder that a server runs the vectors of passages and
sentences are counted; those of names come on top, a few tokens each, which are not known before the extraction.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.indexing.chunking import Chunker
from clew.indexing.extraction.registry import open_extractor
from clew.indexing.pipeline import EXTRACTION_CALLS, choose_extractor
from clew.indexing.repeated_extraction import documents_with_failures, failed_passages
from clew.indexing.report import IndexingReport
from clew.indexing.selected_snapshot import DocumentSelector
from clew.indexing.sentence_vectors import join_title, sentence_texts
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.remote.encoder import find_embedding_cost
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.budget import estimate_tokens
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.prompts import extraction
from clew.models.llm.providers import check_installed, parse_model_name
from clew.models.llm.reply_cache import ReplyCache, call_key
from clew.protocols import Extractor
from clew.settings import Settings
from clew.store.dataset import open_dataset
from clew.store.document_ids import no_documents
from clew.store.location import locate, reply_cache_path
from clew.store.passage_table import PassageTable
from clew.store.schema import SENTENCES, WITH_VECTORS, has_sentence_vectors
from clew.text.page_text import blank_unread
from clew.text.places import title_with_headings
from clew.text.sentences import passage_sentence_spans
from clew.types import Document, Failure, Passage, Prompt, Reply

# Bytes of a reply for each byte of title and text, by prompt name.
REPLY_SHARES = {extraction.NAMES.name: 0.35, extraction.TRIPLES.name: 1.13, extraction.NAMES_AND_TRIPLES.name: 1.48}
SECONDS_PER_CALL = 0.5  # seconds until the first word of a reply, for a hosted model that is not busy
# Output rate of a small hosted model for one reply; a model on a laptop has a tenth of it and runs few calls at once.
TOKENS_PER_SECOND = 60.0


@dataclass(slots=True)
class CostEstimate:
    """Estimated cost of indexing."""

    documents: int = 0  # new or changed documents
    unchanged: int = 0  # documents that would be skipped
    failures: list[Failure] = field(default_factory=list)  # documents that cannot be read
    passages: int = 0  # passages to extract
    model: str = ""  # `provider:model`; "" when no model is used
    calls: int = 0  # calls to the model
    cached_calls: int = 0  # calls answered by cached replies
    input_tokens: int = 0  # input tokens of the calls
    output_tokens: int = 0  # output tokens of the calls
    cost: float | None = 0.0  # money; None when the model's price is unknown
    seconds: float = 0.0  # duration of the calls alone, with as many at once as the settings allow
    max_concurrency: int = 1  # maximum number of concurrent calls
    embedding_model: str = ""  # `provider:model` of an encoder that a server runs; "" where there is none
    embedding_requests: int = 0  # for passages and their sentences
    embedding_tokens: int = 0
    embedding_cost: float | None = 0.0  # money; None when the model's price is unknown
    embedding_seconds: float = 0.0  # one request after the other
    sentences: int = 0  # sentences of the passages
    sentence_bytes: int = 0  # bytes of their vectors; 0 where there are none, or the width is known to the model alone


class _CachedReplies:
    """A language model that answers from cached replies alone, counts `hits`, and records other prompts in `misses`."""

    def __init__(self, name: str, cache: ReplyCache | None, settings: CallSettings) -> None:
        parse_model_name(name)
        check_installed()
        self.name = name
        self.hits = 0
        self.misses: list[Prompt] = []
        self._seen_keys: set[str] = set()
        self._cache = cache
        self._settings = settings

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return cached replies; a failure stands for a call."""
        del on_text
        return [self._look_up(prompt) for prompt in prompts]

    def _look_up(self, prompt: Prompt) -> Reply | Failure:
        if self._cache is not None:
            key = call_key(self.name, prompt, self._settings.cache_key_fields)
            if (reply := self._cache.get(key, prompt)) is not None or key in self._seen_keys:
                self.hits += 1
                return reply or Failure(prompt.name, "an earlier passage has the same prompt")
            self._seen_keys.add(key)
        self.misses.append(prompt)
        return Failure(prompt.name, "no reply is cached")


def estimate_indexing(
    location: str | Path,
    documents: Iterable[Document | Failure],
    extractor: str | None,
    llm_clients: LLMClientFactory,
    *,
    retry_failed: bool = False,
    defaults: Settings | None = None,
) -> CostEstimate:
    """Return the estimated cost of `clew index` for a place that may hold no index yet; makes no call, writes nothing.

    The extractor is the option of `clew index`, None for that of the index or the settings; with `retry_failed`
    passages that failed before count too. Of the clients neither a key nor a package is needed; `defaults` is for an
    index that does not exist yet. An unknown extractor, or one of another kind than the index's, is an InputError, an
    unreadable index an IndexFormatError.
    """
    place = locate(location)
    table = PassageTable.open(place) if open_dataset(place) is not None else None
    for_new = defaults or Settings.model_construct()
    settings = for_new.model_dump() if table is None else table.settings
    default = for_new.new_extractor if table is None else str(settings["extractor"])
    name = choose_extractor(extractor, default) if table is not None else extractor or default
    calls = llm_clients.call_settings or CallSettings()
    models: list[_CachedReplies] = []

    def open_cached(model: str) -> _CachedReplies:
        cache = ReplyCache(reply_cache_path(place)) if llm_clients.use_cache else None
        models.append(_CachedReplies(model, cache, calls))
        return models[0]

    opened = open_extractor(name, open_cached, int(settings.get(EXTRACTION_CALLS, 2)))
    chunker = Chunker.from_settings(settings)
    report = IndexingReport()
    stored = no_documents() if table is None else table.stored_documents()
    find_passages = table.numbered_passages if table is not None else lambda _: set[str]()
    selector = DocumentSelector(stored, chunker, opened.fingerprint, report, find_passages)
    retried = documents_with_failures(table) if table is not None and retry_failed else set()
    estimate = CostEstimate(max_concurrency=calls.max_concurrency, failures=report.failures)
    embeddings = find_embedding_cost(str(settings["encoder"]))
    with_sentences = settings.get(SENTENCES) == WITH_VECTORS
    for changed in selector.select(documents):
        retried.discard(changed.document.id)
        estimate.documents += 1
        passages = chunker.split(changed.document)
        _add_passages(estimate, passages, opened, models, calls)
        if embeddings is not None:
            titled = [
                (title_with_headings(passage.title, passage.text, passage.places), passage.text) for passage in passages
            ]
            embeddings.add([join_title(*one) for one in titled])
            if with_sentences:
                embeddings.add([text for one in titled for text in sentence_texts(*one)])
    if table is not None and retried:
        again = [passage for passage in failed_passages(table) if passage.document_id in retried]
        _add_passages(estimate, again, opened, models, calls)
    estimate.unchanged = report.unchanged
    dimension = _new_dimension(settings) if table is None else table.dimension
    estimate.sentence_bytes = estimate.sentences * dimension if has_sentence_vectors(settings, dimension) else 0
    if embeddings is not None:
        estimate.embedding_model = embeddings.model
        estimate.embedding_requests, estimate.embedding_tokens = embeddings.requests, embeddings.tokens
        estimate.embedding_cost, estimate.embedding_seconds = embeddings.money(llm_clients.prices), embeddings.seconds
    if models:
        estimate.model, estimate.cached_calls = models[0].name, models[0].hits
        seconds = SECONDS_PER_CALL * estimate.calls + estimate.output_tokens / TOKENS_PER_SECOND
        estimate.seconds = seconds / max(1, min(calls.max_concurrency, estimate.calls))
        tokens = estimate.input_tokens, estimate.output_tokens
        estimate.cost = llm_clients.prices.cost(estimate.model, *tokens, custom_server=bool(calls.base_url))
    return estimate


def _new_dimension(settings: Mapping[str, Any]) -> int:
    """Return the width of the vectors of a new index, 0 where a model would have to be loaded to know it."""
    return Int8MiniLM.dimension if settings["encoder"] in (Int8MiniLM.name, "bundled") else 0


def _add_passages(
    estimate: CostEstimate,
    passages: Sequence[Passage],
    extractor: Extractor,
    models: Sequence[_CachedReplies],
    calls: CallSettings,
) -> None:
    """Add up the calls that the extractor would make: its calls to the cached replies, and the calls that follow."""
    estimate.passages += len(passages)
    estimate.sentences += sum(len(passage_sentence_spans(blank_unread(passage.text))) for passage in passages)
    for passage in passages if models else ():
        models[0].misses.clear()
        extractor.extract([passage])
        size = len(f"{passage.title}{passage.text}".encode("utf-8", "surrogatepass"))
        for prompt in models[0].misses:
            prompt_name = prompt.name.partition("@")[0]
            reply_tokens = _reply_tokens(prompt_name, size, calls)
            _add_call(estimate, prompt, reply_tokens)
            if prompt_name == extraction.NAMES.name:  # the next call asks for triples of these names
                following = extraction.build_triples_prompt(passage, ())
                triple_tokens = _reply_tokens(extraction.TRIPLES.name, size, calls)
                _add_call(estimate, following, triple_tokens, reply_tokens)


def _reply_tokens(prompt_name: str, size: int, calls: CallSettings) -> int:
    return min(calls.reply_tokens, estimate_tokens("x" * round(REPLY_SHARES[prompt_name] * size)))


def _add_call(estimate: CostEstimate, prompt: Prompt, reply_tokens: int, name_tokens: int = 0) -> None:
    """Add one call; `name_tokens` is the size of names that its prompt will contain in addition."""
    text = f"{prompt.instructions}{prompt.reply.model_json_schema()}{prompt.content}"
    estimate.calls += 1
    estimate.input_tokens += estimate_tokens(text) + name_tokens
    estimate.output_tokens += reply_tokens
