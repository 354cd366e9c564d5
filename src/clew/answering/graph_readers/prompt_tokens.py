"""The tokens of a prompt: a question and a graph's tables, cut to what is allowed, as a chat's turn where asked."""

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, final

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.models.causal_lm.model import LoadedModel

GraphPrompt = Callable[[str, str], str]
"""A question and a graph's text in, the text that an answer follows out."""


@final
class PromptTokenizer:
    """Makes the prompts of one reader.

    Args:
        prompt: Joins question and graph.
        max_context_tokens: A longer graph loses lines of its end, so that edges go before nodes.
        chat: Whether the prompt is a user's turn in the tokenizer's chat template; None where it has one.
    """

    def __init__(self, prompt: GraphPrompt, max_context_tokens: int, chat: bool | None) -> None:
        self._prompt = prompt
        self._most = max_context_tokens
        self._chat = chat
        self._shortened: set[bytes] = set()

    @property
    def fingerprint(self) -> str:
        """Changes whenever the prompt of some question would."""
        example = self._prompt("question", "node_id,node_attr\n")
        wording = blake2b(example.encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return f"{wording}-{self._most}-{self._chat}"

    @property
    def truncated_graphs(self) -> int:
        """How many different graphs have lost lines so far."""
        return len(self._shortened)

    def encode(self, model: "LoadedModel", question: str, graph: str, reserved: int = 0) -> tuple[int, ...]:
        """Return the token ids of a prompt, at least one.

        Args:
            model: Whose tokens they are.
            question: Any.
            graph: Its text; as much of it as `fitting` says is in the prompt.
            reserved: Tokens beside the prompt that the model is to have places for.

        Raises:
            InputError: A chat was asked for and the tokenizer has no template.
        """
        return self._fit_graph(model, question, graph, reserved)[1]

    def count_graph_tokens(self, model: "LoadedModel", question: str, graph: str, reserved: int = 0) -> int:
        """Return how many tokens of a graph's text are in the prompt (see `encode`)."""
        return len(model.tokenize(fits)) if (fits := self._fit_graph(model, question, graph, reserved)[0]) else 0

    def _fit_graph(self, model: "LoadedModel", question: str, graph: str, reserved: int) -> tuple[str, tuple[int, ...]]:
        """Return as many first lines of a graph's text as are allowed and the model has places for, and the prompt."""
        fits = truncate_lines(graph, self._most, lambda text: len(model.tokenize(text)))
        ids = self._encode_prompt(model, question, fits)
        if model.max_positions and len(ids) + reserved > model.max_positions:
            fits = truncate_lines(
                fits, model.max_positions - reserved, lambda text: len(self._encode_prompt(model, question, text))
            )
            ids = self._encode_prompt(model, question, fits)
        if fits != graph:
            self._shortened.add(blake2b(graph.encode(errors="surrogatepass"), digest_size=8).digest())
        return fits, ids

    def _encode_prompt(self, model: "LoadedModel", question: str, graph: str) -> tuple[int, ...]:
        text = self._prompt(question, graph)
        template = getattr(model.tokenizer, "chat_template", None)
        if self._chat and not template:
            raise InputError(
                "the reader's tokenizer has no chat template; wanted one: leave the option chat out, or choose a model "
                "that was trained to chat"
            )
        if template and self._chat is not False:
            turn = [{"role": "user", "content": text}]
            written = model.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
            return tuple(model.tokenize(written))
        return tuple(model.tokenize(text, special=True))


def truncate_lines(text: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Return as many whole lines from a text's start as have at most `max_tokens` tokens.

    Args:
        text: Any.
        max_tokens: At least 0.
        count_tokens: Gives the number of tokens of a text, which does not fall as lines are added.
    """
    if count_tokens(text) <= max_tokens:
        return text
    lines = text.splitlines(keepends=True)
    fits, too_many = 0, len(lines)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count_tokens("".join(lines[:middle])) <= max_tokens:
            fits = middle
        else:
            too_many = middle
    return "".join(lines[:fits])
