"""Prompt templates: instructions and the schema of the reply, identified by a hash of both; and parts of a content.

Parts stand between tags that no text inside them can close.

Cleaning of the names and triples in a model's reply: empty and overlong ones are dropped.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Annotated

from pydantic import BaseModel, Field

from clew.models.validation import replace_surrogates
from clew.text.display import has_surrogate, to_single_line
from clew.types import Fact, Passage, Path, Prompt, Triple

_TAG_START = re.compile(
    r"<(?=/?(?:question|title|passage|names|noted-facts|searched|thoughts|connections|paths)\b)", re.IGNORECASE
)


@dataclass(frozen=True)
class Template:
    """A prompt without its content; `reply`'s docstring and field names are sent to the model and part of the hash."""

    name: str  # name in the fingerprint
    instructions: str  # fixed text; nothing from a corpus or a user is ever inserted
    reply: type[BaseModel]  # schema of the reply
    reply_tokens: int = 0  # maximum length of the reply; 0 for that of the call settings
    temperature: float | None = None  # sampling temperature; None for that of the call settings

    @cached_property
    def fingerprint(self) -> str:
        """`name@hash` of the instructions, the reply's schema and the limits."""
        limits = [self.reply_tokens, self.temperature] if self.reply_tokens or self.temperature is not None else []
        content = json.dumps([self.instructions, self.reply.model_json_schema(), *limits], sort_keys=True)
        return f"{self.name}@{blake2b(content.encode(), digest_size=4).hexdigest()}"

    def build_prompt(self, content: str) -> Prompt:
        """Return the prompt for some content, lone surrogates replaced."""
        text = replace_surrogates(content)
        return Prompt(self.fingerprint, self.instructions, text, self.reply, self.reply_tokens, self.temperature)


def wrap_in_tag(tag: str, text: str) -> str:
    """Return a text between tags; tags inside the text are broken up, so that it cannot close its own."""
    return f"<{tag}>\n{_TAG_START.sub('< ', text)}\n</{tag}>"


def render_passages(passages: Sequence[Passage]) -> list[str]:
    """Return the passages, titles and times first, in the tags `passage-1`, `passage-2`, ..."""
    heads = [f"{passage.title} ({passage.time})".strip() if passage.time else passage.title for passage in passages]
    return [
        wrap_in_tag(f"passage-{number}", f"{head}\n{passage.text}" if head else passage.text)
        for number, (head, passage) in enumerate(zip(heads, passages, strict=True), 1)
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


MAX_NAME_CHARACTERS = 200  # longer names are taken for sentences
MAX_ITEMS = 300  # names, or triples, of one passage: a model that fails to stop repeats itself
# A triple in the schema of a reply: subject, relation, object.
TripleStrings = Annotated[list[str], Field(min_length=3, max_length=3)]


def clean_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct names in order, white space normalised; empty, overlong and non-Unicode ones are dropped."""
    return tuple(dict.fromkeys(name for name in map(_clean_line, names) if name))[:MAX_ITEMS]


def clean_triples(triples: Sequence[Sequence[str]], limit: int | None = None) -> tuple[tuple[str, str, str], ...]:
    """Return the distinct triples in order, cleaned like names; those with a dropped part are dropped.

    At most `limit` are returned, and never more than `MAX_ITEMS`.
    """
    cleaned = ((_clean_line(head), _clean_line(relation), _clean_line(tail)) for head, relation, tail in triples)
    return tuple(dict.fromkeys(triple for triple in cleaned if all(triple)))[
        : MAX_ITEMS if limit is None else min(limit, MAX_ITEMS)
    ]


def _clean_line(text: str) -> str:
    line = to_single_line(text)
    return "" if len(line) > MAX_NAME_CHARACTERS or has_surrogate(line) else line
