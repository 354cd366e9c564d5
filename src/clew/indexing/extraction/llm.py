"""Extraction of names and triples by a language model, one passage per call, with the passage as data.

With two calls per passage the model first lists names and is then asked for triples between them. The second calls of
one group of passages are made together with the first calls of the next, so that a limit of concurrent calls is always
used and an exhausted budget leaves few passages half done.

Source: HippoRAG (Gutiérrez et al., 2024), appendix on indexing.
Differs from the source: the wording of the prompts; a reply is validated against a schema and never evaluated; an
unusable reply is a failure that quotes it, not an empty result; a passage without names is not asked for triples; one
call per passage can do both.
"""

from collections.abc import Callable, Sequence
from typing import cast, final

from clew.errors import InputError
from clew.indexing.extraction.mention_spans import locate_mentions
from clew.models.llm.prompts import extraction
from clew.models.llm.prompts.template import Template, clean_names, clean_triples, render_passage
from clew.models.validation import replace_surrogates
from clew.protocols import LanguageModel
from clew.types import Extraction, Failure, Passage, Reply

GROUP_PASSAGES = 32  # passages per group, enough for two rounds of 16 concurrent calls
# Prompts of one passage, by the number of calls.
TEMPLATES: dict[int, tuple[Template, ...]] = {
    1: (extraction.NAMES_AND_TRIPLES,),
    2: (extraction.NAMES, extraction.TRIPLES),
}


def extractor_fingerprint(model: str, calls_per_passage: int) -> str:
    """Return an identifier of the model and the prompts, which an extraction depends on."""
    return f"llm:{model}:{'+'.join(template.fingerprint for template in TEMPLATES[calls_per_passage])}"


@final
class LanguageModelExtractor:
    """Extracts each passage by two calls (names, then triples) or one; `on_done` gets numbers of passages just done."""

    def __init__(
        self, model: LanguageModel, calls_per_passage: int = 2, on_done: Callable[[int], None] | None = None
    ) -> None:
        if calls_per_passage not in TEMPLATES:
            raise InputError(f"{calls_per_passage} calls a passage cannot be made: give extraction_calls 1 or 2")
        self._model = model
        self._calls_per_passage = calls_per_passage
        self._on_done = on_done

    @property
    def fingerprint(self) -> str:
        """Identifier of the model and the prompts (see `extractor_fingerprint`)."""
        return extractor_fingerprint(self._model.name, self._calls_per_passage)

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return a result for each passage; a failure with `run_error` was not tried, or not completely."""
        results: list[Extraction | Failure] = []
        named: list[_NamedPassage] = []
        # One more round than there are groups, for the triples of the last group.
        for start in range(0, len(passages) + GROUP_PASSAGES, GROUP_PASSAGES):
            group = passages[start : start + GROUP_PASSAGES]
            if stop := _find_stop([*results[-GROUP_PASSAGES:], *(names for _, names in named)]):
                untried = [(passage, ()) for passage in passages[start:]]
                for passage, names in [*named, *untried]:
                    failure = Failure(passage.id, stop.reason, run_error=stop.run_error)
                    results.append(names if isinstance(names, Failure) else failure)
                break
            if self._calls_per_passage == 1:
                finished = self._extract_jointly(group)
            else:
                finished, named = self._extract_in_two_calls(named, group)
            results += finished
            if self._on_done is not None and finished:
                self._on_done(len(finished))
        return results

    def _extract_jointly(self, group: Sequence[Passage]) -> list[Extraction | Failure]:
        results: list[Extraction | Failure] = []
        replies = self._model.complete([extraction.NAMES_AND_TRIPLES.build_prompt(render_passage(p)) for p in group])
        for passage, reply in zip(group, replies, strict=True):
            if isinstance(reply, Failure):
                results.append(_make_failure(passage, reply))
            else:
                value = cast("extraction.NamesAndTriples", reply.value)
                mentions = locate_mentions(passage.text, clean_names(value.names))
                results.append(Extraction(mentions, clean_triples(value.triples)))
        return results

    def _extract_in_two_calls(
        self, named: "Sequence[_NamedPassage]", group: Sequence[Passage]
    ) -> "tuple[list[Extraction | Failure], list[_NamedPassage]]":
        with_names = [(passage, names) for passage, names in named if names and isinstance(names, tuple)]
        prompts = [extraction.build_triples_prompt(passage, names) for passage, names in with_names]
        name_prompts = [extraction.NAMES.build_prompt(render_passage(passage)) for passage in group]
        replies = self._model.complete([*prompts, *name_prompts])
        answers = iter(replies[: len(prompts)])
        results: list[Extraction | Failure] = []
        for passage, names in named:
            if isinstance(names, Failure):
                results.append(names)
            else:
                results.append(_make_extraction(passage, names, next(answers) if names else None))
        name_replies = zip(group, replies[len(prompts) :], strict=True)
        return results, [(passage, _read_names(passage, reply)) for passage, reply in name_replies]


_NamedPassage = tuple[Passage, tuple[str, ...] | Failure]  # a passage and its names, or the reason why there are none


def _read_names(passage: Passage, reply: Reply | Failure) -> tuple[str, ...] | Failure:
    if isinstance(reply, Failure):
        return _make_failure(passage, reply)
    return clean_names(cast("extraction.NamedEntities", reply.value).names)


def _make_extraction(passage: Passage, names: tuple[str, ...], reply: Reply | Failure | None) -> Extraction | Failure:
    if isinstance(reply, Failure):
        return _make_failure(passage, reply)
    triples = () if reply is None else clean_triples(cast("extraction.Triples", reply.value).triples)
    return Extraction(locate_mentions(passage.text, names), triples)


def _make_failure(passage: Passage, failure: Failure) -> Failure:
    """Return the failure of a passage; lone surrogates of the quoted reply, which cannot be stored, are replaced."""
    return Failure(passage.id, replace_surrogates(failure.reason), failure.usage, failure.run_error)


def _find_stop(results: Sequence[object]) -> Failure | None:
    return next((r for r in results if isinstance(r, Failure) and r.run_error is not None), None)
