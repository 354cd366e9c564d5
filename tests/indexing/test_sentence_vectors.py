"""Vectors of sentences: from one reading of a passage, from several of a long one, or each by itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.arrays import FloatArray
from clew.graph.segments.sentence_columns import round_sentences, unit_sentences
from clew.index import Index
from clew.indexing.sentence_vectors import TITLE_SHARE, encode_with_sentences
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.protocols import SpanVectors
from clew.settings import Settings
from clew.store.integrity import find_damaged_rows
from clew.store.passage_table import PassageTable
from clew.store.schema import SENTENCE_COLUMNS
from clew.text.sentences import passage_sentence_spans
from tests.small_index import DOCUMENTS

LETTERS = "abcdefghijklmnopqrstuvwxyz. TF"


class LetterEncoder:
    """Reads the first 200 characters of a text; the vector of a span counts its letters."""

    name, dimension, fingerprint = "letters", len(LETTERS), "letters"

    def __init__(self, reads: int = 200) -> None:
        self.reads = reads
        self.texts = 0

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return np.array([count_letters(text[: self.reads]) for text in texts]).reshape(-1, self.dimension)

    encode_queries = encode

    def encode_spans(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> SpanVectors:
        self.texts += len(texts)
        vectors = [
            np.array([count_letters(text[: self.reads][start:end]) for start, end in own]).reshape(-1, self.dimension)
            for text, own in zip(texts, spans, strict=True)
        ]
        return SpanVectors(self.encode(texts), vectors, [min(len(text), self.reads) for text in texts])


def count_letters(text: str) -> Any:
    counts = np.array([text.count(letter) for letter in LETTERS], dtype=np.float32)
    return counts / max(float(np.linalg.norm(counts)), 1e-9)


SENTENCES = st.lists(st.sampled_from(("The ship left the harbour of the town.", "It sank.", "F" * 190 + " is long.")))
PASSAGES = st.tuples(st.sampled_from(("", "Fram", "F" * 400)), SENTENCES.map(" ".join))


@given(st.lists(PASSAGES, max_size=4))
def test_a_sentence_is_read_whole_wherever_it_stands(passages: list[tuple[str, str]]) -> None:
    encoder = LetterEncoder()
    encoded = encode_with_sentences(encoder, passages)
    texts = [f"{title}\n{text}" if title else text for title, text in passages]
    np.testing.assert_array_equal(encoded.vectors, encoder.encode(texts))
    for (title, text), whole, sentences in zip(passages, encoded.vectors, encoded.sentences, strict=True):
        spans = passage_sentence_spans(text)
        assert [tuple(span) for span in sentences.spans.tolist()] == spans
        read = encoder.reads - (len(title) + 1 if title else 0)
        rows = [
            count_letters(text[start:end][: max(read, 0)]) + np.float32(TITLE_SHARE) * count_letters(title)
            if read > 0
            else whole
            for start, end in spans
        ]
        expected = round_sentences(np.array(rows, dtype=np.float32).reshape(-1, encoder.dimension))
        assert np.abs(sentences.vectors.astype(int) - expected).max(initial=0) <= 1


def test_a_short_passage_is_read_once_and_a_long_one_goes_on() -> None:
    encoder = LetterEncoder()
    encode_with_sentences(encoder, [("Fram", "The ship left the harbour of the town."), ("", "")])
    assert encoder.texts == 2
    encode_with_sentences(encoder, [("Fram", "The ship left the harbour of the town. " * 10)])
    assert encoder.texts == 2 + 2  # five sentences, and five more


def test_other_encoders_read_each_sentence_after_its_title() -> None:
    encoder = HashingEncoder(32)
    passages = [("Fram", "The ship left the harbour. The crew was glad about the wind."), ("", "No title here at all.")]
    encoded = encode_with_sentences(encoder, passages)
    texts = ["Fram: The ship left the harbour.", "Fram: The crew was glad about the wind.", "No title here at all."]
    joined = np.concatenate([own.vectors for own in encoded.sentences])
    # The first sentence has 26 characters and nothing before it to join.
    texts[0] = f"Fram: {passages[0][1][slice(*encoded.sentences[0].spans[0])]}"
    np.testing.assert_array_equal(joined, round_sentences(encoder.encode(texts)))
    np.testing.assert_array_equal(encoded.vectors, encoder.encode(["\n".join(passages[0]), passages[1][1]]))
    assert encode_with_sentences(encoder, []).sentences == []


def test_the_default_encoder_reads_long_passages_to_their_end() -> None:
    encoder = Int8MiniLM()
    filler = [f"Number {n} of the long list of ships says nothing about birds." for n in range(40)]
    text = " ".join([*filler[:38], "Penguins live on the coasts of the Antarctic ice."])
    encoded = encode_with_sentences(encoder, [("Ships", text)])
    np.testing.assert_array_equal(encoded.vectors, encoder.encode([f"Ships\n{text}"]))
    rows = unit_sentences(encoded.sentences[0].vectors)
    assert len(rows) == 39
    assert int((rows @ encoder.encode(["Where do penguins live?"])[0]).argmax()) == 38


@pytest.mark.parametrize("sentences", ["vectors", "none"])
def test_vectors_come_from_the_table_whatever_the_batches(
    tmp_path: Path, sentences: Literal["vectors", "none"]
) -> None:
    indexes = [make(tmp_path / "one", sentences), make(tmp_path / "two", sentences, step=5)]
    found = [index.snapshot.sentences for index in indexes]
    assert len(found[0]) == len(found[1]) > len(DOCUMENTS)
    everything = np.arange(len(found[0]))
    assert (SENTENCE_COLUMNS[0] in indexes[0].table.read().column_names) == (sentences == "vectors")
    np.testing.assert_array_equal(found[0].spans[everything], found[1].spans[everything])
    stats = indexes[0].stats()
    assert stats.sentences == len(found[0])
    assert stats.sentence_vector_bytes == (24 * len(found[0]) if sentences == "vectors" else 0)
    assert stats.sentence_bytes > stats.sentence_vector_bytes
    if sentences == "none":
        assert found[0].vectors is found[1].vectors is None
        return
    first, second = (own.vectors for own in found)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.rows(everything), second.rows(everything))
    snapshot = indexes[0].snapshot
    for passage in range(len(snapshot.passage_ids)):
        own = np.arange(found[0].offsets[passage], found[0].offsets[passage + 1])
        title, text = snapshot.titles[passage], snapshot.texts[passage]
        texts = [f"{title}: {text[a:b]}" if title else text[a:b] for a, b in found[0].spans[own].tolist()]
        expected = unit_sentences(round_sentences(HashingEncoder(24).encode(texts)))
        np.testing.assert_array_equal(first.rows(own), expected)


def make(folder: Path, sentences: Literal["vectors", "none"], step: int = 100) -> Index:
    index = clew.create(folder, Settings(encoder="hashing:24", extractor="rules", sentences=sentences))
    for start in range(0, len(DOCUMENTS), step):
        index.add(DOCUMENTS[start : start + step])
    return index


def test_an_index_made_before_has_sentences_without_vectors(tmp_path: Path) -> None:
    made = make(tmp_path / "made", "vectors")
    settings = {name: value for name, value in made.table.settings.items() if name != "sentences"}
    PassageTable.create(tmp_path / "older", settings, made.table.dimension)
    older = clew.open(tmp_path / "older")
    older.add(DOCUMENTS)
    assert older.snapshot.sentences.vectors is None
    assert len(older.snapshot.sentences) == len(made.snapshot.sentences)
    older.reencode("hashing:24", "vectors")
    assert older.snapshot.sentences.vectors is not None


def test_a_damaged_vector_is_found(tmp_path: Path) -> None:
    index = make(tmp_path / "index", "vectors")
    stored = index.table._dataset.to_table()
    vectors = stored["sentence_vectors"].to_pylist()
    vectors[3] = bytes([vectors[3][0] ^ 1]) + vectors[3][1:]
    place = stored.schema.get_field_index("sentence_vectors")
    changed = stored.set_column(place, stored.schema.field(place), [vectors])
    assert find_damaged_rows(stored) == []
    assert find_damaged_rows(changed) == [3]
