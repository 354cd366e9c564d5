"""Names linked to the nearest entity by vectors: against every pair on its own, and what floor and method decide."""

import math
from collections.abc import Sequence
from copy import copy
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.arrays import FloatArray
from clew.errors import InputError, ProviderError
from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder
from clew.models.llm.access import LLMClientFactory
from clew.query import late_interaction
from clew.query.entity_linker import LinkerMethod, LinkerSettings, ModelNames, NearestNameLinker
from clew.query.late_interaction import StoredTokens, max_similarity
from clew.query.linking import describe_links, link_question
from clew.types import Document, Failure
from tests.models.llm.scripted_model import ScriptedModel
from tests.small_index import make_index

QUESTION = "Where was the Naval Shipyard Karlskrona, known to Louis Palander?"


def nearest(index: Index, text: str) -> tuple[int, float]:
    """Return the entity with the highest cosine to a text, and it, one product at a time."""
    names = list(index.snapshot.entities)
    row, rows = index.context.encoder.encode([text])[0], index.context.encoder.encode(names)
    cosines = [math.fsum(float(a) * float(b) for a, b in zip(row, other, strict=True)) for other in rows]
    best = max(range(len(names)), key=lambda entity: (cosines[entity], -entity))
    return best, cosines[best]


def nearest_by_tokens(index: Index, text: str) -> tuple[int, float]:
    """Return the entity with the highest mean cosine of a text's tokens to the nearest token of its name, and it."""
    encoder = HashingEncoder()
    words = encoder.encode(text.split())
    means = []
    for name in index.snapshot.entities:
        tokens = encoder.encode(name.split()).astype(np.float16).astype(np.float32)
        best = [max(math.fsum(float(a) * float(b) for a, b in zip(w, t, strict=True)) for t in tokens) for w in words]
        means.append(math.fsum(best) / len(best))
    lengths = [len(name.split()) for name in index.snapshot.entities]
    best_entity = max(range(len(means)), key=lambda entity: (round(means[entity], 4), -lengths[entity], -entity))
    return best_entity, means[best_entity]


@pytest.mark.parametrize("floor", [0.2, 0.5, 0.99])
@pytest.mark.parametrize("method", ["embedding", "exact+embedding", "maxsim", "exact+maxsim"])
def test_each_name_goes_to_its_nearest_entity_above_the_floor(small: Index, method: str, floor: float) -> None:
    exact = link_question(small.snapshot, QUESTION)
    measure = "mean cosine of tokens" if method.endswith("maxsim") else "cosine"
    inner = small.context.make_linker(LinkerSettings()).link(QUESTION)
    linked = small.context.make_linker(LinkerSettings(method, floor)).link(QUESTION)  # type: ignore[arg-type]
    assert [(n.start, n.end) for n in linked.names] == [(n.start, n.end) for n in inner.names]
    assert exact.names
    for name, before in zip(linked.names, inner.names, strict=True):
        if method.startswith("exact") and before.entities:
            assert name == before
            continue
        text = linked.text[name.start : name.end]
        entity, cosine = (nearest_by_tokens if method.endswith("maxsim") else nearest)(small, text)
        assert name.entities == ((entity,) if cosine >= floor else ())
        if name.entities and small.snapshot.entities[entity] != text:
            assert f"taken for {small.snapshot.entities[entity]!r} ({measure} {cosine:.2f})" in " ".join(
                linked.describe_similar_names()
            )


def test_every_retriever_uses_the_linker_of_the_index(small: Index) -> None:
    question = "Who works at the Naval Shipyard?"
    settings = LinkerSettings("exact+embedding", 0.3)
    other = Index(small.table, LLMClientFactory(), similar_names=False, linking=settings)
    plain = Index(small.table, LLMClientFactory(), similar_names=False)
    (name,) = [n for n in other.context.scope.linker.link(question).names if n.nearest]
    for retriever in ("pagerank", "entity-graph", "chains"):
        notes = " ".join(other.search(question, 3, retriever).notes)
        assert f"taken for {name.nearest!r}" in notes, retriever
        assert "taken for" not in " ".join(plain.search(question, 3, retriever).notes)


def test_names_of_a_language_model_take_the_place_of_those_by_rules(small: Index) -> None:
    model = ScriptedModel(lambda _: {"named_entities": ["naval town", "Palander", "palander", "nowhere"]})
    names = ModelNames(model)
    assert names("Did Palander see a naval town?") == ("naval town", "Palander", "palander", "nowhere")
    names("Did Palander see a naval town?")
    assert len(model.prompts) == 1
    assert "Did Palander see a naval town?" in model.prompts[0].content


def test_a_model_that_lists_no_names_is_an_error() -> None:
    names = ModelNames(ScriptedModel(lambda _: Failure("question_names", "nonsense")))
    with pytest.raises(ProviderError, match="nonsense"):
        names("Where?")


def test_the_settings_reach_an_index(small_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_LINKER", "exact+embedding")
    monkeypatch.setenv("CLEW_LINKER_FLOOR", "0.4")
    assert clew.open(small_folder).context.linking == LinkerSettings("exact+embedding", 0.4)


@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
def test_mean_similarities_are_those_of_each_pair(monkeypatch: pytest.MonkeyPatch, rows_at_once: int) -> None:
    monkeypatch.setattr(late_interaction, "_ROWS_AT_ONCE", rows_at_once)
    random = np.random.default_rng(5)
    stored = [random.normal(size=(n, 4)).astype(np.float16) for n in (0, 2, 3, 0, 1, 5, 0)]
    asked = [random.normal(size=(n, 4)).astype(np.float32) for n in (2, 0, 3)]
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in stored])]).astype(np.int64)
    found = StoredTokens(offsets, np.concatenate(stored)).mean_similarities(asked)
    expected = [[max_similarity(q, rows) / max(len(q), 1) for q in asked] for rows in stored]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert StoredTokens(offsets, np.concatenate(stored)).mean_similarities([]).shape == (7, 0)


def test_tokens_of_names_are_stored_once_and_not_for_any_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_index(
        tmp_path / "index", [Document("a", "Oslo", "Oslo lies in Norway."), Document("b", "Bergen", "Bergen is rainy.")]
    )
    linked = index.context.make_linker(LinkerSettings("maxsim", 0.3)).link("Where is Old Oslo?")
    assert [index.snapshot.entities[e] for name in linked.names for e in name.entities] == ["Oslo"]
    encode = HashingEncoder.encode_tokens
    texts: list[str] = []

    def count(self: HashingEncoder, given: Sequence[str], *, queries: bool = False) -> "list[FloatArray]":
        texts.extend(given)
        return encode(self, given, queries=queries)

    monkeypatch.setattr(HashingEncoder, "encode_tokens", count)
    again = clew.open(tmp_path / "index").context
    assert again.make_linker(LinkerSettings("maxsim", 0.3)).link("Where is Old Oslo?") == linked
    assert texts == ["Oslo"], "names of the index are read from disk"
    monkeypatch.setattr("clew.query.context.MAX_STORED_NAMES", 1)
    with pytest.raises(InputError, match="wanted at most 1: set linker = embedding"):
        clew.open(tmp_path / "index").context.make_linker(LinkerSettings("maxsim")).link("Where is Old Oslo?")


def test_an_encoder_without_tokens_links_by_whole_names_alone(small: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    class OneVector:
        name = fingerprint = "one-vector"
        dimension = 2

    context = copy(small.context)
    monkeypatch.setattr(context, "_open_encoder", OneVector)
    with pytest.raises(InputError, match="one-vector gives no vectors of tokens: set linker = embedding"):
        context.make_linker(LinkerSettings("exact+maxsim")).link("Who is Nobody Known?")


def test_an_index_without_vectors_links_no_nearest_names(tmp_path: Path) -> None:
    made = make_index(tmp_path / "index", [Document("a", "Oslo", "Oslo lies in Norway.")], "none")
    index = Index(made.table, LLMClientFactory(), linking=LinkerSettings("embedding"))
    with pytest.raises(InputError, match="set linker = exact"):
        index.search("Where is Oslo?", 1, "pagerank")
    assert Index(made.table, LLMClientFactory()).search("Where is Oslo?", 1, "pagerank").passages


@pytest.mark.parametrize("method", ["embedding", "maxsim"])
def test_a_misspelt_name_is_compared_as_it_is_written(small: Index, method: LinkerMethod) -> None:
    question, written = "Where was Louis Palandr born?", "Louis Palandr"
    assert small.context.make_linker(LinkerSettings()).link(question).text == "Where was Louis Palander born?"
    entity, score = (nearest if method == "embedding" else nearest_by_tokens)(small, written)
    assert score < 0.95
    linker = small.context.make_linker(LinkerSettings(method, score - 0.01))
    linked = linker.link(question)
    assert linked.text == question
    assert [name.entities for name in linked.names] == [(entity,)]
    (note,) = linked.describe_similar_names()
    assert note == linker.find_topics(question).notes[0]
    assert note.startswith(f"no name {written!r} in the index; taken for ")
    assert f"{score:.2f})" in note
    above = small.context.make_linker(LinkerSettings(method, score + 0.01))
    assert above.link(question).linked_names == ()
    assert above.find_topics(question).entities == ()


def test_a_note_on_the_nearest_name_says_when_the_index_has_the_name(tmp_path: Path) -> None:
    documents = [
        Document("a", "Oslo (city)", "Oslo (city) lies in Norway."),
        Document("b", "Rain", "It rained in May."),
    ]
    index = make_index(tmp_path / "index", documents)
    question = "Which river crosses Oslo in spring?"
    assert index.context.make_linker(LinkerSettings()).link(question).linked_names
    linker = index.context.make_linker(LinkerSettings("embedding", 0.3))
    for notes in (linker.link(question).describe_similar_names(), linker.find_topics(question).notes):
        assert [note.partition(" (cosine")[0] for note in notes] == ["the name 'Oslo' is taken for 'Oslo (city)'"]


@pytest.mark.parametrize("method", ["embedding", "exact+embedding"])
def test_topics_of_a_graph_question_are_the_entities_that_other_retrievers_start_from(
    small: Index, method: LinkerMethod
) -> None:
    question = "Did Louis Palander see the Naval Shipyard?"
    linker = small.context.make_linker(LinkerSettings(method, 0.3))
    linked, topics = linker.link(question), linker.find_topics(question)
    assert len(linked.linked_names) == 2
    assert set(topics.entities) == {entity for name in linked.names for entity in name.entities}
    assert topics.notes == linked.describe_similar_names()
    assert topics.spans == tuple((name.start, name.end) for name in linked.linked_names)


def listing_linker(index: Index, names: list[str]) -> NearestNameLinker:
    """A linker of the names that a language model lists."""
    model = ScriptedModel(lambda _: {"named_entities": names})
    inner = index.context.make_linker(LinkerSettings())
    return NearestNameLinker(inner, index.snapshot, None, 0.8, keep_exact=True, list_names=ModelNames(model))


def test_topics_are_linked_from_the_names_that_a_model_lists(small: Index) -> None:
    linker = listing_linker(small, ["Palander"])
    question = "Did Louis Palander see Karlskrona?"
    assert linker.find_topics(question).entities == tuple(small.snapshot.entities_with_name("Palander").tolist())
    (town,) = small.snapshot.entities_with_name("Karlskrona").tolist()
    assert linker.find_topics(question, ["Karlskrona"]).entities == (town,)


def test_a_listed_name_is_found_as_whole_words(small: Index) -> None:
    for question, names in (
        ("Is Annabel the sister of Ann?", ["Ann", "Annabel"]),
        ("Is ANNABEL the sister of ANN?", ["Ann", "Annabel"]),
        ("Is New York near York?", ["New York", "York"]),
    ):
        linked = listing_linker(small, names).link(question)
        written = [linked.text[name.start : name.end].casefold() for name in linked.names]
        assert sorted(written) == sorted(name.casefold() for name in names)
        assert {question[name.end] for name in linked.names} <= {" ", "?"}
    within = listing_linker(small, ["New York", "York"]).link("Where is New York?")
    assert [within.text_of(name) for name in within.names] == ["New York"]


def test_a_name_that_the_model_words_differently_is_linked_or_noted(small: Index) -> None:
    question = "Did the captain see the naval port?"
    linked = listing_linker(small, ["Palander", "PALANDER", "Atlantis"]).link(question)
    entities = tuple(small.snapshot.entities_with_name("Palander").tolist())
    assert [(name.listed, name.entities) for name in linked.names] == [("Palander", entities), ("Atlantis", ())]
    assert linked.remainder.strip() == question
    assert "not in the index: Atlantis" in describe_links(linked, lambda entity: small.snapshot.entities[entity])
    topics = listing_linker(small, ["Palander", "Atlantis"]).find_topics(question)
    assert (topics.entities, topics.spans, topics.notes) == (entities, (), ("not in the index: Atlantis",))
