"""Prompts and answers of different lengths side by side: what a causal model is run on, and what its answers cost.

Soft tokens, prompt and answer are joined as vectors, so that a batch needs no token to pad with, and padding is masked
and has no place of its own: a row's result is that of the row alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor

    from clew.models.causal_lm.model import LoadedModel

PaddingSide = Literal["left", "right"]
_IGNORED_LABEL = -100


@dataclass(frozen=True, slots=True)
class TokenizedExample:
    """Token ids of one example.

    Attributes:
        prompt: At least one.
        answer: With the token that ends it; () where it is to be generated.
    """

    prompt: tuple[int, ...]
    answer: tuple[int, ...] = ()

    def __len__(self) -> int:
        """Return how many tokens it has."""
        return len(self.prompt) + len(self.answer)


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Rows padded to one length.

    Attributes:
        vectors: (n, l, width) of soft tokens, prompts and answers; 0 where padded.
        mask: (n, l) 1 where there is a token, else 0.
        labels: (n, l) the tokens of the answers, -100 elsewhere.
    """

    vectors: "Tensor"
    mask: "Tensor"
    labels: "Tensor"


def collate(
    model: "LoadedModel", examples: Sequence[TokenizedExample], soft_tokens: "Tensor | None", padding_side: PaddingSide
) -> TokenBatch:
    """Return rows side by side.

    Args:
        model: Gives its tokens' vectors.
        examples: At least one.
        soft_tokens: (n, s, width) vectors before each prompt, or None.
        padding_side: Where shorter rows are padded.
    """
    import torch
    from torch.nn import functional

    embed = model.network.get_input_embeddings()
    device = embed.weight.device
    before = 0 if soft_tokens is None else soft_tokens.shape[1]
    length = before + max(len(row) for row in examples)
    vectors, masks, labels = [], [], []
    for place, row in enumerate(examples):
        parts = [embed(torch.tensor([*row.prompt, *row.answer], device=device))]
        if soft_tokens is not None:
            parts.insert(0, soft_tokens[place].to(device=device, dtype=parts[0].dtype))
        missing = length - before - len(row)
        padding = (missing, 0) if padding_side == "left" else (0, missing)
        vectors.append(functional.pad(torch.cat(parts), (0, 0, *padding)))
        masks.append(functional.pad(torch.ones(before + len(row), dtype=torch.long, device=device), padding))
        told = torch.tensor([*[_IGNORED_LABEL] * (before + len(row.prompt)), *row.answer], device=device)
        labels.append(functional.pad(told, padding, value=_IGNORED_LABEL))
    return TokenBatch(torch.stack(vectors), torch.stack(masks), torch.stack(labels))


def answer_losses(model: "LoadedModel", batch: TokenBatch) -> "Tensor":
    """Return (n,) for each row the mean negative log-likelihood of its answer's tokens, in nats.

    Args:
        model: Run in one forward pass.
        batch: Each row has an answer.
    """
    from torch.nn import functional

    labelled = batch.labels != _IGNORED_LABEL
    first = int(labelled.any(dim=0).nonzero()[0])
    kept = batch.labels.shape[1] - first + 1  # the first label is told by the place before it
    run: dict[str, Any] = {"inputs_embeds": batch.vectors, "attention_mask": batch.mask, "use_cache": False}
    if "position_ids" in model.forward_arguments:
        run["position_ids"] = (batch.mask.cumsum(dim=1) - 1).clamp_min(0)
    if "logits_to_keep" in model.forward_arguments:
        run["logits_to_keep"] = kept  # over a large vocabulary the prompt's logits would need most of the memory
    logits = model.network(**run).logits[:, -kept:-1].float()
    costs = functional.cross_entropy(
        logits.transpose(1, 2), batch.labels[:, first:], ignore_index=_IGNORED_LABEL, reduction="none"
    )
    found: Tensor = costs.sum(dim=1) / labelled.sum(dim=1)
    return found


def generate(model: "LoadedModel", batch: TokenBatch, max_new_tokens: int) -> list[str]:
    """Return what the model writes after each row, greedily, up to a token that ends it or `max_new_tokens` tokens.

    Args:
        model: Which writes.
        batch: Padded on the left, without answers.
        max_new_tokens: At least 1.
    """
    import torch

    with torch.no_grad():
        # Only the new tokens come back, since the model gets vectors and no ids.
        said = model.network.generate(
            inputs_embeds=batch.vectors, attention_mask=batch.mask, max_new_tokens=max_new_tokens, do_sample=False
        )
    return [model.decode(row) for row in said.tolist()]
