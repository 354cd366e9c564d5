"""The published GFM-RAG and G-reasoner from their equations: the full graph, one node and one edge at a time."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch.nn import functional

Tensors = Mapping[str, torch.Tensor]


def logits(
    tensors: Tensors,
    layers: int,
    entities: Sequence[str],
    facts: Sequence[tuple[str, str, str]],
    question: torch.Tensor,
    seeds: Mapping[str, float],
    encode: Callable[[str], torch.Tensor],
    *,
    mean: bool = False,
    node_texts: Mapping[str, torch.Tensor] | None = None,
    fusion: str = "",
) -> dict[str, float]:
    """Return a logit for each entity.

    Args:
        tensors: Tensors of the checkpoint.
        layers: Number of layers.
        entities: All entities.
        facts: Distinct (head, relation, tail); the head receives from the tail, and the tail through the inverse.
        question: (t,) embedding of the question.
        seeds: Weight of the entities that the question names.
        encode: Returns the embedding (t,) of a relation's text.
        mean: Whether messages and boundary are averaged, as the authors' code does, in place of added up.
        node_texts: (t,) embedding of each node's text, for G-reasoner.
        fusion: Where they enter: "early" in the first states, "late" in the scores, or "early-late".
    """

    def linear(name: str, x: torch.Tensor) -> torch.Tensor:
        product: torch.Tensor = tensors[f"{name}.weight"] @ x + tensors[f"{name}.bias"]
        return product

    query = linear("question_mlp", question)
    senders: dict[str, list[tuple[str, str]]] = {entity: [] for entity in entities}
    for head, relation, tail in facts:
        senders[head].append((relation, tail))
        senders[tail].append((f"inverse_{relation}", head))
    texts = {relation for edges in senders.values() for relation, _ in edges}
    relation_states = {text: linear("rel_mlp", encode(text)) for text in texts}
    start = {entity: query * seeds.get(entity, 0.0) for entity in entities}
    projected_texts = {e: linear("ent_mlp", text) for e, text in (node_texts or {}).items()}

    def two_layers(name: str, *parts: torch.Tensor) -> torch.Tensor:
        return linear(f"{name}.2", linear(f"{name}.0", torch.cat(parts)).clamp_min(0.0))

    if "early" in fusion:
        start = {e: two_layers("early_fuse_mlp", state, projected_texts[e]) for e, state in start.items()}
    states = dict(start)
    for number in range(layers):
        name = f"entity_model.layers.{number}"
        projected = {
            text: linear(
                f"{name}.relation_projection.2", linear(f"{name}.relation_projection.0", vector).clamp_min(0.0)
            )
            for text, vector in relation_states.items()
        }
        following = {}
        for entity in entities:
            messages = start[entity].clone()
            for relation, sender in senders[entity]:
                messages = messages + states[sender] * projected[relation]
            if mean:
                messages = messages / (1 + len(senders[entity]))
            mixed = linear(f"{name}.linear", torch.cat([states[entity], messages]))
            scale, shift = tensors[f"{name}.layer_norm.weight"], tensors[f"{name}.layer_norm.bias"]
            following[entity] = states[entity] + functional.layer_norm(mixed, mixed.shape, scale, shift).clamp_min(0.0)
        states = following
    if "late" in fusion:
        return {e: float(two_layers("predict_mlp", state, query, projected_texts[e])) for e, state in states.items()}
    hidden = {e: linear("entity_model.mlp.0", torch.cat([state, query])).clamp_min(0.0) for e, state in states.items()}
    return {entity: float(linear("entity_model.mlp.2", value)) for entity, value in hidden.items()}


def rank_passages(
    scores: Mapping[str, float], mentions: Mapping[str, set[str]], k: int, top: int = 20
) -> list[tuple[str, float]]:
    """Return the passages that mention one of the best entities, by the sum of one over each one's passages."""
    order = list(scores)
    best = sorted(order, key=lambda entity: (-scores[entity], order.index(entity)))[:top]
    weight = {entity: 1.0 / sum(entity in named for named in mentions.values()) for entity in best}
    total = {id_: sum(weight[e] for e in best if e in named) for id_, named in mentions.items()}
    return sorted(((id_, value) for id_, value in total.items() if value > 0), key=lambda x: (-x[1], x[0]))[:k]
