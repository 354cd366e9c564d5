"""Shared, lazily loaded resources of one index version: graph snapshot, BM25 index, embeddings, caches."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray
from clew.errors import InputError, ProviderError
from clew.graph.segments.flat import unflatten_stored_passages
from clew.graph.segments.list_search import ListSearch, unflatten_lists
from clew.graph.segments.passage_columns import StoredPassages
from clew.graph.similar_names import PARTS
from clew.graph.snapshot.relational_edges import RelationalEdges, passage_graph
from clew.graph.snapshot.snapshot import GivenNames, Snapshot, load_snapshot
from clew.graph.subgraphs.textual_graph import FactGraph, fact_graph
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.models.threads import BackgroundThread
from clew.models.validation import replace_surrogates
from clew.protocols import Encoder, LanguageModel, TokenEncoder
from clew.query.chain_search import ChainSearch, ChainSearchConfig, QuestionVectors
from clew.query.conditions import COLUMN_PARTS, MetadataColumns
from clew.query.entity_linker import NAMES_BY_RULES, EntityLinker, LinkerSettings, ModelNames, NearestNameLinker
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.query.late_interaction import StoredTokens, store_tokens
from clew.query.question_linker import QuestionLinker
from clew.query.question_vectors import PendingVector, SimilarPassages
from clew.query.relation_matching import RelationTexts, end_examples
from clew.query.scope import Scope
from clew.store import segment_files
from clew.store.array_file import load_or_compute, map_arrays
from clew.store.segment_files import segments_folder
from clew.store.vector_cache import VectorCache
from clew.store.weights_io import CONFIG_FILE, PRETRAINED_FOLDER, adapted_weights_folder, existing_weights
from clew.text.bm25 import LEXICAL, BM25Index

MAX_PATHS_PER_PASSAGE = 100
"""The memory of a search for paths grows with their number."""
MAX_STORED_NAMES = 200_000
"""Names of entities whose tokens may all be stored: about 4 kB each, on disk and once in memory while they are made."""
_COST_OF_A_TOKEN = np.float32(1e-5)  # of an entity's name, which decides between equal ones alone
_CACHED_QUESTIONS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """Embeddings of an index's short texts, and of questions."""

    entity_vectors: Callable[[], FloatArray]  # returns unit rows (E, d) of all entity names
    relation_vectors: Callable[[], FloatArray]  # returns unit rows (R, d) of all relations
    encode_questions: Callable[[Sequence[str]], FloatArray]  # returns unit rows (n, d) of questions


@dataclass(frozen=True, slots=True)
class _ArrayFolder:
    """The arrays that are computed once for an index version and cached on disk; it refers to nothing of the index."""

    folder: Path

    def load(self, name: str, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return an array by its name."""
        return load_or_compute(self.folder / name, compute)

    def load_all(
        self, parts: Sequence[str], name: str, compute: Callable[[], Mapping[str, NDArray[Any]]]
    ) -> Mapping[str, NDArray[Any]]:
        """Return the named parts of something that is computed as a whole."""
        compute_once = cache(compute)
        try:
            return {part: self.load(f"{name}-{part}", lambda part=part: compute_once()[part]) for part in parts}  # type: ignore[misc]
        except ProviderError:  # an index that cannot be written is read, too; then each process computes them
            return compute_once()


class IndexContext:
    """The resources of one index version that a query uses; it holds no retriever's settings.

    `vectors` is the vector cache of short texts on disk; `on_progress` is called with the number of texts encoded, when
    a retriever encodes many. `device` is where models run. `similar_names` links names that the index does not know to
    those that they are misspelt or short for; `linking` are the other settings of links. `given` are the names that
    decisions on entities gave. `paths_per_passage` explain each passage, for retrievers to which each path costs time.
    """

    def __init__(
        self,
        folder: Path,
        vectors: Path,
        open_encoder: Callable[[], Encoder],
        open_model: Callable[[str], LanguageModel],
        on_progress: Callable[[int], None] | None = None,
        device: str = "auto",
        *,
        similar_names: bool = True,
        linking: LinkerSettings | None = None,
        given: GivenNames | None = None,
    ) -> None:
        # Both are mapped here, not at first use: the files may be replaced while this version is still in use.
        self._derived = folder.parent.parent
        snapshot = load_snapshot(folder, partial(_open_passages, self._derived), given)
        arrays = _ArrayFolder(self._derived / "arrays" / folder.name)
        columns = MetadataColumns(snapshot, partial(arrays.load_all, COLUMN_PARTS))
        self.lexical = BM25Index.load(folder / LEXICAL)
        spellings = partial(arrays.load_all, PARTS)
        self._snapshot = snapshot
        linker = QuestionLinker(snapshot, spellings, self.lexical.has_words, similar=similar_names)
        self.open_model = open_model
        self._exact_linker, self.linking = linker, LinkerSettings() if linking is None else linking
        self._written_linker = QuestionLinker(snapshot, similar=False)
        self.scope = Scope(snapshot, columns, self.make_linker(self.linking))
        self.paths_per_passage = 1
        self.question_cache: dict[str, FloatArray] = {}
        self.device = device
        # Shared by all copies; read at first use, since most searches need no lists.
        self._open_lists = cache(partial(_open_list_search, folder, snapshot))
        self._name_tokens: dict[str, StoredTokens] = {}
        self._arrays = arrays
        self._vectors = vectors
        self._open_encoder = open_encoder
        self._encoding_thread = BackgroundThread("clew-encode")
        self._on_progress = on_progress

    def make_linker(self, settings: LinkerSettings) -> EntityLinker:
        """Return a linker of names to the entities of this index; nothing is computed before it is used."""
        if settings == LinkerSettings():
            return self._exact_linker

        listed = None if settings.names == NAMES_BY_RULES else ModelNames(self.open_model(settings.names))
        score = self._score_name_tokens if settings.late else self._score_name_vectors
        return NearestNameLinker(
            # What is compared by vectors is what is written, not what a spelling was taken for.
            self._exact_linker if settings.keeps_exact else self._written_linker,
            self._snapshot,
            None if settings.method == "exact" else partial(score, settings.method),
            settings.floor,
            keep_exact=settings.keeps_exact,
            measure="mean cosine of tokens" if settings.late else "cosine",
            list_names=listed,
        )

    def _score_name_vectors(self, method: str, names: Sequence[str]) -> FloatArray:
        """Return the cosine (E, n) of each entity's name with each of n names."""
        self._linking_encoder(method)
        vectors = self.text_vectors.entity_vectors()
        scores: FloatArray = vectors @ self.encode_texts(names).T
        return scores

    def _score_name_tokens(self, method: str, names: Sequence[str]) -> FloatArray:
        """Return the mean MaxSim (E, n) of each of n names with each entity's name; of equal ones the shorter wins."""
        encoder = self._linking_encoder(method)
        if not isinstance(encoder, TokenEncoder):
            raise InputError(
                f"linker is {method!r}, which compares tokens, and the encoder {encoder.name} gives no vectors of "
                "tokens: set linker = embedding, or use an index of all-MiniLM-L6-v2-int8 (`clew reencode`)"
            )
        stored = self._name_tokens.get(encoder.fingerprint)
        if stored is None:
            stored = self._name_tokens[encoder.fingerprint] = self._store_name_tokens(encoder)
        # A name has all tokens of a shorter one that it contains.
        lengths = np.diff(stored.offsets).astype(np.float32)[:, None]
        scores: FloatArray = stored.mean_similarities(encoder.encode_tokens(names)) - _COST_OF_A_TOKEN * lengths
        return scores

    def _linking_encoder(self, method: str) -> Encoder:
        if self.index_encoder is None:
            raise InputError(
                f"linker is {method!r}, and the index was made with --encoder none, so its names have no vectors: set "
                "linker = exact, or make a new index with an encoder"
            )
        return self.index_encoder

    def _store_name_tokens(self, encoder: TokenEncoder) -> StoredTokens:
        """Return the tokens of all names of entities, encoded at first use and mapped from disk after that."""
        entities = self._snapshot.entities
        if len(entities) > MAX_STORED_NAMES:
            raise InputError(
                f"linker maxsim stores the tokens of every name, and this index has {len(entities):,} names; wanted at "
                f"most {MAX_STORED_NAMES:,}: set linker = embedding"
            )

        def encode(positions: Sequence[int]) -> list[FloatArray]:
            return encoder.encode_tokens([replace_surrogates(entities[position]) for position in positions])

        return store_tokens(f"name-tokens-{self.encoder.fingerprint}", len(entities), encode, self.cached_array)

    def with_linker(self, settings: LinkerSettings) -> "IndexContext":
        """Return a shallow copy whose retrievers link names by other settings."""
        context = copy(self)
        context.scope = self.scope.with_linker(self.make_linker(settings))
        return context

    def with_paths_per_passage(self, paths: int) -> "IndexContext":
        """Return a shallow copy for retrievers that return `paths` (0 to 100) paths a passage; 0 saves their cost."""
        if not 0 <= paths <= MAX_PATHS_PER_PASSAGE:
            raise InputError(f"paths is {paths}: ask for 0 to {MAX_PATHS_PER_PASSAGE} a passage")
        context = copy(self)
        context.paths_per_passage = paths
        return context

    def with_fresh_cache(self) -> "IndexContext":
        """Return a shallow copy whose question-embedding cache starts empty."""
        context = copy(self)
        context.question_cache = {}
        return context

    def weights_folder(self, name: str, given: Path | None = None, label: str = "") -> Path:
        """Return the folder of a network's weights: the given one, else the index's own, else the package's.

        Raises InputError where the folder given to the retriever `label`, called as the weights by default, holds none.
        """
        if given is not None:
            return existing_weights(given, f"{label or name}: weights")
        own = self.own_weights_folder(name)
        return own if (own / CONFIG_FILE).is_file() else PRETRAINED_FOLDER / name

    def own_weights_folder(self, name: str) -> Path:
        """Return the folder of weights adapted to this index; it need not exist."""
        return adapted_weights_folder(self._derived, name)

    @property
    def index_encoder(self) -> Encoder | None:
        """The encoder that made the passage embeddings; None for an index without vectors."""
        encoder = self._open_encoder()
        return encoder if encoder.dimension else None

    @property
    def encoder(self) -> Encoder:
        """The encoder that made the passage embeddings; raises InputError where the index was made without one."""
        encoder = self.index_encoder
        if encoder is None:
            raise InputError(
                "this index was made with --encoder none, so it has no vectors; use the retriever bm25, pagerank or "
                "entity-graph and the reranker cross-encoder or llm, or make a new index with an encoder"
            )
        return encoder

    def similar_passages(self, *, exact: bool = False) -> SimilarPassages:
        """Return the search of passages by their vectors; `exact` compares all of them, whatever their number."""
        return SimilarPassages(self.scope, self._open_lists, exact)

    def graph_walk(self) -> GraphWalk:
        """Return the walk from questions through this index, with its default settings."""
        return GraphWalk(self.scope, self.lexical, GraphWalkConfig())

    def chain_search(self, config: ChainSearchConfig | None = None) -> ChainSearch:
        """Return the search of chains of sentences of this index; without `config` with its default settings."""
        vectors = None
        if self.index_encoder is not None:
            vectors = QuestionVectors(self.begin_encoding, self.similar_passages())
        config = ChainSearchConfig() if config is None else config
        return ChainSearch(self.scope, self.lexical, self.scope.snapshot.sentences, vectors, config)

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return unit rows (n, d) of short texts, through the vector cache on disk."""
        return VectorCache(self._vectors).get_or_encode(texts, self.encoder, self._on_progress)

    def encode_texts_with(self, texts: Sequence[str], encoder: Encoder) -> FloatArray:
        """Return rows (n, d) of short texts by any encoder, through a vector cache of its own on disk."""
        place = self._vectors
        if encoder.fingerprint != self._open_encoder().fingerprint:
            place = place.with_name(f"vectors-{blake2b(encoder.fingerprint.encode(), digest_size=6).hexdigest()}.lance")
        return VectorCache(place).get_or_encode(texts, encoder, self._on_progress)

    def encode_questions(self, questions: Sequence[str]) -> FloatArray:
        """Return unit rows (n, d) of questions; characters that UTF-8 cannot write are replaced.

        The most recent ones are cached: an agent asks for the same ones at every step.
        """
        cached = dict(self.question_cache)
        missing = [question for question in dict.fromkeys(questions) if question not in cached]
        if missing:
            vectors = self.encoder.encode_queries([replace_surrogates(question) for question in missing])
            cached |= dict(zip(missing, vectors, strict=True))
            self.question_cache.clear()
            self.question_cache.update(list(cached.items())[-_CACHED_QUESTIONS:])
        rows = [cached[question] for question in questions]
        return np.stack(rows) if rows else np.zeros((0, self.encoder.dimension), dtype=np.float32)

    def begin_encoding(self, question: str) -> PendingVector:
        """Encode a question in a thread; return a function that waits for its unit row (d,)."""
        known = self.question_cache.get(question)
        if known is not None:
            return lambda: known
        return self._encoding_thread.submit(lambda: self.encode_questions([question])[0]).result

    @cached_property
    def triple_vectors(self) -> TripleEmbeddings:
        """The embeddings of the index's triples."""
        s, texts = self.scope.snapshot, self.text_vectors
        return TripleEmbeddings(
            s.triples, texts.entity_vectors(), texts.relation_vectors(), s.triple_passages, s.vectors
        )

    @cached_property
    def encoded_triple_vectors(self) -> TripleEmbeddings:
        """The embeddings of the index's triples as texts, `subject relation object`, as GeAR has them.

        They are computed at first use, about a minute for ten thousand triples, and mapped from disk after that.
        """
        s = self.scope.snapshot
        # A relation for each triple, and one name that adds nothing.
        triples = np.zeros_like(s.triples)
        triples[:, 1] = np.arange(len(triples))
        no_name = np.zeros((1, self.encoder.dimension), dtype=np.float32)
        return TripleEmbeddings(triples, no_name, self.triple_text_vectors(), s.triple_passages, s.vectors)

    def triple_text_vectors(self) -> FloatArray:
        """Return unit rows (T, d) of the texts `subject relation object` of all triples, cached on disk."""
        s = self.scope.snapshot

        def encode_triples() -> FloatArray:
            relations, entities = list(s.relations), list(s.entities)
            return self.encode_texts([f"{entities[h]} {relations[r]} {entities[t]}" for h, r, t in s.triples.tolist()])

        return self.cached_array(f"triples-{self.encoder.fingerprint}", encode_triples)

    @cached_property
    def text_vectors(self) -> TextVectors:
        """The embeddings of entity names and relations, computed at first use and mapped from disk after that."""
        s, encoder = self.scope.snapshot, self.encoder

        def load_vectors(kind: str, texts: Sequence[str]) -> FloatArray:
            return self.cached_array(f"{kind}-{encoder.fingerprint}", lambda: self.encode_texts(list(texts)))

        entities = lru_cache(maxsize=1)(lambda: load_vectors("names", s.entities))
        relations = lru_cache(maxsize=1)(lambda: load_vectors("relations", s.relations))
        return TextVectors(entities, relations, self.encode_questions)

    def cached_array(self, name: str, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return an array (...,) that depends on this index version and `name` only, computed once, cached on disk."""
        return self._arrays.load(name, compute)

    def load_fact_graph(self) -> FactGraph:
        """Return the facts of the index as a graph, cached on disk after the first time."""
        s, names = self.scope.snapshot, ("indptr", "neighbours", "edges")
        arrays = self._arrays.load_all(
            names, "facts", lambda: _named_arrays(fact_graph(s.triples, len(s.entities)), names)
        )
        return FactGraph(**arrays)

    def load_passage_graph(self) -> RelationalEdges:
        """Return the edges between passages and the entities that join them, cached on disk after the first time."""
        s, names = self.scope.snapshot, ("indptr", "senders", "relations", "triples")
        arrays = self._arrays.load_all(names, "passage-graph", lambda: _named_arrays(passage_graph(s), names))
        return RelationalEdges(**arrays, relation_count=len(s.relations) + 2)

    def relation_texts(self) -> RelationTexts:
        """Return the relations in words; raises InputError where the index has no encoder."""
        encoder = self.index_encoder
        if encoder is None:
            raise InputError(
                "this index was made with --encoder none, so relations cannot be compared with questions by meaning; "
                "give frag:ranker=bm25,relations_by=bm25,router=tf-idf, or make a new index with an encoder"
            )
        return RelationTexts(
            self.scope.snapshot.relations.__getitem__,
            lru_cache(maxsize=None)(end_examples(self.scope.snapshot)),
            encoder.encode,
            encoder.encode_queries,
        )


def _named_arrays(owner: object, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    return {name: getattr(owner, name) for name in names}


def _open_passages(derived: Path, name: str) -> StoredPassages:
    return unflatten_stored_passages(map_arrays(segments_folder(derived) / name), name)


def _open_list_search(folder: Path, snapshot: Snapshot) -> ListSearch | None:
    """Return the search of a snapshot's passages by lists; None where there are none, or a writer has removed them."""
    derived, segments = folder.parent.parent, snapshot.columns.segments
    if len(snapshot.passage_ids) < segment_files.LISTED_PASSAGES:
        return None
    file = segment_files.find_complete(derived, segments)
    if file is None:
        return None
    paths = [file.lists_path(name) for name in segments]
    return ListSearch([unflatten_lists(map_arrays(p), p.name) for p in paths], file.read(), snapshot.vectors)
