"""A retriever for LangChain (extra `langchain`).

retriever = ClewRetriever(index="my-index", k=3)
retriever.invoke("Which shipyard built the ship that ...?")
"""

from typing import Any

from pydantic import ConfigDict, Field, field_validator

from clew.index import Index
from clew.integrations.passages import check_passage_count, open_given, scored_fields
from clew.plugins.extras import require_extra
from clew.plugins.records import SettingsRecord
from clew.types import AUTO_RETRIEVER, Evidence, Filter

require_extra(("langchain_core",), "langchain", "the retriever for LangChain")

from langchain_core.callbacks import (  # noqa: E402 - after the line that says what is missing
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402


class ClewRetriever(BaseRetriever):
    """Finds passages as LangChain's documents, whose metadata say where each stands and its score.

    `k` and `where` can be given to `invoke`, too, for one question.

    Attributes:
        index: What `clew.open` returns, a folder or a URI.
        k: Passages, at most.
        retriever: As in `clew.Index.search`: a name, a settings record, or an object that retrieves.
        where: Which passages may be found; None for all.

    Raises:
        ValidationError: `k` is below 1 or no whole number, or there is no such field.
        InputError: `index` is neither, or `k` of `invoke` cannot be used.
        IndexFormatError: There is no such index.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    index: Index = Field(repr=False, exclude=True)
    k: int = Field(5, ge=1, strict=True)
    retriever: str | SettingsRecord | Any = AUTO_RETRIEVER
    where: Filter | None = None

    @field_validator("index", mode="before")
    @classmethod
    def _open_index(cls, given: object) -> Index:
        return open_given(given)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        where: Filter | None = None,
    ) -> list[Document]:
        del run_manager
        wanted = check_passage_count(self.k if k is None else k)
        return _make_documents(self.index.search(query, wanted, self.retriever, self.where if where is None else where))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        where: Filter | None = None,
    ) -> list[Document]:
        del run_manager
        wanted = check_passage_count(self.k if k is None else k)
        return _make_documents(
            await self.index.asearch(query, wanted, self.retriever, self.where if where is None else where)
        )


def _make_documents(evidence: Evidence) -> list[Document]:
    return [
        Document(page_content=found.item.text, id=found.item.id, metadata=scored_fields(found))
        for found in evidence.passages
    ]
