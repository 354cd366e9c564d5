"""Answer measures, against the published normalisation written out step by step for ASCII text."""

import re
import string
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.text.answer_metrics import (
    answer_tokens,
    containment,
    exact_match,
    normalize_answer,
    score_answers,
    token_f1,
)
from clew.types import Question

words = st.lists(
    st.sampled_from(["The", "a", "An", "cat", "CAT.", "U.S.", "sat-on", "(mat)", "42", "then"]), max_size=7
)


def squad(text: str) -> str:
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(reply: str, gold: str) -> float:
    mine, theirs = squad(reply).split(), squad(gold).split()
    left = list(theirs)
    shared = 0
    for word in mine:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(mine), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)


@given(words, words)
def test_ascii_answers_score_as_published(mine: list[str], theirs: list[str]) -> None:
    reply, gold = " ".join(mine), " ".join(theirs)
    if not squad(reply) or not squad(gold):
        return  # nothing but articles: the documented difference
    assert normalize_answer(reply) == squad(reply)
    assert exact_match(reply, [gold]) == float(squad(reply) == squad(gold))
    assert token_f1(reply, [gold]) == pytest.approx(f1(reply, gold))
    assert containment(reply, [gold]) == float(f" {squad(gold)} " in f" {squad(reply)} ")


def test_the_best_gold_answer_counts() -> None:
    golds = ["Detroit, Michigan", "Motor City"]
    assert exact_match("the motor city!", golds) == 1
    assert token_f1("Detroit", golds) == pytest.approx(2 / 3)
    assert containment("It was in Detroit (Michigan).", golds) == 1


def test_containment_needs_whole_words() -> None:
    assert containment("the party began", ["art"]) == 0
    assert containment("the art began", ["art"]) == 1


@pytest.mark.parametrize(
    ("reply", "gold"),
    [
        ("STRASSE", "straße"),
        ("cafe\u0301", "Café"),
        ("１９９０", "1990"),
        ("«Война и мир»", "война и мир"),
        ("1990–1995", "1990-1995"),
        ("東京。", "東京"),
    ],
)
def test_unicode_is_folded(reply: str, gold: str) -> None:
    assert exact_match(reply, [gold]) == 1


def test_scripts_without_spaces_are_compared_by_character() -> None:
    assert answer_tokens("東京 tower") == ["東", "京", "tower"]
    assert containment("彼は東京都に住む", ["東京"]) == 1
    assert containment("彼は京東に住む", ["東京"]) == 0
    assert 0 < token_f1("東京都", ["東京"]) < 1


def test_no_answer_is_wrong_even_when_the_gold_is_an_article() -> None:
    for gold in ("The The", "A", "!!!"):
        assert exact_match("", [gold]) == 0
        assert token_f1("", [gold]) == 0
        assert containment("", [gold]) == 0
        assert exact_match(gold, [gold]) == 1


def test_scores_are_means_over_questions() -> None:
    questions = [Question("1", "?", ("Paris",)), Question("2", "?", ("Rome", "Roma")), Question("3", "?", ("Bonn",))]
    scores = score_answers(questions, ["Paris", "in Roma", ""])
    assert asdict(scores) == {
        "em": pytest.approx(1 / 3),
        "f1": pytest.approx((1 + 2 / 3) / 3),
        "containment": pytest.approx(2 / 3),
    }


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="1 answers to 0 questions"):
        score_answers([], ["x"])
    with pytest.raises(InputError, match="question 'q' has no gold answer"):
        score_answers([Question("q", "?")], ["x"])
    with pytest.raises(InputError, match="no gold answers"):
        exact_match("x", [])
