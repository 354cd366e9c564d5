"""The binary classifier of FRAG: a linear layer on vectors that stay, or on an encoder that is tuned with it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clew.errors import InputError
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.registry import open_encoder
from clew.query.linking import MaskedQuestion
from clew.retrievers.frag.hop_predictor import (
    CLASSIFIER,
    TUNED_FOLDER,
    HopPredictor,
    load_hop_predictor,
    save_hop_predictor,
)
from clew.training.fitting.hop_predictor import HopExample, accuracy
from clew_lab.training.fitting.hop_classifier import FROZEN_RECIPE, TUNED_RECIPE, is_tunable, train_hop_classifier
from tests.faults.commands import run_clew
from tests.kinship import make_kinship_index, write_questions
from tests.models.encoders.test_sentence_transformer import write_model

RELATIONS = ("father", "mother", "spouse", "profession")
"""Words of the questions."""


def make_examples() -> list[HopExample]:
    """Return questions of one relation, simple, and of three."""
    examples = []
    for a in RELATIONS:
        examples.append(HopExample(MaskedQuestion(("the", a, "of"), ()), 1))
        examples += [
            HopExample(MaskedQuestion(("the", a, "of", "the", b, "of", "the", c, "of"), ()), 3)
            for b in RELATIONS[:2]
            for c in RELATIONS[1:3]
        ]
    return examples


def test_a_layer_on_vectors_that_stay(tmp_path: Path) -> None:
    examples = make_examples()
    weights = train_hop_classifier(examples, FROZEN_RECIPE, "hashing", tmp_path)
    encoder = HashingEncoder(256)
    predictor = HopPredictor(weights, encoder.encode)
    assert accuracy(predictor, examples) == 1.0
    probabilities = predictor.hop_probabilities([example.question for example in examples])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    vectors = encoder.encode([example.question.text for example in examples])
    logits = vectors @ weights.arrays["weights"] + weights.arrays["spread"][1]
    np.testing.assert_allclose(probabilities[:, 2], 1 / (1 + np.exp(-logits)), atol=1e-5)
    assert not probabilities[:, [0, 3, 4]].any()
    save_hop_predictor(tmp_path / "out", weights)
    loaded = load_hop_predictor(tmp_path / "out")
    assert (loaded.kind, loaded.about["encoder"], loaded.about["delta"]) == (CLASSIFIER, "hashing", 2)
    assert HopPredictor(loaded, encoder.encode).fingerprint == predictor.fingerprint
    assert not (tmp_path / TUNED_FOLDER).exists()


def test_questions_of_one_kind_teach_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of which 0 take more than 2 hops"):
        train_hop_classifier(make_examples()[:1], FROZEN_RECIPE, "hashing", tmp_path)


@pytest.mark.slow
def test_an_encoder_is_tuned_and_stored(tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    name = str(tmp_path / "model")
    assert is_tunable(name)
    assert not is_tunable("hashing")
    recipe = replace(TUNED_RECIPE, epochs=60, batch=8, rate=5e-3)
    weights = train_hop_classifier(make_examples(), recipe, name, tmp_path / "out")
    tuned = open_encoder(str(tmp_path / "out" / TUNED_FOLDER))
    assert weights.encoder == tuned.fingerprint != open_encoder(name).fingerprint
    assert accuracy(HopPredictor(weights, tuned.encode), make_examples()) > 0.9
    short = replace(recipe, epochs=2)
    one, again = (train_hop_classifier(make_examples(), short, name, tmp_path / out) for out in ("one", "again"))
    assert again.arrays["weights"].tolist() == one.arrays["weights"].tolist() != weights.arrays["weights"].tolist()
    assert (TUNED_RECIPE.epochs, TUNED_RECIPE.batch, TUNED_RECIPE.rate, TUNED_RECIPE.decay) == (10, 32, 1e-5, 0.0)


def test_a_classifier_goes_through_the_commands(tmp_path: Path) -> None:
    make_kinship_index(tmp_path, "hashing")
    pair = ("--index", tmp_path / "index", "--questions", write_questions(tmp_path))
    done = run_clew("train", "hops", *pair, "--kind", "classifier", "--encoder", "hashing", "--out", tmp_path / "w")
    assert done.code == 0, done.err
    assert "learned from 6 questions" in done.out
    question = "what is the profession of the father of the spouse of [Ada Lind]"
    setting = f"frag:router_weights={tmp_path / 'w'}"
    found = run_clew("search", question, "--index", tmp_path / "index", "--retriever", setting)
    assert found.code == 0, found.err
    assert "a complex question" in found.out
    refused = run_clew("search", question, "--index", tmp_path / "index", "--retriever", f"{setting},delta=3")
    assert refused.code == 2
    assert "the classifier learned 2: give delta=2" in refused.err
