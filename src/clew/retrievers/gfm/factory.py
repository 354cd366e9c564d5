"""Puts the `gfm` retriever together: weights, the graph they were trained for, and the projections of its relations."""

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray
from clew.errors import InputError
from clew.graph.snapshot.relational_edges import entity_graph, mention_graph, relation_texts
from clew.graph.snapshot.snapshot import Snapshot
from clew.inference.query_network import QueryNetwork
from clew.models.devices import choose_device
from clew.models.encoders.compatibility import reads_vectors_of
from clew.models.encoders.registry import open_encoder
from clew.models.encoders.sentence_transformer import EmbeddingConfig
from clew.models.validation import replace_surrogates
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.query.similar_passages import SimilarPassages
from clew.retrievers.gfm.entity_graphs import EntityGraphBuilder, NearestPassages
from clew.retrievers.gfm.explanations import EdgePathBuilder
from clew.retrievers.gfm.passage_graphs import PassageGraphBuilder, QuestionGraphBuilder
from clew.retrievers.gfm.passage_ranking import EntityRanker, PassageRanker, Ranker
from clew.retrievers.gfm.reasoner_texts import reasoner_node_texts, reasoner_relation_texts
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.settings import GFM, PUBLISHED_SETTINGS, Targets
from clew.retrievers.gfm.weights import TrainedGNN, load_weights
from clew.retrievers.quoted_chains import ChainQuoter

if TYPE_CHECKING:
    from clew.nn.device_network import DeviceQueryNetwork

_PROJECTION_BATCH = 8192


def build_gfm(context: IndexContext, settings: GFM) -> GFMRetriever:
    """Return the retriever over one index.

    Raises InputError where the weights read another encoder than the index was made with, or take none of the settings.
    """
    folder = context.weights_folder("gfm", settings.weights)
    trained = load_weights(folder)
    encoder = choose_encoder(context, trained, folder)
    linking = settings.resolve_linking(context.linking, trained.form.linker)
    if linking != context.linking:
        context = context.with_linker(linking)
    graphs, ranker = _make_graphs_and_ranker(context, settings, trained)
    snapshot = context.scope.snapshot
    texts = relation_texts_for(trained.targets, snapshot)
    projected = context.cached_array(
        trained.key, lambda: project_all_relations(trained.model, context.encode_texts_with(texts, encoder))
    )
    network = _choose_network(trained.model, context.device, whole_graph=_node_limit(settings, trained) is None)
    paths = EdgePathBuilder(snapshot, graphs.edges, trained.targets)
    quoter = ChainQuoter(snapshot, context.lexical, snapshot.sentences) if context.paths_per_passage else None
    return GFMRetriever(
        context.scope,
        encoder,
        graphs,
        network,
        projected,
        ranker,
        paths,
        context.paths_per_passage,
        trained.key,
        quoter if trained.chains else None,
        load_node_texts(context, encoder) if trained.model.settings.fusion else None,
    )


def relation_texts_for(targets: Targets, snapshot: Snapshot) -> list[str]:
    """Return the texts of a snapshot's relations as a network of some targets reads them.

    One that scores passages learns inverses; for the others those of the inverses follow.
    """
    if targets == "documents":
        return reasoner_relation_texts(snapshot)
    return relation_texts(snapshot, inverses=targets == "entities")


def load_node_texts(context: IndexContext, encoder: Encoder) -> FloatArray:
    """Return the embeddings (N, t) of the texts of all passages and entities, computed at first use."""

    def encode() -> FloatArray:
        return context.encode_texts_with(reasoner_node_texts(context.scope.snapshot), encoder)

    return context.cached_array(f"nodes-{blake2b(encoder.fingerprint.encode(), digest_size=8).hexdigest()}", encode)


def _make_graphs_and_ranker(
    context: IndexContext, settings: GFM, trained: TrainedGNN
) -> tuple[QuestionGraphBuilder, Ranker]:
    snapshot, encoder = context.scope.snapshot, context.index_encoder
    nodes = _node_limit(settings, trained)
    walk = context.graph_walk()
    if trained.targets == "passages":
        _check_encoder(trained, encoder)
        if useless := settings.entity_settings():
            raise InputError(
                f"gfm: {useless[0]} is for weights that score entities, and these score passages: leave it out, or "
                "give weights made by `clew train gfm --preset paper` or `clew weights import`"
            )
        similar = context.similar_passages()
        chains = context.chain_search() if trained.chains else None
        return PassageGraphBuilder(context.load_passage_graph(), walk, nodes, similar, chains), PassageRanker()
    if trained.targets == "documents" and (
        useless := [n for n in settings.entity_settings() if n not in PUBLISHED_SETTINGS]
    ):
        raise InputError(
            f"gfm: {useless[0]} is for weights that score entities, and these score documents: leave it out"
        )
    nearest = None if encoder is None else find_nearest_passages(context.similar_passages(), encoder)
    form = settings.resolve_form(trained.form)
    if trained.targets == "documents":
        return EntityGraphBuilder(mention_graph(snapshot), snapshot, nodes, nearest, form.seeds), PassageRanker()
    ranker = EntityRanker(
        snapshot,
        weighted=form.ranker == "weighted",
        entities=form.entities,
        rarity=form.rarity,
        same_encoder=encoder is not None and reads_vectors_of(trained.encoder.fingerprint, encoder.fingerprint),
    )
    return EntityGraphBuilder(entity_graph(snapshot), snapshot, nodes, nearest, form.seeds), ranker


def choose_encoder(context: IndexContext, trained: TrainedGNN, folder: Path) -> Encoder:
    """Return the encoder that the weights read: the index's where they are the same, else the weights' own.

    Raises InputError where weights that score passages read another encoder than the index was made with, where the
    weights' own cannot be opened, and where its vectors have another width than the weights read.
    """
    encoder, wanted = context.index_encoder, trained.encoder
    if encoder is None or not reads_vectors_of(wanted.fingerprint, encoder.fingerprint):
        if trained.targets == "passages":
            _check_encoder(trained, encoder)
        config = EmbeddingConfig(wanted.normalize, wanted.query, wanted.text)
        encoder = open_encoder(wanted.name, config, context.device, "choose another retriever, or other weights")
    if encoder.dimension != trained.model.settings.text_width:
        raise InputError(
            f"the weights in {folder} read vectors of width {trained.model.settings.text_width}, and those of "
            f"{encoder.name} have {encoder.dimension}: their configuration names another encoder than theirs"
        )
    return encoder


def _node_limit(settings: GFM, trained: TrainedGNN) -> int | None:
    """Return the nodes of a question's graph at most; None for the whole graph."""
    if settings.nodes is None:
        return None if settings.preset == "paper" else trained.nodes
    return _count_or_none(settings.nodes)


def _choose_network(network: QueryNetwork, device: str, *, whole_graph: bool) -> "QueryNetwork | DeviceQueryNetwork":
    """Return the network for a device; graphs of some hundred nodes are fastest on the processor."""
    if not whole_graph or (chosen := choose_device(device)) == "cpu":
        return network
    from clew.nn.device_network import DeviceQueryNetwork

    return DeviceQueryNetwork(network, chosen)


def _count_or_none(count: int | str) -> int | None:
    return None if isinstance(count, str) else count


def find_nearest_passages(similar: SimilarPassages, encoder: Encoder) -> NearestPassages:
    """Return a function that finds the passages most similar to a question (see `EntityGraphBuilder`)."""

    def find(question: str, count: int, allowed: BoolArray) -> list[int]:
        vector = encoder.encode_queries([replace_surrogates(question)])[0]
        return [passage for passage, _ in similar.rank(vector, count, allowed)[0]]

    return find


def project_all_relations(model: QueryNetwork, vectors: FloatArray) -> NDArray[Any]:
    """Return what each relation (R, t) multiplies messages by at each layer, (R, layers, width).

    In half precision, unless the model is the published one, whose scores are kept to single precision.
    """
    shape = len(vectors), model.settings.layers, model.settings.width
    rows = np.empty(shape, dtype=np.float16 if model.settings.learned_inverse else np.float32)
    for start in range(0, len(vectors), _PROJECTION_BATCH):
        part = vectors[start : start + _PROJECTION_BATCH]
        rows[start : start + len(part)] = model.project_relations(part)
    return rows


def _check_encoder(trained: TrainedGNN, encoder: Encoder | None) -> None:
    if encoder is None:
        raise InputError(
            "this index was made with --encoder none, so it has no vectors, which gfm needs; use the retriever "
            "bm25, pagerank or entity-graph, or make a new index with an encoder"
        )
    if not reads_vectors_of(trained.encoder.fingerprint, encoder.fingerprint):
        raise InputError(
            f"the weights of gfm read vectors of the encoder {trained.encoder.name} ({trained.encoder.fingerprint}), "
            f"and the index was made with {encoder.name} ({encoder.fingerprint}): use another retriever, train weights "
            f"for this encoder, or make a new index with --encoder {trained.encoder.name}"
        )
