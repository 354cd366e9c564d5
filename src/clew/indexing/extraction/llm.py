"""Names and triples by a language model: one passage a call, all it says typed, the passage as data.

With two calls a passage the model lists names first and is then asked for triples between them. The second call of one
group of passages is made together with the first of the next, so that a limit on calls at once is always used and a
budget that ends leaves few passages half done.

Source: HippoRAG (Gutiérrez et al., 2024), appendix on indexing.
Differs from the source: the words of the prompts; a reply is checked against a schema and never evaluated; one that
cannot be used is a failure with its text and no empty result; a passage without a name is not asked for triples; one
call a passage can do both.
"""

from collections.abc import Callable, Sequence
from typing import cast, final

from clew.errors import InputError
from clew.indexing.extraction.mention_spans import locate_mentions
from clew.models.llm.prompts import entity_extraction as named_entities
from clew.models.llm.prompts import joint_extraction as names_and_triples
from clew.models.llm.prompts import triple_extraction as triples
from clew.models.llm.prompts.template import Template
from clew.protocols import LanguageModel
from clew.types import Extraction, Failure, Passage, Reply

GROUP_PASSAGES = 32
"""Passages asked about together: enough for 16 calls at once twice over."""

TEMPLATES: dict[int, tuple[Template, ...]] = {
    1: (names_and_triples.TEMPLATE,),
    2: (named_entities.TEMPLATE, triples.TEMPLATE),
}
"""By calls a passage, what is asked."""


def extractor_fingerprint(model: str, calls_per_passage: int) -> str:
    """Return what an extraction depends on besides its passage: the model and the prompts.

    Args:
        model: `provider:model`.
        calls_per_passage: A passage, 1 or 2.
    """
    return f"llm:{model}:{'+'.join(template.fingerprint for template in TEMPLATES[calls_per_passage])}"


@final
class LanguageModelExtractor:
    """Asks a language model about each passage.

    Args:
        model: Who is asked.
        calls_per_passage: A passage: 2 for names and then triples, 1 for both at once.
        on_done: Told how many passages more are done.

    Raises:
        InputError: `calls_per_passage` is neither 1 nor 2.
    """

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
        """The model and the prompts (see `extractor_fingerprint`)."""
        return extractor_fingerprint(self._model.name, self._calls_per_passage)

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return one result a passage; a failure with `because` was not tried, or not to its end."""
        results: list[Extraction | Failure] = []
        named: list[_NamedPassage] = []
        for start in range(
            0, len(passages) + GROUP_PASSAGES, GROUP_PASSAGES
        ):  # a round more than groups, for the triples of the last
            group = passages[start : start + GROUP_PASSAGES]
            if ended := _find_stop([*results[-GROUP_PASSAGES:], *(names for _, names in named)]):
                spared = [(passage, ()) for passage in passages[start:]]
                results += [
                    names
                    if isinstance(names, Failure)
                    else Failure(passage.id, ended.reason, run_error=ended.run_error)
                    for passage, names in [*named, *spared]
                ]
                break
            found, named = (
                self._extract_jointly(group)
                if self._calls_per_passage == 1
                else self._extract_in_two_calls(named, group)
            )
            results += found
            if self._on_done is not None and found:
                self._on_done(len(found))
        return results

    def _extract_jointly(self, group: Sequence[Passage]) -> "tuple[list[Extraction | Failure], list[_NamedPassage]]":
        found: list[Extraction | Failure] = []
        replies = self._model.complete([names_and_triples.build_prompt(passage) for passage in group])
        for passage, reply in zip(group, replies, strict=True):
            if isinstance(reply, Failure):
                found.append(_make_failure(passage, reply))
            else:
                said = names_and_triples.parse_names_and_triples(cast("names_and_triples.NamesAndTriples", reply.value))
                found.append(Extraction(locate_mentions(passage.text, said[0]), said[1]))
        return found, []

    def _extract_in_two_calls(
        self, named: "Sequence[_NamedPassage]", group: Sequence[Passage]
    ) -> "tuple[list[Extraction | Failure], list[_NamedPassage]]":
        """Ask for the triples of those that have names, and for the names of the next group."""
        prompts = [
            triples.build_prompt(passage, names) for passage, names in named if names and isinstance(names, tuple)
        ]
        replies = self._model.complete([*prompts, *map(named_entities.build_prompt, group)])
        answers = iter(replies[: len(prompts)])
        found: list[Extraction | Failure] = []
        for passage, names in named:
            if isinstance(names, Failure):
                found.append(names)
            else:
                found.append(_make_extraction(passage, names, next(answers) if names else None))
        return found, [
            (passage, _read_names(passage, reply))
            for passage, reply in zip(group, replies[len(prompts) :], strict=True)
        ]


_NamedPassage = tuple[Passage, tuple[str, ...] | Failure]
"""A passage and the names found in it, or why there are none."""


def _read_names(passage: Passage, reply: Reply | Failure) -> tuple[str, ...] | Failure:
    if isinstance(reply, Failure):
        return _make_failure(passage, reply)
    return named_entities.parse_names(cast("named_entities.NamedEntities", reply.value))


def _make_extraction(passage: Passage, names: tuple[str, ...], reply: Reply | Failure | None) -> Extraction | Failure:
    if isinstance(reply, Failure):
        return _make_failure(passage, reply)
    said = () if reply is None else triples.parse_triples(cast("triples.Triples", reply.value))
    return Extraction(locate_mentions(passage.text, names), said)


def _make_failure(passage: Passage, failure: Failure) -> Failure:
    """Return why a passage has no result; half a character in the quoted reply could not be stored."""
    reason = failure.reason.encode(errors="replace").decode()
    return Failure(passage.id, reason, failure.usage, failure.run_error)


def _find_stop(results: Sequence[object]) -> Failure | None:
    """Return the failure that ends the run: what comes after it need not be tried."""
    return next((r for r in results if isinstance(r, Failure) and r.run_error is not None), None)
