"""G-Retriever as a baseline: its tree and the nearest nodes are selected for the whole question."""

import numpy as np

from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.encoding import GraphEncoder
from clew_lab.retrievers.selectors import SteinerSelector, TopNodes
from lab.tests.retrievers.test_selectors import positions_of

ENCODER = HashingEncoder(256)
CHAIN = TextualGraph(
    ("Bo Lind", "Ada Holm", "Karlskrona", "spouse island", "profession bay"),
    np.array([[0, 1], [1, 2], [2, 3], [3, 4]], dtype=np.int32),
    ("spouse", "born in", "near", "near"),
)
QUESTION = "what is the profession of the spouse of Bo Lind"


def test_a_question_with_its_names_selects_the_topic() -> None:
    """The names were cut out, so that the tree and the nearest nodes lost the topic they were asked about."""
    encoder = GraphEncoder(ENCODER.encode, ENCODER.encode)
    query = encoder.encode_query(encoder.encode_graph(CHAIN), QUESTION, [0])
    assert query.full_question_vector is not None
    assert query.full_question_vector.tolist() == ENCODER.encode([QUESTION])[0].tolist()
    similarity = np.stack([ENCODER.encode([text])[0] for text in CHAIN.nodes]) @ ENCODER.encode([QUESTION])[0]
    assert positions_of(TopNodes().select([query], 1)[0])[0] == [int(np.argmax(similarity))] == [0]
    tree, masked = (SteinerSelector(topk=1, topk_e=0, masked=masked).select([query], 3)[0] for masked in (False, True))
    assert 0 in tree.nodes
    assert 0 not in masked.nodes


def test_a_question_that_names_nothing_is_whole_already() -> None:
    encoder = GraphEncoder(ENCODER.encode, ENCODER.encode)
    assert encoder.encode_query(encoder.encode_graph(CHAIN), QUESTION).full_question_vector is None
