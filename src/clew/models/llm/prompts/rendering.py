"""Passages, facts and paths as parts of a prompt, between tags that no text inside them can close."""

from collections.abc import Sequence

from clew.models.llm.prompts.template import wrap_in_tag
from clew.types import Fact, Passage, Path, Triple


def render_passages(passages: Sequence[Passage]) -> list[str]:
    """Return the passages, titles first, in the tags `passage-1`, `passage-2`, ..."""
    return [
        wrap_in_tag(f"passage-{number}", f"{passage.title}\n{passage.text}" if passage.title else passage.text)
        for number, passage in enumerate(passages, 1)
    ]


def render_passage(passage: Passage) -> str:
    """Return a single passage: the title of its document, if it has one, and the text."""
    title = f"{wrap_in_tag('title', passage.title)}\n" if passage.title else ""
    return f"{title}{wrap_in_tag('passage', passage.text)}"


def render_facts(facts: Sequence[Fact]) -> list[str]:
    """Return the facts noted so far, one a line, as one part; [] without any."""
    lines = "\n".join(map(_render_triple, facts))
    return [wrap_in_tag("noted-facts", lines)] if lines else []


def render_path(path: Path) -> str:
    """Return the triples of a path, separated by semicolons."""
    return "; ".join(map(_render_triple, path))


def render_paths(paths: Sequence[Path]) -> str:
    """Return numbered paths, one a line."""
    # White space is collapsed: a line break in a name must not start what looks like another path.
    lines = [" ".join(render_path(path).split()) for path in paths]
    return wrap_in_tag("paths", "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)))


def _render_triple(triple: Triple | Fact) -> str:
    return f"{triple.head} | {triple.relation} | {triple.tail}"
