"""AMR by a sequence-to-sequence model that writes graphs in linear form, such as AMRBART.

Source: Bai et al., "Graph Pre-training for AMR Parsing and Generation" (2022): the text with `<AMR> <mask> </AMR>`
behind it, five beams; Dong et al., "Don't Forget to Connect!" (2024), section 3.1, for question and passage as one
text.
Differs from the source: graphs are repaired by rules of our own (see `linear_form`).
"""

from collections.abc import Sequence
from typing import final

from clew.errors import InputError
from clew.types import Failure, Passage
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.linear_form import to_penman
from clew_lab.amr.parsers import check_pairs, pair_text
from clew_lab.amr.penman_notation import parse_penman
from clew_lab.models.sequence_to_sequence import Marks, SequenceToSequenceModel

_MARKS = Marks(("<AMR>", "<mask>", "</AMR>"), "<AMR>", "</AMR>")


@final
class AMRBARTParser:
    """Parses with a model of a folder or of the hub, which brings the tokens of its graphs in its tokenizer."""

    def __init__(self, model: str, device: str = "auto") -> None:
        if not model.strip():
            raise InputError("amrbart wants a model: amrbart:FOLDER, or a name on the Hugging Face hub")
        self._model = SequenceToSequenceModel(
            model, _MARKS, device=device, otherwise="give --amr local, or a file of AMR graphs"
        )

    @property
    def fingerprint(self) -> str:
        """A hash of the model."""
        return f"amrbart-{self._model.fingerprint}"

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        """Return the graph of each pair; a failure where the model wrote none."""
        check_pairs(questions, passages)
        texts = [pair_text(question, passage) for question, passage in zip(questions, passages, strict=True)]
        return [self._read(text, passage) for text, passage in zip(self._model.write(texts), passages, strict=True)]

    def _read(self, written: str, passage: Passage) -> AMRGraph | Failure:
        notation = to_penman(written)
        if not notation:
            return Failure(
                passage.id, f"the model wrote no graph but {written[:40]!r}; use a model that was tuned to parse AMR"
            )
        try:
            return parse_penman(notation)
        except InputError as error:
            return Failure(passage.id, f"the model wrote a malformed graph: {error}")
