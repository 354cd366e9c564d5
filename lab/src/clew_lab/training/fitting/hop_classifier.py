"""Training of the binary classifier of simple and complex questions, on any encoder.

A model of `sentence-transformers` is tuned together with a linear layer on its vector of a question, and stored beside
it; of any other encoder the vectors stay as they are, and the linear layer alone is trained.

Source: Gao et al., "FRAG" (2025), section 4.2 (query encoder, binary decoder, cross-entropy) and A.4.1 (10 epochs,
batches of 32, rate 1e-5, weight decay 0).
Differs from the source: names are masked in the questions; the decoder is a linear layer on the vector of the question
in place of one over its tokens; the rate decays as a cosine.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError
from clew.models.encoders.registry import open_encoder
from clew.models.encoders.sentence_transformer import SentenceTransformerEncoder
from clew.models.validation import map_load_errors
from clew.plugins.extras import import_extra
from clew.retrievers.frag.hop_predictor import CLASSIFIER, TUNED_FOLDER, HopPredictorWeights
from clew.training.fitting.hop_predictor import HopExample, HopRecipe
from clew.training.fitting.minibatches import minimise

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from clew.types import FloatArray, LongArray

FROZEN_RECIPE = HopRecipe(kind=CLASSIFIER, made_up=0, epochs=200, batch=256, rate=0.05, decay=1e-4)
"""Training of the linear layer alone."""
TUNED_RECIPE = HopRecipe(kind=CLASSIFIER, made_up=0, epochs=10, batch=32, rate=1e-5, decay=0.0)
"""Training of encoder and linear layer, as published."""
LOGIT_SCALE = 10.0
"""Factor of the layer's output: vectors have the length 1, and rates are small."""


def is_tunable(encoder: str) -> bool:
    """Return whether an encoder is a model of `sentence-transformers`."""
    return isinstance(open_encoder(encoder), SentenceTransformerEncoder)


def train_hop_classifier(
    examples: Sequence[HopExample], recipe: HopRecipe, encoder: str, out: Path, delta: int = 2
) -> HopPredictorWeights:
    """Train on questions with at most `delta` hops and with more; a tuned encoder is written into `out`.

    Raises InputError where one of the two kinds is missing.
    """
    labels = np.array([example.hops > delta for example in examples], dtype=np.float32)
    if len(set(labels.tolist())) < 2:
        raise InputError(
            f"{len(examples)} questions, of which {int(labels.sum())} take more than {delta} hops: wanted some of "
            "either kind; give questions of both"
        )
    texts = [example.question.text for example in examples]
    if is_tunable(encoder):
        weight, bias, name = *_tune(texts, labels, recipe, encoder, out / TUNED_FOLDER), ""
        fingerprint = open_encoder(str(out / TUNED_FOLDER)).fingerprint
    else:
        opened = open_encoder(encoder)
        weight, bias, name = *_fit_layer(opened.encode(texts), labels, recipe), encoder
        fingerprint = opened.fingerprint
    arrays = {"weights": weight, "spread": np.array([1.0, bias], dtype=np.float32)}
    about = {"recipe": asdict(recipe), "encoder": name, "delta": delta}
    return HopPredictorWeights(CLASSIFIER, arrays, (), fingerprint, about)


def adapt_hop_classifier(
    examples: Sequence[HopExample],
    recipe: HopRecipe,
    weights: HopPredictorWeights,
    encode: "Callable[[Sequence[str]], FloatArray]",
) -> HopPredictorWeights:
    """Go on with the training of a classifier's linear layer.

    `encode` is that of its encoder, which stays as it is: n texts to unit rows (n, d).
    """
    delta = int(weights.about["delta"])
    labels = np.array([example.hops > delta for example in examples], dtype=np.float32)
    vectors = encode([example.question.text for example in examples])
    start = weights.arrays["weights"], float(weights.arrays["spread"][1])
    weight, bias = _fit_layer(vectors, labels, recipe, start)
    arrays = {"weights": weight, "spread": np.array([weights.arrays["spread"][0], bias], dtype=np.float32)}
    return replace(weights, arrays=arrays, about={**weights.about, "adaptation": asdict(recipe)})


def _fit_layer(
    vectors: Any, labels: Any, recipe: HopRecipe, start: "tuple[FloatArray, float] | None" = None
) -> tuple[Any, float]:
    import torch

    rows = torch.from_numpy(np.ascontiguousarray(vectors))
    return _minimise(lambda positions: rows[torch.from_numpy(positions)], rows.shape[1], (), labels, recipe, start)


def _tune(texts: Sequence[str], labels: Any, recipe: HopRecipe, name: str, folder: Path) -> tuple[Any, float]:
    import torch

    package = import_extra("sentence_transformers", "encoders", f"the encoder {name}")
    with map_load_errors(lambda reason: f"the encoder {name} cannot be opened ({reason}): give another --encoder"):
        model = package.SentenceTransformer(name, device="cpu")
    model.train()

    def vectors_of(positions: "LongArray") -> "Tensor":
        features = model.tokenize([texts[position] for position in positions.tolist()])
        rows: Tensor = torch.nn.functional.normalize(model(features)["sentence_embedding"], dim=-1)
        return rows

    with torch.no_grad():
        width = vectors_of(np.array([0])).shape[1]
    result = _minimise(vectors_of, width, model.parameters(), labels, recipe)
    model.eval()
    model.save(str(folder))
    return result


def _minimise(
    vectors_of: "Callable[[LongArray], Tensor]",
    width: int,
    more: Any,
    labels: Any,
    recipe: HopRecipe,
    start: "tuple[FloatArray, float] | None" = None,
) -> tuple[Any, float]:
    """Train a linear layer, and the parameters that the vectors depend on; returns its weights (d,) and bias.

    The layer starts at random, or from the weights and the bias of `start`.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        layer = torch.nn.Linear(width, 1)
        if start is not None:
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(start[0])[None, :] / LOGIT_SCALE)
                layer.bias.fill_(start[1] / LOGIT_SCALE)
        targets = torch.from_numpy(labels)
        tuned = list(more)
        optimizer = torch.optim.AdamW([*tuned, *layer.parameters()], recipe.rate, weight_decay=recipe.decay)

        def loss_of(positions: "LongArray") -> "Tensor":
            logits = layer(vectors_of(positions))[:, 0] * LOGIT_SCALE
            return torch.nn.functional.binary_cross_entropy_with_logits(logits, targets[torch.from_numpy(positions)])

        minimise(loss_of, optimizer, len(labels), recipe)
    weight = layer.weight.detach().numpy()[0] * LOGIT_SCALE
    return weight.astype(np.float32), float(layer.bias.detach()) * LOGIT_SCALE
