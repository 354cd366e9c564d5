"""Title links: the best passages of a simple ranking, and the passages that they name or are named by.

Source: the baseline reported for Wikipedia corpora: expand the first passages along links of titles.
Differs from the source: a linked passage inherits a share of its best parent's score, and adds its own.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray
from clew.plugins.records import SettingsRecord
from clew.protocols import Retriever
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.evidence import check_k, make_evidence
from clew.retrievers.spec import OpenRetriever
from clew.retrievers.supporting_passages import walk_path
from clew.types import Evidence, Filter, Path, Scored

START_PASSAGES = 5
BASE_DEPTH = 100
INHERITED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class TitleLinksRetriever:
    """Ranks the first passages of a base retriever and the passages linked to them."""

    scope: Scope
    base: Retriever  # ranks the first passages, and gives linked ones their own score
    hops: int = 2  # number of links that are followed, 1 or 2

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question; each linked one with the path to it."""
        check_k(k, questions)
        allowed = self.scope.mask(where)
        bases = self.base.retrieve(questions, max(k, BASE_DEPTH), where)
        return [self._expand(base, k, allowed) for base in bases]

    def _expand(self, base: Evidence, k: int, allowed: BoolArray) -> Evidence:
        started = time.perf_counter() - base.usage.seconds
        position = self.scope.snapshot.position
        own = _min_max_scale({position(scored.item.id): scored.score for scored in base.passages})
        best = dict(own)
        parents: dict[int, int] = {}
        frontier = sorted(own, key=lambda p: (-own[p], p))[:START_PASSAGES]
        for _ in range(self.hops):
            next_frontier: list[int] = []
            for parent in frontier:
                for child in self._linked_passages(parent, allowed):
                    score = own.get(child, 0.0) + INHERITED_SHARE * best[parent]
                    if score > best.get(child, 0.0):
                        best[child] = score
                        parents[child] = parent
                        next_frontier.append(child)
            frontier = list(dict.fromkeys(next_frontier))
        order = sorted(best, key=lambda p: (-best[p], p))[:k]
        passages = self.scope.scored_passages([(p, best[p]) for p in order])
        return make_evidence(passages, self._paths(order, best, parents, allowed), base.notes, started)

    def _linked_passages(self, passage: int, allowed: BoolArray) -> list[int]:
        neighbours = self.scope.snapshot.walk.row(passage)
        return [int(n) for n in neighbours if n < len(allowed) and allowed[n]]

    def _paths(
        self, order: Sequence[int], best: dict[int, float], parents: dict[int, int], allowed: BoolArray
    ) -> list[Scored[Path]]:
        paths: list[Scored[Path]] = []
        for passage in order:
            nodes = [passage]
            while nodes[0] in parents and parents[nodes[0]] not in nodes:
                nodes.insert(0, parents[nodes[0]])
            if len(nodes) > 1:
                paths.append(Scored(walk_path(self.scope.snapshot, nodes, allowed), best[passage]))
        return paths


def _min_max_scale(scores: dict[int, float]) -> dict[int, float]:
    """Scale scores to 0 (the lowest) to 1 (the best); all 1 when they are equal."""
    values = np.array(list(scores.values()))
    spread = float(np.ptp(values)) if len(values) else 0.0
    return {p: (s - float(values.min())) / spread if spread > 0 else 1.0 for p, s in scores.items()}


class TitleLinks(SettingsRecord):
    """Settings of `title-links`: none."""

    label: ClassVar[str] = "title-links"


def build_title_links(context: IndexContext, _: TitleLinks, open_retriever: OpenRetriever) -> TitleLinksRetriever:
    """Return the retriever over one index, above `fused`; raises InputError where the index has no vectors."""
    return TitleLinksRetriever(context.scope, open_retriever("fused", context))
