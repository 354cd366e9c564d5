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
from clew.graph.triple_embeddings import TripleVectors
from clew.protocols import Encoder, LanguageModel
from clew.query.graph_walk import PageRankWeights, Walker
from clew.retrievers.evidence import Scope
from clew.retrievers.frag.factory import GraphParts
from clew.retrievers.spec import Options
from clew.retrievers.subgraph.retriever import TextVectors
from clew.store.array_cache import kept_array
from clew.store.pretrained import CONFIG, SHIPPED, own_weights
from clew.store.vector_cache import VectorStore
from clew.text.bm25 import LexicalIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.retrievers.gfm.factory import Surroundings
    from clew.retrievers.gfm.weights import TrainedGNN
    from clew.types import FloatArray

LEXICAL = "lexical"
_REMEMBERED = 1024  # questions


class Parts:
    """What retrievers are made of, for one version of an index.

    Attributes:
        scope: The snapshot and its filters.
        lexical: The words of the passages.
        paths: How many paths explain each passage, where each of them costs time.
        options: What the user says of the retriever.
        known_questions: The vectors of the last questions.
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
        self.lexical = LexicalIndex.load(folder / LEXICAL)
        self.paths = 1
        self.options = Options()
        self.known_questions: dict[str, FloatArray] = {}
        self._folder = folder
        self._vectors = vectors
        self._open_encoder = open_encoder
        self.open_model = open_model
        self._on_progress = on_progress

    def explaining(self, paths: int) -> "Parts":
        """Return the same parts for retrievers that give so many paths a passage; 0 saves the time that they cost."""
        if paths < 0:
            raise InputError(f"paths is {paths}: ask for 0 or more a passage")
        parts = copy(self)
        parts.paths = paths
        return parts

    def told(self, options: Options, *, anew: bool = False) -> "Parts":
        """Return the same parts with what the user says of the retriever; anew, with no question's vector known."""
        parts = copy(self)
        parts.options = options
        parts.known_questions = {} if anew else self.known_questions
        return parts

    def weights(self, name: str) -> Path:
        """Return the folder of a network's weights: the one asked for, the index's own, or those of the package.

        Raises:
            InputError: The one asked for holds none.
        """
        own = self.own_weights(name)
        asked = self.options.text("weights", "")
        if asked and not (Path(asked).expanduser() / CONFIG).is_file():
            raise InputError(
                f"{name}: weights is {asked!r}, which holds no {CONFIG}; give a folder that clew train made"
            )
        return Path(asked).expanduser() if asked else own if (own / CONFIG).is_file() else SHIPPED / name

    def own_weights(self, name: str) -> Path:
        """Return the folder of the weights that were adapted to this index, whether they are there or not."""
        return own_weights(self._vectors.parent, name)

    def surroundings(self) -> "Surroundings":
        """Return what the graph neural network is given of the index."""
        from clew.models.encoders.registry import open_reading
        from clew.models.encoders.sentence_transformer import Reading
        from clew.retrievers.gfm.factory import Surroundings

        def own(trained: "TrainedGNN") -> Encoder:
            encoder = trained.encoder
            return open_reading(encoder.name, Reading(encoder.normalize, encoder.query, encoder.text))

        encoder = self._open_encoder()
        walker = Walker(self.scope, self.lexical, PageRankWeights())
        return Surroundings(walker, encoder if encoder.dimension else None, own, self.encode_by, self.kept)

    def graph_parts(self) -> GraphParts:
        """Return what retrievers of paths are given of the index."""
        encoder = self._open_encoder()
        read = encoder if encoder.dimension else None
        return GraphParts(self.scope, self.lexical, read, self.kept, self.weights)

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
        return VectorStore(self._vectors).get_or_encode(texts, self.encoder, self._on_progress)

    def question_vectors(self, questions: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d) to search with; what UTF-8 cannot write is replaced, as everywhere in a question.

        Those of the last questions are remembered: an agent asks for the same ones at every step.
        """
        known = dict(self.known_questions)
        fresh = [question for question in dict.fromkeys(questions) if question not in known]
        if fresh:
            rows = self.encoder.encode_queries([question.encode(errors="replace").decode() for question in fresh])
            known |= dict(zip(fresh, rows, strict=True))
            self.known_questions.clear()
            self.known_questions.update(list(known.items())[-_REMEMBERED:])
        found = [known[question] for question in questions]
        return np.stack(found) if found else np.zeros((0, self.encoder.dimension), dtype=np.float32)

    @cached_property
    def triple_vectors(self) -> TripleVectors:
        """The vectors of the index's triples."""
        s, texts = self.scope.snapshot, self.text_vectors
        return TripleVectors(s.triples, texts.names(), texts.relations(), s.triple_passages, s.vectors)

    @cached_property
    def text_vectors(self) -> TextVectors:
        """The vectors of names and relations, made when first asked for and mapped after that.

        Raises:
            InputError: The index was made without an encoder.
        """
        s, encoder = self.scope.snapshot, self.encoder

        def of(kind: str, texts: Sequence[str]) -> "FloatArray":
            return self.kept(f"{kind}-{encoder.fingerprint}", lambda: self.encode_texts(list(texts)))

        names = lru_cache(maxsize=1)(lambda: of("names", s.entities))
        return TextVectors(names, lru_cache(maxsize=1)(lambda: of("relations", s.relations)), self.question_vectors)

    def encode_by(self, texts: Sequence[str], encoder: Encoder) -> "FloatArray":
        """Return rows (n, d) for short texts by another encoder than the index's, remembering them on disk."""
        place = self._vectors
        if encoder.fingerprint != self._open_encoder().fingerprint:
            place = place.with_name(f"vectors-{blake2b(encoder.fingerprint.encode(), digest_size=6).hexdigest()}.lance")
        return VectorStore(place).get_or_encode(texts, encoder, self._on_progress)

    def kept(self, name: str, make: "Callable[[], NDArray[Any]]") -> "NDArray[Any]":
        """Return an array that depends on this version of the index and on `name`, made once and kept on disk."""
        return kept_array(self._vectors.parent / "arrays" / self._folder.name / name, make)
