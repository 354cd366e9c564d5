"""Windows: every token keeps its place in its text, and what does not fit is left out by whole sentences."""

import numpy as np
import pytest
from tokenizers import Tokenizer

from clew.models.encoders.int8_minilm import BUNDLED_FOLDER
from clew.models.reader.windows import ReaderText, WindowMaker, strip_marks

SHIP = ReaderText("Fram", "Fram is a ship. Colin Archer built her in Larvik. She sailed to the Arctic in 1893.")
OTHER = ReaderText("", "It rained for days. Nobody wrote down why. " * 20)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    loaded = Tokenizer.from_file(str(BUNDLED_FOLDER / "tokenizer.json"))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def test_every_token_keeps_its_place(tokenizer: Tokenizer) -> None:
    window = WindowMaker(tokenizer).make("Who built Fram?", [SHIP, ReaderText("", "Über 3 Schiffe 🚢.")])
    texts = (SHIP.text, "Über 3 Schiffe 🚢.")
    read = ["", ""]
    for at, start, end in zip(window.text.tolist(), window.starts.tolist(), window.ends.tolist(), strict=True):
        if at >= 0:
            read[at] += texts[at][start:end]
    assert read == ["".join(text.split()) for text in texts]
    asked = tokenizer.encode("Who built Fram?").ids
    assert window.ids[: len(asked)].tolist() == asked
    assert window.types.tolist() == [0] * len(asked) + [1] * (len(window.ids) - len(asked))
    title = tokenizer.encode("Fram:", add_special_tokens=False).ids
    assert window.ids[len(asked) : len(asked) + len(title)].tolist() == title
    assert window.stretches() == ((0, 0, len(SHIP.text)), (1, 0, len(texts[1])))


def test_what_does_not_fit_is_left_out_by_sentences(tokenizer: Tokenizer) -> None:
    maker = WindowMaker(tokenizer, 48)
    window = maker.make("Where did Colin Archer build Fram?", [OTHER, SHIP])
    assert len(window.ids) <= 48
    read = [(OTHER, SHIP)[at].text[start:end] for at, start, end in window.stretches()]
    assert any("Colin Archer built her in Larvik." in stretch for stretch in read)
    assert any(stretch.startswith("It rained for days.") for stretch in read)  # each text begins


def test_a_text_far_down_is_read_where_its_words_fit(tokenizer: Tokenizer) -> None:
    texts = [ReaderText("", f"It rained in the year {number}.") for number in range(800)]
    texts[790] = ReaderText("", "Larvik has a harbour.")
    assert 790 in WindowMaker(tokenizer).make("Where is Larvik?", texts).text


def test_preferred_sentences_come_first(tokenizer: Tokenizer) -> None:
    start = SHIP.text.index("She sailed")
    preferred = ReaderText(SHIP.title, SHIP.text, ((start, len(SHIP.text)),))
    for text, wanted in ((SHIP, False), (preferred, True)):
        window = WindowMaker(tokenizer, 32).make("Where did Colin Archer build Fram?", [text])
        assert any(end > start for _, _, end in window.stretches()) is wanted


def test_long_questions_titles_and_sentences_stay_within_the_window(tokenizer: Tokenizer) -> None:
    words = "word " * 3000
    window = WindowMaker(tokenizer).make(words, [ReaderText(words, words), SHIP])
    assert len(window.ids) <= 448
    assert {-1, 0, 1} == set(window.text.tolist())


def test_marks_and_targets_of_links_are_not_read(tokenizer: Tokenizer) -> None:
    text = (
        "# Ship\n\nShe was built by [Colin Archer](colin_(a).md) in [Oslo](<oslo>), see [1] and f](x. "
        "By **her** [[Dundee]], [[ships/a|the]] _yard_ of x_y."
    )
    window = WindowMaker(tokenizer).make("Who?", [ReaderText("", text)])
    places = zip(window.text.tolist(), window.starts.tolist(), window.ends.tolist(), strict=True)
    read = " ".join(text[a:b] for at, a, b in places if at >= 0)
    assert read == (
        "She was built by Colin Archer in Oslo , see [ 1 ] and f ] ( x . By her Dundee , the yard of x _ y ."
    )
    assert strip_marks(text.partition("\n\n")[2]) == (
        "She was built by Colin Archer in Oslo, see [1] and f](x. By her Dundee, the yard of x_y."
    )
    start, end = text.index("by ["), text.index(" Archer")
    assert strip_marks(text, start, end) == "by Colin"  # a link whose end is beyond


def test_menus_are_not_read(tokenizer: Tokenizer) -> None:
    menu = "".join(f"* [{name}](https://a.example/{name})\n" for name in ("Home", "Careers", "Shop"))
    body = "The ferry was launched in 1952 and carries twelve cars across the sound. " * 2
    window = WindowMaker(tokenizer).make("Careers", [ReaderText("", f"{menu}\n{body.strip()}")])
    ((_, start, end),) = window.stretches()
    assert (start, end) == (len(menu) + 1, len(menu) + len(body))


def test_a_row_is_spelt_and_other_rows_of_its_table_are_left_out(tokenizer: Tokenizer) -> None:
    rows = [f"widget: part {number}; owner: team {number}; Crew (most): {number}" for number in (1, 2, 12)]
    text = "\n\n".join([*rows, "city: Oslo; country: Norway"])
    window = WindowMaker(tokenizer).make("Who owns part 2?", [ReaderText("", text)])
    spelt = "widget : part 2. owner of part 2 is team 2. crew ( most ) of part 2 is 2. city : oslo. "
    spelt += "country of oslo is norway."
    assert tokenizer.decode(window.ids[window.types == 1].tolist()) == spelt
    places = [np.flatnonzero(window.sentence == cell) for cell in range(5)]
    cells = [text[window.starts[own[0]] : window.ends[own[-1]]] for own in places]
    assert cells == ["part 2", "team 2", "2", "Oslo", "Norway"]
    assert window.whole.tolist() == [int(number >= 0) for number in window.sentence]


def test_headings_stand_before_the_sentence_below_them_and_answer_nothing(tokenizer: Tokenizer) -> None:
    text = "# Guide\n\n## Chunks\n\nThe default is 512. More.\n\n## Retries\n\nThe default is 5."
    window = WindowMaker(tokenizer).make("Which?", [ReaderText("Guide", text)])
    spelt = "guide : chunks : the default is 512. more. retries : the default is 5."
    assert tokenizer.decode(window.ids[window.types == 1].tolist()) == spelt
    answering = window.ids[window.sentence >= 0].tolist()
    assert tokenizer.decode(answering) == "the default is 512. more. the default is 5."
