"""Indexes with aliases: scoped to documents, and the same bytes for any history, batches and failures."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.index import Index
from clew.indexing import pipeline
from clew.indexing.chunking import Chunker
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.indexing.pipeline import IndexWriter
from clew.models.encoders.hashing import NoEncoder
from clew.settings import Settings
from clew.store.schema import ALIAS_RELATION, ALIASES
from clew.types import Document, Extraction, Failure, Passage, ignore_progress
from tests.faults.commands import run_clew
from tests.indexing.test_pipeline import snapshot_files

PARTS = (
    "Marie Curie was born in Warsaw. She found radium there and worked for many years.",
    "Eve Curie was born in Paris. She wrote about the music and the films of her time.",
    "Later Curie won the Nobel Prize and a ship of Oslo was named Curie after that.",
    "The International Labour Organization (ILO) met in Geneva, and the ILO was new then.",
    "In 1969 the ILO received the Nobel Prize while Orkla Shipping Ltd was sold in Oslo.",
    "The company moved to Bergen, where the ILO had asked Curie to come with her ship.",
)
documents = st.builds(
    lambda number, title, parts: Document(f"d{number}", title, "\n\n".join(PARTS[part] for part in parts)),
    st.integers(0, 4),
    st.sampled_from(("", "Curie", "Marie Curie")),
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
)
histories = st.lists(st.one_of(st.lists(documents, min_size=1, max_size=3), st.integers(0, 4)), min_size=1, max_size=5)


def make_index(folder: Path, aliases: str = "document") -> Index:
    wanted = {"encoder": "none", "extractor": "rules", "passage_tokens": 20, "aliases": aliases}
    return clew.create(folder, Settings(**wanted))


def named_entities(index: Index, passage: str) -> set[str]:
    snapshot = index.snapshot
    return {snapshot.entities[int(e)] for e in snapshot.mentions.row(snapshot.position(passage))}


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(history=histories, batch=st.sampled_from((1, 3, 256)))
def test_any_order_of_adds_changes_and_removals_gives_the_snapshot_of_the_rest(
    history: Sequence[Sequence[Document] | int], batch: int
) -> None:
    expected: dict[str, Document] = {}
    with TemporaryDirectory() as folder:
        index = make_index(Path(folder, "one"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "BATCH_PASSAGES", batch)
            patch.setattr(pipeline, "BATCH_LIMIT", batch)
            for step in history:
                if isinstance(step, int):
                    index.remove([f"d{step}"] if f"d{step}" in expected else [])
                    expected.pop(f"d{step}", None)
                else:
                    index.add(step)
                    expected.update((document.id, document) for document in reversed(step))
        fresh = make_index(Path(folder, "two"))
        fresh.add(sorted(expected.values(), key=lambda document: document.id, reverse=True))
        assert snapshot_files(index) == snapshot_files(fresh)


def test_a_name_stands_for_the_full_name_of_its_own_document(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index")
    index.add(
        [
            Document("a", "", f"{PARTS[0]}\n\n{PARTS[2]}"),
            Document("b", "", f"{PARTS[1]}\n\n{PARTS[2]}"),
            Document("c", "", PARTS[2]),
            Document("d", "", f"{PARTS[0]}\n\n{PARTS[2]}"),
        ]
    )
    assert {"Marie Curie"} == {name for name in named_entities(index, "a#2") if "Curie" in name}
    assert {"Eve Curie"} == {name for name in named_entities(index, "b#2") if "Curie" in name}
    assert {"Curie"} == {name for name in named_entities(index, "c") if "Curie" in name}
    assert named_entities(index, "a#2") == named_entities(index, "d#2")
    for row in index.table.read().to_pylist():
        for mention in row["mentions"]:
            assert row["text"][mention["start"] : mention["end"]] == mention["name"]


def test_an_index_without_aliases_is_as_before(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", "none")
    index.add([Document("a", "", f"{PARTS[0]}\n\n{PARTS[2]}")])
    assert ALIASES not in index.table.settings
    assert {"Curie"} == {name for name in named_entities(index, "a#2") if "Curie" in name}
    relations = {triple["relation"] for row in index.table.read().to_pylist() for triple in row["triples"]}
    assert ALIAS_RELATION not in relations


def test_a_chain_leads_from_a_full_name_to_a_passage_that_has_the_short_one(tmp_path: Path) -> None:
    text = "\n\n".join([PARTS[3], *["The sea was calm and nobody of the crew saw any ship there."] * 3, PARTS[4]])
    with_aliases, without = make_index(tmp_path / "one"), make_index(tmp_path / "two", "none")
    for index in (with_aliases, without):
        index.add([Document("a", "", text)])
    last = f"a#{len(with_aliases.snapshot.passage_ids)}"
    assert "International Labour Organization" in named_entities(with_aliases, last)
    assert "International Labour Organization" not in named_entities(without, last)


def test_a_path_says_how_its_passage_writes_its_ends(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index")
    index.add([Document("a", "", f"{PARTS[3]}\n\n{PARTS[4]}\n\nThe ILO built the Palais Wilson. It stands in Geneva.")])
    question = "What did the International Labour Organization build with the Palais Wilson?"
    evidence = index.search(question, retriever="pagerank")
    assert any("International Labour Organization" in (t.head, t.tail) for p in evidence.paths for t in p.item)
    full = "International Labour Organization"
    cited = {
        id_ for p in evidence.paths for t in p.item if full in (t.head, t.tail) for id_ in t.passages if id_ != "a#1"
    }
    assert cited
    assert {f"{id_} writes {full} as ILO" for id_ in cited} == {note for note in evidence.notes if " writes " in note}
    own = make_index(tmp_path / "own", "none")
    own.add([Document("a", "", PARTS[3])])
    assert not any(" writes " in note for note in own.search(question, retriever="pagerank").notes)


@dataclass
class FailingExtractor:
    """Extracts by rules, but for the passages with a word while it fails."""

    word: str
    fails: bool = True
    rules: RuleExtractor = field(default_factory=RuleExtractor)

    @property
    def fingerprint(self) -> str:
        return self.rules.fingerprint

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        return [
            Failure(passage.id, "no reply") if self.fails and self.word in passage.text else result
            for passage, result in zip(passages, self.rules.extract(passages), strict=True)
        ]


@pytest.mark.parametrize("word", ["Warsaw", "Later", "Geneva", "Bergen"])
def test_passages_extracted_again_give_what_one_run_gives(tmp_path: Path, word: str) -> None:
    text = "\n\n".join(PARTS[part] for part in (0, 3, 2, 4, 5))
    broken, whole = make_index(tmp_path / "one"), make_index(tmp_path / "two")
    extractor = FailingExtractor(word)

    def write(*, retry: bool) -> None:
        chunker = Chunker(20, 0)
        writer = IndexWriter(broken.table.open_latest(), chunker, extractor, NoEncoder(), ignore_progress)
        writer.update([Document("a", "", text)], retry_failed=retry)

    write(retry=False)
    extractor.fails = False
    write(retry=True)
    whole.add([Document("a", "", text)])
    corrected = clew.open(tmp_path / "one").table.read().to_pylist()
    assert corrected == whole.table.read().to_pylist()
    assert any(triple["relation"] == ALIAS_RELATION for row in corrected for triple in row["triples"])


def test_another_word_than_the_index_was_made_with_is_refused(tmp_path: Path) -> None:
    make_index(tmp_path / "index")
    (tmp_path / "a.txt").write_text(PARTS[0], encoding="utf-8")
    done = run_clew(
        "index", tmp_path / "a.txt", "--index", tmp_path / "index", "--encoder", "none", "--aliases", "none"
    )
    assert done.code == 2
    assert "was made with --aliases document, not none: leave --aliases out, or make a new index" in done.err


def test_settings_refuse_another_word() -> None:
    with pytest.raises(ValueError, match="aliases"):
        Settings(aliases="all")
