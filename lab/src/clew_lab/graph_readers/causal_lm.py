"""Graph reader on a causal language model: the loss of a given answer, and greedy generation of an answer.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), section 5.4, for the prompt of graph and question, teacher forcing on the answer and the default settings.
Differs from the source: the loss is the mean over each answer's tokens, where the source's is over all tokens of a
batch; a graph is cut at the end of a line; the wording is our own.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.models.validation import require_unicode
from clew_lab.graph.reader_context import GraphContext
from clew_lab.graph_readers.protocols import GeneratedText, check_counts
from clew_lab.models.batching import PaddingSide, TokenBatch, TokenizedExample, answer_losses, collate, generate
from clew_lab.models.causal_lm import CausalModel, LoadedModel

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


if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

SoftTokens = Callable[[Sequence[GraphContext]], "Tensor"]
"""Returns vectors (n, tokens, width) of graphs to place before their prompts; a row depends on its own graph only."""
Examples = tuple[Sequence[str], Sequence[GraphContext], Sequence[tuple[int, ...]]]

MAX_CONTEXT_TOKENS, MAX_NEW_TOKENS = 512, 32  # the authors' code
BATCH_SIZE = 8

_T = TypeVar("_T")


@final
class CausalReader:
    """Reads with a causal language model, whose weights are loaded on first use.

    Prompt and answer are tokenized separately, so that the loss of an answer follows the same tokens as its generation.
    An answer ends with the tokenizer's end token. All calls raise InputError for unequal lengths, for text without a
    UTF-8 form and for a question beyond the model's positions, and ProviderError if the model cannot be used.

    Args:
        model: May be shared by several readers.
        prompt: Joins question and graph, such as `clew_lab.models.graph_answer.build_prompt`.
        batch_size: Examples per forward pass, at least 1.
        max_context_tokens: Limit of the graph's text, at least 1, which loses whole lines at its end; the model's own
            limit of positions applies as well.
        max_new_tokens: Limit of a generated answer, at least 1.
        chat: Whether prompts are turns of a chat; None: if the tokenizer has a chat template.
        with_text: False leaves the graph's text out of the prompt.
    """

    def __init__(
        self,
        model: CausalModel,
        prompt: GraphPrompt,
        *,
        batch_size: int = BATCH_SIZE,
        max_context_tokens: int = MAX_CONTEXT_TOKENS,
        max_new_tokens: int = MAX_NEW_TOKENS,
        chat: bool | None = None,
        with_text: bool = True,
    ) -> None:
        self.model = model
        self._prompts = PromptTokenizer(prompt, max_context_tokens, chat)
        self._batch_size = batch_size
        self._max_new_tokens = max_new_tokens
        self.max_context_tokens = max_context_tokens
        self.with_text = with_text

    @property
    def name(self) -> str:
        """The model's folder or name."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model and the prompt settings; loads the model."""
        settings = f"{self._prompts.fingerprint}-{self._max_new_tokens}-{self.with_text}"
        return f"{self.model.load().fingerprint}-{settings}"

    @property
    def truncated_graphs(self) -> int:
        """Number of distinct graphs that were truncated so far."""
        return self._prompts.truncated_graphs

    def count_tokens(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[int]:
        """Return the number of tokens of each graph's text in its prompt (see `TokenCounter`)."""
        model, texts = self.model.load(), self._context_texts(questions, contexts)
        return [
            self._prompts.count_graph_tokens(model, question, text, self._max_new_tokens)
            for question, text in zip(questions, texts, strict=True)
        ]

    def loss(
        self,
        questions: Sequence[str],
        contexts: Sequence[GraphContext],
        answers: Sequence[str],
        soft_tokens: SoftTokens | None = None,
    ) -> FloatArray:
        """Return `losses` (n,) without gradients."""
        import torch

        with torch.no_grad():
            return np.asarray(self.losses(questions, contexts, answers, soft_tokens).cpu().numpy(), dtype=np.float32)

    def losses(
        self,
        questions: Sequence[str],
        contexts: Sequence[GraphContext],
        answers: Sequence[str],
        soft_tokens: SoftTokens | None = None,
    ) -> "Tensor":
        """Return (n,) mean negative log-likelihoods in nats over the tokens of each answer and its end token.

        `soft_tokens` are vectors placed before each prompt. An empty answer consists of its end token.
        """
        import torch

        check_counts(questions, contexts, answers)
        require_unicode(answers)
        model = self.model.load()
        answer_ids = [(*model.tokenize(answer), model.end_token) for answer in answers]
        side: PaddingSide = "left" if model.tokenizer.padding_side == "left" else "right"
        losses = torch.zeros(len(questions), device=model.network.device)
        for places, batch in self._batches(model, (questions, contexts, answer_ids), soft_tokens, side):
            losses = losses.index_put((torch.tensor(places, device=losses.device),), answer_losses(model, batch))
        return losses

    def generate(
        self,
        questions: Sequence[str],
        contexts: Sequence[GraphContext],
        soft_tokens: SoftTokens | None = None,
    ) -> list[str]:
        """Return the greedy continuation of each prompt, up to its end token; `soft_tokens` come before the prompts."""
        return [reply.text for reply in self.generate_counted(questions, contexts, soft_tokens)]

    def generate_counted(
        self,
        questions: Sequence[str],
        contexts: Sequence[GraphContext],
        soft_tokens: SoftTokens | None = None,
    ) -> list[GeneratedText]:
        """Return `generate` with the tokens that were read, among them the soft ones, and written (`TokenCounter`)."""
        import torch

        model = self.model.load()
        replies = [GeneratedText("", 0, 0)] * len(questions)
        no_answers: list[tuple[int, ...]] = [()] * len(questions)
        with torch.no_grad():
            for places, batch in self._batches(model, (questions, contexts, no_answers), soft_tokens, "left"):
                rows = generate(model, batch, self._max_new_tokens)
                for place, row, read in zip(places, rows, batch.mask.sum(dim=1).tolist(), strict=True):
                    replies[place] = GeneratedText(model.decode(row), int(read), len(row))
        return replies

    def parameters(self) -> "list[Parameter]":
        """Return the weights of a model that was opened for training, else []."""
        return self.model.parameters()

    def _context_texts(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        check_counts(questions, contexts)
        texts = [context.text if self.with_text else "" for context in contexts]
        require_unicode(questions)
        require_unicode(texts)
        return texts

    def _batches(
        self, model: LoadedModel, examples: Examples, soft_tokens: SoftTokens | None, side: PaddingSide
    ) -> Iterator[tuple[list[int], TokenBatch]]:
        """Yield batches with the places of their rows, longest first: rows of similar length need little padding."""
        questions, contexts, answer_ids = examples
        rows = self._build_rows(model, examples)
        order = sorted(range(len(rows)), key=lambda place: (-len(rows[place]), place))
        for start in range(0, len(order), self._batch_size):
            places = order[start : start + self._batch_size]
            batch = _take(questions, places), _take(contexts, places), _take(answer_ids, places)
            yield places, self._collate(model, _take(rows, places), batch, soft_tokens, side)

    def _build_rows(self, model: LoadedModel, examples: Examples, reserved: int = 0) -> list[TokenizedExample]:
        """Return prompts with answer tokens, shortened so that `reserved` more tokens and an answer fit the model.

        At least `max_new_tokens` are left for the answer, so that loss and generation see the same prompt.
        """
        rows = []
        questions, contexts, answer_ids = examples
        texts = self._context_texts(questions, contexts)
        for question, text, answer in zip(questions, texts, answer_ids, strict=True):
            needed = reserved + max(self._max_new_tokens, len(answer))
            rows.append(TokenizedExample(self._prompts.encode(model, question, text, needed), answer))
        return rows

    def _collate(
        self,
        model: LoadedModel,
        rows: Sequence[TokenizedExample],
        examples: Examples,
        soft_tokens: SoftTokens | None,
        side: PaddingSide,
    ) -> TokenBatch:
        """Return a padded batch; graphs are truncated further where soft tokens take positions."""
        prefix = None if soft_tokens is None else soft_tokens(examples[1])
        if prefix is not None and prefix.shape[::2] != (len(rows), model.width):
            raise InputError(
                f"soft tokens for {len(rows)} graphs have the shape {tuple(prefix.shape)}; wanted ({len(rows)}, "
                f"tokens, {model.width}), the width of the model's own tokens"
            )
        prefix_length = 0 if prefix is None else prefix.shape[1]
        if prefix_length and model.max_positions:
            rows = self._build_rows(model, examples, prefix_length)
        longest = prefix_length + max(len(row.prompt) + max(self._max_new_tokens, len(row.answer)) for row in rows)
        if model.max_positions and longest > model.max_positions:
            raise InputError(
                f"question and answer need up to {longest:,} tokens without any of the graph; the model reads "
                f"{model.max_positions:,} at most: give shorter ones, lower max_new_tokens, or choose another model"
            )
        return collate(model, rows, prefix, side)


def _take(items: Sequence[_T], places: Sequence[int]) -> list[_T]:
    return [items[place] for place in places]
