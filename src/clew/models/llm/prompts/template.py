"""The words of a prompt and the shape of its reply, known by a hash of both."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from pydantic import BaseModel

from clew.types import Prompt

_TAG_START = re.compile(
    r"<(?=/?(?:question|title|passage|names|noted-facts|searched|thoughts|connections|paths)\b)", re.IGNORECASE
)


@dataclass(frozen=True)
class Template:
    """A prompt without its content.

    Attributes:
        name: Of its file.
        instructions: Words of Clew alone; nothing of a corpus or a user is ever put into them.
        reply: The class of the reply.
        reply_tokens: How long it may be; 0 for as long as the settings allow.
        temperature: Of the model; None for that of the settings.
    """

    name: str
    instructions: str
    reply: type[BaseModel]
    reply_tokens: int = 0
    temperature: float | None = None

    @cached_property
    def fingerprint(self) -> str:
        """`name@hash`: changes with the words and with the shape of the reply."""
        limits = [self.reply_tokens, self.temperature] if self.reply_tokens or self.temperature is not None else []
        told = json.dumps([self.instructions, self.reply.model_json_schema(), *limits], sort_keys=True)
        return f"{self.name}@{blake2b(told.encode(), digest_size=4).hexdigest()}"

    def build_prompt(self, content: str) -> Prompt:
        """Return the prompt about some content."""
        written = content.encode(errors="replace").decode()
        return Prompt(self.fingerprint, self.instructions, written, self.reply, self.reply_tokens, self.temperature)


def wrap_in_tag(tag: str, text: str) -> str:
    """Return a text between marks; what looks like a mark inside it is broken up, so that none ends early."""
    return f"<{tag}>\n{_TAG_START.sub('< ', text)}\n</{tag}>"
