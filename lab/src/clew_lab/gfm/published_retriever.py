"""`gfm-paper`, the published forms of `gfm`: networks that score entities (GFM-RAG) or documents (G-reasoner).

Its settings, how it is put together, and the texts that G-reasoner reads: lines of a name, a type, and the content of a
passage. `published_checkpoint` reads the authors' weights.

Source: the authors' code of G-reasoner (github.com/RManLuo/gfm-rag, commit 57e3e28), for the lines, and for the form of
names, which its graphs have. Differs from the source: a name of which that form leaves nothing is kept as it is; a
passage stands for a document, under its title, else its id; an encoder reads as much of a text as of any other.
"""

from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.errors import InputError
from clew.graph.csr import Adjacency
from clew.graph.snapshot.relational_edges import relation_texts
from clew.graph.snapshot.snapshot import Snapshot
from clew.inference.query_network import QueryNetwork
from clew.models.encoders.registry import open_encoder
from clew.models.encoders.sentence_transformer import EmbeddingConfig
from clew.models.threads import choose_device
from clew.models.validation import replace_surrogates
from clew.plugins.records import Cosine, CountOrAll, SettingsRecord, setting
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.query.entity_linker import LinkerMethod, LinkerSettings
from clew.query.question_vectors import SimilarPassages
from clew.retrievers.gfm.factory import check_encoder, project_all_relations
from clew.retrievers.gfm.passage_ranking import PassageRanker
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.gfm.settings import EntityForm, Ranker, Seeds, Targets
from clew.retrievers.gfm.weights import TrainedGNN, load_weights
from clew_lab.gfm.entity_graphs import EntityGraphBuilder, EntityRanker, NearestPassages
from clew_lab.gfm.node_paths import NodePathBuilder
from clew_lab.graph.node_graphs import both_relation_texts, entity_graph, inverse_text, mention_graph
from clew_lab.graph.synonyms import SYNONYMS, SynonymNames, load_synonyms

if TYPE_CHECKING:
    from clew_lab.nn.device_network import DeviceQueryNetwork

ENTITY_SETTINGS = ("preset", "ranker", "entities", "rarity", "seeds")
"""Settings for weights that score entities."""

PUBLISHED_SETTINGS = ("preset", "seeds")
"""The settings among `ENTITY_SETTINGS` that weights of G-reasoner, which score documents, also take."""

NO_FLOOR = -1.0
"""The least cosine of GFM-RAG, whose code links every name to its nearest entity."""


class GFMPaper(SettingsRecord):
    """Settings of `gfm-paper`."""

    label: ClassVar[str] = "gfm-paper"

    nodes: CountOrAll | None = setting(
        None, "nodes of the graph near the question that the network runs on", "ours; GFM-RAG: all", "from the weights"
    )
    weights: Path | None = setting(
        None, "weights that `clew train gfm` or `clew weights import` made", unset="none: give them"
    )
    preset: Literal["ours", "paper"] = setting(
        "paper", "paper: the whole graph and the ranking of passages of GFM-RAG, for weights that score entities"
    )
    ranker: Ranker | None = setting(
        None,
        "how scores of entities rank passages, for weights that score entities",
        "docs/models/gfm.md",
        "from the weights, else weighted",
    )
    entities: CountOrAll | None = setting(
        None,
        "best entities that rank passages, for weights that score entities",
        "GFM-RAG: T = 20",
        "from the weights, else 20",
    )
    rarity: bool | None = setting(
        None,
        "whether rare entities count more in that ranking, for weights that score entities",
        "GFM-RAG",
        "from the weights, else yes",
    )
    seeds: Seeds | None = setting(
        None,
        "start of a named entity: rarity, 1 / its number of passages, or plain, 1; for weights that score entities",
        "GFM-RAG: plain in the paper, rarity in its code",
        "from the weights, else rarity",
    )

    linker: LinkerMethod | None = setting(
        None,
        "what links the names of a question to entities",
        "GFM-RAG: embedding",
        "as for the index, if set there, else from the weights; embedding for the preset paper",
    )

    linker_floor: Cosine | None = setting(
        None,
        "least score of a name and its entity, where the linker compares vectors",
        "GFM-RAG: none, which is -1",
        "as for the index; -1 for the preset paper",
    )

    synonyms: SynonymNames = SYNONYMS

    def entity_settings(self) -> list[str]:
        """Return the settings given here that are for weights that score entities; the preset ours is for all."""
        given = [name for name in ENTITY_SETTINGS if name in self.model_fields_set]
        return [name for name in given if (name, self.preset) != ("preset", "ours")]

    def resolve_linking(self, of_index: LinkerSettings, trained: LinkerMethod) -> LinkerSettings:
        """Return how names are linked: as set here, by the preset, for the index if that is set, or in training."""
        default = of_index.method if of_index.is_chosen or of_index.method != "exact" else trained
        preset = "embedding" if self.preset == "paper" else default
        floor = NO_FLOOR if self.preset == "paper" else of_index.floor
        floor = floor if self.linker_floor is None else self.linker_floor
        return replace(of_index, method=self.linker or preset, floor=floor)

    def resolve_form(self, trained: EntityForm) -> EntityForm:
        """Return what surrounds a network: what is set here, else the preset, else what comes with the weights."""
        paper = self.preset == "paper"
        ranker, entities, rarity = ("paper", 20, True) if paper else (trained.ranker, trained.entities, trained.rarity)
        return EntityForm(
            self.seeds or trained.seeds,
            self.ranker or ranker,
            entities if self.entities is None else (None if self.entities == "all" else self.entities),
            rarity if self.rarity is None else self.rarity,
            trained.linker,
        )


_MENTIONED = "is_mentioned_in"  # the relation of an entity to a document


def reasoner_relation_texts(snapshot: Snapshot) -> list[str]:
    """Return the texts of the R relations of a snapshot's graphs, then those of their inverses.

    A mention leads from the passage to the entity, and that of the source from the entity to the document.
    """
    *stated, _, equivalent = relation_texts(snapshot)
    plain = [*map(published_name, stated), inverse_text(_MENTIONED), equivalent]
    inverse = [*map(inverse_text, plain[:-2]), _MENTIONED, inverse_text(equivalent)]
    return [f"name: {text}" for text in (*plain, *inverse)]


def reasoner_node_texts(snapshot: Snapshot) -> list[str]:
    """Return the texts of the P passages, then those of the E entities."""
    named = zip(snapshot.titles, snapshot.passage_ids, snapshot.texts, strict=True)
    passages = [f"name: {title or id_}\ntype: document\ncontent: {text}".strip() for title, id_, text in named]
    entities = [f"name: {published_name(name)}\ntype: entity" for name in snapshot.entities]
    return list(map(replace_surrogates, (*passages, *entities)))


def published_name(name: str) -> str:
    """Return a name in lower case with a space for every character but letters and digits of ASCII, and spaces."""
    form = "".join(c if c == " " or (c.isascii() and c.isalnum()) else " " for c in name.lower()).strip()
    return form or name


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
    useless = [name for name in settings.entity_settings() if name not in PUBLISHED_SETTINGS]
    if trained.targets == "documents" and useless:
        raise InputError(
            f"gfm-paper: {useless[0]} is for weights that score entities, and these score documents: leave it out"
        )
    snapshot, own, nodes = context.scope.snapshot, context.index_encoder, _node_limit(settings, trained)
    same = own is not None and trained.encoder.fingerprint == own.fingerprint
    form = settings.resolve_form(trained.form)
    synonyms = load_synonyms(context, settings.synonyms)
    graphs, ranker = make_graphs_and_ranker(context, trained.targets, form, nodes, synonyms, same_encoder=same)
    texts = relation_texts_for(trained.targets, snapshot)
    projected = context.cached_array(
        trained.key, lambda: project_all_relations(trained.model, context.encode_texts_with(texts, encoder))
    )
    network = _choose_network(trained.model, context.device, whole_graph=nodes is None)
    return GFMRetriever(
        context.scope,
        encoder,
        graphs,
        network,
        projected,
        np.arange(len(texts), dtype=np.int32),
        ranker,
        NodePathBuilder(snapshot, graphs.edges, trained.targets),
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
    return both_relation_texts(snapshot) if targets == "entities" else relation_texts(snapshot)


def load_node_texts(context: IndexContext, encoder: Encoder) -> FloatArray:
    """Return the embeddings (N, t) of the texts of all passages and entities, computed at first use."""

    def encode() -> FloatArray:
        return context.encode_texts_with(reasoner_node_texts(context.scope.snapshot), encoder)

    return context.cached_array(f"nodes-{blake2b(encoder.fingerprint.encode(), digest_size=8).hexdigest()}", encode)


def make_graphs_and_ranker(
    context: IndexContext,
    targets: Targets,
    form: EntityForm,
    nodes: int | None,
    synonyms: Adjacency,
    *,
    same_encoder: bool,
) -> tuple[EntityGraphBuilder, EntityRanker | PassageRanker]:
    """Return what makes the graphs of questions, of at most `nodes` nodes, and ranks the passages.

    `synonyms` are those of each of E entities; `same_encoder` tells whether a network reads the vectors of the index's
    encoder.
    """
    snapshot, encoder = context.scope.snapshot, context.index_encoder
    nearest = None if encoder is None else find_nearest_passages(context.similar_passages(), encoder)
    edges = mention_graph(snapshot, synonyms) if targets == "documents" else entity_graph(snapshot, synonyms)
    graphs = EntityGraphBuilder(edges, snapshot, nodes, nearest, form.seeds)
    if targets == "documents":
        return graphs, PassageRanker()
    weighted = form.ranker == "weighted"
    return graphs, EntityRanker(
        snapshot, weighted=weighted, entities=form.entities, rarity=form.rarity, same_encoder=same_encoder
    )


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
