"""Notes of rerankers on the pools of a file, counted over its questions."""

from clew.evaluation.runs import Ranking, Run
from clew.types import Usage
from clew_lab.evaluation.candidates import _counted_notes


def make_run(*notes: tuple[str, ...]) -> Run:
    """Return a run with a question for each tuple of notes."""
    rankings = tuple(Ranking(f"q{i}", (), (), (), Usage(), some) for i, some in enumerate(notes))
    return Run("g-rag", 1, rankings)


def test_what_every_reranking_notes_is_not_counted() -> None:
    """A pool of one passage, or of a thousand, was: its number stands beside another word, or has a comma."""
    run = make_run(
        ("g-rag reranked the first 1 passage",),
        ("g-rag reranked the first 100 passages",),
        ("g-rag reranked the first 1,000 passages",),
    )
    assert _counted_notes("g-rag", run) == []


def test_a_kind_of_note_is_counted_once_whatever_its_numbers() -> None:
    run = make_run(
        ("1 of 8 passages has no AMR graph: an empty text",), (), ("2 of 8 passages have no AMR graph: an empty text",)
    )
    assert _counted_notes("g-rag", run) == ["g-rag: 2 of 3 questions: 1 of 8 passages has no AMR graph: an empty text"]
