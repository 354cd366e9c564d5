"""A retriever for LlamaIndex (extra `llamaindex`).

engine = RetrieverQueryEngine.from_args(ClewRetriever("my-index", k=3))
"""

from pathlib import Path

from clew.index import Index, RetrieverSpec
from clew.integrations.passages import OWN_FIELDS, PLACE_FIELDS, check_passage_count, open_given, passage_fields
from clew.plugins.extras import require_extra
from clew.types import AUTO_RETRIEVER, Evidence, Filter

require_extra(("llama_index", "llama_index.core"), "llamaindex", "the retriever for LlamaIndex")

from llama_index.core.retrievers import BaseRetriever  # noqa: E402 - after the line that says what is missing
from llama_index.core.schema import (  # noqa: E402
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

_UNREAD_FIELDS = [name for name in (*OWN_FIELDS, *PLACE_FIELDS) if name != "title"]  # by language models and encoders


class ClewRetriever(BaseRetriever):
    """Finds passages as LlamaIndex's text nodes, with their scores; each names its document as its source.

    Args:
        index: What `clew.open` returns, a folder or a URI.
        k: Passages, at most.
        retriever: As in `clew.Index.search`.
        where: Which passages may be found; None for all.

    Raises:
        InputError: `k` is below 1, or there is no such index.
    """

    def __init__(
        self,
        index: Index | str | Path,
        k: int = 5,
        retriever: RetrieverSpec = AUTO_RETRIEVER,
        where: Filter | None = None,
    ) -> None:
        super().__init__()
        self.index = open_given(index)
        self.k = check_passage_count(k)
        self.retriever = retriever
        self.where = where

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _make_nodes(self.index.search(query_bundle.query_str, self.k, self.retriever, self.where))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _make_nodes(await self.index.asearch(query_bundle.query_str, self.k, self.retriever, self.where))


def _make_nodes(evidence: Evidence) -> list[NodeWithScore]:
    nodes = []
    for found in evidence.passages:
        passage = found.item
        node = TextNode(
            id_=passage.id,
            text=passage.text,
            metadata=passage_fields(passage),
            excluded_llm_metadata_keys=_UNREAD_FIELDS,
            excluded_embed_metadata_keys=_UNREAD_FIELDS,
            start_char_idx=passage.start,
            end_char_idx=passage.end,
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.document_id)},
        )
        nodes.append(NodeWithScore(node=node, score=found.score))
    return nodes
