"""BERT's forward pass with mean pooling and unit rows, in the fewest kernels; imports torch, so import it late.

Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2019; Reimers and Gurevych,
"Sentence-BERT", 2019 (mean pooling).

Differs from the source: no dropout and no segment ids (inference on one text); query, key and value are one product.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear, normalize, scaled_dot_product_attention


class Projection(NamedTuple):
    """y = weight x + bias, weight (out, in) and bias (out,)."""

    weight: Tensor
    bias: Tensor

    def columns(self, x: Tensor) -> Tensor:
        """Apply to columns x (in, n); a few columns run twice as fast this way round as rows do."""
        return torch.addmm(self.bias.unsqueeze(1), self.weight, x)


class Norm(NamedTuple):
    """Layer normalisation over the last axis."""

    gain: Tensor
    shift: Tensor
    epsilon: float

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise x (..., d)."""
        return layer_norm(x, self.gain.shape, self.gain, self.shift, self.epsilon)


class Layer(NamedTuple):
    """One transformer block; `attend` holds query, key and value one below the other, (3 d, d)."""

    attend: Projection
    attended: Projection
    after_attention: Norm
    widen: Projection
    narrow: Projection
    after_feed: Norm


@final
@dataclass(frozen=True, slots=True)
class Bert:
    """The weights of a BERT encoder: width d, `heads` heads that divide d.

    Attributes:
        words: Embeddings of the vocabulary, (v, d).
        places: Embeddings of the positions, with those of segment 0 added, (p, d).
    """

    words: Tensor
    places: Tensor
    first: Norm
    layers: tuple[Layer, ...]
    heads: int

    def batch(self, ids: Tensor, real: Tensor) -> Tensor:
        """Encode texts side by side.

        Args:
            ids: Token ids, (B, L).
            real: True where a token belongs to the text, (B, L).

        Returns:
            Unit rows (B, d).
        """
        size, length = ids.shape
        width = self.words.shape[1]
        # The mask is there even when nothing is padded: without it another kernel would run, and a row would depend on
        # its neighbours.
        mask = torch.zeros(real.shape).masked_fill_(~real, -math.inf)[:, None, None, :]
        x = self.first(self.words[ids] + self.places[:length])
        for layer in self.layers:
            shape = (size, length, 3, self.heads, width // self.heads)
            query, key, value = linear(x, *layer.attend).view(shape).permute(2, 0, 3, 1, 4)
            seen = scaled_dot_product_attention(query, key, value, attn_mask=mask)
            seen = seen.transpose(1, 2).reshape(size, length, width)
            x = layer.after_attention(linear(seen, *layer.attended) + x)
            x = layer.after_feed(linear(gelu(linear(x, *layer.widen)), *layer.narrow) + x)
        weight = real.unsqueeze(2).to(x.dtype)
        return normalize((x * weight).sum(1) / weight.sum(1), dim=1)

    def alone(self, ids: Tensor) -> Tensor:
        """Encode one text quickly.

        Args:
            ids: Token ids, (L,), none of them padding.

        Returns:
            A unit vector (d,), equal to the row of `batch` up to rounding.
        """
        (length,) = ids.shape
        width = self.words.shape[1]
        part = width // self.heads
        x = self.first(self.words[ids] + self.places[:length])
        for layer in self.layers:
            query, key, value = layer.attend.columns(x.t().contiguous()).view(3, self.heads, part, length)
            weights = torch.softmax(torch.bmm(query.transpose(1, 2), key) * part**-0.5, dim=2)
            seen = torch.bmm(value, weights.transpose(1, 2)).view(width, length)
            x = layer.after_attention(layer.attended.columns(seen).t() + x)
            wide = gelu(layer.widen.columns(x.t().contiguous()))
            x = layer.after_feed(layer.narrow.columns(wide).t() + x)
        return normalize(x.mean(0), dim=0)


def assemble(weights: dict[str, Tensor], layers: int, heads: int, epsilon: float) -> Bert:
    """Put a checkpoint's tensors in their places.

    Args:
        weights: Tensors by their names in the checkpoint, as Hugging Face's `BertModel` names them.
        layers: Number of blocks, at least 1.
        heads: Attention heads in a block; divides the width.
        epsilon: Added to the variance in every layer normalisation.

    Raises:
        KeyError: A tensor is missing.
    """

    def projection(name: str) -> Projection:
        return Projection(weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name: str) -> Norm:
        return Norm(weights[f"{name}.weight"], weights[f"{name}.bias"], epsilon)

    def layer(name: str) -> Layer:
        parts = [projection(f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        return Layer(
            Projection(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])),
            projection(f"{name}.attention.output.dense"),
            norm(f"{name}.attention.output.LayerNorm"),
            projection(f"{name}.intermediate.dense"),
            projection(f"{name}.output.dense"),
            norm(f"{name}.output.LayerNorm"),
        )

    return Bert(
        weights["embeddings.word_embeddings.weight"],
        weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0],
        norm("embeddings.LayerNorm"),
        tuple(layer(f"encoder.layer.{number}") for number in range(layers)),
        heads,
    )
