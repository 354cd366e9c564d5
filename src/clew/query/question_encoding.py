"""A question's texts are encoded in a thread of their own while the question is linked and its walk runs."""

from collections.abc import Callable, Sequence

from clew.arrays import FloatArray
from clew.query.linking import LinkedQuestion

PendingVector = Callable[[], FloatArray]
"""Waits for a vector (d,), and returns it."""


def link_and_encode(
    question: str,
    link: Callable[[str], LinkedQuestion],
    texts: Callable[[LinkedQuestion], Sequence[str]],
    begin_encoding: Callable[[str], PendingVector],
) -> tuple[LinkedQuestion, Callable[[int], FloatArray]]:
    """Return a linked question, and a function that returns the vector (d,) of one of its texts, by number.

    The question itself is encoded while it is linked, before its texts are known: most often it is the first of them.
    """
    pending = {question: begin_encoding(question)}
    linked = link(question)
    wanted = texts(linked)
    pending |= {text: begin_encoding(text) for text in wanted if text not in pending}
    return linked, lambda number: pending[wanted[number]]()
