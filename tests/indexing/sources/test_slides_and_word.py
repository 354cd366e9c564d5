"""Line breaks of slides, tracked changes and content controls of Word files."""

import docx
import pptx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from pptx.util import Inches

from tests.indexing.sources.reading import read_one, saved

KIND = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def run(text: str, element: str = "t") -> str:
    return f'<w:r><w:{element} xml:space="preserve">{text}</w:{element}></w:r>'


def read_word(*blocks: str) -> str:
    """Return the text of a Word file whose body is these elements."""
    document = docx.Document()
    for block in blocks:
        document.element.body.append(parse_xml(block.replace(">", f" {KIND}>", 1)))
    return read_one(".docx", saved(document.save)).text


def test_line_breaks_of_slides_part_words() -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Crew of\vthe Fram"
    box = slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame
    box.text = "Anna Reid\vbuilt it"
    table = slide.shapes.add_table(1, 1, 0, 0, 9, 9).table
    table.cell(0, 0).text = "Carl\vBell"
    slide.notes_slide.notes_text_frame.text = "See the\vlog"
    assert (
        read_one(".pptx", saved(presentation.save)).text
        == "Crew of the Fram\n\nAnna Reid\nbuilt it\n\nCarl Bell\n\nNotes: See the\nlog"
    )


def test_tracked_insertions_are_text_and_deletions_are_none() -> None:
    inserted, deleted = f"<w:ins>{run('north ')}</w:ins>", f"<w:del>{run('south ', 'delText')}</w:del>"
    moved = f"<w:moveFrom>{run('twice ')}</w:moveFrom><w:moveTo>{run('once ')}</w:moveTo>"
    both = f"<w:ins><w:del>{run('never ')}</w:del>{run('late')}</w:ins>"
    text = read_word(f"<w:p>{run('It sailed ')}{inserted}{deleted}{moved}{both}</w:p>")
    assert text == "It sailed north once late"


def test_content_controls_are_text() -> None:
    inner = f"<w:sdt><w:sdtPr/><w:sdtContent>{run('Anna Reid')}</w:sdtContent></w:sdt>"
    block = f"<w:sdt><w:sdtPr/><w:sdtContent><w:p>{run('It was built by ')}{inner}</w:p></w:sdtContent></w:sdt>"
    cells = f"<w:tc><w:sdt><w:sdtContent><w:p>{run('Fram')}</w:p></w:sdtContent></w:sdt></w:tc>"
    rows = f"<w:tr>{cells}</w:tr><w:sdt><w:sdtContent><w:tr><w:tc><w:p>{run('1892')}</w:p></w:tc></w:tr></w:sdtContent>"
    grid = '<w:tblPr/><w:tblGrid><w:gridCol w:w="9"/></w:tblGrid>'
    text = read_word(block, f"<w:tbl>{grid}{rows}</w:sdt></w:tbl>")
    assert text == "It was built by Anna Reid\n\nFram: 1892"


def test_rows_that_are_deleted_in_a_tracked_change_are_no_text() -> None:
    cell = f"<w:tc><w:p>{run('{}')}</w:p></w:tc>"
    rows = "".join(f"<w:tr>{marks}{cell.format(name)}</w:tr>" for marks, name in (
        ("", "ship"), ("<w:trPr><w:ins/></w:trPr>", "Fram"), ("<w:trPr><w:del/></w:trPr>", "Gjoa"),
    ))  # fmt: skip
    assert read_word(f'<w:tbl><w:tblPr/><w:tblGrid><w:gridCol w:w="9"/></w:tblGrid>{rows}</w:tbl>') == "ship: Fram"


@pytest.mark.parametrize(
    "properties",
    ["<w:showingPlcHdr/>", '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'],
)
def test_prompts_and_the_table_of_contents_are_no_text(properties: str) -> None:
    control = f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent><w:p>{run('Click')}</w:p></w:sdtContent></w:sdt>"
    assert read_word(control, f"<w:p>{run('Fram')}</w:p>") == "Fram"


@pytest.mark.parametrize(("kind", "word"), [("footnote", "Footnote"), ("endnote", "Endnote")])
def test_notes_of_a_word_file_stand_below_what_refers_to_them(kind: str, word: str) -> None:
    document = docx.Document()
    reference = f'<w:r><w:{kind}Reference w:id="2"/></w:r>'
    cell = f"<w:tc><w:p>{run('Leith')}{reference.replace('2', '3')}</w:p></w:tc>"
    grid = '<w:tblPr/><w:tblGrid><w:gridCol w:w="9"/></w:tblGrid>'
    for block in (
        f"<w:p>{run('The harbour is deep.')}{reference}</w:p>",
        f"<w:p>{run('It is old.')}</w:p>",
        f"<w:tbl>{grid}<w:tr>{cell}</w:tr></w:tbl>",
    ):
        document.element.body.append(parse_xml(block.replace(">", f" {KIND}>", 1)))
    own = (
        f'<w:{kind} w:id="2"><w:p>{run("Measured by ")}<w:ins>{run("Anna Reid.")}</w:ins>'
        f"<w:del>{run('Nobody.', 'delText')}</w:del></w:p><w:p>{run('In 1892.')}</w:p></w:{kind}>"
        f'<w:{kind} w:id="3"><w:p>{run("By rail.")}</w:p></w:{kind}>'
    )
    separator = f'<w:{kind} w:type="separator" w:id="0"><w:p><w:r><w:separator/></w:r></w:p></w:{kind}>'
    part = Part(
        PackURI(f"/word/{kind}s.xml"),
        f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}s+xml",
        f"<w:{kind}s {KIND}>{separator}{own}</w:{kind}s>".encode(),
        document.part.package,
    )
    document.part.relate_to(part, f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}s")
    contents = read_one(".docx", saved(document.save))
    assert contents.text == (
        f"The harbour is deep.\n{word}: Measured by Anna Reid. In 1892.\n\nIt is old.\n\nLeith\n{word}: By rail."
    )
    assert contents.notes == ("left out: 7 characters of deleted text",)


def text_box(text: str, *, old: bool = False) -> str:
    """Return a run with a text box, as newer programs or as older ones store it."""
    inner = f"<w:txbxContent><w:p>{run(text)}</w:p></w:txbxContent>"
    if old:
        return f'<w:pict><v:textbox xmlns:v="urn:schemas-microsoft-com:vml">{inner}</v:textbox></w:pict>'
    shape = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
    return f'<w:drawing><s:txbx xmlns:s="{shape}">{inner}</s:txbx></w:drawing>'


def test_text_boxes_are_read_once_below_the_paragraph_that_they_stand_in() -> None:
    forms = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f'<mc:Choice Requires="wps">{text_box("Built in 1892.")}</mc:Choice>'
        f"<mc:Fallback>{text_box('Built in 1892.', old=True)}</mc:Fallback></mc:AlternateContent>"
    )
    text = read_word(
        f"<w:p>{run('The Fram')}<w:r>{forms}</w:r></w:p>",
        f"<w:p><w:r>{text_box('Sunk in 1931.', old=True)}</w:r></w:p>",
        f"<w:p>{run('The Maud')}</w:p>",
    )
    assert text == "The Fram\n\nBuilt in 1892.\n\nSunk in 1931.\n\nThe Maud"
