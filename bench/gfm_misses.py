"""Why `gfm` misses what it misses: `python bench/gfm_misses.py [SET ...]`.

Each gold passage that is not among the first five is put down to the first step that lost it: the question names
nothing that is known (linking); no path of as many edges as the network has layers leads to it from what the question
names (extraction); it is not among the nodes near the walk (pruning); or the network puts others before it (ranking).
"""

import sys
from collections import Counter

import numpy as np

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.graph.snapshot.relational_edges import RelationalEdges, passage_graph
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.query.linking import link_question
from clew.retrievers.gfm.weights import load_weights
from clew.store.pretrained import PRETRAINED_FOLDER
from clew.training.recipes.gfm import GFMRecipe, graph_view
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

CAUSES = ("found", "linking", "extraction", "pruning", "ranking")


def main() -> None:
    """Print a table of causes, a row a set."""
    trained = load_weights(PRETRAINED_FOLDER / "gfm")
    layers = trained.model.settings.layers
    print(machine())
    rows = []
    for name in sys.argv[1:] or ("hotpotqa", "musique-dev"):
        benchmark = BENCHMARKS[name]
        index = indexes.open(indexed(benchmark))
        parts, snapshot = index.context, index.snapshot
        edges = passage_graph(snapshot)
        graphs = graph_view(parts, GFMRecipe(), trained).graphs
        walker = GraphWalk(parts.scope, parts.lexical, GraphWalkConfig())
        everything = np.ones(len(snapshot.passage_ids), dtype=bool)
        places = {id_: place for place, id_ in enumerate(snapshot.passage_ids)}
        gfm = index.retriever("gfm", paths=0)
        causes: Counter[str] = Counter()
        walked = 0
        for question in load_questions(DATA / benchmark.questions):
            (evidence,) = gfm.retrieve([question.text], 5)
            first = {id_ for scored in evidence.passages for id_ in (scored.item.id, scored.item.document_id)}
            linked = link_question(snapshot, question.text)
            walk = walker.walk_linked(linked, everything)
            vector = parts.encoder.encode_queries([question.text])[0]
            nodes = set(graphs.build(linked, lambda v=vector: v, everything).nodes.tolist())  # type: ignore[misc]
            near = reached(edges, list(walk.named_nodes), layers)
            best = set(walk.nodes[np.argsort(-walk.scores, kind="stable")[:5]].tolist())
            for id_ in question.gold:
                own = places.get(id_, places.get(f"{id_}#0", -1))
                cause = "ranking"
                if id_ in first:
                    cause = "found"
                elif not walk.named_nodes:
                    cause = "linking"
                elif not near[own]:
                    cause = "extraction"
                elif own not in nodes:
                    cause = "pruning"
                causes[cause] += 1
                walked += cause == "ranking" and own in best
        total = sum(causes.values())
        rows.append([name, str(total), *(f"{100 * causes[c] / total:.1f}" for c in CAUSES), str(walked)])
    columns = ("gold passages", *(f"{c} %" for c in CAUSES), "ranked down that the walk had in its first five")
    print_table(("set", *columns), rows)


def reached(edges: RelationalEdges, starts: list[int], steps: int) -> np.ndarray:
    """Return which nodes (n,) lie within some edges of the starts."""
    receivers = np.repeat(np.arange(edges.node_count), np.diff(edges.indptr))
    near = np.zeros(edges.node_count, dtype=bool)
    near[starts] = True
    for _ in range(steps):
        near[receivers[near[edges.senders]]] = True
    return near


if __name__ == "__main__":
    main()
