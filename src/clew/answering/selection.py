"""Chooses the answerer for evidence: with or without a language model, from passages or from paths."""

from collections.abc import Callable
from pathlib import Path

from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.kg_paths import LLMPathAnswerer, PathAnswerer
from clew.answering.llm import LLMAnswerer
from clew.answering.span_ranker import ANSWER_WEIGHTS, SpanRanker, load_span_ranker
from clew.models.encoders.compatibility import reads_vectors_of
from clew.protocols import Answerer, Encoder, LanguageModel


def select_answerer(
    model: str, open_model: Callable[[str], LanguageModel], encoder: Callable[[], Encoder | None], *, from_paths: bool
) -> Answerer:
    """Return the answerer of `model`, a `provider:model`; for "" one without a language model.

    `open_model` returns the language model of a name, and raises InputError if the provider is not known, or a package
    or its key is missing. `encoder` returns what compares sentences with the question; None where there is none.
    `from_paths` tells whether answers are the ends of paths in the graph.
    """
    if from_paths:
        return LLMPathAnswerer(open_model(model)) if model else PathAnswerer()
    return LLMAnswerer(open_model(model)) if model else open_extractive_answerer(encoder())


def open_extractive_answerer(encoder: Encoder | None, weights: Path = ANSWER_WEIGHTS) -> ExtractiveAnswerer:
    """Return the answerer without a language model, with the trained ranker of candidates where it reads this encoder.

    Without an encoder, or with one of another model than the ranker was trained with, the rules rank. Raises
    ProviderError where the weights are missing or damaged.
    """
    if encoder is None or not encoder.dimension:
        return ExtractiveAnswerer()
    trained = load_span_ranker(weights)
    ranker = SpanRanker(trained) if reads_vectors_of(trained.encoder, encoder.fingerprint) else None
    return ExtractiveAnswerer(encoder, ranker=ranker)
