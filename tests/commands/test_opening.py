"""The reranker that is given beside retrievers."""

import pytest

from clew.commands.opening import retriever_names
from clew.commands.options import RetrieverOptions
from clew.errors import InputError
from clew.index import Index


def test_a_reranker_goes_to_every_retriever_that_is_named(small: Index) -> None:
    options = RetrieverOptions("bm25,gear:base=fused", "llm:openai:x")
    named = retriever_names(options, small, several=True)
    assert named == ["bm25:rerank=llm:openai:x", "gear:base=fused,rerank=llm:openai:x"]
    assert retriever_names(RetrieverOptions("bm25"), small, several=False) == ["bm25"]


@pytest.mark.parametrize(
    ("retriever", "rerank", "message"),
    [("bm25", "cross-encoder:a,b", "without a comma"), ("bm25:rerank=none", "g-rag", "of its own, and --rerank")],
)
def test_what_does_not_go_together_is_refused(small: Index, retriever: str, rerank: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        retriever_names(RetrieverOptions(retriever, rerank), small, several=False)
