"""Adaptation of hop predictors: what is learned from, that it is learned, and that nothing else changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clew.answering.kg_paths import NO_PATH_NAMED_NOTE
from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.query.linking import MaskedQuestion
from clew.retrievers.frag.hop_predictor import HopPredictor
from clew.retrievers.frag.retriever import FragRetriever
from clew.training.fitting.hop_predictor import FEEDBACK_RECIPE, HopExample
from clew.types import Answer, Evidence, Question, Scored, Triple, ignore_progress
from clew_lab.evaluation.adaptation import (
    adapt,
    can_adapt,
    hops_of_named_paths,
    hops_to_gold,
    split_for_adaptation,
)
from clew_lab.training.fitting.hop_classifier import FROZEN_RECIPE, train_hop_classifier
from clew_lab.training.recipes.frag import adapt_hop_predictor
from tests.kinship import QUESTIONS, make_kinship_index


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_kinship_index(tmp_path_factory.mktemp("family"))


ASKED = [
    Question(f"q{i}", text, answers, topics=topics, hops=7) for i, (text, topics, answers, _) in enumerate(QUESTIONS)
]


def frag(index: Index, name: str = "frag") -> FragRetriever:
    retriever = index.retriever(name)
    assert isinstance(retriever, FragRetriever)
    return retriever


@pytest.mark.parametrize(("count", "first"), [(4, 1), (7, 1), (8, 2), (101, 25)])
def test_the_first_quarter_adapts(count: int, first: int) -> None:
    questions = [Question(str(i), "x") for i in range(count)]
    adapting, rest = split_for_adaptation(questions)
    assert (len(adapting), [*adapting, *rest]) == (first, questions)


def test_labels_are_shortest_paths_and_never_the_data_set_s(family: Index) -> None:
    examples = hops_to_gold(family, ASKED, ignore_progress)
    assert [example.hops for example in examples] == [hops for *_, hops in QUESTIONS]


def test_labels_of_a_model_are_the_hops_of_the_paths_it_names() -> None:
    path = (Triple("Ada Lind", "spouse", "Bo Lind"), Triple("Bo Lind", "father", "Carl Lind"))
    found = Evidence((), (Scored(path, 1.0),), topics=("Ada Lind",))
    named = Answer("Carl Lind", (), (), found)
    unnamed = replace(named, notes=(NO_PATH_NAMED_NOTE,))
    examples = hops_of_named_paths([ASKED[4], ASKED[5]], [named, unnamed])
    assert [example.hops for example in examples] == [2]
    assert "lind" not in examples[0].question.text.casefold()


@pytest.mark.slow
def test_what_was_learned_decides_and_nothing_else_changes(family: Index) -> None:
    before = frag(family)
    assert before.hop_predictor is not None
    many = hops_to_gold(family, ASKED[:2] * 200, ignore_progress)
    wrong = [replace(example, hops=5) for example in many]  # opposite labels, in great number
    after = adapt("frag", before, wrong)
    assert after.hop_predictor is not None
    questions = [example.question for example in many[:2]]
    raised = after.hop_predictor.multi_hop_probability(questions)
    assert (raised > before.hop_predictor.multi_hop_probability(questions)).all()
    assert replace(after, hop_predictor=before.hop_predictor).settings == before.settings
    assert after.fingerprint != before.fingerprint
    again = adapt("frag", before, wrong)
    assert again.fingerprint == after.fingerprint


def test_a_retriever_without_predictor_is_not_adapted(family: Index) -> None:
    simple = frag(family, "frag-simple")
    assert not can_adapt(simple)
    assert can_adapt(frag(family))
    assert not can_adapt(family.retriever("steiner"))
    with pytest.raises(InputError, match="nothing to adapt"):
        adapt("frag-simple", simple, [HopExample(MaskedQuestion(("who",), ()), 1)])
    with pytest.raises(InputError, match="no question has a path"):
        adapt("frag", frag(family), [])


@pytest.mark.slow
def test_of_a_classifier_the_layer_goes_on_from_where_it_stood(tmp_path: Path) -> None:
    simple = [
        HopExample(MaskedQuestion(("the", "spouse", "of"), ()), 1),
        HopExample(MaskedQuestion(("born", "in"), ()), 2),
    ]
    complex_ = [HopExample(MaskedQuestion(("the", "spouse", "of", "the", "father", "of", "the", "child", "of"), ()), 3)]
    weights = train_hop_classifier([*simple, *complex_] * 3, FROZEN_RECIPE, DEFAULT_ENCODER, tmp_path)
    predictor = HopPredictor(weights, open_encoder(DEFAULT_ENCODER).encode)
    still = adapt_hop_predictor(predictor, simple, replace(FEEDBACK_RECIPE, rate=1e-12))
    np.testing.assert_allclose(still.weights.arrays["weights"], weights.arrays["weights"], rtol=1e-6)
    np.testing.assert_allclose(still.weights.arrays["spread"], weights.arrays["spread"], rtol=1e-6)
    turned = adapt_hop_predictor(predictor, [replace(example, hops=4) for example in simple] * 500)
    questions = [example.question for example in simple]
    assert (turned.multi_hop_probability(questions) > predictor.multi_hop_probability(questions)).all()
    assert turned.weights.about["delta"] == weights.about["delta"]
