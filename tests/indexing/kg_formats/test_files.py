"""Graph files of every format and all possible faults: their statements, and the lines of faults."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError, MissingPackageError
from clew.indexing.kg_formats.files import GraphFile, graph_file, read_text_lines
from clew.indexing.kg_formats.rdf import read_n_triples
from clew.indexing.kg_formats.tables import (
    MAX_NAME_CHARACTERS,
    EntityNames,
    MalformedStatement,
    RawTriple,
    Statement,
    last_segment,
    relation_to_words,
)
from tests.indexing.sources.reading import write_file

FRAM: RawTriple = ("Fram", "built by", "Colin Archer")
BORN: RawTriple = ("Colin Archer", "born in", "Larvik")
BOTH = [FRAM, BORN]


def read_statements(path: Path, **options: object) -> list[Statement]:
    return list(graph_file(path, **options).statements())  # type: ignore[arg-type]


def list_faults(statements: list[Statement]) -> list[str]:
    return [str(statement) for statement in statements if isinstance(statement, MalformedStatement)]


def list_triples(statements: list[Statement]) -> list[RawTriple]:
    return [statement for statement in statements if isinstance(statement, tuple)]


def format_lines(rows: list[RawTriple], delimiter: str = "\t") -> str:
    return "".join(delimiter.join(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.tsv", format_lines(BOTH)),
        ("g.txt", format_lines(BOTH)),
        ("g.TSV", "head\trelation\ttail\n" + format_lines(BOTH)),
        ("g.tsv", "\ufeff" + format_lines(BOTH).replace("\n", "\r\n")),
        ("g.tsv", "\n" + format_lines(BOTH).rstrip("\n")),
        ("g.tsv", " Fram \t built by\tColin Archer\n\n  \nColin Archer\tborn in\tLarvik\n"),
        ("g.csv", format_lines(BOTH, ",")),
        ("g.csv", "Subject,Predicate,Object\n" + format_lines(BOTH, ",")),
        ("g.csv", "tail,head,relation\nColin Archer,Fram,built by\nLarvik,Colin Archer,born in\n"),
        ("g.csv", '"Fram","built by","Colin Archer"\n\nColin Archer,born in,"Larvik"\n'),
        ("g.jsonl", "".join(json.dumps(dict(zip("hrt", row, strict=True))) + "\n" for row in BOTH)),
        ("g.jsonl", "".join(json.dumps(list(row)) + "\n\n" for row in BOTH)),
        (
            "g.ndjson",
            '{"head": "Fram", "relation": "built by", "tail": "Colin Archer"}\n["Colin Archer","born in","Larvik"]',
        ),
        (
            "g.ndjson",
            '["Fram","built by","Colin Archer"]\n{"subject":"Colin Archer","predicate":"born in","object":" Larvik "}',
        ),
    ],
)
def test_every_spelling_gives_the_same_statements(tmp_path: Path, name: str, content: str) -> None:
    assert read_statements(write_file(tmp_path / name, content)) == BOTH
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert read_statements(packed) == BOTH


@pytest.mark.parametrize("delimiter", ["|", ";", " ||| "])
def test_another_delimiter(tmp_path: Path, delimiter: str) -> None:
    assert read_statements(write_file(tmp_path / "g.tsv", format_lines(BOTH, delimiter)), delimiter=delimiter) == BOTH


def test_cells_of_csv_keep_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    path = write_file(tmp_path / "g.csv", 'a,"says, ""no""","two\nlines"\nb,c\n')
    assert read_statements(path) == [
        ("a", 'says, "no"', "two\nlines"),
        MalformedStatement("g.csv:3", "2 cells, wanted 3: head, relation, tail"),
    ]


def test_tabs_are_not_quoted_and_names_keep_their_letters(tmp_path: Path) -> None:
    row = ('"Fram', "is_a", "SHIP, \u00e9\u0301 日本 🚢")
    assert read_statements(write_file(tmp_path / "g.tsv", format_lines([row]))) == [row]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig", "cp1252"])
def test_other_encodings_are_read_when_they_are_named(tmp_path: Path, encoding: str) -> None:
    row = ("Émile", "né à", "Besançon")
    path = write_file(tmp_path / "g.tsv", format_lines([row]).encode(encoding))
    assert read_statements(path, encoding=encoding) == [row]


def test_a_json_file_is_a_list_of_records_or_several(tmp_path: Path) -> None:
    rows = [["a", "b", "c"], {"head": "d", "relation": "e", "tail": 1892}, ["x"], {"h": "é", "r": "]", "t": '"'}]
    wanted = [("a", "b", "c"), ("d", "e", "1892"), ("é", "]", '"')]
    as_list, several = json.dumps(rows, indent=2), "\n".join(map(json.dumps, rows))
    for name, text in (("list.json", as_list), ("several.json", several)):
        statements = read_statements(write_file(tmp_path / name, text))
        assert [one for one in statements if isinstance(one, tuple)] == wanted
        assert list_faults(statements)[0].startswith(f"{name}: record 3: no triple")
    compressed = write_file(tmp_path / "list.json.gz", gzip.compress(as_list.encode()))
    assert len(read_statements(compressed)) == 4


def test_a_line_may_be_a_question_with_its_whole_graph(tmp_path: Path) -> None:
    """RoG's records of CWQ bring graphs of megabytes."""
    graph = [[f"m.{number:07}", "people.person.place_of_birth", "m.01"] for number in range(30_000)]
    record = json.dumps({"id": "q1", "question": "who was born in X?", "answer": ["m.0000001"], "graph": graph})
    assert len(record) > 1 << 20
    assert len(read_statements(write_file(tmp_path / "rog.jsonl", record + "\n"))) == 30_000


def test_a_line_of_json_without_end_is_malformed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.indexing.kg_formats.files.MAX_RECORD_CHARACTERS", 10_000)
    monkeypatch.setattr("clew.indexing.kg_formats.json_records.MAX_RECORD_CHARACTERS", 10_000)
    path = write_file(tmp_path / "g.jsonl", '["a", "' + "b" * 100_000 + '\n["c", "d", "e"]\n')
    fault, triple = read_statements(path)
    assert "a line has more than 10,000 characters" in str(fault)
    assert triple == ("c", "d", "e")


def test_numbers_in_json_are_names_as_written(tmp_path: Path) -> None:
    path = write_file(tmp_path / "g.jsonl", '["Fram", "launched", 1892]\n["a", "b", 1.50]\n["a", "b", 1e999]\n')
    assert read_statements(path) == [("Fram", "launched", "1892"), ("a", "b", "1.50"), ("a", "b", "1e999")]


MALFORMED = {
    "too few cells": (b"a\tb\n", "2 cells, wanted 3"),
    "one cell": (b"a\n", "1 cell, wanted 3"),
    "too many cells": (b"a\tb\tc\td\n", "4 cells, wanted 3"),
    "an empty name": (b"a\t \tc\n", "a name is empty"),
    "a NUL byte": (b"a\tb\0\tc\n", "a NUL byte"),
    "Latin-1": (b"a\tb\tcaf\xe9\n", "not valid text: byte 0xe9 at 7; give --encoding"),
    "half of UTF-8": (b"a\t\xe2\x82\tc\n", "byte 0xe2 at 2"),
    "a name that is too long": (b"a\tb\t" + b"x" * (MAX_NAME_CHARACTERS + 1) + b"\n", "a name has 65,537 characters"),
    "a line without an end": (b"a\tb\t" + b"x" * 3_000_000 + b"\n", "a line has more than 1,048,576 characters"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_line_is_reported_with_its_number_and_the_others_are_read(tmp_path: Path, case: str) -> None:
    content, reason = MALFORMED[case]
    path = write_file(tmp_path / "g.tsv", format_lines([FRAM]).encode() + content + format_lines([BORN]).encode())
    statements = read_statements(path)
    assert list_triples(statements) == BOTH
    (fault,) = list_faults(statements)
    assert fault.startswith("g.tsv:2: ")
    assert reason in fault
    with pytest.raises(InputError, match=r"g\.tsv:2: .*nothing was imported"):
        list(graph_file(path).statements(strict=True))


def test_names_of_ten_kilobytes_are_kept(tmp_path: Path) -> None:
    long = "x" * MAX_NAME_CHARACTERS
    assert read_statements(write_file(tmp_path / "g.tsv", format_lines([(long, "y" * 10_000, long)]))) == [
        (long, "y" * 10_000, long)
    ]
    assert read_statements(write_file(tmp_path / "g.csv", format_lines([(long, "y" * 10_000, long)], ","))) == [
        (long, "y" * 10_000, long)
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not valid JSON"),
        ("[1, 2]", "no triple; wanted"),
        ('{"head": "a", "tail": "b"}', "no triple; wanted"),
        ('{"h": "a", "r": null, "t": "b"}', "a name is null; wanted a string"),
        ('["a", "b", true]', "a name is true"),
        ('["a", "b", {"c": 1}]', "a name is {"),
        ('["a", "", "b"]', "a name is empty"),
        ('["a", "b", "\\ud800"]', "half a character"),
        ('["a", "b", "\\u0000"]', "a NUL byte"),
        ('["a", "b", NaN]', "not valid JSON: NaN"),
        ('{"id": "a", "label": ""}', ""),
        ('{"id": "", "label": "x"}', "a name is empty"),
        ('{"id": "a", "aliases": "x"}', '"aliases" is not a list'),
        ("[" * 100_000, "too deep"),
    ],
)
def test_malformed_json(tmp_path: Path, line: str, reason: str) -> None:
    statements = read_statements(write_file(tmp_path / "g.jsonl", f'["a", "b", "c"]\n{line}\n["d", "e", "f"]\n'))
    assert list_triples(statements) == [("a", "b", "c"), ("d", "e", "f")]
    assert all(reason in fault and fault.startswith("g.jsonl:2") for fault in list_faults(statements))
    assert len(list_faults(statements)) == (reason != "")


def test_a_quote_that_is_never_closed_costs_a_bounded_stretch(tmp_path: Path) -> None:
    rows = [(f"entity {n}", "next", f"entity {n + 1}") for n in range(20_000)]
    path = write_file(tmp_path / "g.csv", 'a,"b,c\n' + format_lines(rows, ","))
    statements = read_statements(path)
    assert len(list_faults(statements)) == 1
    assert "check its quotes" in list_faults(statements)[0]
    assert len(list_triples(statements)) > 17_000
    assert list_triples(statements)[-1] == rows[-1]


def test_names_come_after_the_triples(tmp_path: Path) -> None:
    names = write_file(tmp_path / "names.tsv", "m.01\tFram\tthe Fram\t\tFram (ship)\nm.02\nm.03\t\tx\n")
    more_names = write_file(tmp_path / "more.csv", 'm.04,"Archer, Colin"\n')
    statements = read_statements(write_file(tmp_path / "g.tsv", "m.01\tby\tm.04\n"), names=(names, more_names))
    assert statements == [
        ("m.01", "by", "m.04"),
        EntityNames("m.01", "Fram", ("the Fram", "Fram (ship)")),
        MalformedStatement("names.tsv:2", "1 cell, wanted at least 2: id, label, further names"),
        MalformedStatement("names.tsv:3", "a name is empty"),
        EntityNames("m.04", "Archer, Colin"),
    ]


def test_names_in_json_lines_list_their_entities(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "g.jsonl",
        '{"id": "Q1", "label": "Fram", "aliases": ["the Fram", "the Fram"]}\n{"id": 2, "name": "x"}',
    )
    assert read_statements(path) == [
        EntityNames("Q1", "Fram", ("the Fram",), is_listed=True),
        EntityNames("2", "x", is_listed=True),
    ]


N_TRIPLES = """# a comment
<http://x.org/Fram> <http://x.org/builtBy> <http://x.org/Colin_Archer> .
<http://x.org/Fram> <http://www.w3.org/2000/01/rdf-schema#label> "Fram"@en .
<http://x.org/Fram> <http://www.w3.org/2004/02/skos/core#altLabel> "the \\"Fram\\""@EN-gb .
<http://x.org/Fram> <http://x.org/launched> "1892"^^<http://www.w3.org/2001/XMLSchema#gYear> . # so it was

_:b0 <http://x.org/vocab#is-a> "\\u00c9mile\\tand \\U0001F6A2".
"""


def test_n_triples(tmp_path: Path) -> None:
    fram = "<http://x.org/Fram>"
    assert read_statements(write_file(tmp_path / "g.nt", N_TRIPLES)) == [
        (fram, "built by", "<http://x.org/Colin_Archer>"),
        EntityNames(fram, "Fram", language="en"),
        EntityNames(fram, aliases=('the "Fram"',)),
        (fram, "launched", "1892"),
        ("_:b0", "is a", "Émile\tand 🚢"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "<a> <b> <c>",
        "<a> <b> .",
        '"a" <b> <c> .',
        "<a> _:b <c> .",
        '<a> <b> "c .',
        '<a> <b> "c\\x" .',
        '<a> <b> "\\uD800" .',
        '<a> <b> "\\U00110000" .',
        '<a> <b> "" .',
        "<a b> <b> <c> .",
        '<a> <b> "c"@ .',
        "<a> <b> <c> . <d>",
    ],
)
def test_malformed_n_triples(line: str) -> None:
    statements = list(read_n_triples([f"{line}\n"], "g.nt"))
    assert len(statements) == 1
    assert isinstance(statements[0], MalformedStatement), statements


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda t: t.strip() != "")


@given(st.lists(st.tuples(TEXTS, st.sampled_from([None, "en", "de-AT"])), max_size=5))
@settings(deadline=None)
def test_n_triples_agree_with_rdflib(literals: list[tuple[str, str | None]]) -> None:
    graph = rdflib.Graph()
    for number, (text, language) in enumerate(literals):
        literal = rdflib.Literal(text, lang=language)
        graph.add((rdflib.URIRef(f"http://x.org/é{number}"), rdflib.URIRef("http://x.org/says"), literal))
    written = graph.serialize(format="nt")
    statements = list(read_n_triples(written.splitlines(keepends=True) if "\n" in written else [], "g"))
    want = {(f"<{s}>", "says", str(o).strip()) for s, _, o in graph}
    assert {statement for statement in statements if isinstance(statement, tuple)} == want
    assert len(statements) == len(want)


def test_turtle_has_the_statements_of_its_n_triples(tmp_path: Path) -> None:
    text = """@prefix : <http://x.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Fram :builtBy :Colin_Archer ; rdfs:label "Fram"@en ; :launched 1892 ; :crew [ :size 13 ] .
    :Colin_Archer :bornIn :Larvik, "Larvik" .
    """
    path = write_file(tmp_path / "g.ttl", text)
    statements = read_statements(path)
    assert statements == read_statements(path)  # blank nodes have the same names each time, too
    assert ("<http://x.org/Fram>", "crew", "_:b0") in statements
    assert ("_:b0", "size", "13") in statements
    flat = write_file(tmp_path / "g.nt", rdflib.Graph().parse(data=text, format="turtle").serialize(format="nt"))

    def plain(statements: list[Statement]) -> set[Statement]:
        return {
            statement
            for statement in statements
            if not (isinstance(statement, tuple) and "_:" in statement[0] + statement[2])
        }

    assert plain(statements) == plain(read_statements(flat))


@pytest.mark.parametrize("suffix", ["ttl", "nt"])
def test_a_literal_of_megabytes_is_said_to_be_too_long_with_the_limit(tmp_path: Path, suffix: str) -> None:
    long = "x" * 3_000_000
    text = f'<http://e/a> <http://e/p> "{long}" .\n<http://e/a> <http://e/p> <http://e/b> .\n'
    statements = read_statements(write_file(tmp_path / f"g.{suffix}", text))
    assert list_triples(statements) == [("<http://e/a>", "p", "<http://e/b>")]
    (fault,) = list_faults(statements)
    limit = "a name has 3,000,000 characters, at most 65,536" if suffix == "ttl" else "a line has more than 1,048,576"
    assert limit in fault
    assert "shorten it, or index long texts as documents" in fault


def test_turtle_in_one_long_line_is_read(tmp_path: Path) -> None:
    text = " ".join(f"<http://e/{n}> <http://e/p> <http://e/{n + 1}> ." for n in range(30_000))
    assert len(text) > 1 << 20
    assert len(list_triples(read_statements(write_file(tmp_path / "g.ttl", text)))) == 30_000


def test_turtle_without_rdflib_names_the_package_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rdflib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'clew\[graphs\]', or convert the file"):
        read_statements(write_file(tmp_path / "g.ttl", "<a:a> <a:b> <a:c> ."))


ROW = "a\tb\tc\n"
PACKED = gzip.compress("".join(f"a{number}\tb\tc{number}\n" for number in range(50_000)).encode())


@pytest.mark.parametrize(
    ("name", "content", "options", "why"),
    [
        ("g.json", '[["a", "b", "c"]', {}, "the list has no end"),
        ("g.json", '[["a", "b", "c"] ["d", "e", "f"]]', {}, r"record 1 is followed by '\['"),
        ("g.json", '[["a", "b", "c"], nothing]', {}, "record 2: invalid JSON"),
        ("g.json", '[["a", "b", NaN]]', {}, "record 1: not valid JSON: NaN"),
        ("g.json", "[" * 200_000, {}, "nested too deeply"),
        ("g.json", "[", {}, "record 1: invalid JSON"),
        ("g.json", '[["a", "b", "c"],', {}, "the list has no end"),
        ("g.ttl", "@prefix : <http://x.org/> .\n:a :b :c .\n:a :b ; ; oops\n", {}, r"g\.ttl:\d+: not Turtle"),
        ("g.tsv", ROW.encode("utf-16"), {}, "is in UTF-16, as its first bytes show: give --encoding utf-16"),
        ("g.tsv", ROW.encode("utf-32"), {}, "is in UTF-32"),
        ("g.tsv", ROW.encode("utf-16-le"), {}, "binary, or text in UTF-16"),
        ("g.tsv", bytes(range(256)) + bytes(2000), {}, "binary"),
        ("g.tsv", ROW.encode("utf-16") + b"x", {"encoding": "utf-16"}, "not in utf-16"),
        ("g.tsv.gz", PACKED[: len(PACKED) // 2], {}, "incomplete"),
        ("g.tsv.gz", ROW, {}, "no gzip file"),
        ("absent.tsv", None, {}, "is no file"),
        ("", None, {}, "is no file"),
        ("g.xyz", ROW, {}, "no suffix of a known format"),
        ("g", ROW, {}, "no suffix of a known format"),
        ("g.gz", PACKED, {}, "no suffix of a known format"),
        ("g.tsv", ROW, {"kind": "xml"}, "--format is 'xml'"),
        ("g.tsv", ROW, {"encoding": "klingon"}, "--encoding is 'klingon'"),
        ("g.tsv", ROW, {"encoding": "rot13"}, "--encoding is 'rot13'"),
        ("g.tsv", ROW, {"delimiter": ""}, "--delimiter is ''"),
        ("g.csv", ROW, {"delimiter": "||"}, r"--delimiter is '\|\|'"),
        ("g.csv", ROW, {"delimiter": '"'}, "--delimiter is"),
        ("g.tsv", ROW, {"delimiter": "\n"}, "--delimiter is"),
        ("g.jsonl", ROW, {"delimiter": ";"}, "--delimiter is for tsv and csv"),
        ("g.tsv", ROW, {"names": ("absent.tsv",)}, "is no file"),
    ],
)
def test_a_file_or_option_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, name: str, content: str | bytes | None, options: dict[str, object], why: str
) -> None:
    if content is not None:
        write_file(tmp_path / name, content)
    with pytest.raises(InputError, match=why) as caught:
        read_statements(tmp_path / name, **options)
    assert "\n" not in str(caught.value)


def test_the_format_may_be_given(tmp_path: Path) -> None:
    path = write_file(tmp_path / "triples", "a,b,c\n")
    assert graph_file(path, "csv") == GraphFile(path, "csv", "utf-8", ",")
    assert read_statements(path, kind="csv") == [("a", "b", "c")]


def test_long_lines_are_not_held_in_memory() -> None:
    class Endless:
        """A file of one line that never ends; reading more than a little of it fails the test."""

        bytes_read = 0

        def readable(self) -> bool:
            return True

        def read1(self, size: int) -> bytes:
            self.bytes_read += size
            assert self.bytes_read < 50 << 20
            return b"x" * size if self.bytes_read < 8 << 20 else b""

        read = read1
        closed = False
        writable = seekable = flush = close = lambda *_: False

    lines: Iterator[str] = read_text_lines(Endless(), "utf-8")  # type: ignore[arg-type]
    assert [len(line) for line in lines] == [102]


@pytest.mark.parametrize(
    ("address", "segment", "words"),
    [
        ("http://x.org/birthPlace", "birthPlace", "birth place"),
        ("http://x.org/vocab#has_part", "has_part", "has part"),
        ("http://x.org/IMDBRating/", "IMDBRating", "imdb rating"),
        ("urn:isbn:123", "123", "123"),
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "type", "type"),
    ],
)
def test_addresses_in_words(address: str, segment: str, words: str) -> None:
    assert last_segment(address) == segment
    assert relation_to_words(address) == words
