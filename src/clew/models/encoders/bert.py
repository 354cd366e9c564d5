"""BERT's forward pass with mean pooling and unit rows, in few kernels.

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

    def apply_to_columns(self, x: Tensor) -> Tensor:
        """Apply to columns x (in, n); for few columns this is twice as fast as for rows."""
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
    """One transformer block; `query_key_value` stacks query, key and value, (3 d, d)."""

    query_key_value: Projection
    attention_output: Projection
    attention_norm: Norm
    feed_forward_in: Projection
    feed_forward_out: Projection
    feed_forward_norm: Norm


@final
@dataclass(frozen=True, slots=True)
class Bert:
    """The weights of a BERT encoder: width d, `heads` heads that divide d.

    Attributes:
        word_embeddings: Embeddings of the vocabulary, (v, d).
        position_embeddings: Embeddings of the positions, with those of segment 0 added, (p, d).
    """

    word_embeddings: Tensor
    position_embeddings: Tensor
    embedding_norm: Norm
    layers: tuple[Layer, ...]
    heads: int

    def encode_batch(self, ids: Tensor, token_mask: Tensor) -> Tensor:
        """Encode a batch of texts into unit rows (B, d).

        Args:
            ids: Token ids, (B, L).
            token_mask: Bool, True where a token is not padding, (B, L).
        """
        size, length = ids.shape
        width = self.word_embeddings.shape[1]
        # The mask is passed even when nothing is padded: without it torch runs another kernel, and a row would depend
        # on the rest of the batch.
        x = self.embedding_norm(self.word_embeddings[ids] + self.position_embeddings[:length])
        mask = x.new_zeros(token_mask.shape).masked_fill_(~token_mask, -math.inf)[:, None, None, :]
        for layer in self.layers:
            shape = (size, length, 3, self.heads, width // self.heads)
            query, key, value = linear(x, *layer.query_key_value).view(shape).permute(2, 0, 3, 1, 4)
            context = scaled_dot_product_attention(query, key, value, attn_mask=mask)
            context = context.transpose(1, 2).reshape(size, length, width)
            x = layer.attention_norm(linear(context, *layer.attention_output) + x)
            x = layer.feed_forward_norm(linear(gelu(linear(x, *layer.feed_forward_in)), *layer.feed_forward_out) + x)
        weight = token_mask.unsqueeze(2).to(x.dtype)
        return normalize((x * weight).sum(1) / weight.sum(1), dim=1)

    def encode_single(self, ids: Tensor) -> Tensor:
        """Encode one text into a unit vector (d,), faster than `encode_batch` and equal to its row up to rounding.

        Args:
            ids: Token ids without padding, (L,).
        """
        (length,) = ids.shape
        width = self.word_embeddings.shape[1]
        part = width // self.heads
        x = self.embedding_norm(self.word_embeddings[ids] + self.position_embeddings[:length])
        for layer in self.layers:
            query, key, value = layer.query_key_value.apply_to_columns(x.t().contiguous()).view(
                3, self.heads, part, length
            )
            weights = torch.softmax(torch.bmm(query.transpose(1, 2), key) * part**-0.5, dim=2)
            context = torch.bmm(value, weights.transpose(1, 2)).view(width, length)
            x = layer.attention_norm(layer.attention_output.apply_to_columns(context).t() + x)
            wide = gelu(layer.feed_forward_in.apply_to_columns(x.t().contiguous()))
            x = layer.feed_forward_norm(layer.feed_forward_out.apply_to_columns(wide).t() + x)
        return normalize(x.mean(0), dim=0)


def build_bert(weights: dict[str, Tensor], layers: int, heads: int, epsilon: float) -> Bert:
    """Build the encoder from a checkpoint's tensors.

    Args:
        weights: Tensors by their names in Hugging Face's `BertModel`, in its shapes: embeddings (rows, d), projections
            (out, in) with biases (out,).
        layers: Number of blocks, at least 1.
        heads: Attention heads of a block; divides the width.
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
