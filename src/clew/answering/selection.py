"""Chooses the answerer for evidence: with or without a language model, from passages or from paths.

Installed packages add answerers by entry points of the group `clew.answerers`; what they return is checked at each
call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, final

from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.kg_paths import LLMPathAnswerer, PathAnswerer, TextPathAnswerer, UnaidedAnswerer
from clew.answering.llm import LLMAnswerer
from clew.answering.missing_names import HasWords
from clew.answering.time_choice import Cosines
from clew.errors import InputError
from clew.models.llm.object_model import accept_model
from clew.models.llm.providers import KEY_VARIABLES, MODELS
from clew.models.reader.reader import Reader
from clew.plugins.arguments import Origin, check_given, is_own
from clew.plugins.registry import Registry
from clew.plugins.spec import suggest
from clew.protocols import Answerer, LanguageModel, check_lengths
from clew.types import Answer, Citation, Evidence, Scored

_METHOD = "answer"


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenAnswerer:
    """An answerer of somebody else, whose answers are checked."""

    answerer: Answerer  # the object
    origin: Origin  # where it comes from, for messages

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return what the object does; InputError: that is not one answer a question."""
        check_lengths(questions, evidence)
        with self.origin.map_errors():
            returned = self.answerer.answer(questions, evidence, on_text)
        answers: list[Answer] = self.origin.check_results(returned, len(questions), (Answer,), _METHOD)
        for answer in answers:
            self._check(answer)
        return answers

    def _check(self, answer: Answer) -> None:
        check_part = self.origin.check_part
        check_part(answer.text, (str,), _METHOD, "the text of an answer")
        check_part(answer.evidence, (Evidence,), _METHOD, "the evidence of an answer")
        for citation in answer.citations:
            check_part(citation, (Citation,), _METHOD, "a citation of an answer")
        for candidate in answer.candidates:
            check_part(candidate, (Scored,), _METHOD, "a candidate of an answer")


def accept_answerer(given: object, origin: Origin | None = None) -> Answerer:
    """Return an answerer, with its answers checked unless it is one of this package.

    Raises InputError where it has no method `answer`.
    """
    found_at = check_given(given, "answerer", {"answer": None}, origin)
    answerer = cast("Answerer", given)
    return answerer if is_own(given) else GivenAnswerer(answerer, found_at)


@dataclass(frozen=True, slots=True)
class AnswererEntry:
    """An answerer that an installed package adds; it is named in the place of a language model.

    Attributes:
        summary: One line for listings.
        build: Opens the answerer from the text after the colon of its name, "" for none.
    """

    summary: str
    build: Callable[[str], Answerer]


ANSWERERS = Registry[AnswererEntry]("answerer", "clew.answerers", {}, AnswererEntry)
"""Installed answerers of other packages; `clew.answering.selection` chooses among those of this package."""


JSON, TEXT = "json", "text"
PROMPT_FORMS = (JSON, TEXT)
"""Forms of the replies to prompts about paths and without evidence: JSON, or plain text as published."""
PATHS, PASSAGES, NOTHING = "paths", "passages", "nothing"
"""Kinds of evidence that answers are made from."""


ModelSpec = str | LanguageModel | Answerer | Callable[[str], str]
"""The model that answers: a name, an object, or a function from a prompt to a reply; or an answerer in its place."""


def open_answerer(
    model: ModelSpec,
    open_model: Callable[[str], LanguageModel],
    open_reader: Callable[[], Reader],
    evidence: str,
    prompts: str = JSON,
    has_words: HasWords | None = None,
    cosines: Cosines | None = None,
) -> Answerer:
    """Return the answerer that a model stands for; an answerer, or the name of an installed one, stands for itself.

    The other arguments, and what is raised, are those of `select_answerer`.
    """
    if isinstance(model, str):
        kind, _, argument = model.partition(":")
        if kind in ANSWERERS:
            return accept_answerer(ANSWERERS.build(kind, argument), ANSWERERS.origin(kind))
        if model and kind not in KEY_VARIABLES and kind not in MODELS and (close := suggest(kind, ANSWERERS)):
            raise InputError(f"no answerer and no language model is called {model!r}; {close.strip()}")
        return select_answerer(model, open_model, open_reader, evidence, prompts, has_words, cosines)
    if hasattr(model, "answer"):
        return accept_answerer(model)
    accepted = accept_model(model)
    return select_answerer(accepted.name, lambda _: accepted, open_reader, evidence, prompts)


def select_answerer(
    model: str,
    open_model: Callable[[str], LanguageModel],
    open_reader: Callable[[], Reader],
    evidence: str,
    prompts: str = JSON,
    has_words: HasWords | None = None,
    cosines: Cosines | None = None,
) -> Answerer:
    """Return the answerer of `model`, a `provider:model`; for "" one without a language model.

    `open_model` returns the language model of a name, and raises InputError if the provider is not known, or a package
    or its key is missing. `open_reader` returns the reader of answers without a model.
    `evidence` is its kind, of the three above. Replies come in the form `prompts`. `has_words` and `cosines` are
    those of `ExtractiveAnswerer`. Raises InputError for a form that does not exist or that passages are not answered
    in, and where there is neither evidence nor a model.
    """
    if prompts not in PROMPT_FORMS:
        raise InputError(f"prompts is {prompts!r}: give {' or '.join(PROMPT_FORMS)}")
    if evidence == NOTHING:
        if not model:
            raise InputError(
                "the retriever none finds nothing to answer from: give a language model, --model openai:NAME"
            )
        return UnaidedAnswerer(open_model(model), as_text=prompts == TEXT)
    if prompts == TEXT and (evidence == PASSAGES or not model):
        raise InputError("text is a form of a language model's answers from paths: give a --model, and frag or none")
    if evidence == PATHS:
        if not model:
            return PathAnswerer()
        return TextPathAnswerer(open_model(model)) if prompts == TEXT else LLMPathAnswerer(open_model(model))
    if model:
        return LLMAnswerer(open_model(model))
    return ExtractiveAnswerer(open_reader(), has_words=has_words, cosines=cosines)
