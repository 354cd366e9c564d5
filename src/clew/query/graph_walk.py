"""Question walk: personalised PageRank from the names of a question, along links that fit the rest of the question.

The walk restarts at the entities the question names (rare ones more) and, with a small share, at the best passages by
BM25. At each step it prefers passages that match the question, and above all the *remainder* of the question, without
its names: that is the topic of the far end of a chain. Names count through the graph, so they need not match there.

Source: HippoRAG (Gutierrez et al., 2024), section 2.3, for PageRank from a question's entities.
Differs from the source: passages are nodes and titles are entities; no language model; restart also at lexical matches;
edges weighted by the question and against hubs; values weighted by the passage's match; forward push.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray
from clew.graph.ppr.forward_push import NodeAttraction, PushResult, push_pagerank
from clew.plugins.tracing import trace_calls
from clew.query.linking import LinkedQuestion, describe_links, remove_names
from clew.query.scope import Scope
from clew.text.bm25 import BM25Index, QueryTerms
from clew.text.row_scores import term_slots

_IDENTIFIED_PASSAGES, _LEAST_IDENTIFIED = 5, 0.5  # passages that identifiers name, and the least share of the best one
NO_MATCH = "the question names nothing in the index and shares no word with it"


@dataclass(frozen=True, slots=True)
class GraphWalkConfig:
    """Parameters of the walk; chosen on hotpotqa/dev and musique-dev (docs/decisions/index.md)."""

    damping: float = 0.7  # probability of another step
    lexical_restart: float = 0.05  # share of the restart on matching passages, when the question names something
    lexical_depth: int = 20  # number of lexical matches that the walk restarts at
    question: float = 2.0  # attraction of the best match of the whole question, over that of no match
    remainder: float = 5.0  # the same for the question without its names
    question_value: float = 0.5  # weight of the match of the whole question in a passage's final value
    remainder_value: float = 2.0  # the same for the question without its names
    hub: float = 0.25  # power of a node's degree that its attraction is divided by
    rarity: float = 0.5  # power of a named entity's degree that its restart is divided by
    epsilon: float = 1e-4  # precision of the push


@dataclass(frozen=True, slots=True, eq=False)
class PassageMatches:
    """Matches of passages to a question and its remainder: BM25 as a share of the best allowed passage's."""

    lexical: BM25Index
    full_query: QueryTerms
    remainder_query: QueryTerms
    full_best: float  # the highest score of an allowed passage, 0 where none matches
    remainder_best: float
    top_positions: IntArray  # the best passages by the whole question, best first
    top_shares: FloatArray  # their shares

    @classmethod
    def find(
        cls, lexical: BM25Index, linked: LinkedQuestion, depth: int, allowed: BoolArray | None
    ) -> "PassageMatches":
        """Return the matches among allowed passages (P,), None for all, with the `depth` best ones."""
        full, remainder = lexical.query(linked.text), lexical.query(linked.remainder)
        positions, scores = lexical.top(full, depth, allowed)
        _, best = lexical.top(remainder, 1, allowed)
        bests = float(scores[0]) if len(scores) else 0.0, float(best[0]) if len(best) else 0.0
        return cls(lexical, full, remainder, *bests, positions, scores / scores[:1])

    def shares(self, positions: IntArray) -> FloatArray:
        """Return the shares (n, 2) of allowed passages (n,)."""
        found = np.zeros((len(positions), 2), dtype=np.float32)
        for column, query, best in (
            (0, self.full_query, self.full_best),
            (1, self.remainder_query, self.remainder_best),
        ):
            if best > 0.0:
                found[:, column] = self.lexical.scores_at(query, positions) / np.float32(best)
        return found

    def attraction(self, config: GraphWalkConfig) -> NodeAttraction:
        """Return the attraction of the nodes of the walk."""
        terms = np.union1d(self.full_query.terms, self.remainder_query.terms).astype(np.int32)
        weights = np.zeros((2, len(terms)))
        for row, query in enumerate((self.full_query, self.remainder_query)):
            weights[row, terms.searchsorted(query.terms)] = query.weights
        rows = *self.lexical.row_arrays, terms, weights, term_slots(terms)
        return NodeAttraction(
            config.hub,
            rows=rows,
            bests=(self.full_best, self.remainder_best),
            weights=(config.question, config.remainder),
        )


@dataclass(frozen=True, slots=True, eq=False)
class WalkStart:
    """Words, names and passages that a walk begins with."""

    linked: LinkedQuestion
    allowed: BoolArray | None  # (P,) passages that it may enter, None for all
    matches: PassageMatches
    named_nodes: dict[int, float]  # as in `QuestionWalk`
    attraction: NodeAttraction
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class QuestionWalk:
    """Result of a question's walk: m passages near the walk."""

    linked_question: LinkedQuestion  # the question and its names
    matches: PassageMatches  # how well passages match the question
    named_nodes: dict[int, float]  # each node that the question names, with its share of the restart on names
    # start nodes and their probabilities; None when the question matches nothing
    restart: tuple[IntArray, FloatArray] | None
    walk: PushResult | None  # result of the push; None when the question matches nothing
    nodes: IntArray  # (m,) passages near the walk, ascending
    scores: FloatArray  # (m,) their values, weighted by their match
    notes: tuple[str, ...]  # explanations for the user

    def shares(self, passages: IntArray) -> FloatArray:
        """Return how well allowed passages (n,) match the question, and its remainder (n, 2)."""
        if self.walk is None or not len(self.walk.nodes):
            return self.matches.shares(passages)
        places = np.minimum(self.walk.nodes.searchsorted(passages), len(self.walk.nodes) - 1)
        found: FloatArray = self.walk.matches[places]
        missing = self.walk.nodes[places] != passages
        if missing.any():
            found[missing] = self.matches.shares(passages[missing])
        return found


class GraphWalk:
    """Walks from questions through an index; `lexical` is BM25 of its passages, in the same order."""

    def __init__(self, scope: Scope, lexical: BM25Index, config: GraphWalkConfig) -> None:
        self.scope = scope
        self.config = config
        self._lexical = lexical

    def walk(self, question: str, allowed: BoolArray) -> QuestionWalk:
        """Walk from a non-empty question, through the allowed passages (P,) only."""
        return self.walk_linked(self.scope.linker_among(allowed).link(question), allowed)

    def walk_linked(self, linked: LinkedQuestion, allowed: BoolArray) -> QuestionWalk:
        """Walk from a question whose names are linked already."""
        return self.follow(self.start(linked, allowed))

    def start(self, linked: LinkedQuestion, allowed: BoolArray) -> WalkStart:
        """Return what a walk through the allowed passages (P,) needs, of the question's words alone."""
        some = self.scope.restriction(allowed)
        matches = PassageMatches.find(self._lexical, linked, self.config.lexical_depth, some)
        notes = describe_links(linked, self.scope.names(allowed).entities.__getitem__)
        attraction = matches.attraction(self.config)
        return WalkStart(linked, some, matches, self._named_nodes(linked, some), attraction, notes)

    @trace_calls("clew.walk")
    def follow(self, start: WalkStart, passages: Mapping[int, float] | None = None) -> QuestionWalk:
        """Walk from what the question names, and from allowed passages of weights above 0, None for the best by BM25.

        `start` needs no vectors, so that one may be computed meanwhile.
        """
        config, linked, matches, named, notes = self.config, start.linked, start.matches, start.named_nodes, start.notes
        if passages is None:
            passages = dict(zip(matches.top_positions.tolist(), matches.top_shares.tolist(), strict=True))
        restart = mix_restart(named, passages, config.lexical_restart)
        nodes, scores = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        if restart is None:
            return QuestionWalk(linked, matches, named, None, None, nodes, scores, notes)
        open_ = np.zeros(0, dtype=bool) if start.allowed is None else start.allowed
        graph = self.scope.snapshot.walk
        walk = push_pagerank(graph, restart, start.attraction, open_, config.damping, config.epsilon)
        count = int(walk.nodes.searchsorted(len(self.scope)))
        nodes, scores, shares = walk.nodes[:count], walk.values[:count], walk.matches[:count]
        scores = scores * (1.0 + config.question_value * shares[:, 0] + config.remainder_value * shares[:, 1])
        return QuestionWalk(linked, matches, named, restart, walk, nodes, scores, notes)

    def _named_nodes(self, linked: LinkedQuestion, some: BoolArray | None) -> dict[int, float]:
        """Return the nodes a question names, or passages by identifiers, with weights that sum to 1."""
        named = self._passages_of_identifiers(linked, some)
        for name in linked.linked_names:
            for entity in name.entities:
                node = int(self.scope.snapshot.entity_nodes[entity])
                rarity = float(max(len(self.scope.snapshot.walk.row(node)), 1)) ** -self.config.rarity
                named[node] = named.get(node, 0.0) + rarity / len(name.entities)
        total = sum(named.values())
        return {node: weight / total for node, weight in named.items()}

    def _passages_of_identifiers(self, linked: LinkedQuestion, some: BoolArray | None) -> dict[int, float]:
        query = self._lexical.query_identifiers(remove_names(linked.text, linked.linked_names))
        positions, scores = self._lexical.top(query, _IDENTIFIED_PASSAGES, some)
        shares = (scores / scores.sum()).tolist() if len(scores) else []
        return {p: s for p, s in zip(positions.tolist(), shares, strict=True) if s >= _LEAST_IDENTIFIED * shares[0]}


def mix_restart(
    named: Mapping[int, float], lexical: Mapping[int, float], lexical_share: float
) -> tuple[IntArray, FloatArray] | None:
    """Return the restart distribution as nodes (n,), ascending, and probabilities (n,); None if both parts are empty.

    `lexical_share` is that of the lexical matches; a part takes all where the other one is empty.
    """
    share = lexical_share if named else 1.0
    restart: dict[int, float] = {}
    for part, portion in ((named, 1.0 - share if lexical else 1.0), (lexical, share)):
        total = sum(part.values())
        for node, weight in part.items():
            restart[node] = restart.get(node, 0.0) + portion * weight / total
    if not restart:
        return None
    nodes = np.array(sorted(restart), dtype=np.int32)
    return nodes, np.array([restart[int(node)] for node in nodes], dtype=np.float32)
