"""Compare the hops of retrievers to the evidence they find with the true hops: `python bench/gfm_hops.py [SET ...]`.

A question of h hops needs h passages. The hops taken for a question are those to the farthest gold passage among the
first five, plus one for the passage at the start:

    gfm        the length of the best path that explains the passage
    pagerank   the length of the likeliest walk to the passage
    hipporag   the shortest path of facts and synonyms from an entity of the question to that of the passage's title
               (to any entity that it mentions, if it has no title)
    hipporag2  the same from an end of one of the triples nearest to the question

`--figure FILE` draws the distributions as SVG. Source: Luo et al., GFM-RAG (2025), appendix D.6 and figure 6. Differs
from the source: it does not say how the hops of HippoRAG are counted, whose walk follows no single path.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path as File

import numpy as np

from clew import index as indexes
from clew.graph.csr import Adjacency
from clew.graph.snapshot.snapshot import Snapshot
from clew.retrievers.registry import parse_retriever
from clew.types import Evidence, Path, Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.graph.nearest_entities import find_nearest_entities
from clew_lab.graph.phrase_graph import build_triple_graph
from clew_lab.graph.synonyms import load_synonyms
from workbench import BENCHMARKS, DATA, build_index, describe_machine, print_table

MAX_HOPS = 4
RETRIEVERS = "gfm,pagerank,hipporag,hipporag2"
TRUTH = "truth"

CountSteps = Callable[[Question, Evidence, int], int]
"""Steps to a gold passage, by its position, from where the search for a question started; at most `MAX_HOPS`."""


def main(given: Sequence[str] | None = None) -> None:
    """Print for each set and number of true hops the distribution of the hops taken, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev"])
    parser.add_argument("--retrievers", default=RETRIEVERS)
    parser.add_argument("--figure", type=File, help="SVG file")
    parser.add_argument("--limit", type=int, help="first questions of each set, at most")
    arguments = parser.parse_args(given)
    print(describe_machine(), flush=True)
    shares: dict[str, dict[str, list[float]]] = {}
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        questions = load_questions(DATA / benchmark.questions)[: arguments.limit]
        hops = [min(question.hops or len(question.gold), MAX_HOPS) for question in questions]
        shares[name] = {TRUTH: distribution(hops)}
        rows = []
        for retriever in arguments.retrievers.split(","):
            taken = count_hops(index, retriever, questions)
            shares[name][retriever] = distribution(taken)
            for true in sorted(set(hops)):
                counts = Counter(n for n, own in zip(taken, hops, strict=True) if own == true)
                cells = [str(counts[n]) for n in range(1, MAX_HOPS + 1)]
                rows.append([retriever, str(true), str(counts.total()), *cells])
            apart = sum(abs(a - b) for a, b in zip(shares[name][retriever], shares[name][TRUTH], strict=True)) / 2
            rows.append([retriever, "all", str(len(taken)), *(f"{s:.2f}" for s in shares[name][retriever])])
            rows[-1][-1] += f" ({apart:.2f} apart)"
        print()
        print_table((name, "true hops", "questions", *(f"{n} taken" for n in range(1, MAX_HOPS + 1))), rows)
    if arguments.figure is not None:
        draw(arguments.figure, shares)


def count_hops(index: indexes.Index, name: str, questions: Sequence[Question]) -> list[int]:
    """Return the hops that a retriever takes for each question, 1 where it finds no gold passage."""
    retriever, s = index.retriever(parse_retriever(name), paths=1), index.snapshot
    steps = count_graph_steps(index) if name.startswith("hipporag") else count_path_steps(s)
    taken = []
    for question in questions:
        (evidence,) = retriever.retrieve([question.text], 5)
        found = [s.position(scored.item.id) for scored in evidence.passages if scored.item.document_id in question.gold]
        taken.append(min(1 + max((steps(question, evidence, position) for position in found), default=0), MAX_HOPS))
    return taken


def count_path_steps(s: Snapshot) -> CountSteps:
    """Return the length of the best path of the evidence that ends at a passage or at the entity of its title."""

    def count(_: Question, evidence: Evidence, position: int) -> int:
        title = int(s.title_entities[position])
        ends = {s.titles[position], s.passage_ids[position], *([s.entities[title]] if title >= 0 else [])}
        return next((len(scored.item) for scored in evidence.paths if path_ends(scored.item) & ends), 0)

    return count


def path_ends(path: Path) -> set[str]:
    """Return the names at the end of a path."""
    last = set(path[-1].entities)
    return last - (set(path[-2].entities) if len(path) > 1 else set()) or last


def count_graph_steps(index: indexes.Index) -> CountSteps:
    """Return the length of the shortest path of facts and synonyms from the starts to the entity of a title."""
    s = index.snapshot
    graph = build_triple_graph(s, np.ones(len(s.passage_ids), dtype=bool), load_synonyms(index.context))
    vectors, encode = index.context.text_vectors.entity_vectors, index.context.encoder.encode

    def count(question: Question, evidence: Evidence, position: int) -> int:
        starts = {e for path in evidence.paths for name in ends_of_first(path.item) for e in s.entities_with_name(name)}
        if not evidence.paths:
            starts = set(find_nearest_entities(s, s, question.text, None, vectors, encode))
        title = int(s.title_entities[position])
        return distance(graph, starts, {title} if title >= 0 else set(s.mentions.row(position).tolist()))

    return count


def ends_of_first(path: Path) -> tuple[str, str]:
    """Return both ends of a path's first triple."""
    return path[0].entities


def distance(graph: Adjacency, starts: set[int], goals: set[int], limit: int = MAX_HOPS) -> int:
    """Return the number of edges from the nearest start to the nearest goal, at most `limit`."""
    seen = np.zeros(graph.row_count, dtype=bool)
    frontier = np.array(sorted(starts), dtype=np.int64)
    for steps in range(limit):
        if goals & set(frontier.tolist()):
            return steps
        seen[frontier] = True
        near = [graph.row(int(node)) for node in frontier]
        following = np.unique(np.concatenate(near)).astype(np.int64) if near else frontier
        frontier = following[~seen[following]]
    return limit


def distribution(hops: Sequence[int]) -> list[float]:
    """Return the share of questions of each number of hops from 1 on."""
    counts = Counter(hops)
    return [counts[n] / max(len(hops), 1) for n in range(1, MAX_HOPS + 1)]


def draw(path: File, shares: dict[str, dict[str, list[float]]]) -> None:
    """Draw a panel of bars for each set."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "hops"  # the same figure is the same file
    figure, panels = plt.subplots(1, len(shares), figsize=(3.6 * len(shares), 3.0), sharey=True, squeeze=False)
    for panel, (name, by_source) in zip(panels[0], shares.items(), strict=True):
        width = 0.8 / len(by_source)
        for number, (source, values) in enumerate(by_source.items()):
            places = np.arange(1, MAX_HOPS + 1) - 0.4 + width * (number + 0.5)
            color = "black" if source == TRUTH else f"C{number - 1}"
            panel.bar(places, values, width, label=source, color=color)
        panel.set_title(name)
        panel.set_xlabel("hops")
        panel.set_xticks(range(1, MAX_HOPS + 1), [*map(str, range(1, MAX_HOPS)), f"{MAX_HOPS} or more"])
    panels[0][0].set_ylabel("share of the questions")
    panels[0][-1].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
