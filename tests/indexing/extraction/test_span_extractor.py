"""Extraction by trained weights: one reading with the vectors, long passages, the choice by capitals."""

import json
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.errors import InputError, ProviderError
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.indexing.extraction.span_extractor import (
    EXTRACTOR_WEIGHTS,
    LearnedExtractor,
    find_spans,
    join_readings,
    load_extractor,
    use_whole_identifiers,
)
from clew.indexing.sentence_vectors import PassageReading, encode_with_sentences, read_states
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.protocols import OnStates, SpanVectors
from clew.settings import Settings
from clew.types import Document, Extraction, Failure, Passage

TEXT = (
    "the fram was built by colin archer in larvik for fridtjof nansen. it was later used by roald amundsen, who "
    "sailed to antarctica in 1910 and reached the south pole."
)
LONG = " ".join(f"In {1900 + n} the ship Fram {n} left Oslo for the island of Spitsbergen {n}." for n in range(40))


def make_passage(text: str, title: str = "Fram") -> Passage:
    return Passage("p", "d", title, text, 0, len(text))


def names(result: Extraction | Failure) -> list[str]:
    assert isinstance(result, Extraction)
    return [mention.name for mention in result.mentions]


class CountingEncoder:
    """The bundled encoder, counting the texts that it reads."""

    dimension = Int8MiniLM.dimension

    def __init__(self) -> None:
        self.inner = Int8MiniLM()
        self.texts: list[str] = []

    def encode_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]], on_states: OnStates | None = None
    ) -> SpanVectors:
        self.texts += texts
        return self.inner.encode_spans(texts, spans, on_states)


def test_names_are_found_without_capitals_and_linked_to_the_title() -> None:
    (lower, upper) = LearnedExtractor().extract([make_passage(TEXT), make_passage(TEXT.upper())])
    assert {"colin archer", "roald amundsen", "antarctica", "1910"} <= set(names(lower))
    assert [name.lower() for name in names(upper)] == names(lower)
    assert isinstance(lower, Extraction)
    for mention in lower.mentions:
        assert TEXT[mention.start : mention.end] == mention.name
    assert {mention.kind for mention in lower.mentions} == {"name", "date"}
    assert {("Fram", "colin archer"), ("Fram", "roald amundsen")} <= {(h, t) for h, _, t in lower.triples}


def test_vectors_come_from_the_same_runs_bit_for_bit() -> None:
    encoder = CountingEncoder()
    passages = [make_passage(TEXT), make_passage(LONG), make_passage("", ""), make_passage("x", "")]
    extractor = LearnedExtractor(encoder=encoder)
    results, encoded = extractor.extract_and_encode(passages)
    texts = [(p.title, p.text) for p in passages]
    expected = encode_with_sentences(encoder.inner, texts)
    assert encoded.vectors.tobytes() == expected.vectors.tobytes()
    for own, other in zip(encoded.sentences, expected.sentences, strict=True):
        np.testing.assert_array_equal(own.vectors, other.vectors)
        np.testing.assert_array_equal(own.spans, other.spans)
    assert len(set(encoder.texts)) == len(encoder.texts) > len(passages)  # each once, and the rests of the long one
    assert extractor.extract(passages) == results


def test_a_long_passage_is_read_to_its_end_and_nothing_twice() -> None:
    (found,) = LearnedExtractor().extract([make_passage(LONG)])
    assert isinstance(found, Extraction)
    places = [(mention.start, mention.end) for mention in found.mentions]
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    assert len(places) > 40
    assert places[0][0] < 20
    assert places[-1][1] > len(LONG) - 100


def test_readings_are_joined_where_the_next_begins() -> None:
    assert join_readings([(50, [(50, 55), (90, 95)]), (0, [(3, 5), (48, 52), (60, 64)])]) == [
        (3, 5),
        (50, 55),
        (90, 95),
    ]
    assert join_readings([]) == []


def test_offsets_are_those_of_the_text_and_not_of_the_title() -> None:
    readings: list[PassageReading] = []
    read_states(Int8MiniLM(), [("oslo", "oslo and bergen are towns in norway.")], readings.append)
    (reading,) = readings
    spans = find_spans(load_extractor(EXTRACTOR_WEIGHTS).tagger, reading)
    assert ["oslo and bergen are towns in norway."[a:b] for a, b in spans if a >= 0] == ["oslo", "bergen", "norway"]


def test_capitals_choose_the_extractor() -> None:
    cased = make_passage("The Fram was built by Colin Archer in Larvik for Fridtjof Nansen, and sailed to Oslo.")
    chinese = make_passage("卡尔斯克鲁纳是瑞典的港口城市。" * 3)
    passages = [cased, make_passage(TEXT), chinese]
    extractor = LearnedExtractor(rules=RuleExtractor())
    expected = [*RuleExtractor().extract([cased]), *LearnedExtractor().extract([passages[1]])]
    expected += RuleExtractor().extract([chinese])
    assert extractor.extract(passages) == expected
    assert extractor.extract_and_encode(passages)[0] == expected
    assert RuleExtractor().fingerprint in extractor.fingerprint
    assert LearnedExtractor().fingerprint in extractor.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("sentences", ["vectors", "none"])
def test_an_index_reads_each_passage_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: str) -> None:
    read: list[str] = []
    whole = Int8MiniLM.encode_spans

    def count(self: Int8MiniLM, texts: Sequence[str], *rest: object) -> SpanVectors:
        read.extend(texts)
        return whole(self, texts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Int8MiniLM, "encode_spans", count)
    documents = [Document("a", "Fram", TEXT), Document("b", "Voyages", LONG)]
    rows = {}
    for extractor in ("learned", "auto", "rules"):
        chosen = Settings(extractor=extractor, sentences=sentences)
        index = clew.create(tmp_path / extractor, chosen)
        read.clear()
        assert index.add(documents).passages == 3
        if extractor != "rules":
            assert read.count(f"Fram\n{TEXT}") == 1
        rows[extractor] = index.table.read(["vector"])["vector"].to_pylist()
    assert rows["learned"] == rows["auto"] == rows["rules"]


def test_an_index_of_another_encoder_reads_by_the_bundled_one(tmp_path: Path) -> None:
    index = clew.create(tmp_path / "index", Settings(encoder="hashing", extractor="learned"))
    index.add([Document("a", "Fram", TEXT)])
    assert "roald amundsen" in index.snapshot.entities


def test_damaged_and_foreign_weights_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    shutil.copytree(EXTRACTOR_WEIGHTS, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    other = {**config, "encoder": {"fingerprint": "other"}}
    (folder / "config.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(InputError, match="reads the encoder other; the bundled one is int8"):
        LearnedExtractor(folder)
    (folder / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ProviderError, match=r"the extractor in .* cannot be read"):
        LearnedExtractor(folder)
    with pytest.raises(ProviderError, match="cannot be read"):
        LearnedExtractor(tmp_path / "nowhere")


def test_no_name_is_a_part_of_an_identifier() -> None:
    text = "the widget-317 of Nino and AX-4000-12 in mid-1990 Paris-based C++."
    spans = [
        (text.index(part), text.index(part) + len(part)) for part in ("widget-", "Nino", "AX", "12", "Paris", "C++")
    ]
    found = [text[start:end] for start, end in use_whole_identifiers(text, spans)]
    assert found == ["widget-317", "Nino", "AX-4000-12", "Paris", "C++"]
