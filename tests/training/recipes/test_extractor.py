"""Training the tagger of names, as `clew train extractor` does it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from clew.indexing.extraction.span_extractor import LearnedExtractor, load_extractor
from clew.inference.span_tagger import BEGIN, INSIDE, OUTSIDE, WordGroups, group_words
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.text.normalization import token_spans
from clew.training.recipes.extractor import AnnotatedPassage, find_occurrences, is_held_out, tag_by_rules, tag_words
from clew.types import Extraction, Passage
from tests.faults.commands import run_clew

SHIPS = ("Fram", "Gauss", "Maud", "Vega", "Hansa", "Belgica", "Antarctic", "Discovery", "Nimrod", "Aurora")
PORTS = ("Oslo", "Kiel", "Tromsø", "Karlskrona", "Bergen", "Ostend", "Gothenburg", "Dundee", "London", "Hobart")
QUICK = ("--hidden", "16", "--epochs", "6", "--batch", "4", "--held-out", "0.2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Passages on ships and ports, in which both are annotated."""
    data = tmp_path / "data"
    data.mkdir()
    texts = [(ship, port, f"the {ship} left the harbour of {port} early.") for ship in SHIPS for port in PORTS[:3]]
    rows = [{"id": str(n), "title": ship, "text": text} for n, (ship, _, text) in enumerate(texts)]
    notes = [{"id": str(n), "entities": [ship, port], "triples": []} for n, (ship, port, _) in enumerate(texts)]
    write_lines(data / "corpus.jsonl", rows)
    write_lines(data / "openie.jsonl", notes)
    return data


def write_lines(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def make_groups(text: str) -> WordGroups:
    return group_words(text, token_spans(text))


def test_the_command_learns_names_and_repeats_itself(folder: Path, tmp_path: Path) -> None:
    held_out = 3 * sum(is_held_out(ship, 0.2) for ship in SHIPS)
    assert 0 < held_out < 30
    prints = []
    for run in ("first", "second"):
        done = run_clew("train", "extractor", "--data", folder, "--cased", folder, "--out", tmp_path / run, *QUICK)
        assert done.code == 0, done.err
        assert f"names of {held_out} passages held out: precision " in done.out
        prints.append(load_extractor(tmp_path / run).fingerprint)
    assert prints[0] == prints[1]
    weights = load_extractor(tmp_path / "first")
    assert weights.encoder == Int8MiniLM.fingerprint
    assert weights.about["figures"]["F"] > 0.8
    assert weights.about["passages"] == 60 - held_out
    text = "the endurance left the harbour of lisbon early."
    (found,) = LearnedExtractor(tmp_path / "first").extract([Passage("p", "p", "", text, 0, len(text))])
    assert isinstance(found, Extraction)
    assert {"endurance", "lisbon"} <= {mention.name for mention in found.mentions}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: (data / "openie.jsonl").unlink(), "has no openie.jsonl"),
        (lambda data: write_lines(data / "openie.jsonl", [{"id": "0", "entities": "Fram"}]), "line 1: entities are"),
        (lambda data: write_lines(data / "openie.jsonl", [{"id": "x", "entities": []}]), "no line has the id"),
        (lambda data: write_lines(data / "openie.jsonl", [{"id": "0", "entities": []}]), "no annotated name"),
    ],
)
def test_annotations_that_cannot_be_used_are_refused(folder: Path, tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    change(folder)
    done = run_clew("train", "extractor", "--data", folder, "--out", tmp_path / "out", *QUICK)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()


def test_occurrences_are_whole_words_in_any_case_longest_first() -> None:
    text = "New York\nnew york city is in new York. Yorkers like york."
    passage = AnnotatedPassage("New York", text[9:], ("York", "New York", "New York City", "Boston"))
    found = [text[start:end] for start, end in find_occurrences(text, passage.names)]
    assert found == ["new york city", "New York", "new york", "new York", "York", "york", "York", "york"]
    groups = make_groups(text)
    words = [text[a:b] for a, b in zip(groups.starts, groups.ends, strict=True)]
    tags = dict(zip(enumerate(words), tag_words(passage, text, groups).tolist(), strict=True))
    expected = [BEGIN, INSIDE, BEGIN, INSIDE, INSIDE, OUTSIDE, OUTSIDE, BEGIN, INSIDE, OUTSIDE, OUTSIDE, BEGIN]
    assert list(tags.values()) == expected


def test_rules_tag_the_title_and_names_with_capitals() -> None:
    text = "the fram\nNansen left Oslo on the ship."
    groups = make_groups(text)
    expected = [BEGIN, INSIDE, BEGIN, OUTSIDE, BEGIN, OUTSIDE, OUTSIDE, OUTSIDE]
    assert tag_by_rules("the fram", text, groups).tolist() == expected


def test_a_title_is_held_out_in_every_case() -> None:
    titles = [f"Title {number}" for number in range(1000)]
    assert 150 < sum(is_held_out(title, 0.2) for title in titles) < 250
    assert [is_held_out(t, 0.2) for t in titles] == [is_held_out(t.upper(), 0.2) for t in titles]
    assert not any(is_held_out(title, 0.0) for title in titles)
