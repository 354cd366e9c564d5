"""`clew kg`: a graph from a file into an index, what is printed of it, and one clear line where it cannot be."""

import gzip
import json
from pathlib import Path

import pytest

from tests.commands.refusals import check_refused
from tests.faults.commands import Outcome, make_voyage, run_clew, write_lines

TRIPLES = "Fram\tbuilt by\tColin Archer\nColin Archer\tborn in\tLarvik\nFram\tbuilt by\tColin Archer\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ships.tsv"
    path.write_text(TRIPLES, encoding="utf-8")
    return path


def import_file(file: Path, index: Path, *options: str | Path) -> Outcome:
    return run_clew("kg", "import", file, "--index", index, *options)


def test_import_makes_an_index_and_says_what_it_holds(tmp_path: Path, file: Path) -> None:
    done = import_file(file, tmp_path / "index", "--encoder", "none")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("ships.tsv: 2 triples, 0 names, 1 duplicate, 0 malformed in ")
    assert "parts: 1 added, 0 updated, 0 unchanged, 0 removed; the index holds 3 entities and 2 triples" in done.out
    again = import_file(file, tmp_path / "index")
    assert "parts: 0 added, 0 updated, 1 unchanged, 0 removed" in again.out
    stats = run_clew("stats", "--index", tmp_path / "index")
    assert "graph                ships.tsv (2 triples, 0 names)\n" in stats.out
    assert "imported triples     2\n" in stats.out
    assert run_clew("verify", "--index", tmp_path / "index").code == 0
    found = run_clew("search", "Who built Fram?", "--index", tmp_path / "index", "--retriever", "bm25")
    assert "note: the index holds no passages" in found.out
    removed = run_clew("remove", "ships.tsv", "--index", tmp_path / "index")
    assert removed.out == "removed 1 graph\n"
    assert json.loads(run_clew("stats", "--index", tmp_path / "index", "--json").out)["graphs"] == []


def test_an_import_of_a_new_index_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    """What is packed breaks off after a hundred thousand triples."""
    packed = gzip.compress("".join(f"head {n}\tbuilt by\ttail {n}\n" for n in range(100_000)).encode())
    (tmp_path / "g.tsv.gz").write_bytes(packed[:-100])
    refused = import_file(tmp_path / "g.tsv.gz", tmp_path / "index", "--encoder", "none")
    check_refused(refused, "g.tsv.gz is incomplete")
    assert not (tmp_path / "index").exists()


def test_documents_and_graphs_in_one_index(tmp_path: Path, file: Path) -> None:
    lines = write_lines(tmp_path / "voyages.jsonl", [make_voyage(n) for n in range(3)])
    assert run_clew("index", lines, "--index", tmp_path / "index", "--encoder", "none").code == 0
    assert import_file(file, tmp_path / "index", "--name", "my ships").code == 0
    listed = json.loads(run_clew("stats", "--index", tmp_path / "index", "--json").out)
    assert listed["graphs"] == [{"name": "my ships", "triples": 2, "names": 0, "parts": 1}]
    again = run_clew("index", lines, "--index", tmp_path / "index")
    assert "0 added, 0 updated, 3 unchanged" in again.out
    assert "the index holds 3 passages" in again.out
    figures = json.loads(run_clew("stats", "--index", tmp_path / "index", "--json").out)
    assert (figures["documents"], figures["passages"], figures["imported_triples"]) == (3, 3, 2)
    exported = run_clew("export", tmp_path / "out.jsonl", "--index", tmp_path / "index")
    assert "wrote what was found in 3 passages" in exported.out
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    removed = run_clew("remove", "my ships", "v0001", "--index", tmp_path / "index")
    assert removed.out == "removed 1 document and 1 graph\n"


def test_diff_tells_what_a_graph_changes(tmp_path: Path, file: Path) -> None:
    for name in ("one", "two"):
        assert import_file(file, tmp_path / name, "--encoder", "none").code == 0
    assert run_clew("diff", tmp_path / "one", tmp_path / "two").code == 0
    file.write_text(TRIPLES.replace("Larvik", "Oslo"), encoding="utf-8")
    assert import_file(file, tmp_path / "two").code == 0
    changed = run_clew("diff", tmp_path / "one", tmp_path / "two")
    assert changed.code == 1
    assert "1 triple added: Colin Archer | born in | Oslo" in changed.out
    assert "1 entity removed: Larvik" in changed.out


def test_malformed_lines_are_told_and_strict_refuses_them_before_anything_is_made(tmp_path: Path, file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(b"only one\nL\xe9onie\tborn in\tRennes\n" + b"two\tcells\n" * 30)
    strict = import_file(file, tmp_path / "index", "--encoder", "none", "--strict")
    assert strict.code == 2
    assert strict.err.startswith("clew: ships.tsv:4: 1 cell, wanted 3")
    assert "nothing was imported" in strict.err
    assert not (tmp_path / "index").exists()
    done = import_file(file, tmp_path / "index", "--encoder", "none")
    assert done.code == 0
    assert "32 malformed" in done.out
    assert "malformed: ships.tsv:4: 1 cell, wanted 3" in done.err
    assert "malformed: ships.tsv:5: not valid text: byte 0xe9 at 1" in done.err
    assert done.err.endswith("... and 12 more\n")


def test_names_and_formats(tmp_path: Path) -> None:
    file, names = tmp_path / "triples", tmp_path / "names.tsv"
    file.write_bytes("m.1;bâti par;m.2\n".encode("latin-1"))
    names.write_bytes("m.1\tFram\tthe Fram\nm.2\tColin Archer\n".encode("latin-1"))
    done = import_file(
        file, tmp_path / "index", "--format", "csv", "--delimiter", ";", "--encoding", "latin-1", "--names", names,
        "--encoder", "none",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("triples: 1 triple, 3 names")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("absent.tsv", None, (), "is no file"),
        ("g.doc", "a\tb\tc", (), "no suffix of a known format"),
        ("g.tsv", "", (), "states no triple"),
        ("g.tsv", "nothing here\n", (), "the first fault: g.tsv:1: 1 cell, wanted 3"),
        ("g.tsv", "a\tb\tc", ("--format", "parquet"), "--format is 'parquet'"),
        ("g.tsv", "a\tb\tc", ("--encoding", "ebcdic-7"), "--encoding is 'ebcdic-7'"),
        ("g.tsv", "a\tb\tc", ("--delimiter", ""), "--delimiter is ''"),
        ("g.tsv", "a\tb\tc", ("--names", "no-names.tsv"), "is no file"),
        ("g.tsv", "a\tb\tc", ("--name", " "), "cannot be a graph's"),
        ("g.tsv", "a\tb\tc", ("--encoder", "no/such/model/anywhere"), "no/such/model/anywhere"),
        ("g.tsv", "\ufeffa\tb\tc".encode("utf-16-le"), (), "is in UTF-16"),
        ("g.ttl", "this is no turtle", (), "not Turtle"),
        ("g.ttl", "@prefix e: <http://e/> . e:a e:b e:c . e:a e:b", (), "g.ttl"),
        ("g.nt", "", (), "states no triple"),
        ("g.jsonl", "{", (), "g.jsonl:1"),
        ("g.tsv.gz", "a\tb\tc", (), "no gzip file"),
    ],
)
def test_what_cannot_be_imported_is_one_line_and_exit_code_2(
    tmp_path: Path, name: str, content: str | bytes | None, options: tuple[str, ...], message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    chosen = options if "--encoder" in options else (*options, "--encoder", "none")
    check_refused(import_file(tmp_path / name, tmp_path / "index", *chosen), message)
    assert not (tmp_path / "index").exists(), "it would have an encoder and no graph"


def test_another_encoder_than_the_index_has_is_refused(tmp_path: Path, file: Path) -> None:
    assert import_file(file, tmp_path / "index", "--encoder", "none").code == 0
    refused = import_file(file, tmp_path / "index", "--encoder", "hashing")
    check_refused(refused, "was made with the encoder 'none'")


def test_a_table_without_a_row_that_can_be_used_is_refused_and_what_was_read_before_stays(
    tmp_path: Path, file: Path
) -> None:
    index, good, bad = tmp_path / "index", tmp_path / "mentions.tsv", tmp_path / "bad.tsv"
    good.write_text("Fram\tfram.md\n", encoding="utf-8")
    assert import_file(file, index, "--encoder", "none", "--mentions", good).code == 0
    for content, faults in (("one cell\n", "(1 fault; the first fault: bad.tsv:1: "), ("", "states no mention")):
        bad.write_text(content, encoding="utf-8")
        done = import_file(file, index, "--mentions", bad)
        check_refused(done, "the file 'bad.tsv' of --mentions states no mention")
        assert faults in done.err
    assert "ships.tsv (2 triples, 0 names)" in run_clew("stats", "--index", index).out
    done = import_file(file, index, "--names", bad)
    assert "the file 'bad.tsv' of --names states no name" in done.err


def test_relations_that_are_dropped_are_told_where_they_are_all_or_none(tmp_path: Path, file: Path) -> None:
    check_refused(
        import_file(file, tmp_path / "index", "--encoder", "none", "--drop-relations", "built,born"),
        "the file of 'ships.tsv' states no triple but 3 triples of dropped relations",
    )
    done = import_file(file, tmp_path / "index", "--encoder", "none", "--drop-relations", "type.")
    assert done.code == 0
    assert "no triple has a relation that begins with one of --drop-relations type." in done.err


def test_an_export_of_facts_alone_says_that_it_holds_no_documents(tmp_path: Path, file: Path) -> None:
    import_file(file, tmp_path / "index", "--encoder", "none")
    done = run_clew("export", tmp_path / "out", "--index", tmp_path / "index", "--layout", "gfmrag")
    assert done.code == 0, done
    assert "the index holds facts and no documents" in done.out + done.err
