"""The table from names to constructors."""

from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.indexing.extraction.published import PublishedExtractor
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.protocols import Reranker
from clew.query.context import IndexContext
from clew.rerankers.text_scorer import TextReranker
from clew.retrievers.registry import (
    BASE_RETRIEVER_OPTIONS,
    PATH_RETRIEVERS,
    RERANKERS,
    RETRIEVERS,
    add_options,
    make_retriever,
    open_extractor,
)
from clew.retrievers.reranked import RerankedRetriever
from clew.text.bm25 import BM25Scorer
from clew.types import Document
from tests.small_index import DOCUMENTS, make_index

WITHOUT_VECTORS = {"bm25", "entity-graph", "frag", "frag-complex", "frag-simple", "pagerank", "routed"}


def test_the_names_the_command_line_promises() -> None:
    assert list(RETRIEVERS) == sorted(RETRIEVERS)
    single = {"bm25", "dense", "entity-graph", "fused", "gfm", "hipporag2", "pagerank", "routed", "title-links"}
    single |= {"frag", "frag-complex", "frag-simple", "gcn-subgraph", "steiner"}
    assert set(RETRIEVERS) == single | set(BASE_RETRIEVER_OPTIONS)


@pytest.mark.parametrize("wrong", ["", "BM25", "page-rank", "bm25 ", "None"])
def test_a_name_that_is_none_is_refused_and_all_are_told(small: Index, wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        make_retriever(wrong, small.context)
    assert repr(wrong) in str(caught.value)
    assert all(name in str(caught.value) for name in RETRIEVERS)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[IndexContext, str]]:
    """What a reranker called `words` is made of."""
    made: list[tuple[IndexContext, str]] = []

    def words(parts: IndexContext, rest: str) -> Reranker:
        made.append((parts, rest))
        return TextReranker(BM25Scorer())

    monkeypatch.setitem(RERANKERS, "words", words)
    return made


def test_any_retriever_of_passages_is_reranked_when_asked(small: Index, told: list[tuple[IndexContext, str]]) -> None:
    made = make_retriever("gear:base=fused,rerank=words:a:b=c,steps=2,pool=7", small.context)
    assert isinstance(made, RerankedRetriever)
    assert (made.rerank_depth, made.name) == (7, "words:a:b=c")
    ((parts, rest),) = told
    assert rest == "a:b=c"
    assert "steps" not in parts.options  # nor is `weights` of a retriever taken for the reranker's
    whole = make_retriever("bm25:rerank=words", small.context)
    assert isinstance(whole, RerankedRetriever)
    assert whole.rerank_depth == 100


@pytest.mark.parametrize("name", ["bm25", "bm25:rerank=none", "bm25:rerank=none,pool=7"])
def test_no_reranker_leaves_the_retriever_as_it_is(small: Index, name: str) -> None:
    assert not isinstance(make_retriever(name, small.context), RerankedRetriever)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("rerank=nosuch", r"'nosuch'; choose one of none, cross-encoder, .*llm"),
        ("rerank=", "no reranker is called ''"),
        ("rerank=Words", "no reranker is called 'Words'"),
        ("rerank=words,pool=0", "pool is '0'; wanted a whole number of at least 1$"),
        ("rerank=words,pool=-1", "pool is '-1'; wanted a whole number of at least 1$"),
        ("rerank=none,pool=all", "pool is 'all'; wanted a whole number of at least 1$"),
        ("pool=7", "no rerank is given"),
        ("rerank=words,rerank=none", "each name once"),
        ("rerank=words:a,b", "no comma"),
        ("rerank=words,pol=7", "no setting 'pol'; it has: pool, rerank"),
    ],
)
def test_a_reranking_that_cannot_be(
    small: Index, told: list[tuple[IndexContext, str]], settings: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        make_retriever(f"bm25:{settings}", small.context)


@pytest.mark.parametrize("name", PATH_RETRIEVERS)
def test_without_passages_nothing_is_reranked(told: list[tuple[IndexContext, str]], tmp_path: Path, name: str) -> None:
    empty = make_index(tmp_path / "empty", [])
    with pytest.raises(InputError, match="has no passages"):
        make_retriever(f"{name}:rerank=words", empty.context)
    assert not told


@pytest.mark.parametrize("name", ["pagerank:rerank=words", "reranked:base=pagerank,rerank=words"])
def test_a_reranker_adds_no_paths(small: Index, told: list[tuple[IndexContext, str]], name: str) -> None:
    (plain,) = small.retriever("pagerank").retrieve(["Where was Vega built?"], 2)
    (found,) = small.retriever(name).retrieve(["Where was Vega built?"], 2)
    assert told
    assert {path.item for path in found.paths} <= {path.item for path in plain.paths}


def test_options_go_to_every_retriever_that_takes_them() -> None:
    given: dict[str, str | int | None] = {"rerank": "llm:openai:x", "pool": 7, "steps": 2, "base": None}
    named = add_options(["bm25", "gear:base=fused"], given)
    assert named == ["bm25:rerank=llm:openai:x,pool=7", "gear:base=fused,rerank=llm:openai:x,pool=7,steps=2"]
    assert add_options(["bm25"], {"rerank": None, "pool": None}) == ["bm25"]
    with pytest.raises(InputError, match="--steps is for"):
        add_options(["bm25"], given)
    with pytest.raises(InputError, match=r"--rerank is 'cross-encoder:a,b', and a comma"):
        add_options(["bm25"], {"rerank": "cross-encoder:a,b"})


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index without vectors."""
    return make_index(tmp_path_factory.mktemp("plain") / "index", DOCUMENTS, encoder="none")


@pytest.mark.parametrize("name", ["gfm", "routed", "gcn-subgraph"])
def test_weights_that_are_not_there_are_bad_input(small: Index, name: str) -> None:
    with pytest.raises(InputError, match=r"weights is 'nosuch', which holds no config\.json; give a folder"):
        make_retriever(f"{name}:weights=nosuch", small.context)


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
    make_index(tmp_path / "index", [Document("a", "Fram", "Fram left Oslo for Bergen.")])
    for _ in range(2):
        index = clew.open(tmp_path / "index", lambda stage, done, _total: told.append((stage, done)))
        assert index.search("Who left Oslo?", 3, "hipporag2").passages
    assert [stage for stage, _ in told] == ["encoding short texts"]
