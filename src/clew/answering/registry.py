"""Registry of answerers that installed packages add by entry points of the group `clew.answerers`."""

from collections.abc import Callable
from dataclasses import dataclass

from clew.plugins.registry import Registry
from clew.protocols import Answerer


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
