"""Batches of tokenized examples for a causal model, the loss of their answers, and generation.

Soft tokens, prompt and answer are concatenated as vectors, so that a batch needs no padding token. Padding is masked
and takes no position: a row's result does not depend on its batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from clew_lab.models.causal_lm import LoadedModel

if TYPE_CHECKING:
    from torch import Tensor

PaddingSide = Literal["left", "right"]
_IGNORED_LABEL = -100


@dataclass(frozen=True, slots=True)
class TokenizedExample:
    """Token ids of one example."""

    prompt: tuple[int, ...]  # at least one token
    answer: tuple[int, ...] = ()  # ends with the end token; () where it is to be generated

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Examples padded to one length."""

    vectors: "Tensor"  # (n, l, width) embeddings of soft tokens, prompts and answers; 0 where padded
    mask: "Tensor"  # (n, l) 1 where there is a token, else 0
    labels: "Tensor"  # (n, l) tokens of the answers, -100 elsewhere


def collate(
    model: LoadedModel, examples: Sequence[TokenizedExample], soft_tokens: "Tensor | None", padding_side: PaddingSide
) -> TokenBatch:
    """Pad at least one example to a batch; `soft_tokens` (n, s, width) stand before each prompt."""
    import torch
    from torch.nn import functional

    embed = model.network.get_input_embeddings()
    device = embed.weight.device
    soft_count = 0 if soft_tokens is None else soft_tokens.shape[1]
    length = soft_count + max(len(example) for example in examples)
    vectors, masks, labels = [], [], []
    for row, example in enumerate(examples):
        parts = [embed(torch.tensor([*example.prompt, *example.answer], device=device))]
        if soft_tokens is not None:
            parts.insert(0, soft_tokens[row].to(device=device, dtype=parts[0].dtype))
        missing = length - soft_count - len(example)
        padding = (missing, 0) if padding_side == "left" else (0, missing)
        vectors.append(functional.pad(torch.cat(parts), (0, 0, *padding)))
        masks.append(functional.pad(torch.ones(length - missing, dtype=torch.long, device=device), padding))
        targets = [*[_IGNORED_LABEL] * (soft_count + len(example.prompt)), *example.answer]
        labels.append(functional.pad(torch.tensor(targets, device=device), padding, value=_IGNORED_LABEL))
    return TokenBatch(torch.stack(vectors), torch.stack(masks), torch.stack(labels))


def answer_losses(model: LoadedModel, batch: TokenBatch) -> "Tensor":
    """Return (n,) the mean negative log-likelihood of each answer's tokens, in nats, by one forward pass."""
    from torch.nn import functional

    labelled = batch.labels != _IGNORED_LABEL
    first = int(labelled.any(dim=0).nonzero()[0])
    kept = batch.labels.shape[1] - first + 1  # the first label is predicted by the position before it
    arguments: dict[str, Any] = {"inputs_embeds": batch.vectors, "attention_mask": batch.mask, "use_cache": False}
    if "position_ids" in model.forward_arguments:
        arguments["position_ids"] = (batch.mask.cumsum(dim=1) - 1).clamp_min(0)
    if "logits_to_keep" in model.forward_arguments:
        arguments["logits_to_keep"] = kept  # with a large vocabulary the prompt's logits would take most of the memory
    logits = model.network(**arguments).logits[:, -kept:-1].float()
    losses = functional.cross_entropy(
        logits.transpose(1, 2), batch.labels[:, first:], ignore_index=_IGNORED_LABEL, reduction="none"
    )
    means: Tensor = losses.sum(dim=1) / labelled.sum(dim=1)
    return means


def generate(model: LoadedModel, batch: TokenBatch, max_new_tokens: int) -> list[list[int]]:
    """Return the greedy continuation of each row, padded on the left, up to a stop token or the limit of at least 1.

    The tokens of a row end with its stop token, if there is one.
    """
    import torch

    with torch.no_grad():
        # Only the new tokens are returned, since the model is given vectors instead of ids.
        tokens = model.network.generate(
            inputs_embeds=batch.vectors, attention_mask=batch.mask, max_new_tokens=max_new_tokens, do_sample=False
        )
    rows: list[list[int]] = tokens.tolist()
    ends = (next((place + 1 for place, t in enumerate(row) if t in model.stop_tokens), len(row)) for row in rows)
    return [row[:end] for row, end in zip(rows, ends, strict=True)]
