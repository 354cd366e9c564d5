"""Every layout gives the same questions, and gold ids that the corpus of the layout has."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew.types import Document, Question
from clew_lab.datasets.loaders import load_corpus, load_questions
from clew_lab.datasets.passage_pool import PassagePool, join_sentences

JsonObject = dict[str, Any]

MERCURY_PLANET = ["Mercury is the smallest planet.", "It is near the Sun."]
MERCURY_METAL = ["Mercury is a metal.", "It melts at -38 degrees."]
SUN = ["The Sun is a star."]
HOTPOT: list[JsonObject] = [
    {
        "_id": "h1",
        "question": "Which star is the smallest planet near?",
        "answer": "the Sun",
        "type": "bridge",
        "supporting_facts": [["Mercury", 1], ["Sun", 0], ["Sun", 0]],
        "context": [["Mercury", MERCURY_PLANET], ["Sun", SUN]],
    },
    {
        "_id": "h2",
        "question": "What melts at -38 degrees?",
        "answer": "mercury",
        "supporting_facts": [["Mercury", 1]],
        "context": [["Mercury", MERCURY_METAL], ["Sun", SUN]],
    },
]


def to_musique(record: JsonObject) -> JsonObject:
    supporting = {title for title, _ in record["supporting_facts"]}
    return {
        "id": record["_id"],
        "question": record["question"],
        "answer": record["answer"],
        "answer_aliases": ["Hg", record["answer"]],
        "question_decomposition": [{"id": 1}, {"id": 2}],
        "paragraphs": [
            {"idx": n, "title": title, "paragraph_text": " ".join(text), "is_supporting": title in supporting}
            for n, (title, text) in enumerate(record["context"])
        ],
    }


def write_lines(path: Path, records: Iterable[JsonObject]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_list(path: Path, records: list[JsonObject]) -> Path:
    path.write_text(json.dumps(records, indent=1), encoding="utf-8")
    return path


def write_beir(folder: Path) -> Path:
    (folder / "qrels").mkdir()
    write_lines(folder / "corpus.jsonl", [{"_id": f"d{n}", "title": "", "text": f"text {n}"} for n in range(4)])
    write_lines(folder / "queries.jsonl", [{"_id": f"q{n}", "text": f"question {n}"} for n in range(3)])
    judged = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td3\t2\nq1\td0\t0\nq0\td2\t1\n"
    (folder / "qrels" / "test.tsv").write_text(judged, encoding="utf-8")
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\r\nq2\td0\t1\r\n", encoding="utf-8")
    return folder


def gold_texts(questions: list[Question], corpus: Iterable[Document]) -> list[list[str]]:
    by_id = {document.id: document for document in corpus}
    return [[by_id[gold].text for gold in question.gold] for question in questions]


def test_the_clew_layout(tmp_path: Path) -> None:
    record = {"id": "a", "question": "Who?", "answers": ["x", "y"], "gold": ["p1", "p1", "p2"], "type": "t", "hops": 3}
    write_lines(tmp_path / "questions.jsonl", [record, {"id": "b", "question": "When?", "answers": []}])
    write_lines(tmp_path / "corpus.jsonl", [{"id": "p1", "title": "T", "text": "x", "metadata": {"year": 3}}])
    expected = [Question("a", "Who?", ("x", "y"), ("p1", "p2"), "t", 3), Question("b", "When?")]
    assert load_questions(tmp_path) == load_questions(tmp_path / "questions.jsonl") == expected
    assert list(load_corpus(tmp_path)) == [Document("p1", "T", "x", {"year": 3})]


@pytest.mark.parametrize("write", [write_lines, write_list])
def test_pooled_contexts_share_ids_with_their_corpus(tmp_path: Path, write: Callable[..., Path]) -> None:
    path = write(tmp_path / "dev.json", HOTPOT)
    questions, corpus = load_questions(path), list(load_corpus(path))
    assert [(q.id, q.text, q.answers, q.kind) for q in questions] == [
        ("h1", "Which star is the smallest planet near?", ("the Sun",), "bridge"),
        ("h2", "What melts at -38 degrees?", ("mercury",), ""),
    ]
    assert gold_texts(questions, corpus) == [[" ".join(MERCURY_PLANET), *SUN], [" ".join(MERCURY_METAL)]]
    assert [document.title for document in corpus] == ["Mercury", "Sun", "Mercury"]
    ids = [document.id for document in corpus]
    assert ids[1] == "Sun"  # one text: the title is enough
    assert len(set(ids)) == 3
    assert ids[0].startswith("Mercury@")


def test_musique_has_the_ids_of_hotpotqa(tmp_path: Path) -> None:
    hotpot = write_list(tmp_path / "hotpot.json", HOTPOT)
    path = write_lines(tmp_path / "musique.jsonl", map(to_musique, HOTPOT))
    assert [q.gold for q in load_questions(path)] == [q.gold for q in load_questions(hotpot)]
    assert list(load_corpus(path)) == list(load_corpus(hotpot))
    assert [q.answers for q in load_questions(path)] == [("the Sun", "Hg"), ("mercury", "Hg")]
    assert [q.hops for q in load_questions(path)] == [2, 2]


def test_ids_do_not_depend_on_the_order_of_the_questions(tmp_path: Path) -> None:
    forward = {d.id: d for d in load_corpus(write_list(tmp_path / "a.json", HOTPOT))}
    backward = {d.id: d for d in load_corpus(write_list(tmp_path / "b.json", HOTPOT[::-1]))}
    assert forward == backward


def test_hipporag_ids_come_from_the_corpus_file(tmp_path: Path) -> None:
    path = write_list(tmp_path / "x.json", HOTPOT[:1])  # alone it would know one text under "Mercury"
    passages = [("Sun", SUN), ("Mercury", MERCURY_METAL), ("Mercury", MERCURY_PLANET), ("Other", ["Not asked."])]
    corpus = [{"title": title, "text": "".join(text), "idx": n} for n, (title, text) in enumerate(passages)]
    beside = write_list(tmp_path / "x_corpus.json", corpus)
    questions = load_questions(path)
    assert gold_texts(questions, load_corpus(beside)) == [["".join(MERCURY_PLANET), *SUN]]
    assert list(load_corpus(path)) == list(load_corpus(beside))
    assert len(list(load_corpus(path))) == 4


def test_gold_outside_the_context_gets_an_id_without_a_document(tmp_path: Path) -> None:
    record = HOTPOT[0] | {"supporting_facts": [["Venus", 0]]}
    path = write_list(tmp_path / "dev.json", [record])
    assert load_questions(path)[0].gold == ("Venus",)
    assert "Venus" not in {document.id for document in load_corpus(path)}


def test_beir_loads_the_judged_questions_of_one_split(tmp_path: Path) -> None:
    folder = write_beir(tmp_path)
    expected = [Question("q0", "question 0", gold=("d2",)), Question("q1", "question 1", gold=("d1", "d3"))]
    assert load_questions(folder) == load_questions(folder / "queries.jsonl") == expected
    assert load_questions(folder / "qrels" / "dev.tsv") == [Question("q2", "question 2", gold=("d0",))]
    for path in (folder, folder / "queries.jsonl", folder / "qrels" / "dev.tsv", folder / "corpus.jsonl"):
        assert [document.id for document in load_corpus(path)] == ["d0", "d1", "d2", "d3"]


def test_beir_splits_and_judgments_are_checked(tmp_path: Path) -> None:
    folder = write_beir(tmp_path)
    qrels = folder / "qrels"
    (qrels / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq9\td0\t1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"dev\.tsv: line 2: query 'q9' is not in"):
        load_questions(qrels / "dev.tsv")
    (qrels / "dev.tsv").write_text("q1 0 d0 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"dev\.tsv: line 1: .* separated by tabs"):
        load_questions(qrels / "dev.tsv")
    (qrels / "test.tsv").rename(qrels / "train.tsv")
    with pytest.raises(InputError, match=r"splits are dev\.tsv, train\.tsv; wanted test\.tsv"):
        load_questions(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("[]", "is an empty list"),
        ('{"id": "a", "question": "?", "gold": []}\n\n{"id": "b", \n', r"line 3, column 1\d: invalid JSON"),
        ('[{"id": "a"},\n oops]', r"line 2, column 2: invalid JSON"),
        ("[" * 100_000, "nested too deeply|invalid JSON"),
        ('"text"', "not a JSON object"),
        ("[1]", "record 1: 1 is not a JSON object"),
        ('{"name": 1}', r"line 1: the keys are name, an unknown layout"),
        (r'{"a\nb": 1}', r"line 1: the keys are a b, an unknown layout"),
        ('{"id": "a", "text": "x"}', "holds a corpus"),
        ('{"id": "a", "question": "?", "gold": "p1"}', r"'gold' is \"p1\"; wanted a list"),
        ('{"id": "a", "question": "?", "gold": [1]}', r"'gold' holds 1; wanted a list of strings"),
        ('{"id": "a", "question": 3, "gold": []}', r"'question' is 3; wanted a string"),
        ('{"id": "a", "question": " ", "gold": []}', "the question is blank"),
        ('{"id": "", "question": "?", "gold": []}', "wanted an id"),
        ('{"question": "?", "gold": []}', r"the keys are question, gold; wanted 'id'"),
        ('{"id": "a", "question": "?", "gold": [], "hops": "2"}', r"'hops' is \"2\""),
        ('{"id": 1, "question": "?", "gold": []}\n{"id": 1, "question": "!", "gold": []}', r"line 2: .*'1' .*line 1"),
        ('{"_id": "a", "question": "?", "answer": "x", "context": []}', r"wanted 'supporting_facts'"),
        ('{"_id": "a", "question": "?", "answer": "x", "context": [["T", "s"]]}', "'context' holds"),
        ('{"_id": "a", "question": "?", "answer": "x", "context": [], "supporting_facts": [3]}', "holds 3"),
        ('{"id": "a", "question": "?", "answer": "x", "paragraphs": [3]}', "paragraph 0 is 3; wanted a JSON object"),
        ('{"id": "a", "question": "?", "answer": "x", "paragraphs": [{"title": "T"}]}', "wanted 'is_supporting'"),
    ],
)
def test_a_bad_file_is_refused_with_its_location(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        load_questions(path)
    assert "bad.jsonl" in str(caught.value)


def test_a_bad_corpus_is_refused_with_its_location(tmp_path: Path) -> None:
    twice = write_lines(tmp_path / "c.jsonl", [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])
    with pytest.raises(InputError, match=r"line 2: document id 'a' was already used at .*line 1"):
        list(load_corpus(twice))
    questions = write_lines(tmp_path / "q.jsonl", [{"id": "a", "question": "?", "gold": []}])
    with pytest.raises(InputError, match="holds questions without passages"):
        load_corpus(questions)
    with pytest.raises(InputError, match=r"has no corpus\.jsonl"):
        load_corpus(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        load_corpus(tmp_path / "nowhere.json")
    (tmp_path / "latin.json").write_bytes('{"id": "a", "text": "größe"}'.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        load_corpus(tmp_path / "latin.json")


def test_a_byte_order_mark_and_line_separators_inside_strings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('\ufeff{"id": "a", "question": "one\u2028two", "gold": []}\r\n', encoding="utf-8")
    assert load_questions(path)[0].text == "one\u2028two"


def test_pool_ids_ignore_white_space() -> None:
    pool = PassagePool([("T", "One. Two."), ("T", "One.Two."), ("", "x"), ("U", "u")])
    assert [document.id for document in pool.documents()] == ["T", pool.passage_id("", "x"), "U"]
    assert pool.passage_id("", "x").startswith("@")
    assert pool.passage_id("T", None) == pool.passage_id("T", "One. Two.") == "T"
    assert pool.passage_id("T", "another") not in {document.id for document in pool.documents()}


def test_sentences_are_joined_with_one_space() -> None:
    assert join_sentences(["One.", " Two.", "Three. ", "Four."]) == "One. Two. Three. Four."
    assert join_sentences([]) == ""
