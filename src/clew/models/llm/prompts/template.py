"""Prompt templates: instructions and the schema of the reply, identified by a hash of both."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from pydantic import BaseModel

from clew.models.validation import replace_surrogates
from clew.types import Prompt

_TAG_START = re.compile(
    r"<(?=/?(?:question|title|passage|names|noted-facts|searched|thoughts|connections|paths)\b)", re.IGNORECASE
)


@dataclass(frozen=True)
class Template:
    """A prompt without its content.

    The docstring and the field names of `reply` are sent to the model and are part of the hash.
    """

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
