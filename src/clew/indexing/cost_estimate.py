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

from clew.index import EXTRACTION_CALLS, calls_file
from clew.indexing.chunking import Chunker
from clew.indexing.pipeline import Report, extractor_for, failed_passages, new_or_changed
from clew.models.llm.access import Asking
from clew.models.llm.pricing import estimated_tokens
from clew.models.llm.prompts import entity_extraction as named_entities
from clew.models.llm.prompts import joint_extraction as names_and_triples
from clew.models.llm.prompts import triple_extraction as triples
from clew.models.llm.provider_model import CallSettings
from clew.models.llm.providers import check_installed, check_model_name
from clew.models.llm.reply_cache import CallCache, call_key
from clew.protocols import Extractor
from clew.retrievers.registry import open_extractor
from clew.settings import load_settings
from clew.store.dataset import open_dataset
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.types import Document, Failure, Passage, Prompt, Reply

SHARES = {
    named_entities.TEMPLATE.name: 0.35,
    triples.TEMPLATE.name: 1.13,
    names_and_triples.TEMPLATE.name: 1.48,
}
"""Bytes of a reply for each byte of title and text, by what is asked."""

SECONDS_A_CALL = 0.5
"""Until the first word of a reply: a hosted model that is not busy."""

TOKENS_A_SECOND = 60.0
"""Of one reply: a small hosted model; a model on a laptop has a tenth of it, and answers few calls at once."""


@dataclass(slots=True)
class Estimate:
    """What indexing some documents would take.

    Attributes:
        documents: New or changed ones.
        unchanged: Documents that would cost nothing.
        failures: What cannot be read.
        passages: To be extracted.
        model: `provider:model`; "" where none is asked.
        calls: To the model.
        cached: Calls that kept replies answer.
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
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    at_once: int = 1


class _KeptReplies:
    """A language model that knows kept replies only, and notes what it would have to be asked.

    Attributes:
        name: Of the model whose replies they are.
        found: How many prompts had a reply.
        missed: The prompts that had none.
    """

    def __init__(self, name: str, cache: CallCache | None, settings: CallSettings) -> None:
        check_model_name(name)
        check_installed()
        self.name = name
        self.found = 0
        self.missed: list[Prompt] = []
        self._asked: set[str] = set()
        self._cache = cache
        self._settings = settings

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return kept replies; a failure stands for a call."""
        del on_text
        return [self._kept(prompt) for prompt in prompts]

    def _kept(self, prompt: Prompt) -> Reply | Failure:
        if self._cache is not None:
            key = call_key(self.name, prompt, self._settings.told)
            if (reply := self._cache.get(key, prompt)) is not None or key in self._asked:
                self.found += 1
                return reply or Failure(prompt.name, "a passage before it asks the same")
            self._asked.add(key)
        self.missed.append(prompt)
        return Failure(prompt.name, "no reply is kept")


def estimate_indexing(
    location: str | Path,
    documents: Iterable[Document | Failure],
    extractor: str | None,
    asking: Asking,
    *,
    retry_failed: bool = False,
) -> Estimate:
    """Return what `clew index` would take; no call is made and nothing is written.

    Args:
        location: An index, or where one would be made with the settings in force.
        documents: As they were read.
        extractor: As it would be given to `clew index`; None for the index's, or that of the settings.
        asking: How the model would be asked; neither its key nor its package is needed.
        retry_failed: Whether passages of the index that an extractor failed at are counted too.

    Raises:
        InputError: There is no such extractor, or it is of another kind than the index's.
        IndexFormatError: There is an index that cannot be read.
    """
    place = locate(location)
    table = PassageTable.open(place) if open_dataset(place) is not None else None
    settings = load_settings().model_dump() if table is None else table.settings
    made_with = str(settings["extractor"])
    name = extractor_for(extractor, made_with) if table is not None else extractor or made_with
    calls = asking.calls or CallSettings()
    kept: list[_KeptReplies] = []

    def only_kept(model: str) -> _KeptReplies:
        kept.append(_KeptReplies(model, CallCache(calls_file(place)) if asking.cached else None, calls))
        return kept[0]

    opened = open_extractor(name, only_kept, int(settings.get(EXTRACTION_CALLS, 2)))
    chunker = Chunker(int(settings["passage_tokens"]), int(settings["passage_overlap"]))
    report = Report()
    changed = new_or_changed(documents, {} if table is None else table.documents(), chunker, opened, report)
    passages = [passage for document, _ in changed for passage in chunker.split(document)]
    if table is not None and retry_failed:
        passages += failed_passages(table, {document.id for document, _ in changed})
    estimate = Estimate(len(changed), report.unchanged, report.failures, len(passages), at_once=calls.at_once)
    if kept:
        _count(estimate, passages, opened, kept[0], calls)
        tokens = estimate.input_tokens, estimate.output_tokens
        estimate.cost = asking.prices.cost(estimate.model, *tokens, elsewhere=bool(calls.base_url))
    return estimate


def _count(
    estimate: Estimate, passages: Sequence[Passage], extractor: Extractor, kept: _KeptReplies, calls: CallSettings
) -> None:
    """Add up the calls that the extractor would make: those it makes now, to kept replies alone, and what follows."""
    for passage in passages:
        kept.missed.clear()
        extractor.extract([passage])
        size = len(f"{passage.title}{passage.text}".encode("utf-8", "surrogatepass"))
        for prompt in kept.missed:
            asked = prompt.name.partition("@")[0]
            _add(estimate, prompt, _reply_tokens(asked, size, calls))
            if asked == named_entities.TEMPLATE.name:  # the triples are asked for once the names are there
                names = _reply_tokens(asked, size, calls)
                following = triples.prompt(passage, ())
                _add(estimate, following, _reply_tokens(triples.TEMPLATE.name, size, calls), names)
    estimate.model, estimate.cached = kept.name, kept.found
    seconds = SECONDS_A_CALL * estimate.calls + estimate.output_tokens / TOKENS_A_SECOND
    estimate.seconds = seconds / max(1, min(calls.at_once, estimate.calls))


def _reply_tokens(asked: str, size: int, calls: CallSettings) -> int:
    """Return the tokens of a reply about `size` bytes of title and text."""
    return min(calls.reply_tokens, estimated_tokens("x" * round(SHARES[asked] * size)))


def _add(estimate: Estimate, prompt: Prompt, reply: int, names: int = 0) -> None:
    """Add one call; `names` are tokens that its prompt will have besides what it has."""
    told = f"{prompt.instructions}{prompt.reply.model_json_schema()}{prompt.content}"
    estimate.calls += 1
    estimate.input_tokens += estimated_tokens(told) + names
    estimate.output_tokens += reply
