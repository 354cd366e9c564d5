"""Token counts of an evaluation are those of the reader."""

from pathlib import Path

import numpy as np
import pytest

from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.types import ignore_progress
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew_lab.evaluation.evaluate_subgraphs import MEASURES, count_truncated, evaluate_selector
from clew_lab.graph.reader_context import build_context, full_subgraph
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.models.causal_lm import CausalModel
from clew_lab.models.graph_answer import build_prompt
from clew_lab.retrievers.selectors import WholeGraph
from clew_lab.training.data.graph_questions import EncodedQuestion, encode_questions
from clew_lab.training.recipes.subgraph import local_reader
from tests.models.tiny_llama import write_tiny_llama

ENCODER = HashingEncoder(16)


@pytest.fixture(scope="module")
def questions() -> list[EncodedQuestion]:
    graphs = [
        TextualGraph([f"ship {i}" for i in range(size)], np.array([[0, 1]], dtype=np.int32), ["sails to"])
        for size in (2, 9)
    ]
    graph_questions = [GraphQuestion(f"q{place}", place, "ship 0 sails where", ("ship 1",), (0,)) for place in range(2)]
    return encode_questions(GraphDataset(graphs, tuple(graph_questions)), ENCODER, ignore_progress)


def test_tokens_are_counted_by_the_reader(questions: list[EncodedQuestion], tmp_path: Path) -> None:
    texts = [build_context(one.question_graph, full_subgraph(one.question_graph.graph.graph)).text for one in questions]
    column = MEASURES.index("tokens")
    local = local_reader(ENCODER, (), ())
    assert evaluate_selector(WholeGraph(), local, questions, 1)[:, column].tolist() == [len(text) / 4 for text in texts]
    assert count_truncated(local) == 0
    model = CausalModel(str(write_tiny_llama(tmp_path)))
    counts = [len(model.load().tokenize(text)) for text in texts]
    reader = CausalReader(model, build_prompt, max_context_tokens=counts[1] - 1, max_new_tokens=2)
    tokens = evaluate_selector(WholeGraph(), reader, questions, 1)[:, column].tolist()
    assert tokens[0] == counts[0]
    assert counts[0] < tokens[1] < counts[1]
    assert count_truncated(reader) == 1
