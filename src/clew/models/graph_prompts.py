"""The tokens of a prompt: a question and a graph's tables, cut to what is allowed, as a chat's turn where asked."""

from collections.abc import Callable
from typing import TYPE_CHECKING, final

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.models.causal_model import LoadedModel

GraphPrompt = Callable[[str, str], str]
"""A question and a graph's text in, the text that an answer follows out."""


@final
class PromptTokens:
    """Makes the prompts of one reader.

    Args:
        prompt: Joins question and graph.
        max_context_tokens: A longer graph loses lines of its end, so that edges go before nodes.
        chat: Whether the prompt is a user's turn in the tokenizer's chat template; None where it has one.

    Attributes:
        shortened: How many graphs have lost lines so far.
    """

    def __init__(self, prompt: GraphPrompt, max_context_tokens: int, chat: bool | None) -> None:
        self._prompt = prompt
        self._most = max_context_tokens
        self._chat = chat
        self.shortened = 0

    def encode(self, model: "LoadedModel", question: str, graph: str) -> tuple[int, ...]:
        """Return the token ids of a prompt, at least one.

        Raises:
            InputError: A chat was asked for and the tokenizer has no template.
        """
        fitting = first_lines(graph, self._most, lambda text: len(model.tokens(text)))
        self.shortened += fitting != graph
        text = self._prompt(question, fitting)
        template = getattr(model.tokenizer, "chat_template", None)
        if self._chat and not template:
            raise InputError(
                "the reader's tokenizer has no chat template; wanted one: leave the option chat out, or choose a model "
                "that was trained to chat"
            )
        if template and self._chat is not False:
            turn = [{"role": "user", "content": text}]
            written = model.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
            return tuple(model.tokens(written))
        return tuple(model.tokens(text, special=True))


def first_lines(text: str, most: int, count: Callable[[str], int]) -> str:
    """Return as many whole lines from a text's start as have at most `most` tokens.

    Args:
        text: Any.
        most: At least 0.
        count: Gives the number of tokens of a text, which does not fall as lines are added.
    """
    if count(text) <= most:
        return text
    lines = text.splitlines(keepends=True)
    fits, too_many = 0, len(lines)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count("".join(lines[:middle])) <= most:
            fits = middle
        else:
            too_many = middle
    return "".join(lines[:fits])
