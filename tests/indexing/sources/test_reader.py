"""Reading: the documents and failures of files, their order and their ids."""

import io
import os
import sys
import zipfile
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.indexing.sources.reader import read_documents
from clew.indexing.sources.reading_report import ReadingReport
from clew.types import Document, Failure, Place, PlaceStart
from tests.indexing.sources.reading import only_documents, pdf_bytes, read_failure, read_ids, read_single, write_file


def test_a_folder_is_read_in_the_order_of_relative_paths(tmp_path: Path) -> None:
    names = ["b.txt", "a/z.txt", "a.txt", "a b.txt", "a-b/c.txt", "a/b/c.md", "Z.txt", "é/ü.txt", "日本.txt"]
    for name in names:
        write_file(tmp_path / name, f"text of {name}")
    assert read_ids(tmp_path) == sorted(names)


def test_hidden_files_and_folders_are_skipped(tmp_path: Path) -> None:
    for name in (".hidden.txt", ".git/config.txt", "seen.txt"):
        write_file(tmp_path / name, "text")
    assert read_ids(tmp_path) == ["seen.txt"]


def test_documents_come_one_by_one(tmp_path: Path) -> None:
    for number in range(5):
        write_file(tmp_path / f"{number}.txt", "text")
    reading = read_documents([tmp_path])
    assert isinstance(next(reading), Document)
    (tmp_path / "4.txt").write_text("changed while reading")
    last = list(reading)[-1]
    assert isinstance(last, Document)
    assert last.text == "changed while reading"


def test_loops_of_links_end_and_nothing_is_read_twice(tmp_path: Path) -> None:
    top, beside = tmp_path / "top", tmp_path / "beside"
    write_file(top / "a" / "one.txt", "one")
    write_file(beside / "two.txt", "two")
    (top / "a" / "up").symlink_to(top)
    (top / "0").symlink_to(top / "a")
    (top / "again").symlink_to(top / "a")
    (top / "out").symlink_to(beside)
    (beside / "back").symlink_to(top)
    assert read_ids(top) == ["a/one.txt"]


def test_links_out_of_a_folder_are_not_read_and_one_note_counts_them(tmp_path: Path) -> None:
    top, beside = tmp_path / "top", tmp_path / "top beside"
    write_file(top / "deep" / "one.txt", "one")
    secret = write_file(beside / "two.txt", "two")
    (top / "deep" / "link.txt").symlink_to(secret)
    (note,) = read_with_report(top).lines()
    assert note.startswith("1 link leads out of the given folder and was not read (")
    assert note.endswith(f"({top}/deep/link.txt -> {secret}); to read it, give the place it leads to")
    (top / "folder").symlink_to(beside)
    (top / "inner").symlink_to(top / "deep")
    (top / "over.txt").symlink_to(top / "folder" / "two.txt")
    (note,) = read_with_report(top).to_json()["notes"]
    assert note.startswith("3 links lead out of the given folder and were not read (the first, ")


def read_with_report(folder: Path) -> ReadingReport:
    report = ReadingReport()
    documents = only_documents(read_documents([folder], report=report))
    assert [document.id for document in documents] == ["deep/one.txt"]
    return report


def test_a_given_path_may_be_a_link(tmp_path: Path) -> None:
    write_file(tmp_path / "there" / "one.txt", "one")
    (tmp_path / "folder").symlink_to(tmp_path / "there")
    (tmp_path / "file.txt").symlink_to(tmp_path / "there" / "one.txt")
    for given, id_ in (("folder", "one.txt"), ("file.txt", "file.txt")):
        assert read_ids(tmp_path / given) == [id_]


def test_empty_files_of_a_folder_are_counted_and_one_by_name_is_a_failure(tmp_path: Path) -> None:
    write_file(tmp_path / "deep" / "one.txt", "one")
    for name in ("__init__.py", "deep/__init__.py", "empty.docx"):
        write_file(tmp_path / name, "")
    report = read_with_report(tmp_path)
    assert report.lines() == [f"3 empty files were skipped, the first {tmp_path / '__init__.py'}"]
    assert read_failure(tmp_path / "__init__.py").reason == "empty: the file holds no text"
    write_file(tmp_path / "blank.txt", " ")
    assert sum(isinstance(item, Failure) for item in read_documents([tmp_path])) == 1


def test_a_linked_folder_that_is_hidden_by_its_own_name_is_read(tmp_path: Path) -> None:
    write_file(tmp_path / ".store" / "one.txt", "one")
    (tmp_path / "shown").symlink_to(tmp_path / ".store")
    assert read_ids(tmp_path) == ["shown/one.txt"]


def test_links_that_lead_nowhere_fail_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "missing.txt")
    (tmp_path / "b.txt").symlink_to(tmp_path / "b.txt")
    os.mkfifo(tmp_path / "c.txt")
    write_file(tmp_path / "d.txt", "text")
    *failures, last = read_documents([tmp_path])
    assert isinstance(last, Document)
    assert [result.item for result in failures if isinstance(result, Failure)] == [
        str(tmp_path / name) for name in ("a.txt", "b.txt", "c.txt")
    ]


def test_folders_deeper_than_the_recursion_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = sys.getrecursionlimit() + 100
    monkeypatch.chdir(tmp_path)
    try:
        for _ in range(depth):
            Path("d").mkdir()
            os.chdir("d")
        write_file(Path("deep.txt"), "deep")
        os.chdir(tmp_path)
        (document,) = only_documents(read_documents(["d"]))
        assert document.id == "d/" * (depth - 1) + "deep.txt"
    finally:  # pytest's clean-up recurses, so it cannot remove these folders
        os.chdir(tmp_path)
        Path("d/" * depth + "deep.txt").unlink()
        for level in range(depth, 0, -1):
            Path("d/" * level).rmdir()


def test_unknown_suffixes_are_counted(tmp_path: Path) -> None:
    write_file(tmp_path / "photo.xyz", "?")
    write_file(tmp_path / "Makefile", "?")
    reasons = {
        Path(result.item).name: result.reason for result in read_documents([tmp_path]) if isinstance(result, Failure)
    }
    assert reasons["photo.xyz"].startswith(
        "not a kind of file that can be read: .xyz; leave it out, or save it as .md, "
    )
    assert reasons["Makefile"].startswith("not a kind of file that can be read: no suffix")
    assert "not a kind" in read_failure(tmp_path / "photo.xyz").reason


def test_a_path_that_does_not_exist_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    write_file(tmp_path / "a.txt", "text")
    for missing in (tmp_path / "missing.txt", "nul\0.txt", "\ud800.txt"):
        with pytest.raises(InputError, match="cannot be opened"):
            read_documents([tmp_path / "a.txt", missing])
    with pytest.raises(InputError, match="no path"):
        read_documents([])


def test_a_name_that_is_no_utf_8_is_a_failure(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).write_text("text")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (result,) = read_documents([tmp_path])
    assert isinstance(result, Failure)
    assert "not valid UTF-8" in result.reason
    result.item.encode("utf-8")


def test_ids_are_unique_within_a_run(tmp_path: Path) -> None:
    first = write_file(tmp_path / "one" / "a.txt", "first")
    write_file(tmp_path / "two" / "a.txt", "second")
    lines = write_file(tmp_path / "b.jsonl", '{"id": "a.txt", "text": "third"}\n{"id": "b", "text": "fourth"}\n')
    results = list(read_documents([tmp_path / "one", tmp_path / "two", first, lines]))
    assert [type(result) for result in results] == [Document, Document, Failure, Document]
    texts = {result.id: result.text for result in results if isinstance(result, Document)}
    assert texts == {"a.txt": "first", "two/a.txt": "second", "b": "fourth"}
    assert isinstance(results[2], Failure)
    assert results[2].item == f"{lines}:1"
    assert '"a.txt" was already read' in results[2].reason


def archive(name: str) -> bytes:
    """Return an archive of one file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr(name, "words")
    return packed.getvalue()


BINARY = b"PK\3\4\0\0\n\0\n"


@pytest.mark.parametrize(
    ("suffixes", "content", "reason"),
    [
        (".txt .md .jsonl .csv .pdf .html", b"", "empty"),
        (".txt .md", b" \n\t\n", "empty"),
        (".txt .md", b"\xef\xbb\xbf", "empty"),
        (".txt .md", b"text\0more", "offset 4"),
        (".txt .md", "göd ".encode() + b"\xff bad", "byte offset 5"),
        (".txt .md", b"\xef\xbb\xbfgood \xff", "byte offset 8"),
        (".txt .md", b"\xed\xa0\x80", "byte offset 0"),
        (".txt .md", "text".encode("utf-16") + b"\0", "byte offset"),
        (".txt", "Das Café Zürich gehört Jürgen Köhler.".encode() + b"\xff", "byte offset"),  # no other encoding
        (".txt .md .py", b"%PDF-1.3\n1 0 obj", "as a PDF does, so it is no text: give it the suffix of its kind"),
        (".txt .md .py", b"PK\x03\x04 and no zero byte", "it begins as a zip archive does"),
        (".txt .md .py", rb"{\rtf1\ansi Ann Lind}", "it begins as a Rich Text file does"),
        (".csv .jsonl", BINARY, "a zip archive"),
        (".csv", b"text,a,a\n1,2,3\n", "given twice"),
        (".csv", b"text,Text\n1,2\n", "given twice"),
        (".csv", b"text,text\n1,2\n", "given twice"),
        (".csv", b"text,a\n", "no row under a header"),
        (".docx .pptx .pdf", b"PK\3\4 this is no document of any kind \0\1\2", " file is damaged or locked"),
        (".pdf", b"only words", 'does not begin with "%PDF"'),
        (".docx .pptx .xlsx", archive("a.txt"), "an archive without [Content_Types].xml, so no file of Office"),
        (
            ".pdf",
            pdf_bytes([[]]),
            "empty: the file has no text (1 of 1 page has no text: pages that are pictures need OCR first); leave it",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, suffixes: str, content: bytes, reason: str) -> None:
    for suffix in suffixes.split():
        path = write_file(tmp_path / f"bad{suffix}", content)
        result = read_failure(path)
        assert result.item == str(path)
        assert reason in result.reason, suffix


def test_unreadable_files_and_folders_are_failures(tmp_path: Path) -> None:
    write_file(tmp_path / "closed" / "a.txt", "text").parent.chmod(0)
    write_file(tmp_path / "b.txt", "text").chmod(0)
    if os.access(tmp_path / "b.txt", os.R_OK):
        (tmp_path / "closed").chmod(0o700)
        pytest.skip("the superuser may read everything")
    results = list(read_documents([tmp_path]))
    (tmp_path / "closed").chmod(0o700)
    assert [result.reason for result in results if isinstance(result, Failure)] == [
        "cannot be read: Permission denied",
        "the folder cannot be opened: Permission denied",
    ]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file whose reading fails")
@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".csv", ".html"])
def test_a_disk_error_is_a_failure(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a{suffix}").symlink_to("/proc/self/mem")
    write_file(tmp_path / "b.txt", "text")
    broken, fine = read_documents([tmp_path / f"a{suffix}", tmp_path / "b.txt"])
    assert isinstance(broken, Failure)
    assert "cannot be read" in broken.reason
    assert isinstance(fine, Document)


def test_the_text_is_the_file_to_the_character(tmp_path: Path) -> None:
    text = "Заголовок\r\n\r\nשלום 👩‍👩‍👧 \u202eعكس\u202c\ttab\rold\n\u2028  end  \n"
    document = read_single(write_file(tmp_path / "a.txt", b"\xef\xbb\xbf" + text.encode()))
    assert document.text == text.replace("\r\n", "\n")  # the only letters that are changed
    assert document.title == "Заголовок"


@pytest.mark.parametrize(
    ("content", "title", "aliases"),
    [
        ("The Fram\n\nA ship.", "The Fram", ("polar ship 1",)),
        ("\n\n  The Fram  \n\nA ship.", "The Fram", ("polar ship 1",)),
        ("The Fram\nAliases: Fram; Polar Ship\n\nA ship.", "The Fram", ("polar ship 1", "Fram", "Polar Ship")),
        ("The Fram was a ship.\n\nIt sailed.", "polar ship 1", ()),
        ("The Fram\nwas a ship.", "polar ship 1", ()),
        ("The Fram", "polar ship 1", ()),
        ("x" * 101 + "\n\ntext", "polar ship 1", ()),
        ("Polar Ship 1\n\ntext", "Polar Ship 1", ()),
    ],
)
def test_titles_and_aliases_of_plain_texts(tmp_path: Path, content: str, title: str, aliases: tuple[str, ...]) -> None:
    document = read_single(write_file(tmp_path / "polar-ship_1.txt", content))
    assert (document.title, document.aliases, document.links) == (title, aliases, ())


def test_markdown_gives_title_aliases_and_links_and_keeps_its_source(tmp_path: Path) -> None:
    text = (
        "---\ntitle: The *Fram*\naliases:\n  - Polar Ship\n  - 'Fram'\n---\n# Fram (ship)\nAliases: Framskip\n\n"
        "## Crew\nLed by [Nansen](people/nansen.md) and [[Amundsen|Roald]]. ![map](map.png)\n"
    )
    document = read_single(write_file(tmp_path / "fram.md", text))
    assert document.text == text.partition("---\n# ")[2].join(("# ", ""))  # front matter is no text
    assert [(start.place.line, start.place.heading) for start in document.places] == [
        (7, "Fram (ship)"),
        (10, "Fram (ship) > Crew"),
    ]
    assert document.title == "The Fram"
    assert document.aliases == ("Fram (ship)", "fram", "Polar Ship", "Framskip")
    assert document.links == ("people/nansen.md", "Amundsen")


def test_markdown_without_a_heading_is_called_by_its_file(tmp_path: Path) -> None:
    document = read_single(write_file(tmp_path / "south_pole.markdown", "## Section\ntext"))
    assert (document.title, document.aliases) == ("south pole", ())


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        (b'\n \n{"id": "a", "text": "t"}\n{"text": "u"}\n', ["a", "stdin:4"]),
        (b'\xef\xbb\xbf {"id": "a", "text": "t"}', ["a"]),
        ('{"id": "a", "text": "t"}\n{"text": "ü"}\n'.encode("utf-16"), ["a", "stdin:2"]),
        (b"\n  plain {text}\n", ["stdin"]),
    ],
)
def test_standard_input(content: bytes, ids: list[str]) -> None:
    results = only_documents(read_documents(["-"], io.BytesIO(content)))
    assert [document.id for document in results] == ids
    if ids == ["stdin"]:
        assert (results[0].text, results[0].places) == ("\n  plain {text}\n", (PlaceStart(0, Place(line=1)),))


def test_empty_standard_input_is_a_failure() -> None:
    (result,) = read_documents(["-"], io.BytesIO(b""))
    assert result == Failure("stdin", "empty: the file holds no text")
