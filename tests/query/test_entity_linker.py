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
from clew.query.entity_linker import LinkerSettings, ModelNames
from clew.query.late_interaction import StoredTokens, max_similarity
from clew.query.linking import link_question
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
