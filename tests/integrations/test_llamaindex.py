"""The retriever for LlamaIndex, in LlamaIndex's own query engines."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed; make test-neighbours installs it")

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeRelationship, TextNode

import clew
from clew.index import Index
from clew.integrations.llamaindex import ClewRetriever

QUESTION = "Where was the commander of the Vega born?"


def test_nodes_are_the_passages_with_their_scores_and_sources(small: Index) -> None:
    found = small.search(QUESTION, 3).passages
    retriever = ClewRetriever(small, k=3)
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(QUESTION)
    assert [(n.node_id, n.text, n.score) for n in nodes] == [(f.item.id, f.item.text, f.score) for f in found]
    node, passage = nodes[0].node, found[0].item
    assert isinstance(node, TextNode)
    assert (node.start_char_idx, node.end_char_idx) == (passage.start, passage.end)
    assert node.relationships[NodeRelationship.SOURCE].node_id == passage.document_id
    assert node.metadata["lang"] == passage.metadata["lang"]


def test_a_model_reads_the_title_and_no_offsets(small: Index) -> None:
    read = ClewRetriever(small, k=1).retrieve(QUESTION)[0].node.get_content(MetadataMode.LLM)
    passage = small.search(QUESTION, 1).passages[0].item
    assert passage.title in read
    assert passage.text in read
    assert "start" not in read
    assert "passage_id" not in read


def test_async_gives_the_same(small: Index) -> None:
    retriever = ClewRetriever(small, k=3, retriever="bm25")
    assert asyncio.run(retriever.aretrieve(QUESTION)) == retriever.retrieve(QUESTION)


def test_a_query_engine_reads_what_it_finds(small_folder: Path) -> None:
    retriever = ClewRetriever(small_folder, k=2, where="lang = 'en'")
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    response = engine.query(QUESTION)
    expected = clew.open(small_folder).search(QUESTION, 2, where="lang = 'en'").passages
    assert [node.node_id for node in response.source_nodes] == [found.item.id for found in expected]
    assert all(found.item.text in str(response) for found in expected)  # the model repeats its prompt


def test_bad_arguments_are_one_line(small: Index, tmp_path: Path) -> None:
    with pytest.raises(clew.InputError, match="k is 0; give a whole number of at least 1"):
        ClewRetriever(small, k=0)
    with pytest.raises(clew.IndexFormatError):
        ClewRetriever(tmp_path / "none")


@pytest.mark.parametrize("k", [0, -1, "3", True, 2.0])
def test_a_number_that_cannot_be_used_is_a_value_error(small: Index, k: Any) -> None:
    with pytest.raises(ValueError, match=f"k is {k!r}; give a whole number of at least 1"):
        ClewRetriever(small, k)
    with pytest.raises(TypeError, match="similarity_top_k"):
        ClewRetriever(small, similarity_top_k=3)  # type: ignore[call-arg]
