"""The retriever for LangChain, held by LangChain's own suite for retrievers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_tests", reason="langchain-tests is not installed; make test-neighbours installs it")

from langchain_core.documents import Document
from langchain_core.runnables import RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

import clew
from clew.index import Index
from clew.integrations.langchain import ClewRetriever

QUESTION = "Where was the commander of the Vega born?"


class TestStandardSuite(RetrieversIntegrationTests):
    """LangChain's suite."""

    @pytest.fixture(autouse=True)
    def _small_index(self, small: Index) -> None:
        self.small = small

    @property
    def retriever_constructor(self) -> type[ClewRetriever]:
        return ClewRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.small, "k": 2}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


def test_documents_say_where_they_stand_and_their_score(small: Index) -> None:
    found = small.search(QUESTION, 3).passages
    documents = ClewRetriever(index=small, k=3).invoke(QUESTION)
    assert [(d.id, d.page_content, d.metadata["score"]) for d in documents] == [
        (one.item.id, one.item.text, one.score) for one in found
    ]
    first, passage = documents[0].metadata, found[0].item
    own = ("document_id", "title", "start", "end")
    assert tuple(first[name] for name in own) == (passage.document_id, passage.title, passage.start, passage.end)
    assert first["lang"] == passage.metadata["lang"]


def test_async_gives_the_same(small: Index) -> None:
    retriever = ClewRetriever(index=small, k=3, retriever="bm25")
    assert asyncio.run(retriever.ainvoke(QUESTION)) == retriever.invoke(QUESTION)


def test_a_filter_holds_and_one_of_a_question_goes_before(small: Index) -> None:
    retriever = ClewRetriever(index=small, k=4, where="lang = 'de'")
    assert {d.metadata["lang"] for d in retriever.invoke("lighthouse keeper")} == {"de"}
    assert {d.metadata["lang"] for d in retriever.invoke("lighthouse keeper", where="lang = 'en'")} == {"en"}


def test_it_is_a_part_of_a_chain(small_folder: Path) -> None:
    def join(documents: list[Document]) -> str:
        return " ".join(document.id or "" for document in documents)

    chain = {"context": ClewRetriever(index=small_folder, k=1) | join, "question": RunnablePassthrough()} | (
        RunnablePassthrough()
    )
    assert chain.invoke(QUESTION)["question"] == QUESTION
    assert chain.invoke(QUESTION)["context"] == clew.open(small_folder).search(QUESTION, 1).passages[0].item.id


def test_bad_arguments_are_one_line(small: Index, tmp_path: Path) -> None:
    with pytest.raises(clew.InputError, match=r"the index is int 3; give what clew\.open returns"):
        ClewRetriever(index=3)
    with pytest.raises(clew.IndexFormatError):
        ClewRetriever(index=tmp_path / "none")
    with pytest.raises(ValueError, match="k is 0; give a whole number of at least 1"):
        ClewRetriever(index=small).invoke(QUESTION, k=0)


@pytest.mark.parametrize("given", [{"k": 0}, {"k": -1}, {"k": "3"}, {"k": True}, {"where": 3}, {"top_k": 3}])
def test_fields_are_checked_by_langchains_own_validation(small: Index, given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(ValidationError, match=rf"1 validation error for ClewRetriever\n{name}\n"):
        ClewRetriever(index=small, **given)
    if name == "k":
        retriever = ClewRetriever(index=small, k=2, tags=["a"], metadata={"b": 1})
        with pytest.raises(ValidationError):
            retriever.k = given["k"]
        assert retriever.k == 2
