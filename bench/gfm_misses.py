"""Causes of the gold passages that `gfm` misses: `python bench/gfm_misses.py [SET ...]`.

Each gold passage outside the first five is attributed to the first step that lost it: no name in the question links to
an entity (linking); no path with as many edges as the network has layers leads to it from the linked entities
(extraction); it is not among the nodes near the walk (pruning); or the network ranks others higher (ranking).
"""

import sys
from collections import Counter

import numpy as np

from clew import index as indexes
from clew.graph.snapshot.relational_edges import RelationalEdges, passage_graph
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.query.linking import link_question
from clew.retrievers.gfm.weights import load_weights
from clew.store.weights_io import PRETRAINED_FOLDER
from clew_lab.datasets.loaders import load_questions
from clew_lab.training.recipes.gfm_graphs import graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe
from workbench import BENCHMARKS, DATA, build_index, describe_machine, print_table

CAUSES = ("found", "linking", "extraction", "pruning", "ranking")


def main() -> None:
    """Print a table of causes, one row per set."""
    trained = load_weights(PRETRAINED_FOLDER / "gfm")
    layers = trained.model.settings.layers
    print(describe_machine())
    rows = []
    for name in sys.argv[1:] or ("hotpotqa", "musique-dev"):
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        context, snapshot = index.context, index.snapshot
        edges = passage_graph(snapshot)
        graphs = graph_view(context, GFMRecipe(), trained).graphs
        walker = GraphWalk(context.scope, context.lexical, GraphWalkConfig())
        allowed = np.ones(len(snapshot.passage_ids), dtype=bool)
        passage_of = {id_: passage for passage, id_ in enumerate(snapshot.passage_ids)}
        gfm = index.retriever("gfm", paths=0)
        causes: Counter[str] = Counter()
        demoted = 0
        for question in load_questions(DATA / benchmark.questions):
            (evidence,) = gfm.retrieve([question.text], 5)
            first = {id_ for scored in evidence.passages for id_ in (scored.item.id, scored.item.document_id)}
            linked = link_question(snapshot, question.text)
            walk = walker.walk_linked(linked, allowed)
            vectors = context.encoder.encode_queries(graphs.texts(linked))
            nodes = set(graphs.build(linked, vectors.__getitem__, allowed).nodes.tolist())
            reachable = within_steps(edges, list(walk.named_nodes), layers)
            best = set(walk.nodes[np.argsort(-walk.scores, kind="stable")[:5]].tolist())
            for id_ in question.gold:
                passage = passage_of.get(id_, passage_of.get(f"{id_}#0", -1))
                cause = "ranking"
                if id_ in first:
                    cause = "found"
                elif not walk.named_nodes:
                    cause = "linking"
                elif not reachable[passage]:
                    cause = "extraction"
                elif passage not in nodes:
                    cause = "pruning"
                causes[cause] += 1
                demoted += cause == "ranking" and passage in best
        total = sum(causes.values())
        rows.append([name, str(total), *(f"{100 * causes[c] / total:.1f}" for c in CAUSES), str(demoted)])
    columns = ("gold passages", *(f"{c} %" for c in CAUSES), "ranking errors in the walk's first five")
    print_table(("set", *columns), rows)


def within_steps(edges: RelationalEdges, starts: list[int], steps: int) -> np.ndarray:
    """Return which nodes (n,) are within some edges of the starts."""
    receivers = np.repeat(np.arange(edges.node_count), np.diff(edges.indptr))
    reached = np.zeros(edges.node_count, dtype=bool)
    reached[starts] = True
    for _ in range(steps):
        reached[receivers[reached[edges.senders]]] = True
    return reached


if __name__ == "__main__":
    main()
