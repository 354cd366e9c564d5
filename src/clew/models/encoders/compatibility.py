"""Encoders whose vectors a network may read that was trained on another encoder's."""

from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.minilm import ALL_MINILM_L6_V2, bert_fingerprint

_SAME_MODEL = frozenset({Int8MiniLM.fingerprint, bert_fingerprint(ALL_MINILM_L6_V2)})


def reads_vectors_of(trained: str, given: str) -> bool:
    """Return whether a network trained on vectors of one encoder may read another's, both given by fingerprint.

    It may where the encoders are the same, or the fp32 and the 8-bit form of the same model, whose vectors of passages
    have a mean cosine of 0.9962, at least 0.9910 (docs/models/encoder.md).
    """
    return trained == given or {trained, given} <= _SAME_MODEL
