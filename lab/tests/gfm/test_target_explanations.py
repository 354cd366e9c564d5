"""Explanations of a chosen target: walks against all those of small graphs, directions against the graph."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from clew.errors import InputError
from clew.graph.paths.likeliest_walks import best_walks
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.retrievers.coverage import PassageWords
from clew.retrievers.gfm.retriever import GFMRetriever
from clew_lab.gfm.target_explanations import explain_target
from clew_lab.graph.walks_by_mean import best_walks_by_mean, edge_layers
from tests.conftest import EXAMPLES
from tests.small_index import make_index

QUESTION = "Who founded the school where the boat James Caird is kept today?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = make_index(tmp_path_factory.mktemp("gfm") / "index", (), DEFAULT_ENCODER)
    index.add([EXAMPLES / "polar"])
    return index


@pytest.fixture(scope="module")
def gfm(index: Index) -> GFMRetriever:
    retriever = index.retriever("gfm", 0)
    assert isinstance(retriever, GFMRetriever)
    return retriever


@pytest.mark.parametrize("seed", range(20))
def test_walks_by_mean_equal_the_best_of_all_walks(seed: int) -> None:
    random = np.random.default_rng(seed)
    nodes, edges, layers = 4, 7, 3
    senders, receivers = random.integers(0, nodes, (2, edges)).astype(np.int32)
    importance = random.normal(size=(layers, edges)).astype(np.float32)
    starts = np.array([0, 1])
    scores: dict[tuple[int, ...], list[float]] = {}
    for length in range(1, layers + 1):
        for walk in product(range(edges), repeat=length):
            joined = all(receivers[a] == senders[b] for a, b in pairwise(walk))
            if senders[walk[0]] in starts and receivers[walk[-1]] == 3 and joined:
                scores[walk] = [
                    sum(float(importance[i, e]) for i, e in zip(chosen, walk, strict=True))
                    for chosen in combinations(range(layers), length)
                ]
    means = sorted(((max(s) / len(walk), walk) for walk, s in scores.items()), key=lambda pair: (-pair[0], pair[1]))
    found = best_walks_by_mean(senders, receivers, importance, starts, 3, 5)
    assert [walk for _, walk in found] == [walk for _, walk in means[:5]]
    assert [score for score, _ in found] == pytest.approx([score for score, _ in means[:5]], abs=1e-5)
    for walk, sums in scores.items():
        chosen = edge_layers(importance, walk)
        assert sum(importance[i, e] for i, e in zip(chosen, walk, strict=True)) == pytest.approx(max(sums), abs=1e-5)
    by_sum = best_walks(senders, receivers, importance, starts, 3, 5)
    assert [s for s, _ in by_sum] == pytest.approx(
        sorted((max(s) for s in scores.values()), reverse=True)[:5], abs=1e-5
    )


def test_a_passage_is_explained_by_walks_with_weights_and_directions(gfm: GFMRetriever) -> None:
    by_sum = explain_target(gfm, QUESTION, "dulwich-college.md", 8, by_mean=False)
    by_mean = explain_target(gfm, QUESTION, "Dulwich College", 8)
    assert by_sum.target == by_mean.target == "Dulwich College"
    assert by_sum.passage == by_mean.passage == "dulwich-college.md"
    assert by_sum.logit == by_mean.logit
    assert by_sum.walks
    for explanation in (by_sum, by_mean):
        scores = [walk.score for walk in explanation.walks]
        assert scores == sorted(scores, reverse=True)
        assert min(scores) > 0
    for walk in by_sum.walks:
        assert walk.score == pytest.approx(sum(edge.weight for edge in walk.edges), abs=1e-5)
    for walk in by_mean.walks:
        assert walk.score == pytest.approx(np.mean([edge.weight for edge in walk.edges]), abs=1e-5)
        assert walk.edges[-1].end == "Dulwich College"
        layers = [edge.layer for edge in walk.edges]
        assert layers == sorted(set(layers))
        for one, other in pairwise(walk.edges):
            assert one.end == other.start
        for edge in walk.edges:
            if edge.triple.relation == "mentions":
                assert (edge.end if edge.inverse else edge.start) == edge.triple.head
    assert any(edge.inverse for walk in by_mean.walks for edge in walk.edges)


def test_walks_that_meet_a_node_twice_can_be_left_out(gfm: GFMRetriever) -> None:
    every = explain_target(gfm, QUESTION, "dulwich-college.md", 30, by_mean=False)
    simple = explain_target(gfm, QUESTION, "dulwich-college.md", 30, by_mean=False, loops=False)
    assert any(walk.has_loop for walk in every.walks)
    assert not any(walk.has_loop for walk in simple.walks)
    kept = [walk for walk in every.walks if not walk.has_loop]
    assert list(simple.walks[: len(kept)]) == kept


def test_the_ranking_has_the_score_of_the_explanation_less_what_others_cover(index: Index, gfm: GFMRetriever) -> None:
    evidence = index.search(QUESTION, 5, "gfm")
    assert len(evidence.passages) == 5
    lexical, positions = index.context.lexical, [index.snapshot.position(s.item.id) for s in evidence.passages]
    words = PassageWords.find(lexical, lexical.query(QUESTION), np.array(positions, dtype=np.int32))
    left = words.weights.copy()
    for scored, own in zip(evidence.passages, words.present, strict=True):
        logit = explain_target(gfm, QUESTION, scored.item.id, 1).logit - 1.6 * (1 - left[own].sum())
        assert 1 / (1 + np.exp(-logit)) == pytest.approx(scored.score, abs=1e-5)
        left[own] = 0


def test_targets_that_cannot_be_explained_are_refused(gfm: GFMRetriever) -> None:
    with pytest.raises(InputError, match="no passage or entity of the index is called so"):
        explain_target(gfm, QUESTION, "Nobody of the name")
    with pytest.raises(InputError, match="the question is empty"):
        explain_target(gfm, " ", "dulwich-college.md")
    named = explain_target(gfm, QUESTION, "james-caird.md")
    assert named.walks == ()
    assert "no walk leads to it" in named.notes[-1]


def test_a_misspelt_target_is_refused_the_same_way_however_it_is_misspelt(gfm: GFMRetriever) -> None:
    for misspelt in ("Dulwich Colege", "dulwich-colege.md", "Ernest Shackelton", "Ernst Shackleton"):
        with pytest.raises(InputError, match="no passage or entity of the index is called so; did you mean ") as error:
            explain_target(gfm, QUESTION, misspelt)
        wanted = "Dulwich College" if misspelt.casefold().startswith("dulwich") else "Ernest Shackleton"
        assert wanted in str(error.value)
    spaced = explain_target(gfm, QUESTION, "  dulwich   COLLEGE ")
    assert spaced.passage == "dulwich-college.md"
    assert spaced.walks == explain_target(gfm, QUESTION, "dulwich-college.md").walks


def test_a_passage_that_stands_for_an_entity_is_named(index: Index, gfm: GFMRetriever) -> None:
    s = index.snapshot
    single = [e for e in range(len(s.entities)) if len(s.passages_of(e)) == 1 and e not in s.title_entities]
    reached = [e for e in single if len(s.entities_with_name(s.entities[e])) == 1]
    notes = [note for e in reached[:8] for note in _explained_notes(gfm, s.entities[e])]
    assert any("alone, which stands for it" in note for note in notes)
    assert not any("stands for it" in note for note in explain_target(gfm, QUESTION, "James Caird").notes)


def _explained_notes(gfm: GFMRetriever, target: str) -> tuple[str, ...]:
    try:
        return explain_target(gfm, QUESTION, target).notes
    except InputError:  # outside the nodes that the question leads to
        return ()
