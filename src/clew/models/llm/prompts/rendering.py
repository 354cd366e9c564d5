"""How passages and facts are written into a prompt: numbered, and between marks that nothing in them can end."""

from collections.abc import Sequence

from clew.models.llm.prompts.template import tagged
from clew.types import Fact, Passage


def passages_shown(passages: Sequence[Passage]) -> list[str]:
    """Return the passages as `passage-1`, `passage-2`, ... with their titles."""
    return [
        tagged(f"passage-{number}", f"{passage.title}\n{passage.text}" if passage.title else passage.text)
        for number, passage in enumerate(passages, 1)
    ]


def passage_shown(passage: Passage) -> str:
    """Return one passage for what reads it alone: the title of its document, if it has one, and the text."""
    title = f"{tagged('title', passage.title)}\n" if passage.title else ""
    return f"{title}{tagged('passage', passage.text)}"


def facts_shown(facts: Sequence[Fact]) -> list[str]:
    """Return the facts that were noted, a line each, as one part; [] without any."""
    lines = "\n".join(f"{fact.head} | {fact.relation} | {fact.tail}" for fact in facts)
    return [tagged("noted-facts", lines)] if lines else []
