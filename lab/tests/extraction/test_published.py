import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.text.normalization import name_key
from clew.types import Extraction, Failure, Mention, Passage
from clew_lab.extraction.published import PublishedExtractor

TEXT = "In 1893 the Fram left Oslo. Colin  Archer, of Larvik, had built the FRAM for US$ 500 million in Zürich."
PASSAGE = Passage("p1", "d1", "Fram (ship)", TEXT, 0, len(TEXT))
ENTITIES = ["Oslo", "1893", "Fram", "Nansen"]
TRIPLES = [["Fram", "left", "Oslo"], ["Colin Archer", "built", "Fram"]]
FACTS = (("Fram", "left", "Oslo"), ("Colin Archer", "built", "Fram"))


def make_passage(identifier: str, text: str = TEXT, title: str = "Fram (ship)") -> Passage:
    return Passage(identifier, "d", title, text, 0, len(text))


def write_lines(path: Path, *entries: Any) -> Path:
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    return path


def write_hipporag(path: Path, *documents: Any, indent: int | None = None) -> Path:
    path.write_text(json.dumps({"docs": documents, "avg_ent_chars": 5.5}, indent=indent), encoding="utf-8")
    return path


def make_document(text: str, entities: Any = ENTITIES, triples: Any = TRIPLES) -> dict[str, Any]:
    return {"idx": "chunk-0", "passage": text, "extracted_entities": entities, "extracted_triples": triples}


def extract_one(path: Path, target: Passage = PASSAGE) -> Extraction:
    (result,) = PublishedExtractor(path).extract([target])
    assert isinstance(result, Extraction), result
    return result


def failure_reason(path: Path, target: Passage = PASSAGE) -> str:
    (result,) = PublishedExtractor(path).extract([target])
    assert isinstance(result, Failure), result
    assert result.item == target.id
    return result.reason


def test_lines_are_found_by_id(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "openie.jsonl", {"id": "p0", "triples": []}, {"id": "p1", "entities": ENTITIES, "triples": TRIPLES}
    )
    result = extract_one(path)
    assert result.triples == FACTS
    assert result.mentions == (
        Mention("1893", "date", 3, 7),
        Mention("Fram", "name", 12, 16),
        Mention("Oslo", "name", 22, 26),
        Mention("Nansen", "name", -1, -1),
    )


def test_results_come_in_the_order_of_the_passages(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(20)]
    path = write_lines(tmp_path / "a.jsonl", *({"id": name, "triples": [[name, "is", "x"]]} for name in names))
    passages = [*reversed(names), "none", "p3"]
    results = PublishedExtractor(path).extract([make_passage(name) for name in passages])
    assert [result.triples[0][0] if isinstance(result, Extraction) else result.item for result in results] == passages
    assert PublishedExtractor(path).extract([]) == []


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("stated", [f"Fram (ship)\n{TEXT}", f"FRAM (ship)  \n\n{TEXT.replace(' ', '  ')} ", TEXT])
def test_hipporag_entries_are_found_by_text(tmp_path: Path, stated: str, indent: int | None) -> None:
    path = write_hipporag(
        tmp_path / "openie_results.json", make_document("other\ntext"), make_document(stated), indent=indent
    )
    assert extract_one(path).triples == FACTS
    assert "not in openie_results.json: no entry has the text of passage 'p2'" in failure_reason(
        path, make_passage("p2", "new")
    )


def test_a_title_tells_equal_texts_apart(tmp_path: Path) -> None:
    texts = [make_document(f"{title}\nsee there", [title]) for title in ("One", "Two")]
    path = write_hipporag(tmp_path / "a.json", *texts, make_document("see there", ["None"]))
    for title, expected in (("One", "One"), ("Two", "Two"), ("Three", "None")):
        (mention,) = extract_one(path, make_passage("p", "see there", title)).mentions
        assert mention.name == expected


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Colin Archer", "Colin  Archer"),
        ("zurich", "Zürich"),
        ("LARVIK", "Larvik"),
        ("US", "US"),
        ("us", "US"),
        ("Arch", "Arch"),
        ("500 million", "500 million"),
        ("Archer Colin", None),
        ("+", None),
    ],
)
def test_places(tmp_path: Path, name: str, written: str | None) -> None:
    (mention,) = extract_one(write_lines(tmp_path / "a.jsonl", {"id": "p1", "entities": [name]})).mentions
    assert (mention.name if mention.start >= 0 else None) == written
    if mention.start >= 0:
        assert TEXT[mention.start : mention.end] == mention.name


def test_whole_words_come_before_parts_of_words(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", {"id": "p1", "entities": ["ran"]})
    for text, start in (("France ran", 7), ("France RAN", 7), ("France", 1), ("ran", 0), ("Rain", -1)):
        (mention,) = extract_one(path, make_passage("p1", text)).mentions
        assert mention.start == start


def test_unspaced_scripts(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", {"id": "p1", "entities": ["東京", "서울"]})
    result = extract_one(path, make_passage("p1", "私は東京に、서울은"))
    assert [(mention.name, mention.start) for mention in result.mentions] == [("東京", 2), ("서울", 6)]


@settings(max_examples=60, deadline=None)
@given(st.text("abAB é東.-", min_size=1, max_size=12), st.text("abAB é東.-", min_size=1, max_size=4))
def test_places_hold_the_name(tmp_path_factory: pytest.TempPathFactory, text: str, name: str) -> None:
    clean = " ".join(name.split())
    assume(clean)
    path = write_lines(tmp_path_factory.getbasetemp() / "given.jsonl", {"id": "p1", "entities": [name]})
    (mention,) = extract_one(path, make_passage("p1", text)).mentions
    assert mention.start >= 0 or clean not in text
    if mention.start >= 0:
        assert text[mention.start : mention.end] == mention.name
        assert name_key(mention.name) == name_key(clean)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "date") for name in ("1893", "1990s", "17 March 1987", "September 12, 1953", "January 1960")),
        *(
            (name, "date")
            for name in ("June 2", "2 June", "1999-05-12", "19th century", "44 BC", "1914-18", "1868年1月")
        ),
        *(
            (name, "number")
            for name in ("42", "8,173,941", "-3.5", "25%", "$21.4 trillion", "320 km", "€400,000", "3 km²")
        ),
        *(
            (name, "name")
            for name in ("50 Cent", "2008 Summer Olympics", "March", "Apollo 11", "9/11", "Maya", "1A", "mm")
        ),
    ],
)
def test_kinds(tmp_path: Path, name: str, kind: str) -> None:
    (mention,) = extract_one(write_lines(tmp_path / "a.jsonl", {"id": "p1", "entities": [name]})).mentions
    assert mention.kind == kind


def test_bad_parts_are_left_out_and_counted(tmp_path: Path) -> None:
    triples = [
        ["Fram", "built in", 1892],
        ["Fram", "weighs", 402.50],
        ["Fram", "left", "Oslo", "1893"],
        ["Fram", "left"],
        ["Fram", None, "Oslo"],
        ["Fram", " ", "Oslo"],
        ["Fram", "is", True],
        ["Fram", "in", ["Oslo"]],
        "abc",
        "['Fram', 'left', 'Oslo']",
        {"head": "Fram"},
        ["Fram", "built in", 1892],
    ]
    path = write_lines(
        tmp_path / "a.jsonl", {"id": "p1", "entities": [" Fram ", "Fram", None, "", 1893, "\ud800"], "triples": triples}
    )
    extractor = PublishedExtractor(path)
    for _ in range(2):
        (result,) = extractor.extract([PASSAGE])
        assert isinstance(result, Extraction)
        assert [mention.name for mention in result.mentions] == ["1893", "Fram"]
        assert result.triples == (("Fram", "built in", "1892"), ("Fram", "weighs", "402.5"))


def test_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 7, "entities": [1.10, NaN], "triples": [["a", "b", ' + "9" * 5000 + "]]}\n")
    result = extract_one(path, make_passage("7"))
    assert [mention.name for mention in result.mentions] == ["1.10"]
    assert result.triples == (("a", "b", "9" * 5000),)


@pytest.mark.parametrize(
    ("entities", "triples", "why"),
    [
        ([], [], "it is empty"),
        ([None], [["a", "b"]], "none of its 2 parts"),
        (None, "x", "none of its 2 parts"),
    ],
)
def test_nothing_usable_is_a_failure(tmp_path: Path, entities: Any, triples: Any, why: str) -> None:
    assert why in failure_reason(
        write_lines(tmp_path / "a.jsonl", {"id": "p1", "entities": entities, "triples": triples})
    )
    assert why in failure_reason(write_hipporag(tmp_path / "a.json", make_document(TEXT, entities, triples)))


def test_an_absent_passage_is_a_failure(tmp_path: Path) -> None:
    assert (
        failure_reason(write_lines(tmp_path / "a.jsonl", {"id": "x", "triples": []}))
        == "not in a.jsonl: no entry has the id 'p1'"
    )


def test_fingerprint_is_of_the_bytes(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", {"id": "p1", "triples": []})
    first = PublishedExtractor(path).fingerprint
    assert first == f"published:{blake2b(path.read_bytes(), digest_size=16).hexdigest()}"
    path.write_text(path.read_text() + "\n")
    assert PublishedExtractor(str(path)).fingerprint != first


def test_a_file_that_changes_under_the_reader(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", {"id": "p1", "entities": ["Fram"]})
    extractor = PublishedExtractor(path)
    write_lines(path, {"id": "p0", "entities": []}, {"id": "p1", "entities": ["Oslo"]})
    with pytest.raises(InputError, match="has changed"):
        extractor.extract([PASSAGE])
    path.unlink()
    with pytest.raises(InputError, match="cannot be read any more"):
        extractor.extract([PASSAGE])


def test_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "p0", "entities": ["x"]}\r\n\r\n \n{"id": "p1", "entities": ["Oslo"]}')
    assert extract_one(path).mentions == (Mention("Oslo", "name", 22, 26),)
    assert extract_one(path, make_passage("p0")).mentions == (Mention("x", "name", -1, -1),)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b'{"id": "a", "triples": []}\n{"id": "b", "triples"\n', "line 2: is not JSON"),
        (b'{"id": "a", "triples": []}\n\n[1]\n', 'line 3: is a value ["1"]'),
        (b'{"id": "a", "triples": []}\n\xff\n', "line 2: is not UTF-8"),
        (b'{"id": "a"}\n', "line 1: has the keys id"),
        (b'{"triples": []}\n', "line 1: has the keys triples"),
        (b'{"id": null, "triples": []}\n', "line 1"),
        (b'{"id": "a", "triples": []}\n{"id": "a", "triples": []}\n', "line 2: id 'a' occurs twice"),
        (b"entities\ttriples\n", "line 1: is not JSON"),
        (b'{\n "docs": [\n {"passage": }\n]}', "line 3: is not JSON"),
        (b'{\n "docs": [\n "\xff"\n]}', "line 3: is not UTF-8"),
        (b'{\n "documents": []}', "without a list of docs"),
        (b'{"docs": {}}', "without a list of docs"),
        (b'{"docs": [{"passage": "x"}, {"idx": 1}]}', "docs[1]: has the keys idx"),
        (b'{"docs": [null]}', "docs[0]: has a value null"),
        (b'"docs"', "without a list of docs"),
        (b'{"docs": ' + b"[" * 100_000, "nested too deeply"),
        (b"[" * 100_000, "line 1: brackets are nested too deeply"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, content: bytes, seen: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        PublishedExtractor(path)
    assert seen in str(raised.value)
    assert str(path) in str(raised.value)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            PublishedExtractor(path)
