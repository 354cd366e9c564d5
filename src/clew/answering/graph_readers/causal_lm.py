"""A causal language model as the reader of a part of a graph: what an answer costs it, and what it would answer.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), section 5.4, for a prompt of graph and question and teacher forcing on the answer, and the authors' settings.
Differs from the source: the loss is the mean over an answer's tokens for each example, where the source's is over all
tokens of a batch; a graph is cut at the end of a line; the wording is our own.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

from clew.answering.graph_readers.prompt_tokens import GraphPrompt, PromptTokenizer
from clew.errors import InputError
from clew.models.causal_lm.batching import PaddingSide, TokenBatch, TokenizedExample, answer_losses, collate, generate
from clew.models.validation import require_unicode

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.answering.graph_readers.protocols import SoftTokenEncoder
    from clew.graph.subgraphs.textual_graph import GraphContext
    from clew.models.causal_lm.model import CausalModel, LoadedModel
    from clew.types import FloatArray

MAX_CONTEXT_TOKENS, MAX_NEW_TOKENS = 512, 32  # the authors' code
BATCH_SIZE = 8

_T = TypeVar("_T")


@final
class CausalReader:
    """Reads with a causal language model, whose weights are loaded on first use.

    Prompt and answer are cut into tokens apart, so that an answer is weighed after the same tokens it is generated
    after; an answer ends with the tokenizer's token for that.

    Args:
        model: Shared by as many readers as wanted.
        prompt: Joins question and graph, as `clew.models.llm.prompts.graph_answer.prompt`.
        batch_size: Examples in one forward pass, at least 1.
        max_context_tokens: A longer graph loses lines of its end, and so does one that the model has no places for.
        max_new_tokens: The longest generated answer.
        chat: Whether prompts are turns of a chat; None where the tokenizer has a template.
        with_text: False leaves the graph's text out of the prompt.

    Raises:
        InputError: A number is below 1.
    """

    def __init__(
        self,
        model: "CausalModel",
        prompt: GraphPrompt,
        *,
        batch_size: int = BATCH_SIZE,
        max_context_tokens: int = MAX_CONTEXT_TOKENS,
        max_new_tokens: int = MAX_NEW_TOKENS,
        chat: bool | None = None,
        with_text: bool = True,
    ) -> None:
        for name, number in (("batch_size", batch_size), ("max_new_tokens", max_new_tokens)):
            if number < 1:
                raise InputError(f"{name} is {number}; wanted at least 1")
        if max_context_tokens < 1:
            raise InputError(f"max_context_tokens is {max_context_tokens}; wanted at least 1, or with_text=False")
        self.model = model
        self._prompts = PromptTokenizer(prompt, max_context_tokens, chat)
        self._batch_size = batch_size
        self._max_new_tokens = max_new_tokens
        self._with_text = with_text

    @property
    def name(self) -> str:
        """The model's folder or name."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """The model's, and how it is asked; loads the model.

        Raises:
            InputError: `transformers` is not installed.
            ProviderError: The model cannot be opened.
        """
        asked = f"{self._prompts.fingerprint}-{self._max_new_tokens}-{self._with_text}"
        return f"{self.model.load().fingerprint}-{asked}"

    @property
    def truncated_graphs(self) -> int:
        """How many different graphs were too long so far, and lost lines of their end."""
        return self._prompts.truncated_graphs

    def count_tokens(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[int]:
        """Return how many tokens of each graph's text it reads.

        Args:
            questions: Any strings.
            contexts: One a question.

        Raises:
            InputError: The numbers differ, or a text has no UTF-8 form.
            ProviderError: The model cannot be used.
        """
        model, texts = self.model.load(), self._context_texts(questions, contexts)
        return [
            self._prompts.count_graph_tokens(model, question, text, self._max_new_tokens)
            for question, text in zip(questions, texts, strict=True)
        ]

    def loss(
        self,
        questions: Sequence[str],
        contexts: Sequence["GraphContext"],
        answers: Sequence[str],
        soft_tokens: "SoftTokenEncoder | None" = None,
    ) -> "FloatArray":
        """Return (n,) what `losses` returns, without gradients."""
        import torch

        with torch.no_grad():
            return np.asarray(self.losses(questions, contexts, answers, soft_tokens).cpu().numpy(), dtype=np.float32)

    def losses(
        self,
        questions: Sequence[str],
        contexts: Sequence["GraphContext"],
        answers: Sequence[str],
        soft_tokens: "SoftTokenEncoder | None" = None,
    ) -> "Tensor":
        """Return (n,) the negative log-likelihood of each answer in nats, the mean over its tokens and its end.

        Args:
            questions: Any strings.
            contexts: One a question.
            answers: One a question; an empty one is weighed by its end alone.
            soft_tokens: Gives vectors to be read before each prompt.

        Raises:
            InputError: The numbers differ, a text has no UTF-8 form, or question and answer are longer than the model
                reads.
            ProviderError: The model cannot be used.
        """
        import torch

        if len(answers) != len(questions):
            raise InputError(f"{len(questions)} questions have {len(answers)} answers; wanted one each")
        require_unicode(answers)
        model = self.model.load()
        told = [(*model.tokenize(answer), model.end_token) for answer in answers]
        rows = self._build_rows(model, questions, contexts, told)
        side: PaddingSide = "left" if model.tokenizer.padding_side == "left" else "right"
        found = torch.zeros(len(rows), device=model.network.device)
        for places in self._length_sorted_batches(rows):
            some = _take(questions, places), _take(contexts, places), _take(told, places)
            batch = self._collate(model, _take(rows, places), some, soft_tokens, side)
            found = found.index_put((torch.tensor(places, device=found.device),), answer_losses(model, batch))
        return found

    def generate(
        self,
        questions: Sequence[str],
        contexts: Sequence["GraphContext"],
        soft_tokens: "SoftTokenEncoder | None" = None,
    ) -> list[str]:
        """Return what the model finds likeliest word by word after each prompt, up to its end.

        Args:
            questions: Any strings.
            contexts: One a question.
            soft_tokens: Gives vectors to be read before each prompt.

        Raises:
            InputError: The numbers differ, a text has no UTF-8 form, or a question is longer than the model reads.
            ProviderError: The model cannot be used.
        """
        import torch

        model = self.model.load()
        told: list[tuple[int, ...]] = [()] * len(questions)
        rows = self._build_rows(model, questions, contexts, told)
        found, most = [""] * len(rows), self._max_new_tokens
        for places in self._length_sorted_batches(rows):
            with torch.no_grad():
                some = _take(questions, places), _take(contexts, places), _take(told, places)
                batch = self._collate(model, _take(rows, places), some, soft_tokens, "left")
            for place, text in zip(places, generate(model, batch, most), strict=True):
                found[place] = text
        return found

    def parameters(self) -> "list[Parameter]":
        """Return the model's weights where it was opened to be trained, else nothing."""
        return self.model.parameters()

    def _context_texts(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[str]:
        if len(contexts) != len(questions):
            raise InputError(f"{len(questions)} questions have {len(contexts)} graphs; wanted one each")
        texts = [context.text if self._with_text else "" for context in contexts]
        require_unicode(questions)
        require_unicode(texts)
        return texts

    def _build_rows(
        self,
        model: "LoadedModel",
        questions: Sequence[str],
        contexts: Sequence["GraphContext"],
        answer_ids: Sequence[tuple[int, ...]],
        reserved: int = 0,
    ) -> list[TokenizedExample]:
        """Return prompts with answer tokens, shortened so that `reserved` more tokens and an answer fit the model.

        That is the same for an answer that is weighed and one that is generated, so that both stand after one prompt.
        """
        texts = self._context_texts(questions, contexts)
        return [
            TokenizedExample(
                self._prompts.encode(model, question, text, reserved + max(self._max_new_tokens, len(answer))), answer
            )
            for question, text, answer in zip(questions, texts, answer_ids, strict=True)
        ]

    def _length_sorted_batches(self, rows: Sequence[TokenizedExample]) -> list[list[int]]:
        """Return places in batches, the longest first: rows of like length need little padding."""
        order = sorted(range(len(rows)), key=lambda place: (-len(rows[place]), place))
        return [order[start : start + self._batch_size] for start in range(0, len(order), self._batch_size)]

    def _collate(
        self,
        model: "LoadedModel",
        rows: Sequence[TokenizedExample],
        examples: "tuple[Sequence[str], Sequence[GraphContext], Sequence[tuple[int, ...]]]",
        soft_tokens: "SoftTokenEncoder | None",
        side: PaddingSide,
    ) -> TokenBatch:
        """Return a batch; its graphs lose more lines where soft tokens take their places."""
        before = None if soft_tokens is None else soft_tokens(examples[1])
        if before is not None and before.shape[::2] != (len(rows), model.width):
            raise InputError(
                f"soft tokens for {len(rows)} graphs have the shape {tuple(before.shape)}; wanted ({len(rows)}, "
                f"tokens, {model.width}), the width of the model's own tokens"
            )
        taken = 0 if before is None else before.shape[1]
        if taken and model.max_positions:
            rows = self._build_rows(model, *examples, taken)
        longest = taken + max(len(row.prompt) + max(self._max_new_tokens, len(row.answer)) for row in rows)
        if model.max_positions and longest > model.max_positions:
            raise InputError(
                f"question and answer need up to {longest:,} tokens without any of the graph; the model reads "
                f"{model.max_positions:,} at most: give shorter ones, lower max_new_tokens, or choose another model"
            )
        return collate(model, rows, before, side)


def _take(items: Sequence[_T], places: Sequence[int]) -> list[_T]:
    return [items[place] for place in places]
