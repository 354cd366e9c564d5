"""Graphs truncated to whole lines, and prompts as turns of a chat."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew_lab.graph_readers.causal_lm import PromptTokenizer, truncate_lines
from clew_lab.models.causal_lm import CausalModel, LoadedModel
from tests.models.tiny_llama import write_tiny_llama

GRAPH = "".join(f"{node},the {node}th ship\n" for node in range(40))


def join(question: str, graph: str) -> str:
    return f"{graph}Q {question}"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return CausalModel(str(write_tiny_llama(tmp_path_factory.mktemp("plain")))).load()


@pytest.fixture(scope="module")
def chatting(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return CausalModel(str(write_tiny_llama(tmp_path_factory.mktemp("chat"), chat=True))).load()


@given(st.lists(st.text("ab \n", max_size=6), max_size=12).map("\n".join), st.integers(0, 30))
def test_the_longest_run_of_first_lines_that_fits_remains(text: str, limit: int) -> None:
    lines = text.splitlines(keepends=True)
    runs = ["".join(lines[:number]) for number in range(len(lines) + 1)]
    assert truncate_lines(text, limit, len) == max((run for run in runs if len(run) <= limit), key=len)


@pytest.mark.parametrize("limit", [1, 50, 300])
def test_a_graph_that_is_too_long_loses_its_last_lines_and_is_counted(plain: LoadedModel, limit: int) -> None:
    prompts = PromptTokenizer(join, limit, None)
    text = plain.tokenizer.decode(prompts.encode(plain, "who?", GRAPH))
    graph, question = text.split("Q ")
    assert question == "who?"
    assert GRAPH.startswith(graph)
    assert graph == "" or graph.endswith("ship\n")
    rest = GRAPH[len(graph) :].splitlines(keepends=True)
    assert len(plain.tokenize(graph)) <= limit < len(plain.tokenize(graph + rest[0]))
    assert prompts.truncated_graphs == 1


def test_a_graph_that_fits_stays_whole(plain: LoadedModel) -> None:
    prompts = PromptTokenizer(join, len(plain.tokenize(GRAPH)), None)
    assert plain.tokenizer.decode(prompts.encode(plain, "who?", GRAPH)) == join("who?", GRAPH)
    assert prompts.truncated_graphs == 0


def test_a_chat_template_is_used_where_there_is_one(chatting: LoadedModel, plain: LoadedModel) -> None:
    turn = f"<|user|>{join('who?', GRAPH)}<|assistant|>"
    for chat in (None, True):
        assert chatting.tokenizer.decode(PromptTokenizer(join, 999, chat).encode(chatting, "who?", GRAPH)) == turn
    bare = PromptTokenizer(join, 999, chat=False).encode(chatting, "who?", GRAPH)
    assert chatting.tokenizer.decode(bare) == join("who?", GRAPH)
    with pytest.raises(InputError, match="no chat template"):
        PromptTokenizer(join, 999, chat=True).encode(plain, "who?", GRAPH)
    assert PromptTokenizer(join, 999, None).encode(plain, "who?", GRAPH) == bare


def test_the_tokenizers_end_token_does_not_come_before_the_answer(tmp_path: Path) -> None:
    from tokenizers.processors import TemplateProcessing

    loaded = CausalModel(str(write_tiny_llama(tmp_path))).load()
    marks = [("<|user|>", loaded.tokenize("<|user|>")[0]), ("<|end|>", loaded.end_token)]
    loaded.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|user|> $A <|end|>", special_tokens=marks
    )
    assert loaded.tokenize("ship", special=True) == [marks[0][1], *loaded.tokenize("ship")]
    assert loaded.tokenize("", special=True) == [marks[0][1]]
