"""How passages and facts are written into a prompt: numbered, and between marks that nothing in them can end."""

from collections.abc import Sequence

from clew.models.llm.prompts.template import wrap_in_tag
from clew.types import Fact, Passage


def render_passages(passages: Sequence[Passage]) -> list[str]:
    """Return the passages as `passage-1`, `passage-2`, ... with their titles."""
    return [
        wrap_in_tag(f"passage-{number}", f"{passage.title}\n{passage.text}" if passage.title else passage.text)
        for number, passage in enumerate(passages, 1)
    ]


def render_passage(passage: Passage) -> str:
    """Return one passage for what reads it alone: the title of its document, if it has one, and the text."""
    title = f"{wrap_in_tag('title', passage.title)}\n" if passage.title else ""
    return f"{title}{wrap_in_tag('passage', passage.text)}"


def render_facts(facts: Sequence[Fact]) -> list[str]:
    """Return the facts that were noted, a line each, as one part; [] without any."""
    lines = "\n".join(f"{fact.head} | {fact.relation} | {fact.tail}" for fact in facts)
    return [wrap_in_tag("noted-facts", lines)] if lines else []
