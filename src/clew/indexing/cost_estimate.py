"""What indexing would cost with a language model: passages, calls, tokens, money and time, before a single call.

    calls        passages that are new or changed, times the calls a passage, less the replies that are kept
    tokens in    the prompt's words, its schema and its content, a token for each three bytes (`models.prices`)
    tokens out   a share of the bytes of title and text (`SHARES`), counted the same way
    seconds      rounds of calls at once, times `SECONDS_A_CALL` and the tokens out of a call at `TOKENS_A_SECOND`

Replies that have to be mended, and calls that fail, are not foreseen.

The shares are those of 1,890 passages of MuSiQue with published triples (484 bytes of title and text, 9.3 names and 9.1
triples a passage), written in the shape of our replies: 0.35 of the bytes for names, 1.13 for triples. They fall with
the length of a passage (for the shortest quarter 0.53 and 1.51, for the longest 0.26 and 0.90), so that long passages
are rather over- than underestimated.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clew.indexing.chunking import Chunker
from clew.indexing.extraction.registry import open_extractor
from clew.indexing.pipeline import EXTRACTION_CALLS, IndexingReport, choose_extractor, failed_passages, select_changed
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.pricing import estimate_tokens
from clew.models.llm.prompts import entity_extraction as named_entities
from clew.models.llm.prompts import joint_extraction as names_and_triples
from clew.models.llm.prompts import triple_extraction as triples
from clew.models.llm.providers import check_installed, parse_model_name
from clew.models.llm.reply_cache import ReplyCache, call_key
from clew.protocols import Extractor
from clew.settings import Settings
from clew.store.dataset import open_dataset
from clew.store.location import locate, reply_cache_path
from clew.store.passage_table import PassageTable
from clew.types import Document, Failure, Passage, Prompt, Reply

REPLY_SHARES = {
    named_entities.TEMPLATE.name: 0.35,
    triples.TEMPLATE.name: 1.13,
    names_and_triples.TEMPLATE.name: 1.48,
}
"""Bytes of a reply for each byte of title and text, by what is asked."""

SECONDS_PER_CALL = 0.5
"""Until the first word of a reply: a hosted model that is not busy."""

TOKENS_PER_SECOND = 60.0
"""Of one reply: a small hosted model; a model on a laptop has a tenth of it, and answers few calls at once."""


@dataclass(slots=True)
class CostEstimate:
    """What indexing some documents would take.

    Attributes:
        documents: New or changed ones.
        unchanged: Documents that would cost nothing.
        failures: What cannot be read.
        passages: To be extracted.
        model: `provider:model`; "" where none is asked.
        calls: To the model.
        cached_calls: Calls that kept replies answer.
        input_tokens: Of the calls.
        output_tokens: Of the calls.
        cost: Money; None where no price of the model is known.
        seconds: Of the calls alone, as many at once as the settings allow.
        at_once: How many that is.
    """

    documents: int = 0
    unchanged: int = 0
    failures: list[Failure] = field(default_factory=list)
    passages: int = 0
    model: str = ""
    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    at_once: int = 1


class _CachedReplies:
    """A language model that knows kept replies only, and notes what it would have to be asked.

    Attributes:
        name: Of the model whose replies they are.
        hits: How many prompts had a reply.
        misses: The prompts that had none.
    """

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
        """Return kept replies; a failure stands for a call."""
        del on_text
        return [self._look_up(prompt) for prompt in prompts]

    def _look_up(self, prompt: Prompt) -> Reply | Failure:
        if self._cache is not None:
            key = call_key(self.name, prompt, self._settings.cache_key_fields)
            if (reply := self._cache.get(key, prompt)) is not None or key in self._seen_keys:
                self.hits += 1
                return reply or Failure(prompt.name, "a passage before it asks the same")
            self._seen_keys.add(key)
        self.misses.append(prompt)
        return Failure(prompt.name, "no reply is kept")


def estimate_indexing(
    location: str | Path,
    documents: Iterable[Document | Failure],
    extractor: str | None,
    llm_clients: LLMClientFactory,
    *,
    retry_failed: bool = False,
    defaults: Settings | None = None,
) -> CostEstimate:
    """Return what `clew index` would take; no call is made and nothing is written.

    Args:
        location: An index, or where one would be made with the settings in force.
        documents: As they were read.
        extractor: As it would be given to `clew index`; None for the index's, or that of the settings.
        llm_clients: How the model would be asked; neither its key nor its package is needed.
        retry_failed: Whether passages of the index that an extractor failed at are counted too.
        defaults: Settings of an index that is yet to be made; those of the package if None.

    Raises:
        InputError: There is no such extractor, or it is of another kind than the index's.
        IndexFormatError: There is an index that cannot be read.
    """
    place = locate(location)
    table = PassageTable.open(place) if open_dataset(place) is not None else None
    settings = (defaults or Settings.model_construct()).model_dump() if table is None else table.settings
    made_with = str(settings["extractor"])
    name = choose_extractor(extractor, made_with) if table is not None else extractor or made_with
    calls = llm_clients.call_settings or CallSettings()
    kept: list[_CachedReplies] = []

    def only_kept(model: str) -> _CachedReplies:
        kept.append(
            _CachedReplies(model, ReplyCache(reply_cache_path(place)) if llm_clients.use_cache else None, calls)
        )
        return kept[0]

    opened = open_extractor(name, only_kept, int(settings.get(EXTRACTION_CALLS, 2)))
    chunker = Chunker(int(settings["passage_tokens"]), int(settings["passage_overlap"]))
    report = IndexingReport()
    changed = select_changed(documents, {} if table is None else table.document_hashes(), chunker, opened, report)
    passages = [passage for document, _ in changed for passage in chunker.split(document)]
    if table is not None and retry_failed:
        passages += failed_passages(table, {document.id for document, _ in changed})
    estimate = CostEstimate(
        len(changed), report.unchanged, report.failures, len(passages), at_once=calls.max_concurrency
    )
    if kept:
        _add_calls(estimate, passages, opened, kept[0], calls)
        tokens = estimate.input_tokens, estimate.output_tokens
        estimate.cost = llm_clients.prices.cost(estimate.model, *tokens, custom_server=bool(calls.base_url))
    return estimate


def _add_calls(
    estimate: CostEstimate,
    passages: Sequence[Passage],
    extractor: Extractor,
    replies: _CachedReplies,
    calls: CallSettings,
) -> None:
    """Add up the calls that the extractor would make: those it makes now, to kept replies alone, and what follows."""
    for passage in passages:
        replies.misses.clear()
        extractor.extract([passage])
        size = len(f"{passage.title}{passage.text}".encode("utf-8", "surrogatepass"))
        for prompt in replies.misses:
            asked = prompt.name.partition("@")[0]
            _add_call(estimate, prompt, _reply_tokens(asked, size, calls))
            if asked == named_entities.TEMPLATE.name:  # the triples are asked for once the names are there
                names = _reply_tokens(asked, size, calls)
                following = triples.build_prompt(passage, ())
                _add_call(estimate, following, _reply_tokens(triples.TEMPLATE.name, size, calls), names)
    estimate.model, estimate.cached_calls = replies.name, replies.hits
    seconds = SECONDS_PER_CALL * estimate.calls + estimate.output_tokens / TOKENS_PER_SECOND
    estimate.seconds = seconds / max(1, min(calls.max_concurrency, estimate.calls))


def _reply_tokens(prompt_name: str, size: int, calls: CallSettings) -> int:
    """Return the tokens of a reply about `size` bytes of title and text."""
    return min(calls.reply_tokens, estimate_tokens("x" * round(REPLY_SHARES[prompt_name] * size)))


def _add_call(estimate: CostEstimate, prompt: Prompt, reply_tokens: int, name_tokens: int = 0) -> None:
    """Add one call; `name_tokens` are tokens that its prompt will have besides what it has."""
    told = f"{prompt.instructions}{prompt.reply.model_json_schema()}{prompt.content}"
    estimate.calls += 1
    estimate.input_tokens += estimate_tokens(told) + name_tokens
    estimate.output_tokens += reply_tokens
