"""Structure of Markdown: headings, links, front matter, aliases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.sources.markdown import find_headings, find_links, read_alias_line, read_front_matter, strip_markup
from clew.indexing.sources.plain_text import make_markdown_document, make_text_document

MARKS = st.text(alphabet="[]()!<>`#*_=-~|\\\"' \n\tab:;,.{}é漢", max_size=80)


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("## Two\n# One ##\n# Three\n", "One"),
        ("#Hashtag\n####### seven\n#\n", ""),
        ("# C#\n", "C#"),
        ("   # In *three* [links](x)\r\n", "In three links"),
        ("Next\n---\n\nTop\n===\n", "Top"),
        ("text\n\n---\n- item\n---\n", ""),
        ("```\n# code\n```\n# out\n~~~\n# in\n", "out"),
        ("````\n```\n# code\n````\n# out", "out"),
        ("---\n# comment: 1\ntitle: x\n---\n# real", "real"),
        ("# The `code` of snake_case {#anchor}", "The code of snake_case"),
        ("# Überschrift 漢字 🙂", "Überschrift 漢字 🙂"),
        ("# " + "x" * 501, ""),
        ("# " + "x" * 500, "x" * 500),
    ],
)
def test_the_main_heading(text: str, heading: str) -> None:
    body = text[read_front_matter(text).end :]
    assert next((found.text for found in find_headings(body) if found.level == 1), "") == heading


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[a](b.md) [a](c d)", ("b.md",)),
        ("[a](<c d.md>) [b]( e.md 'title' ) [c](f.md (t)) [d](g.md\n\"t\")", ("c d.md", "e.md", "f.md", "g.md")),
        ("[[Fram]] [[Roald Amundsen|him]] [[Page#Part]]", ("Fram", "Roald Amundsen", "Page#Part")),
        ("[a](x_(y).md)(z)", ("x_(y).md",)),
        ("![map](map.png) [![map](m.png)](big.md)", ("big.md",)),
        ("[a [b] c](d.md)", ("d.md",)),
        ("a](b.md) \\[c](d.md)", ()),
        ("`[a](b.md)` ``[a`](c.md)`` ` [d](e.md)", ("e.md",)),
        ("```\n[a](b.md)\n[r]: x.md\n```\n[c](d.md)", ("d.md",)),
        ("[a][ref] [ref]\n\n[ref]: https://example.org/a 'T'\n", ("https://example.org/a",)),
        ("<https://example.org/b> <b@example.org> https://bare.org", ("https://example.org/b",)),
        ("<a class='k' href=\"x.html\">x</a> <A HREF='y.html'>", ("x.html", "y.html")),
        ("[a](#part) [b](b.md#part) [c]()", ("b.md#part",)),
        ("[a](z.md) [b](y.md) [c](z.md)", ("z.md", "y.md")),
        ("[عربي](صفحة.md) [漢](漢字.md) [e](🙂)", ("صفحة.md", "漢字.md", "🙂")),
        ("[ ] task [x] done", ()),
    ],
)
def test_links(text: str, targets: tuple[str, ...]) -> None:
    assert find_links(text) == targets


LOST_ENTRY = "---\naliases: [A]\nother: [x]\n  - in no entry\n---\nbody"


@pytest.mark.parametrize(
    ("text", "title", "aliases", "body"),
    [
        ("---\ntitle: The Fram\n---\nbody", "The Fram", (), "body"),
        (
            "---\r\ntitle: 'It''s'\r\naliases: [A, \"B, \\\"C\\\"\", 'D']\r\n---\r\nbody",
            "It's",
            ("A", 'B, "C"', "D"),
            "body",
        ),
        ("---\naliases:\n  - A\n  - B: C\nother: [x]\n---\n", "", ("A", "B: C"), ""),
        (LOST_ENTRY, "", ("A",), LOST_ENTRY),
        ("---\nOne paragraph.\n---\nbody", "", (), "---\nOne paragraph.\n---\nbody"),
        ("---\n# nothing\n---\nbody", "", (), "body"),
        ("---\naliases: A; B\ntags:\n- no\n...\nbody", "", ("A", "B"), "body"),
        ("---\nnested:\n  title: no\n---\n", "", (), ""),
        ("---\ntitle: never closed\n", "", (), "---\ntitle: never closed\n"),
        ("text\n---\ntitle: no\n---\n", "", (), "text\n---\ntitle: no\n---\n"),
        ("", "", (), ""),
    ],
)
def test_front_matter(text: str, title: str, aliases: tuple[str, ...], body: str) -> None:
    front = read_front_matter(text)
    assert (front.title, front.aliases, text[front.end :]) == (title, aliases, body)


@pytest.mark.parametrize(
    ("text", "aliases"),
    [
        ("Title\nAliases: A; B, C ;; *D*\n", ("A", "B, C", "D")),
        ("1\n2\n3\n4\naliases: fifth", ("fifth",)),
        ("1\n2\n3\n4\n5\nAliases: sixth", ()),
        ("His aliases: A; B", ()),
        ("Aliases: " + "A;" * 1000, ()),
        ("", ()),
    ],
)
def test_alias_lines(text: str, aliases: tuple[str, ...]) -> None:
    assert read_alias_line(text) == aliases


def test_text_without_markup_is_unchanged() -> None:
    assert strip_markup(r"2 * 3 * 4 \* a_b_c **bold *both*** [[P|shown]] ") == "2 * 3 * 4 * a_b_c bold both shown"


@given(MARKS)
def test_links_are_distinct_and_written_in_the_text(text: str) -> None:
    assert all(target in text and target == target.strip() for target in find_links(text))
    assert len(set(find_links(text))) == len(find_links(text))


@given(st.lists(st.text(alphabet="abé漢/.-_", min_size=1, max_size=9), max_size=5, unique=True))
def test_links_written_on_their_own_lines_are_all_found(targets: list[str]) -> None:
    text = "\n\n".join(f"[shown]({target})" for target in targets)
    assert find_links(text) == tuple(targets)
    assert find_links("~~~\n" + text + "\n~~~\n") == ()


TABLE = """# Ships

## Old
ship | built \\| lost `(year)` |
:--|--:
**Fram** | 1892
[Gjøa](g.md) | 1872 \\| 73<br>x |
 Maud |
In ice.
"""


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            TABLE,
            ["ship: Fram; built | lost (year): 1892", "ship: Gjøa; built | lost (year): 1872 | 73, x", "ship: Maud"],
        ),
        ("| | No. of crew: |\n|---|---|\n| Fram | 16 |", ["Fram; No. of crew: 16"]),
        ("| a | b |\n|---|\n| 1 | 2 |\n", []),
        ("| a | b |\n|---|---|\n\n| 1 | 2 |\n", []),
        ("```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n", []),
    ],
)
def test_rows_of_tables_are_paragraphs_with_the_names_of_columns(text: str, rows: list[str]) -> None:
    document = make_markdown_document("id", "name", text)
    paragraphs = document.text.split("\n\n")
    assert [paragraph for paragraph in paragraphs if paragraph in rows] == rows
    assert rows or document.text == text


def test_a_table_leaves_each_heading_and_row_on_its_line() -> None:
    document = make_markdown_document("id", "name", TABLE)
    lines = {place.place.line: document.text[place.offset :].split("\n")[0] for place in document.places}
    assert lines[3] == "## Old"
    assert lines[6] == "ship: Fram; built | lost (year): 1892"
    assert lines[8] == "ship: Maud"
    assert lines[9] == "In ice."


def test_a_text_may_have_a_table_as_markdown_has_it() -> None:
    document = make_text_document("id", "name", "Ships of old\n\n| ship | built |\n|---|---|\n| Fram | 1892 |\n")
    assert document.text == "Ships of old\n\nship: Fram; built: 1892\n\n"
    assert document.places[-1].place.line == 5
