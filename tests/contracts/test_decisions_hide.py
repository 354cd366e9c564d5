"""Names that decisions gave to entities, and who was merged with whom, are in no evidence under a filter."""

import json
from pathlib import Path

import pytest

import clew
from clew.commands.answers import evidence_json
from clew.retrievers.registry import RETRIEVERS, finds_nothing, parse_retriever
from clew.types import Document
from tests.contracts.conftest import TRAINED, WITHOUT_WEIGHTS
from tests.small_index import DOCUMENTS, make_index

HIDDEN = Document("secretdoc", "Ysolde Trunkbarrow", "Ysolde Trunkbarrow commanded the Vega and knew Karlskrona.", {})
WHERE = "document_id != 'secretdoc'"
GIVEN = ("basilisk", "informant", "trunkbarrow", "ysolde")
QUESTIONS = (
    "What supplied the Vega and Karlskrona?",
    "Where was the commander of the Vega born?",
    "Who was Louis Palander?",
    "what is karlskrona",
)
FINDING = [
    name
    for name in RETRIEVERS
    if name not in WITHOUT_WEIGHTS and not finds_nothing(name) and name.partition(":")[0] not in TRAINED
]


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index in which entities of visible passages were merged with hidden ones, renamed and split."""
    folder = tmp_path_factory.mktemp("decided") / "index"
    index = make_index(folder, (*DOCUMENTS, HIDDEN))
    index.merge_entities(["Louis Palander", "Ysolde Trunkbarrow"], "Codename Basilisk")
    index.rename_entity("Karlskrona", "The informant")
    index.split_entity("Bornholm", "Basilisk Island", documents=["untitled-2"])
    graph = tmp_path_factory.mktemp("graph") / "kg.tsv"
    graph.write_text(
        "Vega\tlaunched from\tBremerhaven\nVega\tsupplied by\tBrix Works\nBrix Works\tsupplier of\tKarlskrona\n",
        encoding="utf-8",
    )
    index.import_graph(clew.graph_file(graph))
    index.rename_entity("Bremerhaven", "Port of the informant")  # of the graph alone
    index.rename_entity("Vega", "Basilisk's ship")
    return folder


def shown(folder: Path, name: str, where: str | None) -> str:
    index = clew.open(folder)
    found = [evidence_json("", name, index.search(asked, 10, parse_retriever(name), where)) for asked in QUESTIONS]
    return json.dumps(found, ensure_ascii=False).casefold()


@pytest.mark.parametrize("name", FINDING)
def test_no_evidence_under_a_filter_has_a_given_name(decided: Path, name: str) -> None:
    assert not [word for word in GIVEN if word in shown(decided, name, WHERE)]


def test_decisions_are_not_read_where_nothing_is_hidden(decided: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[str]:
        raise AssertionError("the decisions were read")

    monkeypatch.setattr("clew.index.version.given_names", refuse)
    assert "brix works" in shown(decided, "frag", None)


def test_the_given_names_are_found_without_a_filter(decided: Path) -> None:
    """The decisions are such that the test above could fail."""
    assert {word for word in GIVEN if word in shown(decided, "frag", None)} >= {"basilisk", "informant"}
