"""Exported extractions equal the originals when they are read again."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.index import Index
from clew.types import Extraction, Mention, Passage
from clew_lab.extraction.export import LAYOUTS, ExtractedPassage, format_extractions, read_extractions
from clew_lab.extraction.published import PublishedExtractor

EMPTY = '{"docs": [], "avg_ent_chars": 0.0, "avg_ent_words": 0.0}\n'
PASSAGES = (
    ExtractedPassage(
        "a", "Fram", "Fram left\nOslo.", Extraction((Mention("Fram"), Mention("Oslo")), (("Fram", "to", "Å"),))
    ),
    ExtractedPassage("b", "", "卡尔斯克鲁纳 \u2028 x", Extraction((Mention("卡尔斯克鲁纳 城"),), ())),
)


def test_lines() -> None:
    assert "".join(format_extractions("lines", PASSAGES)) == (
        '{"id": "a", "entities": ["Fram", "Oslo"], "triples": [["Fram", "to", "Å"]]}\n'
        '{"id": "b", "entities": ["卡尔斯克鲁纳 城"], "triples": []}\n'
    )
    assert list(format_extractions("lines", [])) == []


def test_hipporag() -> None:
    file = json.loads("".join(format_extractions("hipporag", PASSAGES)))
    assert list(file) == ["docs", "avg_ent_chars", "avg_ent_words"]
    assert (file["avg_ent_chars"], file["avg_ent_words"]) == (round((4 + 4 + 8) / 3, 4), round(4 / 3, 4))
    first = file["docs"][0]
    assert list(first) == ["idx", "passage", "extracted_entities", "extracted_triples"]
    assert first["passage"] == "Fram\nFram left\nOslo."
    assert first["idx"] == "chunk-a858670292eb1222a70d101b627af228"
    assert (first["extracted_entities"], first["extracted_triples"]) == (["Fram", "Oslo"], [["Fram", "to", "Å"]])
    assert "".join(format_extractions("hipporag", [])) == EMPTY


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(InputError, match="choose lines or hipporag"):
        format_extractions("csv", [])


NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9).map(lambda s: " ".join(s.split()))
TRIPLE = st.tuples(*[NAME.filter(bool)] * 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(st.lists(st.lists(TRIPLE, min_size=1, max_size=4, unique=True), min_size=1, max_size=4))
def test_any_triples_come_back(layout: str, found: Sequence[Sequence[tuple[str, str, str]]]) -> None:
    passages = [
        ExtractedPassage(f"p{n}", "T" if n % 2 else "", f"Text {n}.", Extraction((), tuple(t)))
        for n, t in enumerate(found)
    ]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        file.write_text("".join(format_extractions(layout, passages)), encoding="utf-8", newline="\n")
        read = PublishedExtractor(file).extract([Passage(p.id, p.id, p.title, p.text, 0, 9) for p in passages])
    assert [r.triples for r in read if isinstance(r, Extraction)] == [p.extraction.triples for p in passages]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_corpus_extracted_by_rules_comes_back(layout: str, polar: Index, tmp_path: Path) -> None:
    rows = polar.table.read()
    texts = (rows[name].to_pylist() for name in ("id", "title", "text"))
    passages = list(map(ExtractedPassage, *texts, read_extractions(rows)))
    assert len(passages) > 10
    file = tmp_path / "found.json"
    file.write_text("".join(format_extractions(layout, passages)), encoding="utf-8", newline="\n")
    requested = [Passage(p.id, p.id, p.title, p.text, 0, len(p.text)) for p in passages]
    for passage, read in zip(passages, PublishedExtractor(file).extract(requested), strict=True):
        assert isinstance(read, Extraction), read
        assert read.triples == tuple(dict.fromkeys(passage.extraction.triples))
        assert {m.name for m in read.mentions} >= {m.name for m in passage.extraction.mentions if m.start >= 0}
