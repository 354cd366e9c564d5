"""Work of `clew index`, which imports this module when it is called."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from clew.commands.opening import make_llm_factory, open_or_create
from clew.commands.options import LLMOptions
from clew.index import AUTO
from clew.indexing.cost_estimate import CostEstimate, estimate_indexing
from clew.indexing.pipeline import IndexingReport
from clew.indexing.sources.reader import read_documents
from clew.models.llm.access import LLMClientFactory
from clew.settings import load_settings
from clew.types import Document, Failure, Progress, Usage


@dataclass(frozen=True, slots=True)
class Addition:
    """Documents to add to an index, and how they are read."""

    location: str  # of the index
    documents: Iterator[Document | Failure]  # read once; none to try failed passages again
    create: bool  # whether the index may be created
    extractor: str | None  # for a new index; None for that of the settings
    llm_factory: LLMClientFactory  # opens language models
    retry_failed: bool  # whether passages at which the extractor failed are extracted again

    @classmethod
    def read(
        cls, location: str, paths: Sequence[str], extractor: str | None, llm: LLMOptions, *, retry_failed: bool
    ) -> Self:
        """Return the addition of the documents of some paths; refuses a missing path before an index is created.

        Raises:
            InputError: There is no such path, or a budget is below 0.
        """
        documents = read_documents(paths) if paths else iter(())
        return cls(location, documents, bool(paths), extractor, make_llm_factory(llm), retry_failed)

    def estimate(self) -> CostEstimate:
        """Return the cost of a language model, without calling it."""
        return estimate_indexing(
            self.location,
            self.documents,
            self.extractor,
            self.llm_factory,
            retry_failed=self.retry_failed,
            defaults=load_settings(),
        )

    def add(self, encoder: str | None, progress: Progress) -> tuple[IndexingReport, int, Usage]:
        """Add the documents; return the report, the passages of the index, and the usage of language models."""
        opened = open_or_create(self.location, self.extractor, encoder, progress, self.llm_factory, create=self.create)
        report = opened.add(self.documents, self.extractor, retry_failed=self.retry_failed)
        rows = opened.table.count_rows()
        if rows and report.passages == rows:  # a new index; for another one the first search builds what is missing
            opened.retriever(AUTO, paths=0)
        return report, rows, opened.llm_factory.budget.spent
