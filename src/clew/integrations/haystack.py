"""A retriever for Haystack (extra `haystack`).

pipeline.add_component("retriever", ClewRetriever("my-index", top_k=3))
"""

from pathlib import Path
from typing import Any

from clew.errors import InputError
from clew.index import Index, RetrieverSpec
from clew.integrations.passages import check_passage_count, open_given, passage_fields
from clew.plugins.extras import require_extra
from clew.types import AUTO_RETRIEVER, Evidence, Filter

require_extra(("haystack",), "haystack", "the retriever for Haystack")

from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402 - after what is missing


@component
class ClewRetriever:
    """Finds passages as Haystack's documents, with their scores; `meta` says where each stands.

    A pipeline that holds one is written with the place of the index, not with its content.

    Args:
        index: A folder or a URI, or what `clew.open` returns.
        top_k: Passages, at most.
        retriever: As in `clew.Index.search`; only a name can be written with a pipeline.
        where: Which passages may be found; None for all.

    Raises:
        InputError: `top_k` is below 1, or there is no such index.
    """

    def __init__(
        self,
        index: Index | str | Path,
        top_k: int = 5,
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        where: Filter | None = None,
    ) -> None:
        self.index = open_given(index)
        self.top_k = check_passage_count(top_k, "top_k")
        self.retriever = retriever
        self.where = where

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, where: Filter | None = None) -> dict[str, list[Document]]:
        """Return `documents`, best first; `top_k` and `where` go before those of the component."""
        wanted = check_passage_count(self.top_k if top_k is None else top_k, "top_k")
        return _make_documents(self.index.search(query, wanted, self.retriever, self.where if where is None else where))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, where: Filter | None = None
    ) -> dict[str, list[Document]]:
        """Return what `run` does."""
        wanted = check_passage_count(self.top_k if top_k is None else top_k, "top_k")
        return _make_documents(
            await self.index.asearch(query, wanted, self.retriever, self.where if where is None else where)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the component as Haystack writes it; a retriever that is no name is an InputError."""
        if not isinstance(self.retriever, str):
            raise InputError(
                f"the retriever is {self.retriever!r:.80}, which no pipeline can be written with; give it by name"
            )
        written: dict[str, Any] = default_to_dict(
            self,
            index=self.index.table.location.absolute_name,
            top_k=self.top_k,
            retriever=self.retriever,
            where=self.where,
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ClewRetriever":
        """Return the component that `to_dict` wrote, and open its index."""
        opened: ClewRetriever = default_from_dict(cls, data)
        return opened


def _make_documents(evidence: Evidence) -> dict[str, list[Document]]:
    return {
        "documents": [
            Document(id=found.item.id, content=found.item.text, meta=passage_fields(found.item), score=found.score)
            for found in evidence.passages
        ]
    }
