"""Files of candidates: layouts, positives, order, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew_lab.datasets.answer_strings import holds_answer, tokenize
from clew_lab.datasets.candidates import candidate_documents, load_candidates
from clew_lab.datasets.loaders import load_corpus, load_questions
from lab.tests.datasets.candidate_files import QUESTIONS, pool_records, write_candidates


@pytest.mark.parametrize("name", ["dpr.json", "dpr.jsonl"])
def test_a_file_of_dpr_is_read_in_the_order_of_its_scores(tmp_path: Path, name: str) -> None:
    records = pool_records()
    records[1]["ctxs"].reverse()
    pools = load_candidates(write_candidates(tmp_path / name, records))
    assert [pool.question.text for pool in pools] == [question for question, _ in QUESTIONS]
    assert [pool.question.id for pool in pools] == ["0", "1", "2", "3"]
    for pool, record in zip(pools, pool_records(), strict=True):
        assert [one.item.id for one in pool.passages] == [context["id"] for context in record["ctxs"]]
        assert [one.score for one in pool.passages] == [float(context["score"]) for context in record["ctxs"]]
        assert set(pool.question.gold) == {c["id"] for c in record["ctxs"] if c["has_answer"]} != set()
        assert pool.evidence(3).passages == pool.passages[:3]


def test_a_file_of_fid_has_positives_by_its_answer_strings(tmp_path: Path) -> None:
    pools = load_candidates(write_candidates(tmp_path / "fid.json", pool_records(layout="fid")))
    for pool, record in zip(pools, pool_records(), strict=True):
        assert set(pool.question.gold) == {context["id"] for context in record["ctxs"] if context["has_answer"]}
        assert [one.score for one in pool.passages] == [1 / rank for rank in range(1, 9)]
    assert [pool.question.id for pool in pools] == ["q0", "q1", "q2", "q3"]


@pytest.mark.parametrize("key", ["has_answer", "hasanswer"])
def test_marks_go_before_answer_strings_in_both_spellings(tmp_path: Path, key: str) -> None:
    """One of the spellings was not read: the passages that hold an answer string counted."""
    records = pool_records(layout="fid")[:1]
    for place, context in enumerate(records[0]["ctxs"]):
        context[key] = place == 5
    (pool,) = load_candidates(write_candidates(tmp_path / "fid.json", records))
    assert pool.question.gold == (records[0]["ctxs"][5]["id"],)


def test_two_spellings_of_a_mark_that_differ_are_refused(tmp_path: Path) -> None:
    records = pool_records(layout="fid")[:1]
    records[0]["ctxs"][5]["hasanswer"] = True
    records[0]["ctxs"][5]["has_answer"] = False
    with pytest.raises(InputError, match="'has_answer' and 'hasanswer' differ"):
        load_candidates(write_candidates(tmp_path / "both.json", records))


def test_passages_without_ids_get_the_same_id_for_the_same_text(tmp_path: Path) -> None:
    records = pool_records()
    for record in records:
        for context in record["ctxs"]:
            del context["id"]
    pools = load_candidates(write_candidates(tmp_path / "dpr.json", records))
    ids = [{one.item.id for one in pool.passages} for pool in pools]
    assert len(ids[0]) == 8
    assert all(one == ids[0] for one in ids)


def test_the_loaders_of_questions_and_corpora_read_candidates(tmp_path: Path) -> None:
    path = write_candidates(tmp_path / "dpr.json", pool_records())
    pools = load_candidates(path)
    assert load_questions(path) == [pool.question for pool in pools]
    documents = list(load_corpus(path))
    assert documents == list(candidate_documents(pools))
    assert len({document.id for document in documents}) == len(documents) == 8


def test_answers_are_compared_by_tokens() -> None:
    assert tokenize("St. Mary's, 1,000 m") == ["st", ".", "mary", "'", "s", ",", "1", ",", "000", "m"]
    assert holds_answer("The Vega was built in BREMERHAVEN.", ["Bremerhaven"])
    assert not holds_answer("The Vegas were built.", ["Vega"])
    assert holds_answer("in New  York\ncity", ["new york"])
    assert not holds_answer("in New Haven, York", ["new york"])
    assert holds_answer("Malmo\u0308 harbour", ["Malm\u00f6"])  # composed and decomposed
    assert not holds_answer("Malmo harbour", ["Malm\u00f6"])
    assert not holds_answer("anything", ["", " "])
    assert tokenize("\u0915\u093f\u0924\u093e\u092c a\u200bb") == ["\u0915\u093f\u0924\u093e\u092c", "a", "b"]


def _changed(**changes: Any) -> list[dict[str, Any]]:
    records = pool_records()[:2]
    records[1]["ctxs"][2] |= changes
    return records


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"question": "Who?"}], "record 1: the keys are question; wanted 'ctxs'"),
        ([{"question": "Who?", "ctxs": {}}], "'ctxs' is {}; wanted a list"),
        ([{"question": "Who?", "ctxs": ["a"]}], 'ctxs 1 is "a"; wanted a JSON object'),
        ([{"question": "", "ctxs": []}], "the question is blank"),
        (_changed(text=3), "record 2, ctxs 3: 'text' is 3; wanted a string"),
        (_changed(score="high"), "'score' is \"high\"; wanted a finite number"),
        (_changed(score=None), "some passages have a score and others have none"),
        (_changed(has_answer="yes"), "'has_answer' is \"yes\"; wanted true or false"),
        (_changed(nodes=["a"]), "there are 'nodes' alone; wanted both 'nodes' and 'edges'"),
        (_changed(nodes="a", edges=[]), "'nodes' is \"a\"; wanted a list"),
        (_changed(id=pool_records()[1]["ctxs"][0]["id"]), "stands there twice; wanted each passage once"),
        (
            [pool_records()[0], {**pool_records()[1], "question": QUESTIONS[0][0]}],
            "with other passages; wanted one pool",
        ),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, records: list[Any], message: str) -> None:
    path = write_candidates(tmp_path / "bad.json", records)
    with pytest.raises(InputError) as refused:
        load_candidates(path)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)


def test_two_texts_of_one_passage_are_refused_where_passages_are_united(tmp_path: Path) -> None:
    records = pool_records()
    records[2]["ctxs"][0]["text"] += " More."
    pools = load_candidates(write_candidates(tmp_path / "two.json", records))
    with pytest.raises(InputError, match="has two texts"):
        list(candidate_documents(pools))


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(pool_records())[:-20], encoding="utf-8")
    with pytest.raises(InputError, match="invalid JSON"):
        load_candidates(path)
