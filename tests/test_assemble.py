"""The table from names to constructors."""

from pathlib import Path

import pytest

import clew
from clew.assemble import RETRIEVERS, STEPWISE, make_retriever, open_extractor
from clew.errors import InputError
from clew.index import Index
from clew.indexing.published import PublishedExtractor
from clew.indexing.rules import RuleExtractor
from clew.types import Document
from small_index import DOCUMENTS, made

WITHOUT_VECTORS = {"bm25", "entity-graph", "frag", "frag-complex", "frag-simple", "pagerank", "routed"}


def test_the_names_the_command_line_promises() -> None:
    assert list(RETRIEVERS) == sorted(RETRIEVERS)
    single = {"bm25", "dense", "entity-graph", "fused", "gfm", "hipporag2", "pagerank", "routed", "title-links"}
    single |= {"frag", "frag-complex", "frag-simple", "gcn-subgraph", "steiner"}
    assert set(RETRIEVERS) == single | set(STEPWISE)


@pytest.mark.parametrize("wrong", ["", "BM25", "page-rank", "bm25 ", "None"])
def test_a_name_that_is_none_is_refused_and_all_are_told(small: Index, wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        make_retriever(wrong, small.parts)
    assert repr(wrong) in str(caught.value)
    assert all(name in str(caught.value) for name in RETRIEVERS)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index without vectors."""
    return made(tmp_path_factory.mktemp("plain") / "index", DOCUMENTS, encoder="none")


@pytest.mark.parametrize("name", RETRIEVERS)
def test_without_vectors_a_retriever_works_or_says_what_does(plain: Index, name: str) -> None:
    if name in WITHOUT_VECTORS:
        assert plain.search("Where was the commander of the Vega born?", 3, name).passages
    else:
        with pytest.raises(InputError, match=r"--encoder none.*bm25, pagerank or entity-graph"):
            plain.retriever(name)


def test_extractors(tmp_path: Path) -> None:
    file = tmp_path / "a:b.jsonl"
    file.write_text('{"id": "a", "entities": ["Oslo"], "triples": []}\n', encoding="utf-8")
    assert isinstance(open_extractor("rules"), RuleExtractor)
    assert isinstance(open_extractor(f"published:{file}"), PublishedExtractor)


def test_vectors_of_triples_are_remembered(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    made(tmp_path / "index", [Document("a", "Fram", "Fram left Oslo for Bergen.")])
    for _ in range(2):
        index = clew.open(tmp_path / "index", lambda stage, done, _total: told.append((stage, done)))
        assert index.search("Who left Oslo?", 3, "hipporag2").passages
    assert [stage for stage, _ in told] == ["encoding short texts"]
