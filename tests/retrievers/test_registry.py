"""The table from names to constructors."""

from pathlib import Path
from typing import ClassVar

import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.plugins.records import SettingsRecord, setting
from clew.protocols import Reranker, Retriever
from clew.query.context import IndexContext
from clew.rerankers.registry import RERANKERS, RerankerEntry
from clew.rerankers.text_scorer import TextReranker
from clew.retrievers.registry import RETRIEVERS, finds_nothing, is_path_retriever, open_retriever, parse_retriever
from clew.retrievers.reranked import RerankedRetriever
from clew.text.bm25 import BM25Scorer
from clew.types import Document
from tests.small_index import DOCUMENTS, make_index

WITHOUT_VECTORS = {
    *("bm25", "chains", "entity-graph", "frag", "frag-complex", "frag-simple", "pagerank", "rog", "routed", "tog"),
}


def test_the_names_the_command_line_promises() -> None:
    own = set(RETRIEVERS.entries)
    assert list(RETRIEVERS.entries) == sorted(own)
    passages = {"bm25", "chains", "dense", "fused", "gear", "gfm", "hybrid", "pagerank", "reranked"}
    assert own == passages | {"frag", "gcn-subgraph"}
    lab = {name for name, entry in RETRIEVERS.usable_entries().items() if "clew_lab" in f"{entry.build}"}
    assert {"gfm-paper", "hipporag2", "linearrag", "maxsim", "rog", "steiner", "title-links"} <= lab


@pytest.mark.parametrize("wrong", ["", "BM25", "page-rank", "bm25 ", "None"])
def test_a_name_that_is_none_is_refused_and_all_are_told(small: Index, wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        open_text(wrong, small)
    assert repr(wrong) in str(caught.value)
    assert all(name in str(caught.value) for name in RETRIEVERS)


class Words(SettingsRecord):
    """Settings of a reranker of the tests."""

    label: ClassVar[str] = "words"

    argument: str = setting("", "any text")


def open_text(text: str, index: Index) -> Retriever:
    return open_retriever(parse_retriever(text), index.context)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Words]:
    """The settings that a reranker called `words` was built with."""
    built: list[Words] = []

    def build_words(_: IndexContext, settings: Words) -> Reranker:
        built.append(settings)
        return TextReranker(BM25Scorer())

    monkeypatch.setitem(RERANKERS.entries, "words", RerankerEntry("by words", Words, build_words, "words"))
    return built


def test_any_retriever_of_passages_is_reranked_when_asked(small: Index, builds: list[Words]) -> None:
    made = open_text("gear:base=fused,rerank=words:a:b=c,steps=2,rerank_depth=7", small)
    assert isinstance(made, RerankedRetriever)
    assert (made.rerank_depth, made.name) == (7, "words:a:b=c")
    assert builds == [Words(argument="a:b=c")]
    whole = open_text("bm25:rerank=words", small)
    assert isinstance(whole, RerankedRetriever)
    assert whole.rerank_depth == 100


@pytest.mark.parametrize("name", ["bm25", "bm25:rerank=none", "bm25:rerank=none,rerank_depth=7"])
def test_no_reranker_leaves_the_retriever_as_it_is(small: Index, name: str) -> None:
    assert not isinstance(open_text(name, small), RerankedRetriever)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("rerank=nosuch", r"'nosuch'; choose one of none, cross-encoder, .*llm"),
        ("rerank=", "no reranker is called ''"),
        ("rerank=Words", "no reranker is called 'Words'"),
        ("rerank=words,rerank_depth=0", "rerank_depth is '0'; wanted a whole number of at least 1$"),
        ("rerank=words,rerank_depth=-1", "rerank_depth is '-1'; wanted a whole number of at least 1$"),
        ("rerank=words,rerank_depth=all", "rerank_depth is 'all'; wanted a whole number of at least 1$"),
        ("rerank_depth=7", "no rerank is given"),
        ("rerank=words,rerank=none", "each name once"),
        ("rerank=words:a,b", "no comma"),
        ("rerank=words,pol=7", "no setting 'pol'; it has: none"),
    ],
)
def test_a_reranking_that_cannot_be(small: Index, builds: list[Words], settings: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_text(f"bm25:{settings}", small)


@pytest.mark.parametrize("name", [name for name in RETRIEVERS if is_path_retriever(name)])
def test_without_passages_nothing_is_reranked(builds: list[Words], tmp_path: Path, name: str) -> None:
    empty = make_index(tmp_path / "empty", [])
    with pytest.raises(InputError, match="has no passages"):
        open_text(f"{name}:rerank=words", empty)
    assert not builds


@pytest.mark.parametrize("name", ["pagerank:rerank=words", "reranked:base=pagerank,rerank=words"])
def test_a_reranker_adds_no_paths(small: Index, builds: list[Words], name: str) -> None:
    (plain,) = small.retriever("pagerank").retrieve(["Where was Vega built?"], 2)
    (found,) = small.retriever(parse_retriever(name)).retrieve(["Where was Vega built?"], 2)
    assert builds
    assert {path.item for path in found.paths} <= {path.item for path in plain.paths}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index without vectors."""
    return make_index(tmp_path_factory.mktemp("plain") / "index", DOCUMENTS, encoder="none")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        *(
            (f"{name}:weights=nosuch", f"{name}: weights is 'nosuch', which holds no config.json; give a folder")
            for name in ("gfm", "routed", "gcn-subgraph", "gnn-rag")
        ),
        ("rog:ranker=nosuch", "rog: a ranker is 'nosuch'; wanted trained"),
        ("frag:relations_by=trained", "frag: relations_by is 'trained'; wanted bi-encoder,"),
    ],
)
def test_an_error_names_the_setting_and_its_retriever(small: Index, spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_text(spec, small)


@pytest.mark.parametrize("name", [name for name in RETRIEVERS if name != "gfm-paper" and not finds_nothing(name)])
def test_without_vectors_a_retriever_works_or_says_what_does(plain: Index, name: str) -> None:
    if name in WITHOUT_VECTORS:
        assert plain.search("Where was the commander of the Vega born?", 3, name).passages
    else:
        with pytest.raises(InputError, match=r"--encoder none.*bm25(,| or) pagerank"):
            plain.retriever(parse_retriever(name))


def test_vectors_of_triples_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.store.vector_cache._COMMIT_TEXTS", 1)
    told: list[tuple[str, int]] = []
    text = "Fram left Oslo for Bergen. Nansen sailed Fram. Archer designed Fram for Nansen."
    make_index(tmp_path / "index", [Document("a", "Fram", text)])
    for _ in range(2):
        index = clew.open(tmp_path / "index", lambda stage, done, _total: told.append((stage, done)))
        assert index.search("Who left Oslo?", 3, "hipporag2").passages
    assert {stage for stage, _ in told} == {"encoding short texts"}
    counts = [done for _, done in told]
    assert len(counts) > 1
    assert counts == list(range(1, len(counts) + 1))  # once, and added up
