"""Puts the published forms of `gfm` together: networks that score entities (GFM-RAG) or documents (G-reasoner)."""

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from clew.arrays import BoolArray, FloatArray
from clew.errors import InputError
from clew.graph.snapshot.relational_edges import entity_graph, mention_graph, relation_texts
from clew.graph.snapshot.snapshot import Snapshot
from clew.inference.query_network import QueryNetwork
from clew.models.encoders.registry import open_encoder
from clew.models.encoders.sentence_transformer import EmbeddingConfig
from clew.models.threads import choose_device
from clew.models.validation import replace_surrogates
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.query.question_vectors import SimilarPassages
from clew.retrievers.gfm.explanations import EdgePathBuilder
from clew.retrievers.gfm.factory import check_encoder, project_all_relations
from clew.retrievers.gfm.passage_ranking import PassageRanker, Ranker
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.settings import Targets
from clew.retrievers.gfm.weights import TrainedGNN, load_weights
from clew_lab.gfm.entity_graphs import EntityGraphBuilder, NearestPassages
from clew_lab.gfm.entity_ranking import EntityRanker
from clew_lab.gfm.reasoner_texts import reasoner_node_texts, reasoner_relation_texts
from clew_lab.gfm.settings import PUBLISHED_SETTINGS, GFMPaper

if TYPE_CHECKING:
    from clew_lab.nn.device_network import DeviceQueryNetwork


def build_gfm_paper(context: IndexContext, settings: GFMPaper) -> GFMRetriever:
    """Return the retriever over one index.

    Raises InputError where there are no weights, they score passages, or take none of the settings.
    """
    if settings.weights is None:
        raise InputError(
            "gfm-paper: no weights are given: give weights=FOLDER, made by `clew train gfm --preset paper` or "
            "`clew weights import`"
        )
    trained = load_weights(settings.weights.expanduser())
    if trained.targets == "passages":
        raise InputError(
            f"gfm-paper: the weights in {settings.weights} score passages: use --retriever gfm:weights=..., or give "
            "weights made by `clew train gfm --preset paper` or `clew weights import`"
        )
    encoder = choose_encoder(context, trained, settings.weights)
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
    return GFMRetriever(
        context.scope,
        encoder,
        graphs,
        network,
        projected,
        ranker,
        EdgePathBuilder(snapshot, graphs.edges, trained.targets),
        context.paths_per_passage,
        trained.key,
        node_texts=load_node_texts(context, encoder) if trained.model.settings.fusion else None,
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
    context: IndexContext, settings: GFMPaper, trained: TrainedGNN
) -> tuple[EntityGraphBuilder, Ranker]:
    snapshot, encoder = context.scope.snapshot, context.index_encoder
    nodes = _node_limit(settings, trained)
    useless = [name for name in settings.entity_settings() if name not in PUBLISHED_SETTINGS]
    if trained.targets == "documents" and useless:
        raise InputError(
            f"gfm-paper: {useless[0]} is for weights that score entities, and these score documents: leave it out"
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
        same_encoder=encoder is not None and trained.encoder.fingerprint == encoder.fingerprint,
    )
    return EntityGraphBuilder(entity_graph(snapshot), snapshot, nodes, nearest, form.seeds), ranker


def choose_encoder(context: IndexContext, trained: TrainedGNN, folder: Path) -> Encoder:
    """Return the encoder that the weights read: the index's where they are the same, else the weights' own.

    Raises InputError where weights that score passages read another encoder than the index was made with, where the
    weights' own cannot be opened, and where its vectors have another width than the weights read.
    """
    encoder, wanted = context.index_encoder, trained.encoder
    if encoder is None or wanted.fingerprint != encoder.fingerprint:
        if trained.targets == "passages":
            check_encoder(trained, encoder)
        config = EmbeddingConfig(wanted.normalize, wanted.query, wanted.text)
        encoder = open_encoder(wanted.name, config, context.device, "choose another retriever, or other weights")
    if encoder.dimension != trained.model.settings.text_width:
        raise InputError(
            f"the weights in {folder} read vectors of width {trained.model.settings.text_width}, and those of "
            f"{encoder.name} have {encoder.dimension}: their configuration names another encoder than theirs"
        )
    return encoder


def _node_limit(settings: GFMPaper, trained: TrainedGNN) -> int | None:
    """Return the nodes of a question's graph at most; None for the whole graph."""
    if settings.nodes is None:
        return None if settings.preset == "paper" else trained.nodes
    return None if isinstance(settings.nodes, str) else settings.nodes


def _choose_network(network: QueryNetwork, device: str, *, whole_graph: bool) -> "QueryNetwork | DeviceQueryNetwork":
    """Return the network for a device; graphs of some hundred nodes are fastest on the processor."""
    if not whole_graph or (chosen := choose_device(device)) == "cpu":
        return network
    from clew_lab.nn.device_network import DeviceQueryNetwork

    return DeviceQueryNetwork(network, chosen)


def find_nearest_passages(similar: SimilarPassages, encoder: Encoder) -> NearestPassages:
    """Return a function that finds the passages most similar to a question (see `EntityGraphBuilder`)."""

    def find(question: str, count: int, allowed: BoolArray) -> list[int]:
        vector = encoder.encode_queries([replace_surrogates(question)])[0]
        return [passage for passage, _ in similar.rank(vector, count, allowed)[0]]

    return find
