"""Transformers for PyTerrier, which pyterrier_rag takes too (extra `pyterrier`; no Java is started).

pipeline = ClewRetriever("my-index") >> pyterrier_rag.prompt.Concatenator() >> reader
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.index import Index, RetrieverSpec
from clew.integrations.passages import check_passage_count, open_given
from clew.plugins.extras import require_extra
from clew.types import AUTO_RETRIEVER, Evidence, Filter, Passage, Scored

require_extra(("pyterrier", "pandas"), "pyterrier", "a transformer for PyTerrier")

import pandas as pd  # noqa: E402 - after the line that says what is missing
import pyterrier as pt  # noqa: E402

if TYPE_CHECKING:
    from pandas import DataFrame

_RESULT_COLUMNS = ("docno", "score", "rank", "title", "text")
_ANSWER_COLUMNS = ("qanswer", "qweak", "qcitations")


class ClewRetriever(pt.Transformer):
    """Finds passages: (qid, query) in, (qid, query, docno, score, rank, title, text) out, the best at rank 0.

    Args:
        index: What `clew.open` returns, a folder or a URI.
        num_results: Passages of a question, at most.
        retriever: As in `clew.Index.search`.
        where: Which passages may be found; None for all.
        documents: Whether documents are ranked, each once, by its best passage; `docno` is the id of a document then.

    Raises:
        InputError: `num_results` is below 1, or there is no such index.
    """

    def __init__(
        self,
        index: Index | str | Path,
        num_results: int = 100,
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        where: Filter | None = None,
        *,
        documents: bool = False,
    ) -> None:
        self.index = open_given(index)
        self.num_results = check_passage_count(num_results, "num_results")
        self.retriever = retriever
        self.where = where
        self.documents = documents

    def __repr__(self) -> str:
        return f"ClewRetriever({self.index.table.location.name!r})"

    def transform(self, inp: "DataFrame") -> "DataFrame":
        """Return the passages of each question, in the order of the questions."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        columns = [*inp.columns, *(name for name in _RESULT_COLUMNS if name not in inp.columns)]
        rows = []
        for question in inp.to_dict(orient="records"):
            found = self._search(str(question["query"]))
            rows += [{**question, **_result_row(rank, scored, number)} for rank, (scored, number) in enumerate(found)]
        return pd.DataFrame(rows, columns=columns) if rows else _empty_frame(inp, _RESULT_TYPES)

    def _search(self, question: str) -> list[tuple[Scored[Passage], str]]:
        search = partial(self.index.search, question, retriever=self.retriever, where=self.where)
        if not self.documents:
            return [(scored, scored.item.id) for scored in search(self.num_results).passages]
        return _best_documents(search, self.num_results)

    def fuse_rank_cutoff(self, k: int) -> "ClewRetriever | None":
        """Return the retriever of at most `k` passages, for `retriever % k`; None where it finds no more already."""
        if k >= self.num_results:
            return None
        return ClewRetriever(self.index, k, self.retriever, self.where, documents=self.documents)


class ClewAnswerer(pt.Transformer):
    """Answers questions, as the readers of pyterrier_rag do: (qid, query) in, (qid, query, qanswer, ...) out.

    The other columns are `qweak`, whether the evidence hardly supports the answer, and `qcitations`, the sentences that
    it stands on.

    Args:
        index: What `clew.open` returns, a folder or a URI.
        k: Passages that an answer is read from.
        retriever: As in `clew.Index.search`.
        model: Language model as in `clew.Index.ask`; "" for none.
        where: Which passages may be read; None for all.

    Raises:
        InputError: `k` is below 1, or there is no such index.
    """

    def __init__(
        self,
        index: Index | str | Path,
        k: int = 5,
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        model: Any = "",
        where: Filter | None = None,
    ) -> None:
        self.index = open_given(index)
        self.k = check_passage_count(k)
        self.retriever = retriever
        self.model = model
        self.where = where

    def __repr__(self) -> str:
        return f"ClewAnswerer({self.index.table.location.name!r})"

    def transform(self, inp: "DataFrame") -> "DataFrame":
        """Return one answer a question, in their order; results of a retriever (docno) are an InputError."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        rows = []
        for question in inp.to_dict(orient="records"):
            query = str(question["query"])
            answer = self.index.ask(query, self.k, self.retriever, self.where, model=self.model)
            quotes = [citation.quote for citation in answer.citations]
            rows.append({**question, "qanswer": answer.text, "qweak": answer.weak, "qcitations": quotes})
        columns = [*inp.columns, *(name for name in _ANSWER_COLUMNS if name not in inp.columns)]
        return pd.DataFrame(rows, columns=columns) if rows else _empty_frame(inp, _ANSWER_TYPES)


_RESULT_TYPES = {"docno": "object", "score": "float64", "rank": "int64", "title": "object", "text": "object"}
_ANSWER_TYPES = {"qanswer": "object", "qweak": "bool", "qcitations": "object"}


def _empty_frame(inp: "DataFrame", types: Mapping[str, str]) -> "DataFrame":
    """Return a frame without rows, with the columns of the input and others of their types."""
    others = {name: pd.Series(dtype=kind) for name, kind in types.items()}
    return inp.iloc[:0].assign(**others)


def _result_row(rank: int, found: Scored[Passage], number: str) -> dict[str, object]:
    passage = found.item
    return {"docno": number, "score": found.score, "rank": rank, "title": passage.title, "text": passage.text}


def _best_documents(search: Callable[[int], Evidence], wanted: int) -> list[tuple[Scored[Passage], str]]:
    """Return the best passage of each of the `wanted` best documents, with the id of the document."""
    k = wanted
    while True:
        passages = search(k).passages
        best: dict[str, Scored[Passage]] = {}
        for scored in passages:
            best.setdefault(scored.item.document_id, scored)
        if len(best) >= wanted or len(passages) < k:
            return [(scored, id_) for id_, scored in list(best.items())[:wanted]]
        k *= 2
