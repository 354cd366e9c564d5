"""The reader's network for training: a BERT body, two scores a token, and one for each kind of answer."""

from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

KINDS = ("span", "yes", "no", "none")
"""Kinds of answers, in the order of the scores: words of the text, yes, no, or none in this text."""


class SpanReader(nn.Module):
    """Scores of begins, ends and kinds for windows of tokens.

    The vectors of words are those of the body it begins with and are not trained: they are half of its numbers, and
    a few thousand questions name a small part of them.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.bert.embeddings.word_embeddings.weight.requires_grad = False
        self.spans = nn.Linear(config.hidden_size, 2)
        self.kinds = nn.Linear(config.hidden_size, len(KINDS))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores of begin and end (B, L, 2) and of kinds (B, 4) of windows (B, L); `mask` is 1 for a token."""
        states = self.bert(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        return self.spans(states), self.kinds(states[:, 0])


def read_body(folder: Path) -> SpanReader:
    """Return a reader with the body of a BERT model in a folder and heads that begin at zero.

    Raises OSError where the folder holds no BERT model.
    """
    body = BertModel.from_pretrained(folder, add_pooling_layer=False, local_files_only=True)
    config = cast("Any", body.config)
    # Dropout makes a step on a processor four times as long, and what is learned is seen once or twice.
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    reader = SpanReader(config)
    reader.bert.load_state_dict(body.state_dict())
    for head in (reader.spans, reader.kinds):
        nn.init.normal_(head.weight, std=0.02)
        nn.init.zeros_(head.bias)
    return reader


def span_loss(scores: Tensor, sentences: Tensor, places: Tensor, longest: int) -> Tensor:
    """Return the negative log-likelihood (n,) of answers that stand in several places, summed over them.

    Args:
        scores: (n, L, 2) of begins and ends; the sum of two is the score of a span.
        sentences: (n, L) the sentence of each token, -1 where it is of none; spans are of one sentence.
        places: (n, P, 2) positions of the first and the last token of each place, -1 where there are fewer.
        longest: tokens of the longest span.
    """
    begins, ends = scores.float().unbind(-1)
    spans = begins[:, :, None] + ends[:, None, :]
    same = (sentences[:, :, None] == sentences[:, None, :]) & (sentences >= 0)[:, :, None]
    spans = spans.masked_fill(~same.triu().tril(longest - 1), -1e4)
    first, last = places.clamp(min=0).unbind(-1)
    rows = torch.arange(len(spans), device=spans.device)[:, None]
    own = spans[rows, first, last].masked_fill(places[..., 0] < 0, -torch.inf)
    return spans.flatten(1).logsumexp(1) - own.logsumexp(1)
