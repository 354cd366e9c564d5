"""Rankers of relations and of whole paths as texts (the models ERM and PRM of FRAG), by their names.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), section 4.3, which names BM25, bi-encoders, cross-encoders, late interaction (ColBERT) and, in
its limitations, language models. Differs from the source: late interaction reads the states of the encoder's tokens
(see `clew_lab.retrievers.maxsim`); a language model scores each text on its own, by the prompt of the reranker `llm`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError, ModelReplyError
from clew.models.encoders.registry import open_encoder
from clew.models.llm.prompts import relevance
from clew.models.llm.prompts.relevance import Relevance
from clew.models.text_scorers import BiEncoderScorer, CrossEncoderScorer
from clew.protocols import Encoder, LanguageModel, TextScorer, TokenEncoder
from clew.query.context import IndexContext
from clew.query.late_interaction import max_similarity
from clew.query.relation_matching import RelationTexts
from clew.text.bm25 import BM25Scorer
from clew.types import Failure, Passage

BI_ENCODER, CROSS_ENCODER, BM25 = "bi-encoder", "cross-encoder", "bm25"
LATE_INTERACTION, LANGUAGE_MODEL = "late-interaction", "llm"
TEMPERATURES = {BI_ENCODER: 0.05, CROSS_ENCODER: 1.0, BM25: 1.0, LATE_INTERACTION: 0.5, LANGUAGE_MODEL: 10.0}
"""Divisors that make scores log-likelihoods; cosines of texts lie close together."""
RANKERS = "bi-encoder, bi-encoder:NAME, bm25, cross-encoder:NAME, late-interaction, late-interaction:NAME or llm:MODEL"


@final
@dataclass(frozen=True, slots=True, eq=False)
class LateInteractionScorer:
    """Sum over the question's tokens of the highest cosine with a token of the text."""

    encoder: TokenEncoder

    def score(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return scores (len(texts),)."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        rows = self.encoder.encode_tokens([question], queries=True)[0]
        tokens = self.encoder.encode_tokens(list(texts))
        return np.array([max_similarity(rows, own) for own in tokens], dtype=np.float32)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LanguageModelScorer:
    """A language model's score of each text, 0 to 100."""

    model: LanguageModel

    def score(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return scores (len(texts),).

        Raises what stopped the model, or ModelReplyError for a reply without a score.
        """
        passages = [Passage("", "", "", text, 0, len(text)) for text in texts]
        replies = self.model.complete([relevance.build_prompt(question, passage) for passage in passages])
        for reply in replies:
            if isinstance(reply, Failure):
                raise reply.run_error or ModelReplyError(
                    f"{self.model.name} gave no score for a path ({reply.reason}): choose another ranker or model"
                )
        scores = [cast("Relevance", reply.value).score for reply in replies if not isinstance(reply, Failure)]
        return np.array(scores, dtype=np.float32)


def make_text_scorer(
    name: str,
    context: IndexContext,
    texts: Callable[[], RelationTexts],
    label: str = "frag",
    setting: str = "a ranker",
    more: str = "",
) -> TextScorer:
    """Return the scorer of a name (`RANKERS`) for a setting of the retriever `label`.

    Without a NAME an encoder is the index's. Raises InputError for another name, with `more` names that the setting
    takes beside these, or an encoder that does not show the states of its tokens.
    """
    kind, _, model = name.partition(":")
    if kind == BM25 and not model:
        return BM25Scorer()
    if kind == CROSS_ENCODER and model:
        return CrossEncoderScorer(model, context.device)
    if kind == BI_ENCODER and not model:
        own = texts()
        return BiEncoderScorer(own.text_memory, own.word_memory)
    if kind == BI_ENCODER:
        encoder = open_encoder(model, device=context.device)
        return BiEncoderScorer(encoder.encode, encoder.encode_queries)
    if kind == LATE_INTERACTION:
        encoder = open_encoder(model, device=context.device) if model else context.encoder
        return LateInteractionScorer(_token_encoder(encoder, label))
    if kind == LANGUAGE_MODEL and model:
        return LanguageModelScorer(context.open_model(model))
    raise InputError(f"{label}: {setting} is {name!r}; wanted {more}{RANKERS}")


def path_text(names: Sequence[str], relations: Sequence[str], reverse: Sequence[bool]) -> str:
    """Return a whole path as text: h + 1 names of entities and h relations, with an arrow for the way of each fact."""
    parts = [names[0]]
    for name, relation, is_reverse in zip(names[1:], relations, reverse, strict=True):
        parts.append(f"<- {relation} <- {name}" if is_reverse else f"-> {relation} -> {name}")
    return " ".join(parts)


def _token_encoder(encoder: Encoder, label: str) -> TokenEncoder:
    if not isinstance(encoder, TokenEncoder):
        raise InputError(
            f"{label}: the encoder {encoder.name} shows no states of tokens, which late-interaction reads: choose "
            "another"
        )
    return encoder
