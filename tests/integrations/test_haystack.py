"""The component for Haystack, in Haystack's own pipelines."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haystack", reason="haystack-ai is not installed; make test-neighbours installs it")

from haystack import Pipeline
from haystack.components.builders import PromptBuilder

import clew
from clew.index import Index
from clew.integrations.haystack import ClewRetriever

QUESTION = "Where was the commander of the Vega born?"
TEMPLATE = "{% for document in documents %}{{ document.content }}\n{% endfor %}"


def test_documents_are_the_passages_with_their_scores(small: Index) -> None:
    found = small.search(QUESTION, 3).passages
    documents = ClewRetriever(small, top_k=3).run(QUESTION)["documents"]
    assert [(d.id, d.content, d.score) for d in documents] == [(f.item.id, f.item.text, f.score) for f in found]
    meta, passage = documents[0].meta, found[0].item
    assert (meta["document_id"], meta["start"], meta["end"]) == (passage.document_id, passage.start, passage.end)
    assert meta["lang"] == passage.metadata["lang"]


def test_what_is_given_to_run_goes_before(small: Index) -> None:
    component = ClewRetriever(small, top_k=3, where="lang = 'de'")
    assert {d.meta["lang"] for d in component.run("lighthouse keeper")["documents"]} == {"de"}
    found = component.run("lighthouse keeper", top_k=1, where="lang = 'en'")["documents"]
    assert [d.meta["lang"] for d in found] == ["en"]


def pipeline(component: ClewRetriever) -> Pipeline:
    made = Pipeline()
    made.add_component("retriever", component)
    made.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    made.connect("retriever.documents", "prompt.documents")
    return made


def test_a_pipeline_runs_is_written_and_read_back(small_folder: Path) -> None:
    own = pipeline(ClewRetriever(small_folder, top_k=2, retriever="bm25", where="lang = 'en'"))
    again = Pipeline.loads(own.dumps(), allowed_modules=["clew.integrations.haystack"])
    asked = {"retriever": {"query": QUESTION}}
    prompt = own.run(asked)["prompt"]["prompt"]
    expected = clew.open(small_folder).search(QUESTION, 2, "bm25", "lang = 'en'").passages
    assert prompt == "".join(f"{found.item.text}\n" for found in expected)
    assert again.run(asked)["prompt"]["prompt"] == prompt
    assert again.get_component("retriever").to_dict() == own.get_component("retriever").to_dict()


def test_an_async_pipeline_gives_the_same(small: Index) -> None:
    component = ClewRetriever(small, top_k=2, retriever="bm25")
    asked = {"retriever": {"query": QUESTION}}
    found = asyncio.run(pipeline(component).run_async(asked))
    assert found["prompt"]["prompt"] == "".join(f"{d.content}\n" for d in component.run(QUESTION)["documents"])


def test_what_cannot_be_written_is_refused(small: Index, tmp_path: Path) -> None:
    with pytest.raises(clew.InputError, match="no pipeline can be written with; give it by name"):
        ClewRetriever(small, retriever=clew.BM25()).to_dict()
    with pytest.raises(clew.InputError, match="top_k is 0"):
        ClewRetriever(small, top_k=0)
    with pytest.raises(clew.IndexFormatError):
        ClewRetriever(tmp_path / "none")


@pytest.mark.parametrize("top_k", [0, -1, "3", True, 2.0])
def test_a_number_that_cannot_be_used_is_a_value_error(small: Index, top_k: Any) -> None:
    for refused in (lambda: ClewRetriever(small, top_k), lambda: ClewRetriever(small).run(QUESTION, top_k)):
        with pytest.raises(ValueError, match=f"top_k is {top_k!r}; give a whole number of at least 1"):
            refused()
    with pytest.raises(TypeError, match="'k'"):
        ClewRetriever(small, k=3)  # type: ignore[call-arg]
