"""Windows that a reader learns from: places of answers, texts beside them, and questions made of two."""

import json
import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from clew.errors import InputError
from clew.models.encoders.int8_minilm import BUNDLED_FOLDER
from clew.models.reader.windows import ReaderText, WindowMaker
from clew.training.data.reader_examples import (
    Distractors,
    ReadingExample,
    combine_questions,
    draw_window,
    find_places,
    read_examples,
    recurring_questions,
)

SHIP = ReaderText("Fram", "Fram was built by Colin Archer. Archer, Colin: a builder. COLIN  ARCHER lived in Larvik.")
ARCHER = ReaderText("Colin Archer", "Colin Archer was born in Larvik in 1832.")
OTHERS = tuple(ReaderText(f"Ship {n}", f"Ship {n} was built by somebody else in 18{n}.") for n in range(10, 30))
WHO = ReadingExample("Who built Fram?", ("Colin Archer",), (SHIP,))


@pytest.fixture(scope="module")
def maker() -> WindowMaker:
    tokenizer = Tokenizer.from_file(str(BUNDLED_FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return WindowMaker(tokenizer)


def write(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_an_answer_has_all_its_places_as_whole_words() -> None:
    assert [SHIP.text[a:b] for a, b in find_places(WHO, SHIP)] == ["Colin Archer", "COLIN  ARCHER"]
    exact = ReadingExample("Who?", ("Colin Archer",), (SHIP,), starts=(18,))
    assert [SHIP.text[a:b] for a, b in find_places(exact, SHIP)] == ["Colin Archer"]


def test_labels_are_the_tokens_of_the_answer(maker: WindowMaker) -> None:
    chooser, distractors = random.Random(0), Distractors([WHO], OTHERS)
    kinds = set()
    for _ in range(60):
        drawn = draw_window(WHO, distractors, maker, chooser)
        assert drawn is not None
        kinds.add(drawn.kind)
        assert (drawn.kind == "span") == bool(drawn.places)
        texts = sorted({at for at in drawn.window.text.tolist() if at >= 0})
        for first, last in drawn.places:
            start, end = drawn.window.starts[first], drawn.window.ends[last]
            assert " ".join(SHIP.text[start:end].split()).lower() == "colin archer"
        assert len(texts) <= 5
    assert kinds == {"span", "none"}  # from a part of the windows the right text is taken


def test_yes_no_and_unanswerable_questions_are_kinds(tmp_path: Path) -> None:
    passages = [{"title": "Fram", "text": SHIP.text}]
    rows: list[dict[str, object]] = [
        {"question": "Is it a ship?", "answers": ["Yes"], "passages": passages, "gold": [0]},
        {"question": "Is it a car?", "answers": ["no"], "passages": passages, "gold": [0]},
        {"question": "Who paid?", "answers": [], "passages": passages, "gold": [], "answerable": False},
        {"question": "Who built it?", "answers": ["Nansen"], "passages": passages, "gold": [0]},
    ]
    numbered: list[dict[str, object]] = [{"id": str(n), **row} for n, row in enumerate(rows)]
    assert [one.kind for one in read_examples(write(tmp_path / "a.jsonl", *numbered))] == ["yes", "no", "none"]
    with pytest.raises(InputError, match="no line has an answer"):
        read_examples(write(tmp_path / "b.jsonl", numbered[-1]))
    for wrong, message in (({"gold": [1]}, "positions of the 1 passages"), ({"answerable": "no"}, "true or false")):
        with pytest.raises(InputError, match=message):
            read_examples(write(tmp_path / "c.jsonl", {**numbered[0], **wrong}))


def test_two_questions_are_joined_by_a_name() -> None:
    born = ReadingExample("Where was Colin Archer born?", ("Larvik",), (ARCHER,))
    (made,) = combine_questions([WHO, born], 0)
    assert made.question == "Where was the one who built Fram born?"
    assert made.answers == ("Larvik",)
    assert made.gold == (ARCHER, SHIP)


def test_a_name_that_two_texts_have_is_a_question_without_labels() -> None:
    first = ReaderText(
        "Larvik", "The shipyard at Larvik that launched polar vessels was owned by Colin Archer in those years."
    )
    second = ReaderText("Vessels", "Polar vessels were launched at a shipyard of Colin Archer.")
    far = ReaderText("Sailing", "A sailing club is named after Colin Archer.")
    made = recurring_questions([first, second, far, *OTHERS], seed=0)
    found = {(one.question, one.answers, one.gold) for one in made}
    question = "The shipyard at Larvik that launched polar vessels was owned by what in those years."
    assert (question, ("Colin Archer",), (second,)) in found
    assert not any("sailing" in one.question for one in made)  # the words it shares are too few


def test_an_unanswerable_question_is_seen_with_its_own_text(maker: WindowMaker) -> None:
    question = ReadingExample("Who paid for Fram?", (), (), (SHIP,), "none")
    chooser, distractors = random.Random(0), Distractors([WHO, question], OTHERS)
    for _ in range(20):
        drawn = draw_window(question, distractors, maker, chooser)
        assert drawn is not None
        assert (drawn.window.text >= 0).any()


def test_starts_that_do_not_hold_are_not_learned(tmp_path: Path) -> None:
    row = {"id": "1", "question": "Who?", "answers": ["Colin Archer"], "gold": [0],
           "passages": [{"title": "Fram", "text": SHIP.text}]}  # fmt: skip
    for starts, kept in (([SHIP.text.index("Colin")], True), ([4], False), ([-1], False), ([], False)):
        (made,) = read_examples(write(tmp_path / "a.jsonl", {**row, "starts": starts}))
        assert bool(made.starts) is kept
    for wrong in ({"starts": 5}, {"question": "Who \ud800?"}):
        with pytest.raises(InputError):
            read_examples(write(tmp_path / "b.jsonl", {**row, **wrong}))
