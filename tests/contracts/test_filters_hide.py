"""What a filter hides: no name, text, id, field or count of a hidden document is in evidence, prompts or answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.answering.selection import PASSAGES, PATHS, select_answerer
from clew.commands.answers import answer_json, evidence_json
from clew.errors import InputError
from clew.index import Index
from clew.models.llm.access import LLMClientFactory
from clew.models.reader.reader import Reader
from clew.query.contents import Neighbour
from clew.retrievers.registry import RETRIEVERS, finds_nothing, is_path_retriever, parse_retriever
from clew.types import Document, Evidence, Failure, Prompt
from clew_lab.commands.export import export
from clew_lab.graph.exports import write_graphml, write_jsonld, write_nodes, write_relationships
from tests.contracts.conftest import TRAINED, WITHOUT_WEIGHTS
from tests.contracts.hidden_documents import WHERE
from tests.faults.leaks import Case, find_ties
from tests.models.llm.scripted_model import ScriptedModel
from tests.small_index import QUESTIONS, make_index

WORDS = (
    "secretdoc", "ysolde", "trunkbarrow", "quibbleton", "basilisk", "codename", "informant", "zorblax", "vault",
    "hushkey", "klass", "palandar", "KARLSKRONA",
)  # fmt: skip
ASKED = (
    *QUESTIONS,
    "Who led Zorblax Vault?",
    "Who was Louis Palandar?",
    "Where did Palander, L. Palander and Ysolde Trunkbarow go?",
    "Which ship left [Karlskrona]?",
    "Who knew [Louis Palander] and [Zorblax Vaul]?",
)
FINDING = [name for name in RETRIEVERS if name not in WITHOUT_WEIGHTS and not finds_nothing(name)]
RERANKED = ("bm25:rerank=words", "gfm:rerank=g-rag")
INSTALLED = "shared-words"  # that of docs/extend.md: see `conftest.py`


def retrieve(index: Index, name: str, where: str | None) -> Iterator[tuple[str, Evidence]]:
    """Search for all questions, by `Index.search`, which checks the evidence."""
    for question in ASKED:
        yield question, index.search(question, 10, parse_retriever(name), where)


def leaks(shown: str, question: str) -> list[str]:
    """Return the hidden words that are in a text, other than those of the question."""
    asked = question.casefold()
    found = [word for word in WORDS if (word in shown if word.isupper() else word in shown.casefold())]
    return [word for word in found if word.casefold() not in asked or word.isupper()]


def plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def unknown_notes(evidence: Evidence) -> list[str]:
    starts = ("not in the index", "no name", "no entity is called")
    return [note for note in evidence.notes if note.startswith(starts)]


def evidence_kind(name: str) -> str:
    """Return what a retriever's answers are read from."""
    return PATHS if is_path_retriever(parse_retriever(name)) else PASSAGES


def spec_of(name: str) -> str:
    return TRAINED.get(name.split(":")[0], "hashing") if "g-rag" not in name else TRAINED["gfm"]


@pytest.mark.parametrize("name", [*FINDING, *RERANKED, INSTALLED])
def test_nothing_of_hidden_documents_is_in_evidence_or_answers(
    folders: dict[tuple[str, bool], Path], name: str
) -> None:
    whole, alone = (clew.open(folders[spec_of(name), hidden]) for hidden in (True, False))
    answerer = select_answerer("", whole.open_model, Reader, evidence_kind(name))
    for (question, evidence), (_, expected) in zip(
        retrieve(whole, name, WHERE), retrieve(alone, name, None), strict=True
    ):
        assert not leaks(plain(evidence_json("", name, evidence)), question), (question, evidence)
        answer = answerer.answer([question], [evidence])[0]
        assert not leaks(plain(answer_json("", name, answer)), question), (question, answer)
        assert unknown_notes(evidence) == unknown_notes(expected), question


TIED = (
    Document("a", "Tom Arlen", "Tom Arlen was born in Velmora. Tom Arlen married Ann Brey.", {"t": "a"}),
    Document("b", "Report", "Ostrava Nine was led by Kurt Linde. Ostrava Nine was built in Sandhavn.", {"t": "a"}),
    Document("c", "Kurt Linde", "Kurt Linde studied in Bergen and lived in Velmora.", {"t": "a"}),
)
TYING = {
    "alias": Document("h", "Velmora", "Velmora, also called Ostrava Nine.", {"t": "b"}, aliases=("Ostrava Nine",)),
    "heading": Document("h", "Velmora", "A town.\n\n## Ostrava Nine\n\nIts other name.", {"t": "b"}),
    "aliases of a third": Document("h", "Zorblax", "A town.", {"t": "b"}, aliases=("Velmora", "Ostrava Nine")),
}
TIED_QUESTIONS = ("Who led the place where Tom Arlen was born?", "What is Ostrava Nine?", "Where is Velmora?")


@pytest.fixture(scope="module", params=TYING)
def tied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index in which a hidden document says that two names of visible ones are of one entity."""
    return make_index(tmp_path_factory.mktemp("tied") / "index", (*TIED, TYING[request.param]), "hashing")


@pytest.mark.parametrize("name", [name for name in FINDING if name not in TRAINED])
def test_two_names_that_a_hidden_document_calls_one_are_never_shown_as_one(tied: Index, name: str) -> None:
    case = Case(TIED, tuple(TYING.values()), (), ("Velmora", "Ostrava Nine"))
    for question in TIED_QUESTIONS:
        evidence = tied.search(question, 10, parse_retriever(name), "t = 'a'")
        assert find_ties(evidence, case) == []
        named = {"Velmora", "Ostrava Nine"} & {question[8:-1], question[9:-1]}
        assert not named or not {"Velmora", "Ostrava Nine"} - named & {*evidence.topics}, question
        assert not [note for note in evidence.notes if note.startswith("not in the index")]
        assert evidence.passages


def test_two_names_that_a_hidden_document_calls_one_are_not_listed_as_one(tied: Index) -> None:
    where = "t = 'a'"
    shown = [
        (one.triple.entities, one.name) for name in ("Velmora", "Ostrava Nine") for one in _around(tied, name, where)
    ]
    ends = {end for entities, _ in shown for end in entities}
    assert not {"Velmora", "Ostrava Nine"} <= ends
    assert ends & {"Velmora", "Ostrava Nine"}  # one of the two keeps its facts
    listed = {entity.name: entity.passages for entity in tied.entities(where=where)}
    assert listed.get("Velmora", 2) == 2
    assert listed.get("Ostrava Nine", 1) == 1
    assert [len(list(tied.entities("velmora"))), len(list(tied.entities("ostrava")))] in ([1, 0], [0, 1], [0, 0])


def _around(index: Index, name: str, where: str) -> list[Neighbour]:
    try:
        return list(index.neighbours(name, where))
    except InputError:
        return []


def test_a_name_that_only_a_hidden_title_makes_one_is_of_no_entity(tmp_path: Path) -> None:
    hidden = Document("h", "the blue stone", "A stone.", {"t": "b"})
    visible = Document("a", "Tom Arlen", "Tom Arlen saw the blue stone once.", {"t": "a"})
    index = make_index(tmp_path / "index", (visible, hidden), "hashing")
    assert any("blue stone" in entity.name for entity in index.entities())
    assert not any("blue stone" in entity.name for entity in index.entities(where="t = 'a'"))
    assert "blue stone" not in plain([str(triple) for triple in index.triples(where="t = 'a'")])
    for name in ("pagerank", "frag"):
        evidence = index.search("Who saw the blue stone?", 5, parse_retriever(name), "t = 'a'")
        assert not any("blue stone" in text for text in (*evidence.notes, *evidence.topics))


def test_the_hidden_words_are_found_without_a_filter(folders: dict[tuple[str, bool], Path]) -> None:
    """The documents are such that the test above could fail."""
    index = clew.open(folders["hashing", True])
    shown = {
        word for question, e in retrieve(index, "frag", None) for word in leaks(plain(evidence_json("", "", e)), "")
    }
    assert len(shown) > len(WORDS) // 2


@pytest.mark.parametrize(
    "name", ["gear:reader=scripted:model", "ircot:reader=scripted:model", "hipporag2:filter=scripted:model"]
)
def test_no_prompt_has_a_hidden_name(folders: dict[tuple[str, bool], Path], name: str) -> None:
    model = ScriptedModel(lambda prompt: Failure(prompt.name, "it was: nonsense"))
    index = Index(
        clew.open(folders["hashing", True]).table,
        _Factory(model),
        similar_names=True,
    )
    for question, _ in retrieve(index, name, WHERE):
        _check_prompts(model, question)


@pytest.mark.parametrize("name", ["frag", "steiner", "pagerank"])
def test_no_prompt_of_an_answer_has_a_hidden_name(folders: dict[tuple[str, bool], Path], name: str) -> None:
    index = clew.open(folders["hashing", True])
    model = ScriptedModel(lambda prompt: Failure(prompt.name, "it was: nonsense"))
    answerer = select_answerer("scripted:model", lambda _: model, Reader, evidence_kind(name))
    for question, evidence in retrieve(index, name, WHERE):
        answerer.answer([question], [evidence])
        _check_prompts(model, question)


def _check_prompts(model: ScriptedModel, question: str) -> None:
    prompts: list[Prompt] = model.prompts
    assert not [leak for prompt in prompts for leak in leaks(prompt.content, question)]
    prompts.clear()


class _Factory(LLMClientFactory):
    """Opens one model for every name."""

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__()
        self._scripted = model

    def open(self, name: str, kept: Path | None = None) -> ScriptedModel:
        del name, kept
        return self._scripted


def test_a_misspelt_field_lists_no_other(folders: dict[tuple[str, bool], Path]) -> None:
    index = clew.open(folders["hashing", True])
    with pytest.raises(InputError) as caught:
        index.search("Karlskrona", where="yaer = 1872")
    assert not leaks(str(caught.value), "")


def test_reading_the_contents_within_a_filter_shows_nothing_hidden(folders: dict[tuple[str, bool], Path]) -> None:
    """Documents are those of an index without the hidden ones; names are among its names."""
    whole, alone = (clew.open(folders["hashing", hidden]) for hidden in (True, False))
    assert list(whole.documents.filter(WHERE)) == list(alone.documents)
    entities = list(whole.entities(where=WHERE))
    assert {entity.name for entity in entities} <= {entity.name for entity in alone.entities()}
    facts = [str(triple) for triple in whole.triples(where=WHERE)]
    assert not leaks(" ".join([*facts, *(e.name for e in entities)]), "")
    for entity in entities:
        assert not leaks(" ".join(map(str, whole.neighbours(entity.name, WHERE))), "")
    for name in ("Ysolde Trunkbarrow", "Zorblax Vault", "secretdoc1"):
        with pytest.raises(InputError, match="no entity is called"):
            whole.neighbours(name, WHERE)
        assert whole.get(name, WHERE) is None
    assert whole.get("secretdoc1") is not None


def _export_texts(index: Index, where: str | None) -> dict[str, str]:
    """Return all that each export holds, as text."""
    view = index.graph_view(where)
    graph, data = index.to_networkx(where), index.to_pyg(where, features=False)
    return {
        "graphml": "".join(write_graphml(view)),
        "neo4j": "".join([*write_nodes(view), *write_relationships(view)]),
        "jsonld": "".join(write_jsonld(view)),
        "networkx": plain([list(graph.nodes(data=True)), list(graph.edges(data=True))]),
        "pyg": plain([data.node_names, data.relation_names]),
    }


def test_exports_within_a_filter_show_nothing_hidden(folders: dict[tuple[str, bool], Path]) -> None:
    """What they have are triples of an index without the hidden documents."""
    pytest.importorskip("torch_geometric")
    whole, alone = (clew.open(folders["hashing", hidden]) for hidden in (True, False))
    shown = _export_texts(whole, WHERE)
    assert {name: leaks(text, "") for name, text in shown.items()} == {name: [] for name in shown}
    unfiltered = _export_texts(whole, None)
    assert all(leaks(text, "") for text in unfiltered.values())  # such that the test could fail
    relations = set(alone.to_pyg(features=False).relation_names)
    assert set(whole.to_pyg(WHERE, features=False).relation_names) <= relations
    assert (whole.graph_view(WHERE).pairs() >= 0).all()


@pytest.mark.parametrize("layout", ["lines", "hipporag", "gfmrag-lines", "gfmrag"])
def test_exports_that_have_no_filter_refuse_one(
    folders: dict[tuple[str, bool], Path], layout: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"--where is for the layouts graphml, neo4j, jsonld, not {layout}"):
        export(tmp_path / "out", str(folders["hashing", True]), layout, None, WHERE)
    assert not list(tmp_path.iterdir())
