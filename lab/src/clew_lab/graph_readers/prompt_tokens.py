"""Token ids of a prompt of question and graph tables, truncated to the limits, optionally as a turn of a chat."""

from collections.abc import Callable
from hashlib import blake2b
from typing import final

from clew.errors import InputError
from clew_lab.models.causal_lm import LoadedModel

GraphPrompt = Callable[[str, str], str]
"""Maps a question and a graph's text to the prompt text that the answer follows."""


@final
class PromptTokenizer:
    """Builds and tokenizes the prompts of one reader.

    The graph's text has at most `max_context_tokens`: lines are dropped at its end, so edges before nodes. `chat` tells
    whether to apply the tokenizer's chat template; None: if it has one.
    """

    def __init__(self, prompt: GraphPrompt, max_context_tokens: int, chat: bool | None) -> None:
        self._prompt = prompt
        self._max_context_tokens = max_context_tokens
        self._chat = chat
        self._truncated: set[bytes] = set()

    @property
    def fingerprint(self) -> str:
        """Changes whenever the prompt of some question would."""
        example = self._prompt("question", "node_id,node_attr\n")
        wording = blake2b(example.encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return f"{wording}-{self._max_context_tokens}-{self._chat}"

    @property
    def truncated_graphs(self) -> int:
        """Number of distinct graphs that were truncated so far."""
        return len(self._truncated)

    def encode(self, model: LoadedModel, question: str, graph: str, reserved: int = 0) -> tuple[int, ...]:
        """Return the token ids of a prompt, at least one; the graph's text is cut to leave `reserved` positions free.

        Raises InputError if `chat` is set and the tokenizer has no chat template.
        """
        return self._fit_graph(model, question, graph, reserved)[1]

    def count_graph_tokens(self, model: LoadedModel, question: str, graph: str, reserved: int = 0) -> int:
        """Return the number of tokens of the graph's text that are in the prompt (see `encode`)."""
        text, _ = self._fit_graph(model, question, graph, reserved)
        return len(model.tokenize(text)) if text else 0

    def _fit_graph(self, model: LoadedModel, question: str, graph: str, reserved: int) -> tuple[str, tuple[int, ...]]:
        """Return the truncated text of the graph, and the token ids of its prompt."""
        limit = model.max_positions
        text = truncate_lines(graph, self._max_context_tokens, lambda lines: len(model.tokenize(lines)))
        ids = self._encode_prompt(model, question, text)
        if limit and len(ids) + reserved > limit:
            text = truncate_lines(text, limit - reserved, lambda part: len(self._encode_prompt(model, question, part)))
            ids = self._encode_prompt(model, question, text)
        if text != graph:
            self._truncated.add(blake2b(graph.encode(errors="surrogatepass"), digest_size=8).digest())
        return text, ids

    def _encode_prompt(self, model: LoadedModel, question: str, graph: str) -> tuple[int, ...]:
        text = self._prompt(question, graph)
        template = getattr(model.tokenizer, "chat_template", None)
        if self._chat and not template:
            raise InputError(
                "the reader's tokenizer has no chat template; wanted one: leave the option chat out, or choose a model "
                "that was trained to chat"
            )
        if template and self._chat is not False:
            turn = [{"role": "user", "content": text}]
            chat = model.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
            return tuple(model.tokenize(chat))
        return tuple(model.tokenize(text, special=True))


def truncate_lines(text: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Return the longest run of first lines with at most `max_tokens` tokens, at least 0.

    The number of tokens that `count_tokens` returns must not fall as lines are added.
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
