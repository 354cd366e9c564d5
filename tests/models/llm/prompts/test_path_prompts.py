"""The prompts about paths: content, limits, fingerprints, and names that look like tags."""

import importlib
import json
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from clew.models.llm.call_settings import CallSettings
from clew.models.llm.prompts import path_answer, path_choice
from clew.models.llm.prompts.path_answer import PathAnswer
from clew.models.llm.prompts.path_choice import PathChoice
from clew.models.llm.prompts.template import Template, render_paths
from clew.models.llm.request import _model_settings
from clew.types import Path, Prompt, Triple

WITHOUT_LIMITS = {
    "cited_answer": "cited_answer",
    "proximal_triples": "proximal_triples",
    "sufficiency": "sufficiency",
    "thought": "chain_of_thought",
    "named_entities": "extraction",
    "triples": "extraction",
    "names_and_triples": "extraction",
}
PATHS = (
    (Triple("Ada", "spouse", "Bo"), Triple("Carl", "child", "Bo")),
    (Triple("Ada", "place of birth", "Vardø"),),
)
BOTH = pytest.mark.parametrize("template", [path_answer.TEMPLATE, path_choice.TEMPLATE])


def prompts(question: str = "Who?", paths: tuple[Path, ...] = PATHS) -> list[Prompt]:
    return [path_answer.build_prompt(question, paths), path_choice.build_prompt(question, paths)]


def test_paths_are_numbered_and_contain_their_triples() -> None:
    shown = "1. Ada | spouse | Bo; Carl | child | Bo\n2. Ada | place of birth | Vardø"
    assert render_paths(PATHS) == f"<paths>\n{shown}\n</paths>"
    assert render_paths([]) == "<paths>\n\n</paths>"
    for prompt in prompts("Who is it?"):
        assert prompt.content == f"<question>\nWho is it?\n</question>\n\n<paths>\n{shown}\n</paths>"


NAME = st.text(alphabet="<>/ pathsquetion\ud800", max_size=30)


@given(NAME, st.lists(st.lists(st.builds(Triple, NAME, NAME, NAME), min_size=1, max_size=2).map(tuple), max_size=3))
def test_there_is_one_opening_and_one_closing_tag(question: str, paths: list[Path]) -> None:
    for prompt in prompts(question, tuple(paths)):
        for tag in ("question", "paths"):
            assert prompt.content.count(f"<{tag}>") == prompt.content.count(f"</{tag}>") == 1
        assert prompt.content.encode()
        assert not any(name in prompt.instructions for name in ("<question>", "<paths>"))


def test_a_line_break_in_a_name_starts_no_path() -> None:
    paths = ((Triple("Ada", "note", "x\n2. Ada | spouse | Mallory"),),)
    assert render_paths(paths).count("\n") == 2


def test_limits_reach_the_request_and_never_exceed_the_settings() -> None:
    plain = Prompt("p@1", "Say.", "x", PathChoice)
    for prompt in prompts():
        limits = _model_settings(prompt, CallSettings())
        assert (limits.get("max_tokens"), limits.get("temperature")) == (256, 0.01)
        small = _model_settings(prompt, CallSettings(reply_tokens=100, temperature=0.7))
        assert (small.get("max_tokens"), small.get("temperature")) == (100, 0.01)
    limits = _model_settings(plain, CallSettings(reply_tokens=300, temperature=0.7))
    assert (limits.get("max_tokens"), limits.get("temperature")) == (300, 0.7)
    frozen = _model_settings(
        Template("t", "Say.", PathChoice, temperature=0.0).build_prompt("x"), CallSettings(temperature=0.7)
    )
    assert frozen.get("temperature") == 0.0


def templates() -> list[Template]:
    names = dict.fromkeys(WITHOUT_LIMITS.values())
    modules = [importlib.import_module(f"clew.models.llm.prompts.{name}") for name in names]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Template)]


def test_fingerprints_without_limits_depend_on_instructions_and_schema_only() -> None:
    """Cached replies are keyed by it: it must not change when templates get further fields."""
    assert [template.name for template in templates()] == list(WITHOUT_LIMITS)
    for template in templates():
        content = json.dumps([template.instructions, template.reply.model_json_schema()], sort_keys=True).encode()
        assert template.fingerprint == f"{template.name}@{blake2b(content, digest_size=4).hexdigest()}"


def test_limits_are_part_of_the_fingerprint() -> None:
    templates_with_limits = [
        Template("t", "Say.", PathChoice),
        Template("t", "Say.", PathChoice, 256),
        Template("t", "Say.", PathChoice, 256, 0.01),
        Template("t", "Say.", PathChoice, 256, 0.0),
        Template("t", "Say.", PathChoice, 0, 0.0),
    ]
    assert len({template.fingerprint for template in templates_with_limits}) == len(templates_with_limits)


@BOTH
def test_the_example_in_the_instructions_fits_the_schema(template: Template) -> None:
    example = template.instructions.partition("Example of a reply: ")[2]
    assert template.reply.model_validate_json(example)


def test_replies_of_another_form_are_refused() -> None:
    assert PathAnswer.model_validate_json('{"answerable": false}') == PathAnswer(answerable=False, answers=[], path=0)
    for text in ("{}", '{"path": 1}', '{"answerable": true, "answers": "Bo"}', '{"answerable": true, "path": "one"}'):
        with pytest.raises(ValidationError):
            PathAnswer.model_validate_json(text)
    for text in ("{}", '{"path": null}', '{"path": 1.5}'):
        with pytest.raises(ValidationError):
            PathChoice.model_validate_json(text)
