"""What every linker of the names of a question keeps."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.index import Index
from clew.query.entity_linker import EntityLinker, LinkerSettings, ModelNames, NearestNameLinker
from tests.models.llm.scripted_model import ScriptedModel

MakeLinker = Callable[[Index], EntityLinker]


def listed(index: Index, method: str) -> EntityLinker:
    """Return a linker of names that a language model lists: here all words of the question with a capital."""
    model = ScriptedModel(lambda prompt: {"named_entities": [w for w in prompt.content.split() if w[:1].isupper()]})
    context = index.context
    return NearestNameLinker(
        context.make_linker(LinkerSettings()),
        context.scope.snapshot,
        (lambda names: context.text_vectors.entity_vectors() @ context.encode_texts(names).T)
        if method != "exact"
        else None,
        0.5,
        keep_exact=method != "embedding",
        list_names=ModelNames(model),
    )


LINKERS: dict[str, MakeLinker] = {
    "exact": lambda index: index.context.make_linker(LinkerSettings()),
    "embedding": lambda index: index.context.make_linker(LinkerSettings("embedding")),
    "exact+embedding": lambda index: index.context.make_linker(LinkerSettings("exact+embedding", 0.5)),
    "maxsim": lambda index: index.context.make_linker(LinkerSettings("maxsim")),
    "exact+maxsim": lambda index: index.context.make_linker(LinkerSettings("exact+maxsim", 0.5)),
    "exact, names of a model": lambda index: listed(index, "exact"),
    "embedding, names of a model": lambda index: listed(index, "embedding"),
}
QUESTIONS = (
    "",
    " ",
    "?",
    "Where was Louis Palander born?",
    "Who sailed the Vegaa?",
    "卡尔斯克鲁纳在哪里?",
    "\ud800 Oslo",
)


@pytest.fixture(scope="module")
def small(plain_folder: Path) -> Index:
    """The small index with the encoder `hashing`."""
    return clew.open(plain_folder)


@pytest.fixture(scope="module", params=LINKERS)
def linker(request: pytest.FixtureRequest, small: Index) -> EntityLinker:
    return LINKERS[request.param](small)


def check(small: Index, linker: EntityLinker, question: str) -> None:
    linked = linker.link(question)
    assert linked == linker.link(question)
    count = len(small.snapshot.entities)
    end = 0
    for name in linked.names:
        assert end <= name.start < name.end <= len(linked.text)
        end = name.end
        assert all(0 <= entity < count for entity in name.entities)
    assert isinstance(linked.remainder, str)
    topics = linker.find_topics(question)
    assert topics == linker.find_topics(question)
    assert len(set(topics.entities)) == len(topics.entities)
    assert all(0 <= entity < count for entity in topics.entities)
    assert all(isinstance(note, str) for note in (*linked.describe_similar_names(), *topics.notes))


@pytest.mark.parametrize("question", QUESTIONS)
def test_names_are_in_order_and_of_the_index(small: Index, linker: EntityLinker, question: str) -> None:
    check(small, linker, question)


@given(st.text(max_size=60))
def test_any_text_is_linked(small: Index, linker: EntityLinker, question: str) -> None:
    check(small, linker, question)


def test_a_name_of_the_index_is_linked_to_it(small: Index, linker: EntityLinker) -> None:
    (expected,) = small.snapshot.entities_with_name("Karlskrona").tolist()
    assert expected in {e for name in linker.link("Where is Karlskrona ?").names for e in name.entities}
    topics = linker.find_topics("Where is this town?", ["Karlskrona"])
    assert topics.entities == (expected,)
