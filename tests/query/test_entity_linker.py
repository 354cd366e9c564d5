"""Names linked to the nearest entity by vectors: against every pair on its own, and what floor and method decide."""

import math
from pathlib import Path

import pytest

from clew.errors import InputError, ProviderError
from clew.index import Index
from clew.models.llm.access import LLMClientFactory
from clew.query.entity_linker import LinkerSettings, ModelNames
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


@pytest.mark.parametrize("floor", [0.2, 0.5, 0.99])
@pytest.mark.parametrize("method", ["embedding", "exact+embedding"])
def test_each_name_goes_to_its_nearest_entity_above_the_floor(small: Index, method: str, floor: float) -> None:
    exact = link_question(small.snapshot, QUESTION)
    inner = small.context.make_linker(LinkerSettings()).link(QUESTION)
    linked = small.context.make_linker(LinkerSettings(method, floor)).link(QUESTION)  # type: ignore[arg-type]
    assert [(n.start, n.end) for n in linked.names] == [(n.start, n.end) for n in inner.names]
    assert exact.names
    for name, before in zip(linked.names, inner.names, strict=True):
        if method == "exact+embedding" and before.entities:
            assert name == before
            continue
        text = linked.text[name.start : name.end]
        entity, cosine = nearest(small, text)
        assert name.entities == ((entity,) if cosine >= floor else ())
        if name.entities and small.snapshot.entities[entity] != text:
            assert f"taken for {small.snapshot.entities[entity]!r} (cosine {cosine:.2f})" in " ".join(
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
    import clew

    monkeypatch.setenv("CLEW_LINKER", "exact+embedding")
    monkeypatch.setenv("CLEW_LINKER_FLOOR", "0.4")
    assert clew.open(small_folder).context.linking == LinkerSettings("exact+embedding", 0.4)


def test_an_index_without_vectors_links_no_nearest_names(tmp_path: Path) -> None:
    made = make_index(tmp_path / "index", [Document("a", "Oslo", "Oslo lies in Norway.")], "none")
    index = Index(made.table, LLMClientFactory(), linking=LinkerSettings("embedding"))
    with pytest.raises(InputError, match="set linker = exact"):
        index.search("Where is Oslo?", 1, "pagerank")
    assert Index(made.table, LLMClientFactory()).search("Where is Oslo?", 1, "pagerank").passages
