"""Names that an index does not know are taken for those most like them; names that it knows are left as they are."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.index import Index
from clew.query.linking import MAX_CHARACTERS, LinkedQuestion, describe_links, link_question
from clew.query.question_linker import QuestionLinker
from clew.settings import Settings
from clew.types import Document
from tests.small_index import make_index, result_ids

ONE = "1 letter differs"
DOCUMENTS = [
    Document("titanic", "Titanic (1997 film)", "Titanic was directed by James Cameron."),
    Document("cameron", "James Cameron", "James Cameron was born in Kapuskasing."),
    Document("alleyn", "Edward Alleyn", "Edward Alleyn was an actor. Edward was also called Ned."),
    Document("edward", "Edward", "Edward is a given name."),
    Document("tolkien", "J. R. R. Tolkien", "J. R. R. Tolkien was born in Bloemfontein."),
    Document("nasa", "National Aeronautics and Space Administration", "It flies to the Moon from Florida."),
    Document("rocky", "Rocky III", "Rocky III was written by Sylvester Stallone."),
    Document("dulwich", "Alleyn's College of God's Gift", "It was founded in Dulwich."),
    Document("stad", "卡尔斯克鲁纳港口", "卡尔斯克鲁纳港口在瑞典。"),
    Document("moscow", "Карлскруна", "Карлскруна — город в Швеции."),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("misspelt"), DOCUMENTS)


@pytest.fixture(scope="module")
def linker(index: Index) -> QuestionLinker:
    found = index.context.scope.linker
    assert isinstance(found, QuestionLinker)
    return found


def names(index: Index, linked: LinkedQuestion) -> list[tuple[str, str, list[str]]]:
    return [
        (name.written, linked.text[name.start : name.end], [index.snapshot.entities[e] for e in name.entities])
        for name in linked.names
    ]


@pytest.mark.parametrize(
    ("question", "text", "notes"),
    [
        (
            "Where was the director of Titanik born?",
            "Where was the director of Titanic born?",
            ["'Titanik' in the index; taken for 'Titanic' (1 letter differs)"],
        ),
        (
            "Who was Edwrad Alleyn, and Jmaes Cameron?",
            "Who was Edward Alleyn, and James Cameron?",
            [
                "'Edwrad Alleyn' in the index; taken for 'Edward Alleyn' (1 letter differs)",
                "'Jmaes Cameron' in the index; taken for 'James Cameron' (1 letter differs)",
            ],
        ),
        (
            # `Edward` alone is a name of the index.
            "Who was Edward Aleyn?",
            "Who was Edward Alleyn?",
            ["'Edward Aleyn' in the index; taken for 'Edward Alleyn' (1 letter differs)"],
        ),
        (
            "Where was dward Alleyn buried?",
            "Where was Edward Alleyn buried?",
            ["'dward Alleyn' in the index; taken for 'Edward Alleyn' (1 letter differs)"],
        ),
        (
            "Who founded Alleyn's Collage of God's Gift?",
            "Who founded Alleyn's College of God's Gift?",
            [f"\"Alleyn's Collage of God's Gift\" in the index; taken for \"Alleyn's College of God's Gift\" ({ONE})"],
        ),
        (
            'Who wrote "titanik"?',
            'Who wrote "Titanic"?',
            ["'titanik' in the index; taken for 'Titanic' (1 letter differs)"],
        ),
        (
            "When was J. Tolkien born?",
            "When was J. R. R. Tolkien born?",
            ["'J. Tolkien' in the index; taken for 'J. R. R. Tolkien' (shortened)"],
        ),
        (
            "When was Tolkien born?",
            "When was J. R. R. Tolkien born?",
            ["'Tolkien' in the index; taken for 'J. R. R. Tolkien' (last word)"],
        ),
        (
            "When did NASA fly?",
            "When did National Aeronautics and Space Administration fly?",
            ["'NASA' in the index; taken for 'National Aeronautics and Space Administration' (acronym)"],
        ),
        ("Who wrote Rocky II?", "Who wrote Rocky II?", []),  # a number is no misspelt number
        (
            "Что такое Карлскрунна?",
            "Что такое Карлскруна?",
            ["'Карлскрунна' in the index; taken for 'Карлскруна' (1 letter differs)"],
        ),
        (
            "卡尔斯克鲁那港口在哪里？",
            "卡尔斯克鲁纳港口在哪里？",
            ["'卡尔斯克鲁那港口' in the index; taken for '卡尔斯克鲁纳港口' (1 letter differs)"],
        ),
        ("卡尔斯克鲁纳港口在哪里？", "卡尔斯克鲁纳港口在哪里？", []),
        (
            "who was edwrad alleyn?",
            "who was Edward Alleyn?",
            ["'edwrad alleyn' in the index; taken for 'Edward Alleyn' (1 letter differs)"],
        ),
        (
            "who directed titanik?",
            "who directed Titanic?",
            ["'titanik' in the index; taken for 'Titanic' (1 letter differs)"],
        ),
        # A word in lower case among capitals is no name, unless a longer name has it.
        ("Was Edward on the titanik?", "Was Edward on the titanik?", []),
        (
            "Who founded Alleyn's College fo God's Gift?",
            "Who founded Alleyn's College of God's Gift?",
            [f"\"Alleyn's College fo God's Gift\" in the index; taken for \"Alleyn's College of God's Gift\" ({ONE})"],
        ),
        ("Was Xedward Quux there?", "Was Xedward Quux there?", []),  # `Edward` would be another name than the whole
        ("Who was Zebulon Quux?", "Who was Zebulon Quux?", []),
        ("", "", []),
        ("🚢 \ud800 ?", "🚢 \ud800 ?", []),
    ],
)
def test_unknown_names(linker: QuestionLinker, question: str, text: str, notes: list[str]) -> None:
    linked = linker.link(question)
    assert linked.text == text
    assert list(linked.describe_similar_names()) == [f"no name {note}" for note in notes]
    assert linked.corrected_text(question) == text
    exact = link_question(linker._table, text)
    assert [name.entities for name in linked.linked_names] == [name.entities for name in exact.linked_names]
    assert linked.remainder == exact.remainder


def test_a_name_that_is_known_is_never_taken_for_another(index: Index, linker: QuestionLinker) -> None:
    for document in DOCUMENTS:
        question = f"Where is {document.title}, and who was Edward Alleyn?"
        assert linker.link(question) == link_question(index.snapshot, question)


PIECES = st.sampled_from(
    [
        *("Titanic", "Titanik", "titanic", "James", "Jmaes", "Cameron", "Camero", "Edward", "Alleyn", "J.", "Tolkien"),
        *("NASA", "NASSA", "the", "of", "who", "'", ",", '"', "(", ")", "-", "卡尔", "🚢", "\u0301"),
    ]
)


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES, max_size=15).map(" ".join)))
def test_names_do_not_overlap_and_only_unknown_ones_are_replaced(question: str) -> None:
    linker = QuestionLinker(_index.snapshot)
    exact, linked = link_question(_index.snapshot, question), linker.link(question)
    position, pieces = 0, []
    for name in linked.names:
        assert position <= name.start < name.end <= len(linked.text)
        pieces.append(linked.text[position : name.start])
        pieces.append(name.written or linked.text[name.start : name.end])
        position = name.end
        assert list(name.entities) == sorted(set(name.entities))
        assert bool(name.written) <= bool(name.entities)
    assert "".join([*pieces, linked.text[position:]]) == question
    if not exact.unlinked_names and not any(name.written for name in linked.names):
        assert linked == exact


_index: Index


@pytest.fixture(autouse=True, scope="module")
def _keep_index(index: Index) -> None:
    global _index  # hypothesis asks for no fixtures inside its examples
    _index = index


def test_nothing_is_read_before_an_unknown_name(index: Index) -> None:
    calls: list[str] = []

    def store(name: str, compute):  # type: ignore[no-untyped-def]
        calls.append(name)
        return compute()

    linker = QuestionLinker(index.snapshot, store)
    linker.link("Who directed Titanic with James Cameron?")
    linker.link("what is it")
    assert calls == []
    linker.link("Who directed Titanik?")
    linker.link("Who directed Tytanic?")
    assert calls == ["spellings"]


def test_the_arrays_stay_on_disk(index: Index) -> None:
    folder = index.table.location.derived / "arrays"
    index.search("Who directed Titanik?", 2, retriever="pagerank")
    stored = sorted(path.name for path in folder.glob("*/spellings-*"))
    assert stored == [f"spellings-{part}" for part in ("data", "hashes", "offsets", "owners")]


def test_a_hostile_question_takes_bounded_time(linker: QuestionLinker) -> None:
    linked = linker.link("Xenophobe Yggdrasil " * MAX_CHARACTERS)
    assert not linked.linked_names
    assert len(linked.text) == MAX_CHARACTERS


@pytest.mark.parametrize("retriever", ["pagerank", "chains", "entity-graph", "frag", "routed"])
def test_every_retriever_that_links_names_finds_the_passages_of_the_right_name(index: Index, retriever: str) -> None:
    right = index.search("Where was Edward Alleyn born?", 3, retriever=retriever)
    wrong = index.search("Where was Edwrad Alleyn born?", 3, retriever=retriever)
    assert [scored.score for scored in wrong.passages] == [scored.score for scored in right.passages]
    assert result_ids(wrong) == result_ids(right)
    assert wrong.paths == right.paths
    note = "no name 'Edwrad Alleyn' in the index; taken for 'Edward Alleyn' (1 letter differs)"
    assert [n for n in wrong.notes if n not in right.notes] == [note]


def test_the_setting_leaves_unknown_names_unlinked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = clew.create(tmp_path / "i", Settings(encoder="none", unknown_names="exact"))
    index.add(DOCUMENTS)
    question = "Who directed Titanik?"
    assert index.context.scope.linker.link(question) == link_question(index.snapshot, question)
    monkeypatch.setenv("CLEW_UNKNOWN_NAMES", "exact")
    assert "not in the index: Titanik" in clew.open(tmp_path / "i").search(question).notes
    monkeypatch.setenv("CLEW_UNKNOWN_NAMES", "similar")
    assert "not in the index: Titanik" not in clew.open(tmp_path / "i").search(question).notes
    monkeypatch.setenv("CLEW_UNKNOWN_NAMES", "guess")
    with pytest.raises(clew.ClewError, match="setting 'unknown_names' is 'guess'"):
        clew.open(tmp_path / "i")


def test_topics_of_a_graph(index: Index, linker: QuestionLinker) -> None:
    entity = int(index.snapshot.entities_with_name("Edward Alleyn")[0])
    note = "no name 'Edwrad Alleyn' in the index; taken for 'Edward Alleyn' (1 letter differs)"
    for question, given_names in (("who was [Edwrad Alleyn]", ()), ("who was he", ("Edwrad Alleyn", "Zebulon Quux"))):
        topics = linker.find_topics(question, given_names)
        assert topics.entities == (entity,)
        assert topics.notes == (note,)
        assert topics.unknown_names == given_names[1:]
    topics = linker.find_topics("Who was Edwrad Alleyn?")
    assert topics.entities == (entity,)
    assert [topics.text[start:end] for start, end in topics.spans] == ["Edwrad Alleyn"]
    assert linker.find_topics("Who was Edward Alleyn?").notes == ()


def test_an_index_without_names(tmp_path: Path) -> None:
    index = make_index(tmp_path / "i", [Document("a", "", "it rains")], "none")
    linker = QuestionLinker(index.snapshot)
    assert linker.link("Who is Titanik?") == link_question(index.snapshot, "Who is Titanik?")
    assert describe_links(linker.link(""), str) == ("no name in the question is in the index",)


def test_of_names_as_near_the_one_of_most_passages_is_taken(tmp_path: Path) -> None:
    documents = [
        Document("a", "Lake Marion", "Lake Marion is deep."),
        Document("b", "Lake Merion", "Lake Merion is wide."),
        Document("c", "Village", "It lies near Lake Merion."),
    ]
    index = make_index(tmp_path / "i", documents, "none")
    linked = QuestionLinker(index.snapshot).link("How deep is Lake Mxrion?")
    assert linked.text == "How deep is Lake Merion?"
    one_each = make_index(tmp_path / "j", documents[:2], "none")
    assert QuestionLinker(one_each.snapshot).link("How deep is Lake Mxrion?").text == "How deep is Lake Marion?"
