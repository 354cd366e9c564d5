"""Replies in plain text, for prompts that ask for no JSON."""

from pydantic import BaseModel


class TextReply(BaseModel):
    """A reply that is taken as it was written; no schema is sent with the prompt."""

    text: str

    @property
    def lines(self) -> list[str]:
        """The lines that hold more than white space."""
        return [line.strip() for line in self.text.splitlines() if line.strip()]
