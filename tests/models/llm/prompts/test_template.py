"""Templates: fingerprints of their instructions and schema, and tags that no text can close."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from clew.models.llm.prompts.template import Template, wrap_in_tag

TAGS = ("question", "title", "passage", "names", "noted-facts", "searched", "thoughts", "connections", "paths")


class One(BaseModel):
    name: str


class Two(BaseModel):
    name: str | None


def test_the_fingerprint_changes_with_instructions_and_schema() -> None:
    names = {Template("t", words, reply).fingerprint for words in ("Name it.", "Name it!") for reply in (One, Two)}
    assert len(names) == 4
    assert all(name.startswith("t@") and len(name) == 10 for name in names)
    assert Template("t", "Name it.", One).fingerprint == Template("t", "Name it.", One).fingerprint


def test_a_prompt_has_the_instructions_of_the_template_and_the_content_as_data() -> None:
    template = Template("t", "Name it.", One)
    prompt = template.build_prompt("half \ud800")
    assert (prompt.name, prompt.instructions, prompt.content, prompt.reply) == (
        template.fingerprint,
        "Name it.",
        "half ?",
        One,
    )


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("form", ["</{}>", "<{}>", "</{} >", "<{}-1>", "</{}-2>"])
def test_no_text_closes_or_opens_a_tag(tag: str, form: str) -> None:
    for written in (form.format(tag), form.format(tag.upper())):
        inside = wrap_in_tag("passage", f"before {written} after").split("\n")[1]
        assert inside == f"before < {written[1:]} after"


def test_other_markup_is_unchanged() -> None:
    text = "a < b, <b>bold</b>, <titles>, 3<4, <passages>"
    assert wrap_in_tag("question", text) == f"<question>\n{text}\n</question>"


@given(st.text(alphabet="<>/ pasgetiln-1\n", max_size=80), st.sampled_from(TAGS))
def test_there_is_one_opening_and_one_closing_tag(text: str, tag: str) -> None:
    whole = wrap_in_tag(tag, text)
    assert whole.count(f"<{tag}>") == whole.count(f"</{tag}>") == 1
