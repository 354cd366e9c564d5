"""Reranking pools: which passages are evidence, and their file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clew.errors import ProviderError
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.types import Evidence, Passage, Question, Scored
from clew_lab.training.data.reranking_pools import PoolExample, load_pools, make_pool_examples, save_pools


class RandomGraphs:
    """Random graphs seeded by the lengths of texts; records the numbers of questions per call."""

    node_features, edge_features = ("length",), ("one", "two")

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []

    def build(self, questions: Sequence[str], rankings: Sequence[Sequence[Scored[Passage]]]) -> list[DocumentGraph]:
        self.batch_sizes.append(len(questions))
        return [self._graph(question, pool) for question, pool in zip(questions, rankings, strict=True)]

    def shared_parts(
        self, question: str, passages: Sequence[Scored[Passage]], first: int, second: int
    ) -> dict[str, tuple[str, ...]]:
        return {}

    def _graph(self, question: str, pool: Sequence[Scored[Passage]]) -> DocumentGraph:
        random = np.random.default_rng([len(question), len(pool)])
        shapes = ((len(pool), 3), (len(pool), 1), (len(pool), len(pool), 2), (3,))
        vectors, numbers, edges, vector = (random.random(shape).astype(np.float32) for shape in shapes)
        return DocumentGraph(vectors, numbers, edges, vector, ("a note",))


def make_evidence(*ids: str) -> Evidence:
    """Return passages with these ids; the part before the `#` is the document id."""
    return Evidence(tuple(Scored(Passage(id_, id_.partition("#")[0], "", "", 0, 0), 1.0) for id_ in ids))


def make_question(text: str, *gold: str) -> Question:
    return Question(text, text, gold=gold)


EXAMPLES = [
    (make_question("first", "a#1", "b"), make_evidence("c#0", "a#0", "a#1", "b#0", "b#1")),
    (make_question("nothing found", "a"), make_evidence()),
    (make_question("no gold"), make_evidence("a#0")),
    (make_question("elsewhere", "z", "z", "y"), make_evidence("a#0", "b#0")),
    (make_question("all of it", "a"), make_evidence("a#0")),
]


def make_examples(graphs: RandomGraphs | None = None) -> list[PoolExample]:
    return make_pool_examples([q for q, _ in EXAMPLES], [e for _, e in EXAMPLES], graphs or RandomGraphs())


def are_equal(one: Sequence[PoolExample], other: Sequence[PoolExample]) -> bool:
    def parts(example: PoolExample) -> list[tuple[object, ...]]:
        graph = example.graph
        arrays = (
            graph.vectors,
            graph.node_features,
            graph.edge_features,
            graph.question,
            example.relevant,
            example.others,
        )
        return [(array.shape, array.dtype.str, array.tobytes()) for array in arrays] + [(example.gold_count,)]

    return [parts(example) for example in one] == [parts(example) for example in other]


def test_evidence_counts_once_at_its_first_passage() -> None:
    first, elsewhere, whole = make_examples()
    assert first.relevant.tolist() == [False, False, True, True, False]
    assert (first.gold_count, elsewhere.gold_count, whole.gold_count) == (2, 2, 1)
    assert elsewhere.relevant.tolist() == [False, False]
    assert whole.relevant.tolist() == [True]
    assert first.relevant.dtype == bool


def test_further_passages_of_evidence_are_neither_evidence_nor_others() -> None:
    first, elsewhere, whole = make_examples()
    assert first.others.tolist() == [True, True, False, False, False]  # a#1 is wanted, so a#0 is not; all of b is
    assert elsewhere.others.tolist() == [True, True]
    assert whole.others.tolist() == [False]
    assert first.others.dtype == bool


def test_each_question_has_its_own_graph() -> None:
    graphs = RandomGraphs()
    for example, place in zip(make_examples(graphs), (0, 3, 4), strict=True):
        question, evidence = EXAMPLES[place]
        wanted = graphs._graph(question.text, evidence.passages)
        assert np.array_equal(example.graph.node_features, wanted.node_features)
        assert np.array_equal(example.graph.vectors, wanted.vectors)
        assert np.array_equal(example.graph.question, wanted.question)
        assert np.array_equal(example.graph.edge_features, wanted.edge_features.astype(np.float16))
        assert example.graph.edge_features.dtype == np.float16


def test_many_questions_are_read_in_batches() -> None:
    graphs = RandomGraphs()
    questions = [make_question("q" * (n + 1), "a") for n in range(70)]
    made = make_pool_examples(questions, [make_evidence("b#0", "a#0")] * 70, graphs)
    assert sum(graphs.batch_sizes) == 70
    assert max(graphs.batch_sizes) == 32
    alone = [make_pool_examples([question], [make_evidence("b#0", "a#0")], RandomGraphs())[0] for question in questions]
    assert are_equal(made, alone)


def test_saved_pools_are_loaded_bit_for_bit(tmp_path: Path) -> None:
    made = make_examples()
    save_pools(tmp_path / "pools.npz", made)
    read = load_pools(tmp_path / "pools.npz")
    assert read is not None
    assert are_equal(read, made)
    assert [path.name for path in tmp_path.iterdir()] == ["pools.npz"]
    save_pools(tmp_path / "again.npz", read)
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "pools.npz").read_bytes()


def test_pools_without_vectors_and_empty_files_are_loaded(tmp_path: Path) -> None:
    bare = [
        replace(e, graph=replace(e.graph, vectors=e.graph.vectors[:, :0], question=e.graph.question[:0], notes=()))
        for e in make_examples()
    ]
    for number, kept in enumerate((bare, [])):
        save_pools(tmp_path / f"{number}.npz", kept)
        read = load_pools(tmp_path / f"{number}.npz")
        assert read is not None
        assert are_equal(read, kept)


def test_files_that_are_missing_or_damaged_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "pools.npz"
    assert load_pools(path) is None
    save_pools(path, make_examples())
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        assert load_pools(path) is None, size
    for start in range(0, len(whole), 37):
        path.write_bytes(whole[:start] + bytes(byte ^ 0x5A for byte in whole[start : start + 11]) + whole[start + 11 :])
        load_pools(path)  # some bytes do not matter; none may raise
    path.write_bytes(b"not an archive")
    assert load_pools(path) is None


@pytest.mark.parametrize("change", ["fewer gold", "a part is missing", "shapes do not fit"])
def test_arrays_that_do_not_fit_together_are_made_again(tmp_path: Path, change: str) -> None:
    save_pools(tmp_path / "pools.npz", make_examples())
    with np.load(tmp_path / "pools.npz") as read:
        arrays = dict(read)
    if change == "fewer gold":
        arrays["gold"] = arrays["gold"][1:]
    elif change == "a part is missing":
        del arrays["relevant"]
    else:
        arrays["edges shapes"] = arrays["edges shapes"] + 1
    np.savez(tmp_path / "pools.npz", allow_pickle=False, **arrays)
    assert load_pools(tmp_path / "pools.npz") is None


def test_an_unwritable_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ProviderError):
        save_pools(tmp_path / "file" / "pools.npz", make_examples())
