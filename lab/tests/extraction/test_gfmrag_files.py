"""Files of the package gfmrag: what is written is read again, and files of its form make an index."""

import ast
import csv
import json
from io import StringIO
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.index import Index
from clew.indexing.kg_formats.files import graph_file
from clew.types import Document, Extraction, Passage
from clew_lab.datasets.gfm_rag import format_stage1
from clew_lab.datasets.loaders import load_corpus, load_questions
from clew_lab.extraction.published import PublishedExtractor
from tests.faults.commands import run_clew

DOCUMENTS = {"Fram": "Fram was a ship.", "Oslo": "Oslo is a town."}
QUESTIONS = [
    {"id": "q1", "question": "Where is Fram?", "answer": "Oslo", "supporting_documents": ["Fram", "Oslo"]},
    {"id": 2, "question": "What is Oslo?", "answer": "town", "answer_aliases": ["city"], "supporting_facts": ["Oslo"]},
]


def test_documents_and_questions_are_read(tmp_path: Path) -> None:
    (tmp_path / "documents.json").write_text(json.dumps(DOCUMENTS, indent=2), encoding="utf-8")
    (tmp_path / "test.json").write_text(json.dumps(QUESTIONS), encoding="utf-8")
    for place in (tmp_path / "documents.json", tmp_path):
        assert [(d.id, d.title, d.text) for d in load_corpus(place)] == [(t, t, x) for t, x in DOCUMENTS.items()]
    first, second = load_questions(tmp_path / "test.json")
    assert (first.id, first.text, first.answers, first.gold) == ("q1", "Where is Fram?", ("Oslo",), ("Fram", "Oslo"))
    assert (second.id, second.answers, second.gold) == ("2", ("town", "city"), ("Oslo",))
    (tmp_path / "documents.json").write_text('{"Fram": {"content": "A ship."}, "Oslo": 3}', encoding="utf-8")
    documents = load_corpus(tmp_path / "documents.json")
    assert next(documents).text == "A ship."
    with pytest.raises(InputError, match="'text' is 3"):
        next(documents)


def test_extractions_are_found_by_their_passages(tmp_path: Path) -> None:
    line = {
        "idx": 0,
        "passage": "Fram was a ship.",
        "extracted_entities": ["Fram"],
        "extracted_triples": [["Fram", "was", "ship"]],
    }
    (tmp_path / "openie_results.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    extractor = PublishedExtractor(tmp_path / "openie_results.jsonl")
    (found,) = extractor.extract([Passage("Fram", "Fram", "Fram", "Fram was a ship.", 0, 16)])
    assert isinstance(found, Extraction)
    assert found.triples == (("Fram", "was", "ship"),)


def test_what_is_written_is_read_again(small: Index, tmp_path: Path) -> None:
    lines = [json.dumps({"id": "q", "question": "Where?", "answers": ["x", "y"], "gold": ["vega", "palander"]}) + "\n"]
    (tmp_path / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    out = tmp_path / "new" / "gfmrag"
    options = ("--layout", "gfmrag", "--questions", tmp_path / "questions.jsonl")
    done = run_clew("export", out, "--index", small.table.location.name, *options)
    assert done.code == 0, done.err
    s = small.snapshot
    assert f"test.json: {len(set(s.document_ids))} documents, {len(s.triples)} triples, " in done.out
    texts = {s.document_ids[p]: s.texts[p] for p in range(len(s.passage_ids))}
    titles = {s.document_ids[p]: s.passage(p).title for p in range(len(s.passage_ids))}
    assert titles["vega"] != "vega"
    for place in (out, out / "documents.json"):
        assert {d.id: (d.title, d.text) for d in load_corpus(place)} == {i: (titles[i], texts[i]) for i in texts}
    (question,) = load_questions(out / "test.json")
    assert (question.answers, question.gold) == (("x", "y"), ("vega", "palander"))
    edges = {(row["source"], row["relation"], row["target"]) for row in read_rows(out / "edges.csv")}
    triples = {(s.entities[h], s.relations[r], s.entities[t]) for h, r, t in s.triples.tolist()}
    wanted = {(s.entities[e], s.document_ids[p]) for p in range(len(s.passage_ids)) for e in s.mentions.row(p).tolist()}
    assert edges == triples | {(entity, "is_mentioned_in", document) for entity, document in wanted}
    with (out / "relations.csv").open(encoding="utf-8", newline="") as file:
        assert {row["name"] for row in csv.DictReader(file)} == {*s.relations, "is_mentioned_in"}
    rows = read_rows(out / "nodes.csv")
    assert len({row["name"] for row in rows}) == len(rows)
    contents = {row["name"]: ast.literal_eval(row["attributes"]) for row in rows if row["type"] == "document"}
    assert contents == {id_: {"content": text} for id_, text in texts.items()}
    # Their code looks up each document's name, a line end and its text, and then the name again.
    results = [json.loads(line) for line in (out / "openie_results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {r["title"]: r["passage"] for r in results} == {id_: f"{id_}\n{text}" for id_, text in texts.items()}
    extracted = PublishedExtractor(out / "openie_results.jsonl")
    passage = s.passage(list(s.passage_ids).index("vega"))
    (found,) = extracted.extract([passage])
    assert isinstance(found, Extraction)
    assert found.triples


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_documents_results_are_joined_and_a_failed_one_is_left_out(tmp_path: Path) -> None:
    """Their code extracts every document anew that is not found as a whole."""
    long = "Fram was a ship of Norway. " * 40
    results = tmp_path / "results.jsonl"
    index = clew.create(tmp_path / "index", clew.Settings(encoder="hashing", passage_tokens=60))
    index.add([Document("Fram", "Fram", long), Document("Oslo", "Oslo", "Oslo is a town of Norway.")])
    assert sum(id_ == "Fram" for id_ in index.snapshot.document_ids) > 1
    out = tmp_path / "out"
    out.mkdir()
    assert run_clew("export", out, "--index", tmp_path / "index", "--layout", "gfmrag").code == 0
    lines = {r["title"]: r for r in map(json.loads, (out / "openie_results.jsonl").read_text("utf-8").splitlines())}
    documents = json.loads((out / "documents.json").read_text(encoding="utf-8"))
    assert {title: row["passage"] for title, row in lines.items()} == {t: f"{t}\n{x}" for t, x in documents.items()}
    assert lines["Fram"]["extracted_entities"].count("Norway") == 1
    entry = {"id": index.snapshot.passage_ids[0], "entities": ["Fram"], "triples": []}
    results.write_text(json.dumps(entry) + "\n", encoding="utf-8")
    partly = clew.create(
        tmp_path / "partly", clew.Settings(encoder="hashing", passage_tokens=60, extractor=f"published:{results}")
    )
    partly.add([Document("Fram", "Fram", long)])
    assert run_clew("export", out, "--index", tmp_path / "partly", "--layout", "gfmrag").code == 0
    assert (out / "openie_results.jsonl").read_text(encoding="utf-8") == ""


def test_titles_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "documents.json").write_text(json.dumps(DOCUMENTS), encoding="utf-8")
    for titles in ("[", "[]", '{"Fram": 3}'):
        (tmp_path / "titles.json").write_text(titles, encoding="utf-8")
        with pytest.raises(InputError, match=r"titles.json: .*wanted an object of ids and titles"):
            list(load_corpus(tmp_path / "documents.json"))


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_faults_of_tables_name_the_table(tmp_path: Path) -> None:
    (tmp_path / "kg.tsv").write_text("Fram\tis\tship\n", encoding="utf-8")
    (tmp_path / "bad.tsv").write_text("Fram\n" + "Fram\tvega\n" * 20_000, encoding="utf-8")
    importing = ("kg", "import", tmp_path / "kg.tsv", "--index", tmp_path / "index", "--mentions")
    missing = run_clew(*importing, tmp_path / "none.tsv")
    assert missing.code == 2
    assert "none.tsv" in missing.err
    assert "for --mentions give a table" in missing.err
    malformed = run_clew(*importing, tmp_path / "bad.tsv", "--strict")
    assert malformed.code == 2
    assert "bad.tsv:1: 1 cell, wanted 2" in malformed.err
    assert "Exception ignored" not in malformed.err
    assert not (tmp_path / "index").exists()
    with pytest.raises(InputError, match=r"bad.tsv:1"):
        list(graph_file(tmp_path / "kg.tsv", mentions=[tmp_path / "bad.tsv"]).statements(strict=True))


def test_an_entity_with_the_name_of_a_document_has_a_name_of_its_own() -> None:
    documents = {"Oslo": "A town.", "oslo": "Another's page.", "Fram": "A ship."}
    files = format_stage1(["Oslo", "Fram"], [("Fram", "near", "Oslo")], documents, [("Fram", "Fram"), ("Oslo", "oslo")])
    rows = list(csv.DictReader(StringIO(files["nodes.csv"])))
    assert sorted(row["name"] for row in rows) == ["Fram", "Oslo", "Oslo (entity)", "fram", "oslo"]
    edges = [tuple(row.values())[:3] for row in csv.DictReader(StringIO(files["edges.csv"]))]
    mentions = [("Oslo (entity)", "is_mentioned_in", "oslo"), ("fram", "is_mentioned_in", "Fram")]
    assert edges == [("fram", "near", "Oslo (entity)"), *mentions]


def test_questions_of_stage_1_alone_are_read(tmp_path: Path) -> None:
    nodes = {"entity": ["oslo"], "document": ["Oslo", "Fram"]}
    record = {"id": "q", "question": "Where?", "start_nodes": {"entity": ["fram"]}, "target_nodes": nodes}
    (tmp_path / "test.json").write_text(json.dumps([record]), encoding="utf-8")
    (question,) = load_questions(tmp_path / "test.json")
    assert (question.id, question.gold, question.answers) == ("q", ("Oslo", "Fram"), ())
    both = {**record, "supporting_documents": ["Fram"]}
    (tmp_path / "test.json").write_text(json.dumps([both]), encoding="utf-8")
    assert load_questions(tmp_path / "test.json")[0].gold == ("Fram",)
