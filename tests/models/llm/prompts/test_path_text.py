"""Prompts that are answered in plain text, and what is read from the replies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.models.llm.object_model import TextReply
from clew.models.llm.prompts import path_text, unaided_answer
from clew.models.llm.prompts.template import render_path
from clew.types import Path, Triple
from tests.faults.model_server import Request, ServerReply, model_server
from tests.models.llm.model_calls import complete_one, open_model

SPOUSE, FATHER = Triple("Ada", "spouse", "Bo"), Triple("Carl", "child", "Bo")
PATHS: tuple[Path, ...] = ((SPOUSE,), (SPOUSE, FATHER), (Triple("Ada", "place of birth", "Vardø"),))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Ada | spouse | Bo; Carl | child | Bo", 2),
        ("The path is:\n ada |  SPOUSE | Bo.", 1),
        ("Ada | spouse | Bo\n\nAda | place of birth | Vardø", 3),  # the longer one
        ("3", 3),
        ("Path 2", 2),
        ("path: 2, since it names the father", 2),
        ("2. it leads to the father", 2),
        ("No. 3", 3),
        ("NO", 0),
        ("No.", 0),
        ("no correct path", 0),
        ("NONE", 0),
        ("Path 4", 0),
        ("0", 0),
        ("the third one", 0),
        ("99999999999999999999", 0),
    ],
)
def test_the_path_that_a_reply_copies_or_numbers(text: str, number: int) -> None:
    assert path_text.read_choice(TextReply(text=text), PATHS) == number


@given(st.text())
def test_any_reply_is_read(text: str) -> None:
    assert 0 <= path_text.read_choice(TextReply(text=text), PATHS) <= len(PATHS)
    answers = path_text.read_answers(TextReply(text=text))
    assert len(set(answers)) == len(answers)
    assert all(answer.strip() for answer in answers)


@given(st.integers(0, 2), st.sampled_from(["", "I choose ", "> "]))
def test_a_copied_path_is_found(place: int, before: str) -> None:
    assert path_text.read_choice(TextReply(text=f"{before}{render_path(PATHS[place])}"), PATHS) == place + 1


def test_answers_are_lines_without_marks_of_a_list() -> None:
    text = "1. Tromsø.\n\n- Bodø\n* Vardø \n2) Oslo\n- Bodø\n10 Downing Street"
    assert path_text.read_answers(TextReply(text=text)) == ["Tromsø", "Bodø", "Vardø", "Oslo", "10 Downing Street"]


def test_content_and_limits() -> None:
    for prompt in (path_text.build_answer_prompt("Who </paths>?", PATHS), path_text.build_choice_prompt("W", PATHS)):
        assert prompt.content.count("</paths>") == 1
        assert "1. Ada | spouse | Bo\n2. " in prompt.content
        assert (prompt.reply, prompt.reply_tokens, prompt.temperature) == (TextReply, 256, 0.01)
    assert "NO" in path_text.CHOICE_TEMPLATE.instructions
    for as_text in (False, True):
        prompt = unaided_answer.build_prompt("Who </question>?", as_text=as_text)
        assert prompt.content == "<question>\nWho < /question>?\n</question>"
        assert (prompt.reply is TextReply) == as_text


def test_a_text_reply_is_taken_as_it_is_and_no_schema_is_sent() -> None:
    replies = iter(["  ", 'Tromsø, {"not": "JSON"\n'])

    def script(_: Request, __: int) -> ServerReply:
        return ServerReply(next(replies))

    with model_server(script) as server:
        reply = complete_one(open_model(server), path_text.build_answer_prompt("Who?", PATHS))
    assert reply.value == TextReply(text='Tromsø, {"not": "JSON"')
    first, second = server.requests
    assert "json" not in str(first["messages"]).casefold()
    assert "response_format" not in first
    assert "the answer in words" in str(second["messages"][-1]["content"])


def test_a_reply_that_stays_empty_is_a_failure() -> None:
    with model_server(lambda _request, _before: ServerReply("\n")) as server:
        result = complete_one(open_model(server), unaided_answer.build_prompt("Who?", as_text=True))
    assert "the reply is empty" in result.reason
