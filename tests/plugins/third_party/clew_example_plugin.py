"""A package of somebody else: a retriever, a reranker, an extractor, an encoder, a model and an answerer for Clew."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

import clew
from clew.types import Extraction, Failure, Filter, Mention, Prompt, Reply

if TYPE_CHECKING:
    from clew.types import FloatArray

DIMENSION = 26


class Alphabetical(clew.SettingsRecord):
    """Settings of `alphabetical`."""

    label: ClassVar[str] = "alphabetical"

    descending: bool = clew.setting(default=False, description="whether z comes first")


@dataclass(frozen=True)
class AlphabeticalRetriever:
    """Finds passages in the order of their titles."""

    context: clew.IndexContext
    descending: bool

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[clew.Evidence]:
        """Return the first `k` allowed passages by title."""
        snapshot, allowed = self.context.scope.snapshot, self.context.scope.mask(where)
        titles = snapshot.titles
        order = sorted(np.flatnonzero(allowed).tolist(), key=lambda p: titles[p], reverse=self.descending)[:k]
        passages = tuple(clew.Scored(snapshot.passage(p), float(len(order) - i)) for i, p in enumerate(order))
        return [clew.Evidence(passages) for _ in questions]


def build_alphabetical(context: clew.IndexContext, settings: Alphabetical) -> AlphabeticalRetriever:
    """Return the retriever over one index."""
    return AlphabeticalRetriever(context, settings.descending)


class Reversed(clew.SettingsRecord):
    """Settings of the reranker `reversed`."""

    label: ClassVar[str] = "reversed"


class ReversedReranker:
    """Puts the last passage first."""

    def rerank(self, questions: Sequence[str], evidence: Sequence[clew.Evidence]) -> list[clew.Evidence]:
        """Return the passages in reverse order."""
        del questions
        return [
            replace(
                one,
                passages=tuple(
                    clew.Scored(found.item, float(rank)) for rank, found in reversed([*enumerate(one.passages)])
                ),
            )
            for one in evidence
        ]


class CapitalsExtractor:
    """Takes every word with a capital for a name."""

    fingerprint = "capitals-1"

    def extract(self, passages: Sequence[clew.Passage]) -> list[Extraction | Failure]:
        """Return the names of each passage."""
        return [
            Extraction(tuple(Mention(word) for word in dict.fromkeys(passage.text.split()) if word[:1].isupper()))
            for passage in passages
        ]


class LettersEncoder:
    """Counts letters."""

    name = "letters"
    dimension = DIMENSION
    fingerprint = "letters-1"

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows of letter counts."""
        rows = np.array([[text.lower().count(chr(97 + i)) + 0.01 for i in range(DIMENSION)] for text in texts])
        unit: FloatArray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return the same as `encode`."""
        return self.encode(texts)


@dataclass(frozen=True)
class ConstantModel:
    """Answers every prompt with one word."""

    word: str

    @property
    def name(self) -> str:
        """The name to open this model by."""
        return f"constant:{self.word}"

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return one reply a prompt."""
        del on_text
        value = {"answerable": True, "answer": self.word, "quotations": []}
        return [Reply(prompt.reply.model_validate(value)) for prompt in prompts]


class TitleAnswerer:
    """Answers with the title of the best passage."""

    def answer(
        self,
        questions: Sequence[str],
        evidence: Sequence[clew.Evidence],
        on_text: Callable[[str], None] | None = None,
    ) -> list[clew.Answer]:
        """Return one answer a question."""
        del questions, on_text
        return [clew.Answer(one.passages[0].item.title, (), (), one) for one in evidence]


RETRIEVER = clew.RetrieverEntry("passages in the order of their titles", Alphabetical, build_alphabetical)
RERANKER = clew.RerankerEntry("the last one first", Reversed, lambda *_: ReversedReranker(), "reversed")
EXTRACTOR = clew.ExtractorEntry("words with a capital", lambda *_: CapitalsExtractor(), "capitals")
ENCODER = clew.EncoderEntry("counts of letters", lambda _: LettersEncoder())
MODEL = clew.ModelEntry("one word", ConstantModel)
ANSWERER = clew.AnswererEntry("the best title", lambda _: TitleAnswerer())
