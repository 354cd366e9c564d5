"""The encoder that this package adds to Clew, as its entry point of the group `clew.encoders` names it."""

from clew.models.encoders.registry import EncoderEntry
from clew.protocols import Encoder


def _build_dpr(argument: str) -> Encoder:
    from clew_lab.models.dpr import DPREncoder

    return DPREncoder(argument)


DPR = EncoderEntry("a pair of models, of questions and of passages: dpr:QUESTION_MODEL,PASSAGE_MODEL", _build_dpr)
