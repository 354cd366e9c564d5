"""The learned ranker: features and probabilities against plain loops, the weights' contract, answers as quotes."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clew.answering.answer_spans import find_candidates
from clew.answering.extractive import RANKED_NOTE, UNLIKELY_NOTE, UNSTATED_NOTE, UNSURE_NOTE, ExtractiveAnswerer
from clew.answering.selection import open_extractive_answerer
from clew.answering.span_features import FEATURES, span_features
from clew.answering.span_ranker import (
    ANSWER_WEIGHTS,
    CANDIDATE_SIGNALS,
    SIGNALS,
    SpanRanker,
    SpanRankerWeights,
    answer_candidates,
    calibrated_probabilities,
    calibration_signals,
    group_by_name,
    load_span_ranker,
    save_span_ranker,
)
from clew.errors import ProviderError
from clew.models.encoders.hashing import HashingEncoder
from clew.types import Evidence, Passage, Scored
from tests.answering.test_extractive import CAPTAIN, SHIP, THREE, TWO, WHERE_BORN, chained, evidence, quotes


def make_weights(
    seed: int = 0, *, networks: int = 2, hidden: int = 3, threshold: float = 0.0, line: float = 0.0
) -> SpanRankerWeights:
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        return random.normal(size=shape).astype(np.float32)

    width = len(FEATURES)
    scale = np.abs(draw(width)) + np.float32(0.5)
    parts = draw(networks, width, hidden), draw(networks, hidden), draw(networks, hidden), draw(len(SIGNALS) + 1)
    return SpanRankerWeights(
        draw(width),
        scale,
        *parts,
        rule_weight=0.5,
        encoder="e",
        threshold=threshold,
        line=max(line, threshold),
        about={"data": ["x"]},
    )


def test_probabilities_are_those_of_plain_loops() -> None:
    trained = make_weights()
    features = np.random.default_rng(1).normal(size=(5, len(FEATURES))).astype(np.float32)
    sums = [0.0] * 5
    for m in range(2):
        scores = []
        for row in features:
            x = [min(4.0, max(-4.0, (float(v) - float(a)) / float(s)))
                 for v, a, s in zip(row, trained.mean, trained.scale, strict=True)]  # fmt: skip
            score = 0.0
            for unit in range(3):
                total = sum(v * float(w) for v, w in zip(x, trained.hidden[m, :, unit], strict=True))
                score += max(0.0, total + float(trained.hidden_bias[m, unit])) * float(trained.output[m, unit])
            scores.append(score)
        powers = [math.exp(score - max(scores)) for score in scores]
        sums = [total + power / sum(powers) / 2 for total, power in zip(sums, powers, strict=True)]
    np.testing.assert_allclose(SpanRanker(trained).probabilities(features), sums, rtol=1e-4, atol=1e-7)
    assert len(SpanRanker(trained).probabilities(features[:0])) == 0


def test_the_score_of_the_rules_is_added() -> None:
    ranker = SpanRanker(make_weights())
    features = np.random.default_rng(1).normal(size=(4, len(FEATURES))).astype(np.float32)
    probabilities = ranker.probabilities(features)
    score, asked = FEATURES.index("score"), FEATURES.index("asked")
    powers = [
        float(p) * math.exp(0.5 * (float(row[score]) - 2 * float(row[asked])))
        for p, row in zip(probabilities, features, strict=True)
    ]
    expected = [power / sum(powers) for power in powers]
    np.testing.assert_allclose(ranker.add_rules(probabilities, features), expected, rtol=1e-5)


def test_features_of_a_plain_example() -> None:
    analysis = ExtractiveAnswerer(HashingEncoder()).analyze(WHERE_BORN, TWO)
    assert analysis is not None
    candidates = find_candidates(analysis.chosen, analysis.sentences)
    rows = span_features(analysis, candidates)
    assert rows.shape == (len(candidates), len(FEATURES))
    assert np.isfinite(rows).all()
    assert np.array_equal(rows, span_features(analysis, candidates))
    by_name = {
        (c.text, c.span.kind): dict(zip(FEATURES, row.tolist(), strict=True))
        for c, row in zip(candidates, rows, strict=True)
    }
    bergen, year = by_name["Bergen", "name"], by_name["1880", "year"]
    assert (bergen["asks place"], bergen["cue birth"], bergen["span name"], bergen["span year"]) == (1, 1, 1, 0)
    assert (bergen["after in"], bergen["capital"], bergen["digits"]) == (1, 1, 0)
    assert bergen["position"] == pytest.approx(CAPTAIN.index("Bergen") / (CAPTAIN.index("1880.") + 5))
    assert bergen["length"] == pytest.approx(math.log1p(6))
    # Two sentences name it: that of the birth, and inside "Bergen Naval School" it is another name.
    assert bergen["frequency"] == pytest.approx(math.log(2))
    assert (year["digits"], year["first date"], year["type fit"]) == (1, 1, -1)
    best = max(row["proximity"] for row in by_name.values())
    for row in by_name.values():
        assert row["below best proximity"] == pytest.approx(best - row["proximity"], abs=1e-5)
    assert (bergen["place fit"], bergen["event fit"], year["place fit"]) == (1, 1, -1)
    fitting = {(c.text, c.span.kind) for c in answer_candidates(analysis)}
    assert ("Polar Fox", "name") not in fitting  # the question names it
    assert ("1880", "year") not in fitting  # no place is a year
    assert ("Bergen", "name") in fitting
    assert by_name["Ragna Holm", "title"]["own passage"] == 1


def test_names_add_their_probabilities() -> None:
    analysis = ExtractiveAnswerer().analyze(WHERE_BORN, TWO)
    assert analysis is not None
    candidates = answer_candidates(analysis)
    probabilities = np.random.default_rng(2).dirichlet(np.ones(len(candidates)))
    totals: dict[str, float] = {}
    for candidate, probability in zip(candidates, probabilities, strict=True):
        totals[candidate.text.lower()] = totals.get(candidate.text.lower(), 0.0) + probability
    features = span_features(analysis, candidates)
    ranked = group_by_name(candidates, probabilities, probabilities[::-1], features)
    rows = {c.text: row.tolist() for c, row in zip(candidates, features, strict=True)}
    assert len(rows[ranked[0].candidate.text]) == len(ranked[0].features)
    assert sum(one.network for one in ranked) == pytest.approx(1)
    assert ranked[0].probability == pytest.approx(max(totals.values()))
    assert sum(one.probability for one in ranked) == pytest.approx(1)
    assert [one.probability for one in ranked] == sorted((one.probability for one in ranked), reverse=True)


def test_calibration_is_a_logistic_function_of_the_signals() -> None:
    features = np.random.default_rng(3).normal(size=len(FEATURES)).astype(np.float32)
    totals, networks = np.array([0.7, 0.2, 0.1]), np.array([0.8, 0.05, 0.15])
    signals = calibration_signals(totals, networks, features, np.array([0.5, 0.6, 1.0]))
    entropy = -sum(p * math.log(p) for p in totals)
    own = [math.log(4), 0.65, math.log(0.7 / 0.3), 0.5, entropy, math.log(4), 0.5, 0.6, 1.0]
    np.testing.assert_allclose(signals[:9], own)
    named = [float(features[FEATURES.index(name)]) for name in CANDIDATE_SIGNALS]
    np.testing.assert_allclose(signals[9:], named)
    weights = np.random.default_rng(4).normal(size=len(SIGNALS) + 1).astype(np.float32)
    total = sum(float(w) * s for w, s in zip(weights, [*own, *named], strict=False)) + float(weights[-1])
    assert float(calibrated_probabilities(weights, signals)) == pytest.approx(1 / (1 + math.exp(-total)), rel=1e-5)
    assert np.isfinite(calibration_signals(np.ones(1), np.ones(1), features, signals[6:9])).all()


@pytest.mark.parametrize(
    "question", [WHERE_BORN, "How many sailors did it carry?", "Who was the captain of the Polar Fox?"]
)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("source", [TWO, THREE, chained((0, "It carried 14 sailors."), (1, CAPTAIN))])
def test_every_answer_stands_in_a_quoted_sentence(question: str, seed: int, source: Evidence) -> None:
    answerer = ExtractiveAnswerer(HashingEncoder(), ranker=SpanRanker(make_weights(seed)))
    answer = answerer.answer_one(question, source)
    assert answer.text
    assert any(answer.text in quote for quote in quotes(answer))
    assert len(set(answer.citations)) == len(answer.citations) <= 4
    assert answer.candidates[0].item == answer.text
    is_unlinked = (
        question == WHERE_BORN and answer.citations[0].title == "Otto Lind"
    )  # whom no passage of the ship names
    assert answer.notes[-1].startswith(UNSTATED_NOTE if is_unlinked else RANKED_NOTE)
    assert answerer.answer_one(question, source) == answer


@pytest.mark.parametrize("seed", range(6))
def test_a_title_is_quoted_from_the_sentence_that_has_it(seed: int) -> None:
    # A record of metadata cannot be hashed, so that sentences cannot be either.
    text = "The Polar Fox is a wooden ship. " + " ".join(f"It sank near the shore in winter {i}." for i in range(6))
    passage = Passage("p", "d", "Polar Fox", text, 0, len(text), {"year": 1911})
    ranker = SpanRanker(make_weights(seed))
    answer = ExtractiveAnswerer(HashingEncoder(), ranker=ranker).answer_one(
        "What sank near the shore in winter?", Evidence((Scored(passage, 1.0),))
    )
    assert answer.text
    assert any(answer.text in quote for quote in quotes(answer))


def constant(probability: float, threshold: float, line: float) -> SpanRanker:
    """Return a ranker whose calibration gives one probability for everything."""
    calibration = np.zeros(len(SIGNALS) + 1, dtype=np.float32)
    calibration[-1] = math.log(probability / (1 - probability))
    return SpanRanker(replace(make_weights(), calibration=calibration, threshold=threshold, line=line))


def test_an_unlikely_answer_is_withheld() -> None:
    answerer = ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.5, 1.0, 1.0))
    answer = answerer.answer_one(WHERE_BORN, TWO)
    assert (answer.text, answer.weak, answer.candidates) == ("", True, ())
    assert answer.citations
    assert answer.notes[-1].startswith(f"{UNLIKELY_NOTE} (probability 0.50 for ")


def test_below_the_line_an_answer_is_weak_and_above_it_asserted() -> None:
    unsure, sure = (
        ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.6, 0.1, line)).answer_one(WHERE_BORN, TWO)
        for line in (0.61, 0.59)
    )
    assert (unsure.text, unsure.citations, unsure.candidates) == (sure.text, sure.citations, sure.candidates)
    assert (unsure.weak, sure.weak) == (True, False)
    assert unsure.notes[-1] == f"{UNSURE_NOTE} (probability 0.60)"
    assert sure.notes[-1] == f"{RANKED_NOTE} (probability 0.60)"
    assert sure.text in quotes(sure)[0]


LUND = "Ole Lund", "Ole Lund was a captain of the Polar Fox. He was born in Tromso."


@pytest.mark.parametrize(
    ("question", "passages", "is_sure"),
    [
        ("Where was the captain of the Polar Fox born?", (LUND,), True),
        ("Where was the captain of the Snow Owl born?", (LUND,), False),  # a ship that no quote names
        (
            "Where was the captain of the Polar Fox born?",
            ((LUND[0], LUND[1].replace("Fox", "Fox, says a legend")),),
            False,
        ),
        ("Where was Ole Lund born?", (LUND,), True),
        ("Where was Ole Lund born?", (LUND, ("Ole Lund", "Ole Lund was a baker in Bergen.")), False),  # which of them?
    ],
)
def test_what_the_quotes_do_not_say_of_all_names_is_not_asserted(
    question: str, passages: tuple[tuple[str, str], ...], *, is_sure: bool
) -> None:
    answer = ExtractiveAnswerer(ranker=constant(0.9, 0.1, 0.2)).answer_one(question, evidence(*passages))
    assert answer.text
    assert answer.weak is not is_sure
    assert answer.notes[-1].startswith(RANKED_NOTE if is_sure else UNSTATED_NOTE)


def test_no_answer_in_another_language_is_asserted() -> None:
    source = evidence(("Der Bau", "Die Fram wurde von Colin Archer in Larvik gebaut. Er wurde 1832 in Larvik geboren."))
    answerer = ExtractiveAnswerer(HashingEncoder(), ranker=constant(0.9, 0.1, 0.2))
    answer = answerer.answer_one("Wo wurde der Ingenieur geboren, der die Fram baute?", source)
    assert answer.weak
    assert "the question is read as German: no answer to it is asserted" in answer.notes
    assert not any("Ingenieur" in note for note in answer.notes)


def test_rules_decide_comparisons() -> None:
    answerer = ExtractiveAnswerer(HashingEncoder(), ranker=SpanRanker(make_weights()))
    assert answerer.answer_one("Who was born first, Ragna Holm or Otto Lind?", THREE).text == "Ragna Holm"
    answer = answerer.answer_one("Who is taller, Ragna Holm or Amundsen?", THREE)
    assert (answer.text, answer.weak) == ("", True)
    assert "no passage mentions 'Amundsen'" in answer.notes


def test_no_candidate_leaves_the_sentence() -> None:
    answerer = ExtractiveAnswerer(HashingEncoder(), lambda *_: [], ranker=SpanRanker(make_weights()))
    answer = answerer.answer_one("Who sang?", evidence(("", "They sang. We all did.")))
    assert (answer.text, answer.weak) == ("", True)


def test_saved_weights_are_loaded(tmp_path: Path) -> None:
    trained = make_weights(threshold=0.25, line=0.4)
    save_span_ranker(tmp_path, trained)
    loaded = load_span_ranker(tmp_path)
    assert loaded.fingerprint == trained.fingerprint
    assert (loaded.encoder, loaded.threshold, loaded.line, loaded.about) == ("e", 0.25, 0.4, {"data": ["x"]})
    assert loaded.fingerprint != make_weights(1).fingerprint


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"the ranker of answers in .* cannot be read"):
        load_span_ranker(tmp_path)
    save_span_ranker(tmp_path, make_weights())
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    for change, message in (
        ({"features": ["other"]}, "1 features"),
        ({"threshold": 2.0}, "the threshold or the line is no probability"),
        ({"line": -0.1}, "the threshold or the line is no probability"),
        ({"signals": []}, "features"),
        ({"rule_weight": -1.0}, "rule_weight is -1"),
        ({"encoder": "x"}, "cannot be read"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config | change), encoding="utf-8")
        with pytest.raises(ProviderError, match=message):
            load_span_ranker(tmp_path)
    save_span_ranker(tmp_path, replace(make_weights(), output=np.zeros((1, 3), dtype=np.float32)))
    with pytest.raises(ProviderError, match="output has shape"):
        load_span_ranker(tmp_path)
    save_span_ranker(tmp_path, replace(make_weights(), mean=np.full(len(FEATURES), np.nan, dtype=np.float32)))
    with pytest.raises(ProviderError, match="NaN"):
        load_span_ranker(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ProviderError, match="cannot be read"):
        load_span_ranker(tmp_path)


def test_the_shipped_weights_fit_and_missing_ones_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = load_span_ranker(ANSWER_WEIGHTS)
    assert 0 < trained.threshold < 0.5
    assert sum(file.stat().st_size for file in ANSWER_WEIGHTS.iterdir()) < 200_000

    # The cosines do not matter here, only that the ranker takes the encoder.
    monkeypatch.setattr(HashingEncoder, "fingerprint", trained.encoder)
    bundled = HashingEncoder()
    question = "Which ship carried 14 sailors of the captain?"
    with pytest.raises(ProviderError, match="train or install it again"):
        open_extractive_answerer(bundled, tmp_path)
    assert "probability" in open_extractive_answerer(bundled).answer_one(question, evidence(("", SHIP))).notes[-1]
    monkeypatch.undo()
    # With another encoder the rules rank, as without one.
    for encoder in (None, HashingEncoder()):
        assert "probability" not in str(open_extractive_answerer(encoder).answer_one(question, TWO).notes)
