"""Contract of every retriever in `clew.retrievers.registry.RETRIEVERS`."""

import json
import shutil
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.retrievers.registry import RETRIEVERS, finds_nothing, parse_retriever
from clew.types import Document, Evidence, Triple
from tests.conftest import EXAMPLES
from tests.contracts.conftest import WITHOUT_WEIGHTS
from tests.small_index import DOCUMENTS, QUESTIONS, make_index, result_ids, without_timing

WHERE = "lang = 'en'"
ALLOWED = {document.id for document in DOCUMENTS if document.metadata["lang"] == "en"}
ALL = {document.id for document in DOCUMENTS}

RERANKED = ("bm25:rerank=words,rerank_depth=4", "fused:rerank=words")
"""With the reranker that `conftest.py` adds; the first pool is smaller than what is found."""

SEARCHING = [name for name in RETRIEVERS if name not in WITHOUT_WEIGHTS and not finds_nothing(name)]
"""All but `none`, which searches nothing: tests/retrievers/test_no_retrieval.py."""

INSTALLED = ("shared-words",)
"""That of docs/extend.md, which `conftest.py` installs as another package would."""

pytestmark = pytest.mark.parametrize("name", [*SEARCHING, *RERANKED, *INSTALLED])


def search(index: Index, name: str, question: str, k: int = 10, where: str | None = None) -> Evidence:
    (evidence,) = index.retriever(parse_retriever(name)).retrieve([question], k, where)
    return evidence


def example_questions() -> list[str]:
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines][::5]  # of each kind one or two


def test_a_batch_equals_its_questions_one_by_one(small: Index, name: str) -> None:
    retriever = small.retriever(parse_retriever(name))
    questions = [*QUESTIONS, "", QUESTIONS[0]]
    for where in (None, WHERE):
        batch = retriever.retrieve(questions, 5, where)
        assert [without_timing(e) for e in batch] == [
            without_timing(retriever.retrieve([q], 5, where)[0]) for q in questions
        ]
    assert retriever.retrieve([], 5) == []


def test_something_is_found_and_costs_time(small: Index, name: str) -> None:
    for question in QUESTIONS[:4]:
        evidence = search(small, name, question)
        assert evidence.passages
        assert evidence.usage.seconds > 0


def test_a_smaller_k_gives_the_beginning_of_a_larger_one(small: Index, name: str) -> None:
    for question in QUESTIONS:
        whole = search(small, name, question, 10_000)
        assert len(whole.passages) <= len(ALL)
        for k in (1, 2, 5, len(ALL) + 1):
            assert search(small, name, question, k).passages == whole.passages[:k]


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(small: Index, name: str, k: int) -> None:
    for question in (QUESTIONS[0], ""):
        with pytest.raises(InputError, match=f"k is {k}"):
            search(small, name, question, k)


def check_order(evidence: Evidence) -> None:
    """Best first, ties by id, no passage twice, paths best first."""
    order = [(-scored.score, scored.item.id) for scored in evidence.passages]
    assert order == sorted(order)
    assert len(set(result_ids(evidence))) == len(order)
    scores = [path.score for path in evidence.paths]
    assert scores == sorted(scores, reverse=True)
    assert all(isinstance(score, float) for score in scores + [s for s, _ in order])


def test_order(small: Index, name: str) -> None:
    for question in QUESTIONS:
        check_order(search(small, name, question, 100))


def test_equal_passages_are_in_the_order_of_their_ids(small: Index, name: str) -> None:
    evidence = search(small, name, "a twin text about herring fishing", 10)
    twins = [scored for scored in evidence.passages if scored.item.id.startswith("twin")]
    assert {scored.item.id for scored in twins} == {"twin-a", "twin-b", "twin-c"}
    check_order(evidence)
    if name in ("bm25", "dense"):
        assert len({scored.score for scored in twins}) == 1


def test_the_example_corpus(polar: Index, name: str) -> None:
    titles = dict(zip(polar.snapshot.passage_ids, polar.snapshot.titles, strict=True))
    for evidence in polar.retriever(parse_retriever(name)).retrieve(example_questions(), 10):
        assert len(evidence.passages) == 10
        check_order(evidence)
        check_paths(evidence, set(titles), {title or id_: id_ for id_, title in titles.items()})


def test_passages_come_back_whole(small: Index, name: str) -> None:
    texts = {document.id: document for document in DOCUMENTS}
    for question in QUESTIONS:
        for scored in search(small, name, question, 100).passages:
            document, passage = texts[scored.item.document_id], scored.item
            assert passage.text == document.text[passage.start : passage.end]
            assert passage.title == document.title
            assert passage.metadata == document.metadata


def test_two_fresh_openings_agree(small_folder: Path, name: str) -> None:
    one, other = clew.open(small_folder), clew.open(small_folder)
    # Asked in another order, so that nothing is remembered from question to question.
    first = {question: without_timing(search(one, name, question)) for question in QUESTIONS}
    second = {question: without_timing(search(other, name, question)) for question in reversed(QUESTIONS)}
    assert first == second


def test_a_copy_of_the_folder_answers_the_same(small: Index, small_folder: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(small_folder, tmp_path / "moved")
    moved = clew.open(tmp_path / "moved")
    for question in QUESTIONS[:3]:
        assert without_timing(search(moved, name, question)) == without_timing(search(small, name, question))


@pytest.mark.parametrize("question", ["", " ", "\n\t \u3000"])
def test_an_empty_question_finds_nothing_and_gives_a_note(small: Index, name: str, question: str) -> None:
    evidence = search(small, name, question)
    assert not evidence.passages
    assert not evidence.paths
    assert any("empty" in note for note in evidence.notes)


HOSTILE = {
    "unknown names": "Did Zebulon Quux meet Xylophia of Nowhereville in 1066?",
    "no word at all": "?!... ---",
    "emoji": "🚢😀 where 💥?",
    "a lone surrogate": "Who built the Vega \ud800 \udfff?",
    "a NUL and other controls": "Vega\0\x01\x1b[31m built",
    "right to left": "من بنى سفينة فيغا؟",
    "quotes and operators": "\"Vega\" AND (NOT 'x') OR %_\\ ; DROP TABLE",
    "100 kB of words": "Where was the commander of the Vega born? " * 2500,
    "100 kB of one word": "a" * 100_000,
    "100 kB of dots": "a." * 50_000,
    "100 kB of figures": "1," * 50_000,
    "100 kB of names": "Louis Palander Karlskrona " * 4000,
    "100 kB of brackets": "((((“" * 20_000,
    "100 kB of Chinese": "卡尔斯克鲁纳" * 6000,
}


WHOLE = ("bm25", "pagerank", "frag", "gfm")
"""Retrievers that are asked the whole of a long question; all others read questions by the parts of these."""


@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_any_string_is_a_question(small: Index, name: str, question: str) -> None:
    evidence = search(small, name, question if name in WHOLE else question[:10_000], 5)
    assert len(evidence.passages) <= 5
    check_order(evidence)


def test_a_lone_surrogate_does_not_hide_the_rest_of_the_question(small: Index, name: str) -> None:
    plain, broken = "lighthouse keeper of a station", "lighthouse keeper of a station \ud800"
    assert set(result_ids(search(small, name, broken, 1))) <= set(result_ids(search(small, name, plain, 16)))
    assert search(small, name, broken, 1).passages


def check_paths(evidence: Evidence, allowed: set[str], homes: dict[str, str]) -> None:
    """Every triple is stated by allowed passages, and each holds on to the one before it."""
    for path in evidence.paths:
        assert path.item
        for triple in path.item:
            assert triple.head
            assert triple.relation
            assert triple.tail
            assert set(triple.passages) <= allowed
            assert triple.passages
        for one, other in zip(path.item, path.item[1:], strict=False):
            assert _touch(one, other, homes), path


def _touch(one: Triple, other: Triple, homes: dict[str, str]) -> bool:
    """Whether two triples share an entity, or a passage that states one and is stated by or titled in the other."""
    around = [
        {*t.passages, *(homes[end] for end in (t.head, t.tail, *t.entities) if end in homes)} for t in (one, other)
    ]
    return bool(set(one.entities) & set(other.entities) or around[0] & around[1])


def test_paths_are_connected(small: Index, name: str) -> None:
    homes = {document.title or document.id: document.id for document in DOCUMENTS}
    for question in QUESTIONS:
        check_paths(search(small, name, question, 100), ALL, homes)


def test_a_filtered_passage_appears_neither_itself_nor_through_its_triples(small: Index, name: str) -> None:
    homes = {document.title or document.id: document.id for document in DOCUMENTS}
    for question in QUESTIONS:
        evidence = search(small, name, question, 100, WHERE)
        assert set(result_ids(evidence)) <= ALLOWED
        check_order(evidence)
        check_paths(evidence, ALLOWED, homes)


def test_a_filter_leaves_k_passages_where_there_are_as_many(small: Index, name: str) -> None:
    # The first five without a filter are not all of both languages, so filtering the results would leave fewer of one.
    for where, numbers in (("lang = 'en' AND number >= 8", range(8, 16)), ("lang = 'de' AND number < 8", range(8))):
        evidence = search(small, name, "lighthouse keeper", 5, where)
        assert len(evidence.passages) == 5
        assert set(result_ids(evidence)) <= {f"keeper-{number:02}" for number in numbers}


def test_a_filter_that_allows_all_changes_nothing(small: Index, name: str) -> None:
    for question in QUESTIONS:
        unrestricted = search(small, name, question, 10, "lang = 'en' OR lang <> 'en'")
        assert without_timing(unrestricted) == without_timing(search(small, name, question, 10))


def test_a_filter_that_allows_none_finds_nothing(small: Index, name: str) -> None:
    for question in QUESTIONS:
        evidence = search(small, name, question, 10, "lang = 'xx'")
        assert not evidence.passages
        assert not evidence.paths


@pytest.mark.parametrize("where", ["nosuchfield = 1", "", "lang =", "lang = 'en'; DROP TABLE x", "lang == == 2"])
def test_a_filter_that_cannot_be_used_is_refused(small: Index, name: str, where: str) -> None:
    for question in (QUESTIONS[0], ""):
        with pytest.raises(InputError):
            search(small, name, question, 5, where)


@pytest.fixture
def empty(tmp_path: Path, encoder: str) -> Index:
    return make_index(tmp_path / "index", (), encoder)


@pytest.mark.parametrize("where", [None, "year > 1900"])
def test_an_index_without_documents_finds_nothing(empty: Index, name: str, where: str | None) -> None:
    for question in ("Who built the Vega?", "", "🚢"):
        evidence = search(empty, name, question, 5, where)
        assert not evidence.passages
        assert not evidence.paths


@pytest.fixture
def single(tmp_path: Path, encoder: str) -> Index:
    return make_index(tmp_path / "index", [Document("only", "Vega", "Vega was built in Bremerhaven.")], encoder)


@pytest.mark.parametrize("question", ["Who built the Vega?", "built", "zzz", "Bremerhaven"])
def test_an_index_of_one_document(single: Index, name: str, question: str) -> None:
    evidence = search(single, name, question)
    assert set(result_ids(evidence)) <= {"only"}
    if question != "zzz":
        assert result_ids(evidence) == ["only"]


@pytest.fixture
def untitled(tmp_path: Path, name: str, encoder: str) -> Index:
    if name == "maxsim":  # by hashed words, without context, "is" weighs as much as a name
        encoder = DEFAULT_ENCODER
    texts = ("The Vega left Karlskrona.", "Karlskrona lies in Blekinge.", "nothing of note", "Blekinge is a province.")
    documents = [Document(f"d{number}", "", text) for number, text in enumerate(texts)]
    return make_index(tmp_path / "index", documents, encoder)


def test_passages_without_titles(untitled: Index, name: str) -> None:
    evidence = search(untitled, name, "Where is Karlskrona, which the Vega left?")
    assert set(result_ids(evidence)[:2]) == {"d0", "d1"}
    check_order(evidence)
    check_paths(evidence, {"d0", "d1", "d2", "d3"}, {f"d{n}": f"d{n}" for n in range(4)})


def test_adding_and_removing_leaves_no_trace(tmp_path: Path, small: Index, name: str, encoder: str) -> None:
    index = make_index(tmp_path / "index", DOCUMENTS[:4], encoder)
    before = without_timing(search(index, name, QUESTIONS[0]))
    index.add(DOCUMENTS[4:])
    for question in QUESTIONS[:2]:
        assert without_timing(search(index, name, question)) == without_timing(search(small, name, question))
    index.remove([document.id for document in DOCUMENTS[4:]])
    assert without_timing(search(index, name, QUESTIONS[0])) == before
