"""What retrievers and rerankers are made of, for one version of an index: its snapshot, its words, its vectors."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot.snapshot import load_snapshot
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.protocols import Encoder, LanguageModel
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.retrievers.evidence import Scope
from clew.retrievers.frag.factory import GraphSearchContext
from clew.retrievers.spec import Options
from clew.retrievers.subgraph.retriever import TextVectors
from clew.store.array_cache import load_or_compute
from clew.store.pretrained import CONFIG_FILE, PRETRAINED_FOLDER, adapted_weights_folder
from clew.store.vector_cache import VectorCache
from clew.text.bm25 import BM25Index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.retrievers.gfm.factory import GFMContext
    from clew.retrievers.gfm.weights import TrainedGNN
    from clew.types import FloatArray

LEXICAL = "lexical"
_CACHED_QUESTIONS = 1024  # questions


class IndexContext:
    """What retrievers are made of, for one version of an index.

    Attributes:
        scope: The snapshot and its filters.
        lexical: The words of the passages.
        paths_per_passage: How many paths explain each passage, where each of them costs time.
        options: What the user says of the retriever.
        question_cache: The vectors of the last questions.
        open_model: Gives the language model of a name.

    Args:
        folder: The snapshot on disk.
        vectors: Where vectors of short texts are remembered.
        open_encoder: Gives the encoder that made the passages' vectors.
        open_model: As above.
        on_progress: Told how many texts were encoded, when a retriever has to encode many.
    """

    def __init__(
        self,
        folder: Path,
        vectors: Path,
        open_encoder: Callable[[], Encoder],
        open_model: Callable[[str], LanguageModel],
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        # Both are mapped now, not when first used: the files may be replaced while this version is still held.
        self.scope = Scope(load_snapshot(folder))
        self.lexical = BM25Index.load(folder / LEXICAL)
        self.paths_per_passage = 1
        self.options = Options()
        self.question_cache: dict[str, FloatArray] = {}
        self._folder = folder
        self._vectors = vectors
        self._open_encoder = open_encoder
        self.open_model = open_model
        self._on_progress = on_progress

    def with_paths_per_passage(self, paths: int) -> "IndexContext":
        """Return the same parts for retrievers that give so many paths a passage; 0 saves the time that they cost."""
        if paths < 0:
            raise InputError(f"paths is {paths}: ask for 0 or more a passage")
        parts = copy(self)
        parts.paths_per_passage = paths
        return parts

    def with_options(self, options: Options, *, fresh_cache: bool = False) -> "IndexContext":
        """Return the same parts with what the user says of the retriever; anew, with no question's vector known."""
        parts = copy(self)
        parts.options = options
        parts.question_cache = {} if fresh_cache else self.question_cache
        return parts

    def weights_folder(self, name: str) -> Path:
        """Return the folder of a network's weights: the one asked for, the index's own, or those of the package.

        Raises:
            InputError: The one asked for holds none.
        """
        own = self.own_weights_folder(name)
        asked = self.options.text("weights", "")
        if asked and not (Path(asked).expanduser() / CONFIG_FILE).is_file():
            raise InputError(
                f"{name}: weights is {asked!r}, which holds no {CONFIG_FILE}; give a folder that clew train made"
            )
        return Path(asked).expanduser() if asked else own if (own / CONFIG_FILE).is_file() else PRETRAINED_FOLDER / name

    def own_weights_folder(self, name: str) -> Path:
        """Return the folder of the weights that were adapted to this index, whether they are there or not."""
        return adapted_weights_folder(self._vectors.parent, name)

    def gfm_context(self) -> "GFMContext":
        """Return what the graph neural network is given of the index."""
        from clew.models.encoders.registry import open_configured_encoder
        from clew.models.encoders.sentence_transformer import EmbeddingConfig
        from clew.retrievers.gfm.factory import GFMContext

        def own(trained: "TrainedGNN") -> Encoder:
            encoder = trained.encoder
            return open_configured_encoder(
                encoder.name, EmbeddingConfig(encoder.normalize, encoder.query, encoder.text)
            )

        encoder = self._open_encoder()
        walker = GraphWalk(self.scope, self.lexical, GraphWalkConfig())
        return GFMContext(
            walker, encoder if encoder.dimension else None, own, self.encode_texts_with, self.cached_array
        )

    def graph_search_context(self) -> GraphSearchContext:
        """Return what retrievers of paths are given of the index."""
        encoder = self._open_encoder()
        read = encoder if encoder.dimension else None
        return GraphSearchContext(self.scope, self.lexical, read, self.cached_array, self.weights_folder)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that made the passages' vectors.

        Raises:
            InputError: The index was made without one.
        """
        encoder = self._open_encoder()
        if not encoder.dimension:
            raise InputError(
                "this index was made with --encoder none, so it has no vectors; use the retriever bm25, pagerank or "
                "entity-graph and the reranker cross-encoder or llm, or make a new index with an encoder"
            )
        return encoder

    def encode_texts(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d) for short texts, remembering them on disk."""
        return VectorCache(self._vectors).get_or_encode(texts, self.encoder, self._on_progress)

    def encode_questions(self, questions: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d) to search with; what UTF-8 cannot write is replaced, as everywhere in a question.

        Those of the last questions are remembered: an agent asks for the same ones at every step.
        """
        known = dict(self.question_cache)
        fresh = [question for question in dict.fromkeys(questions) if question not in known]
        if fresh:
            rows = self.encoder.encode_queries([question.encode(errors="replace").decode() for question in fresh])
            known |= dict(zip(fresh, rows, strict=True))
            self.question_cache.clear()
            self.question_cache.update(list(known.items())[-_CACHED_QUESTIONS:])
        found = [known[question] for question in questions]
        return np.stack(found) if found else np.zeros((0, self.encoder.dimension), dtype=np.float32)

    @cached_property
    def triple_vectors(self) -> TripleEmbeddings:
        """The vectors of the index's triples."""
        s, texts = self.scope.snapshot, self.text_vectors
        return TripleEmbeddings(
            s.triples, texts.entity_vectors(), texts.relation_vectors(), s.triple_passages, s.vectors
        )

    @cached_property
    def text_vectors(self) -> TextVectors:
        """The vectors of names and relations, made when first asked for and mapped after that.

        Raises:
            InputError: The index was made without an encoder.
        """
        s, encoder = self.scope.snapshot, self.encoder

        def of(kind: str, texts: Sequence[str]) -> "FloatArray":
            return self.cached_array(f"{kind}-{encoder.fingerprint}", lambda: self.encode_texts(list(texts)))

        names = lru_cache(maxsize=1)(lambda: of("names", s.entities))
        return TextVectors(names, lru_cache(maxsize=1)(lambda: of("relations", s.relations)), self.encode_questions)

    def encode_texts_with(self, texts: Sequence[str], encoder: Encoder) -> "FloatArray":
        """Return rows (n, d) for short texts by another encoder than the index's, remembering them on disk."""
        place = self._vectors
        if encoder.fingerprint != self._open_encoder().fingerprint:
            place = place.with_name(f"vectors-{blake2b(encoder.fingerprint.encode(), digest_size=6).hexdigest()}.lance")
        return VectorCache(place).get_or_encode(texts, encoder, self._on_progress)

    def cached_array(self, name: str, compute: "Callable[[], NDArray[Any]]") -> "NDArray[Any]":
        """Return an array that depends on this version of the index and on `name`, made once and kept on disk."""
        return load_or_compute(self._vectors.parent / "arrays" / self._folder.name / name, compute)
