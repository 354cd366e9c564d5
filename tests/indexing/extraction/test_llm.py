"""Extraction by a model: every passage has its own result, whatever the model replies."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.errors import BudgetError, InputError
from clew.indexing.extraction.llm import GROUP_PASSAGES, LanguageModelExtractor, extractor_fingerprint
from clew.types import Extraction, Failure, Mention, Passage, Prompt, Usage
from tests.indexing.extraction.scripted_model import find_passage, make_reply
from tests.models.llm.scripted_model import ScriptedModel

Script = Callable[[Prompt], dict[str, Any] | Failure]


def make_passage(number: int, text: str = "") -> Passage:
    content = text or f"Anna{chr(97 + number % 26) * (1 + number // 26)} met Boris in Oslo."
    return Passage(f"p{number}", "d", "Title", content, 7, 7 + len(content))


def reply_well(prompt: Prompt) -> dict[str, Any] | Failure:
    return dict(make_reply(prompt.reply.__name__, prompt.content))


def extract(passages: list[Passage], script: Script = reply_well, calls: int = 2) -> list[Extraction | Failure]:
    return LanguageModelExtractor(ScriptedModel(script), calls).extract(passages)


@pytest.mark.parametrize("calls", [1, 2])
def test_names_have_spans_and_triples_are_kept_as_replied(calls: int) -> None:
    assert extract([make_passage(0)], calls=calls) == [
        Extraction(
            (Mention("Annaa", "name", 0, 5), Mention("Boris", "name", 10, 15), Mention("Oslo", "name", 19, 23)),
            (("Annaa", "knows", "Boris"), ("Boris", "knows", "Oslo")),
        )
    ]


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize(
    "count", [0, 1, GROUP_PASSAGES - 1, GROUP_PASSAGES, GROUP_PASSAGES + 1, 2 * GROUP_PASSAGES, 2 * GROUP_PASSAGES + 3]
)
def test_every_passage_is_extracted_once_and_in_order(count: int, calls: int) -> None:
    passages = [make_passage(number) for number in range(count)]
    model = ScriptedModel(reply_well)
    done: list[int] = []
    results = LanguageModelExtractor(model, calls, done.append).extract(passages)
    assert results == [extract([result], calls=calls)[0] for result in passages]
    assert len(model.prompts) == calls * count
    assert len({(prompt.name, prompt.content) for prompt in model.prompts}) == calls * count
    assert max(model.batch_sizes) <= calls * GROUP_PASSAGES
    assert sum(done) == count
    assert 0 not in done


def test_triples_are_requested_together_with_the_next_names() -> None:
    model = ScriptedModel(reply_well)
    LanguageModelExtractor(model).extract([make_passage(number) for number in range(2 * GROUP_PASSAGES)])
    assert model.batch_sizes == [GROUP_PASSAGES, 2 * GROUP_PASSAGES, GROUP_PASSAGES]
    second = [prompt.reply.__name__ for prompt in model.prompts[GROUP_PASSAGES : 3 * GROUP_PASSAGES]]
    assert (
        second == ["Triples"] * GROUP_PASSAGES + ["NamedEntities"] * GROUP_PASSAGES
    )  # started passages are finished first


def test_a_passage_without_names_is_no_failure_and_costs_no_second_call() -> None:
    model = ScriptedModel(reply_well)
    assert LanguageModelExtractor(model).extract([make_passage(0, "it rains.")]) == [Extraction()]
    assert len(model.prompts) == 1
    assert extract([make_passage(0, "it rains.")], calls=1) == [Extraction()]


@pytest.mark.parametrize("broken", ["NamedEntities", "Triples", "NamesAndTriples"])
def test_a_failure_affects_its_passage_alone_and_quotes_the_reply(broken: str) -> None:
    spent = Usage(1.0, 3, 30, 9)

    def script(prompt: Prompt) -> dict[str, Any] | Failure:
        if prompt.reply.__name__ == broken and "Annab" in find_passage(prompt.content):
            return Failure(prompt.name, "the reply cannot be used; it was: sorry \ud800", spent)
        return reply_well(prompt)

    passages = [make_passage(number) for number in range(4)]
    results = extract(passages, script, calls=1 if broken == "NamesAndTriples" else 2)
    failure = Failure("p1", "the reply cannot be used; it was: sorry ?", spent)
    assert results[1] == failure
    assert [r for r in results if r != failure] == [extract([p])[0] for p in passages if p.id != "p1"]


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("most", [0, 1, 5, GROUP_PASSAGES, GROUP_PASSAGES + 5, 3 * GROUP_PASSAGES])
def test_a_budget_that_ends_leaves_the_rest_untried(most: int, calls: int) -> None:
    over = BudgetError("the budget is reached")
    prompt_count = 0

    def script(prompt: Prompt) -> dict[str, Any] | Failure:
        nonlocal prompt_count
        prompt_count += 1
        return reply_well(prompt) if prompt_count <= most else Failure(prompt.name, str(over), run_error=over)

    passages = [make_passage(number) for number in range(3 * GROUP_PASSAGES)]
    results = extract(passages, script, calls)
    finished = extract(passages, calls=calls)
    done = [isinstance(result, Extraction) for result in results]
    assert done == sorted(done, reverse=True)
    assert len(results) == len(passages)
    assert sum(done) >= (most if calls == 1 else (most - GROUP_PASSAGES) // 2)
    for result, expected in zip(results, finished, strict=True):
        assert result == expected or (isinstance(result, Failure) and result.run_error is over)
    assert prompt_count <= most + 2 * GROUP_PASSAGES  # and no more calls after the budget has ended


def test_the_fingerprint_identifies_model_and_prompts() -> None:
    two, first = (LanguageModelExtractor(ScriptedModel(reply_well), calls).fingerprint for calls in (2, 1))
    assert two == extractor_fingerprint("scripted:model", 2)
    assert two.startswith("llm:scripted:model:named_entities@")
    assert "+triples@" in two
    assert first.startswith("llm:scripted:model:names_and_triples@")


def test_other_numbers_of_calls_are_refused() -> None:
    with pytest.raises(InputError, match="extraction_calls 1 or 2"):
        LanguageModelExtractor(ScriptedModel(reply_well), 3)
