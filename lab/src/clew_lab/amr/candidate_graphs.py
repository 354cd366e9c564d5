"""AMR graphs that the passages of a pool bring with them, as lists of concepts and of edges.

Source: Wang et al., "Exploiting Abstract Meaning Representation for Open-Domain Question Answering" (2023), whose data
G-RAG uses: `nodes` are concepts without senses, `edges` (position, relation, position).
Differs from the source: nothing; concepts and relations are counted as they are written.
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

from clew.types import Failure, Passage
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.parsers import check_pairs

NODES, EDGES = "nodes", "edges"
"""Keys of a graph in a passage's metadata."""


@final
class CandidateAMRParser:
    """Reads the graph of question and passage from the passage's metadata; it knows no other passage."""

    fingerprint = "amr-candidates"

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        """Return the graph of each pair; a passage without one, or with a malformed one, is a failure."""
        check_pairs(questions, passages)
        return [read_graph(passage) for passage in passages]


def read_graph(passage: Passage) -> AMRGraph | Failure:
    """Return the graph in a passage's metadata."""
    metadata: Mapping[str, Any] = passage.metadata
    if NODES not in metadata or EDGES not in metadata:
        return Failure(
            passage.id, f"the passage {passage.id} brings no {NODES!r} and {EDGES!r}: give a file of candidates of AMR"
        )
    nodes = metadata[NODES]
    if any(not isinstance(node, str) for node in nodes):
        return Failure(passage.id, f"the AMR graph of {passage.id} has a node that is no string: correct the file")
    edges: list[tuple[int, str, int]] = []
    for edge in metadata[EDGES]:
        match edge:
            case [head, str(relation), tail] if _is_place(head, len(nodes)) and _is_place(tail, len(nodes)):
                edges.append((int(head), relation, int(tail)))
            case _:
                wanted = f"[position, relation, position] below {len(nodes)}"
                return Failure(
                    passage.id,
                    f"the AMR graph of {passage.id} has the edge {str(edge)[:40]}; wanted {wanted}: correct the file",
                )
    return AMRGraph(tuple(nodes), tuple(edges))


def _is_place(value: object, size: int) -> bool:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < size
