"""Activation of entities through the sentences that name them, from the entities of a question.

In each round an entity of a score s goes over the sentences that name it and that no entity went over before. In the
best of them for the question, of cosine c, each entity gets the score s c, where that reaches a threshold.

Source: Zhuang et al., "LinearRAG" (2025, arXiv 2510.10114), and its published code.
Differs from the source: entities of a sentence are taken by number, equally good sentences by place, where the code
takes them in the order of hash tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clew.arrays import FloatArray, IntArray, top_order
from clew.graph.csr import Adjacency


@dataclass(frozen=True, slots=True)
class ActivationConfig:
    """Parameters of the activation; the defaults are those of the published code."""

    rounds: int = 3  # rounds, of which the entities of the question are the first
    sentences: int = 1  # best sentences that an entity goes over in a round
    threshold: float = 0.5  # least score of an entity that is activated, or goes over sentences


@dataclass(frozen=True, slots=True)
class ActivatedEntities:
    """Entities with scores, in the order in which they were first activated."""

    scores: dict[int, float] = field(default_factory=dict)  # of the last activation
    rounds: dict[int, int] = field(default_factory=dict)  # of the last activation, 1 for the entities of the question
    weights: dict[int, float] = field(default_factory=dict)  # sum over all activations
    sentences: list[int] = field(default_factory=list)  # that were gone over, in their order


def activate_entities(
    starts: Mapping[int, float],
    find_sentences: Callable[[int], IntArray],
    sentence_entities: Adjacency,
    similarity: Callable[[IntArray], FloatArray],
    config: ActivationConfig,
) -> ActivatedEntities:
    """Return the entities that a question activates.

    Args:
        starts: Entities of the question with scores.
        find_sentences: Returns the sentences (n,) of an entity, ascending.
        sentence_entities: S rows, the entities of each sentence.
        similarity: Returns the cosines (n,) of sentences (n,) with the question.
        config: Parameters.
    """
    found = ActivatedEntities(dict(starts), dict.fromkeys(starts, 1), dict(starts))
    gone_over: set[int] = set()
    current = dict(starts)
    for round_ in range(2, config.rounds + 1):
        reached: dict[int, float] = {}
        for entity, score in current.items():
            if score < config.threshold:
                continue
            sentences = find_sentences(entity)
            sentences = sentences[[int(sentence) not in gone_over for sentence in sentences]]
            if not len(sentences):
                continue
            cosines = similarity(sentences)
            for place in top_order(cosines, config.sentences).tolist():
                sentence, passed = int(sentences[place]), score * float(cosines[place])
                gone_over.add(sentence)
                found.sentences.append(sentence)
                if passed < config.threshold:
                    continue
                for other in sentence_entities.row(sentence).tolist():
                    found.weights[other] = found.weights.get(other, 0.0) + passed
                    reached[other] = passed
        found.scores.update(reached)
        found.rounds.update(dict.fromkeys(reached, round_))
        current = reached
    return found
