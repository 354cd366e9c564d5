"""The cost estimate of indexing: its arithmetic, cached replies, and that nothing is called or written."""

from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.indexing.cost_estimate import (
    REPLY_SHARES,
    SECONDS_PER_CALL,
    TOKENS_PER_SECOND,
    CostEstimate,
    estimate_indexing,
)
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.budget import Prices
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.prompts import extraction
from clew.models.llm.prompts.template import Template
from clew.settings import Settings
from clew.types import Document, Failure
from tests.faults.model_server import model_server
from tests.indexing.extraction.scripted_model import answer_request

LLM = "llm:openai:test"
DOCUMENTS = [Document(f"d{n}", f"Town {n}", f"Anna{'abcdefgh'[n]} met Boris in Oslo.") for n in range(8)]
PRICES = Prices({"openai:test": (3.0, 10.0)})


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def make_llm_clients(
    url: str = "http://127.0.0.1:9/v1", *, cached: bool = True, max_concurrency: int = 4
) -> LLMClientFactory:
    return LLMClientFactory(CallSettings(base_url=url, max_concurrency=max_concurrency), cached, prices=PRICES)


def text_tokens(text: str) -> int:
    """Return a third of the bytes, rounded down, plus one."""
    return len(text.encode()) // 3 + 1


def prompt_tokens(template: Template, content: str) -> int:
    return text_tokens(f"{template.instructions}{template.reply.model_json_schema()}{content}")


def test_the_arithmetic_for_one_passage(tmp_path: Path) -> None:
    text = "Fram left Oslo in 1893. " * 9
    content = f"<title>\nFram\n</title>\n<passage>\n{text.strip()}\n</passage>"
    size = len("Fram") + len(text.strip())
    names, triple_tokens = (
        round(REPLY_SHARES["named_entities"] * size) // 3 + 1,
        round(REPLY_SHARES["triples"] * size) // 3 + 1,
    )
    tokens_in = prompt_tokens(extraction.NAMES, content)
    tokens_in += prompt_tokens(extraction.TRIPLES, f"{content}\n\n<names>\n\n</names>") + names
    expected = CostEstimate(1, 0, [], 1, "openai:test", 2, 0, tokens_in, names + triple_tokens, max_concurrency=4)
    expected.sentences, expected.sentence_bytes = 1, 384  # short sentences are joined
    expected.cost = (3.0 * tokens_in + 10.0 * (names + triple_tokens)) / 1_000_000
    expected.seconds = (
        2 * SECONDS_PER_CALL + (names + triple_tokens) / TOKENS_PER_SECOND
    ) / 2  # two calls, two at once
    assert estimate_indexing(tmp_path / "i", [Document("a", "Fram", text)], LLM, make_llm_clients()) == expected


def test_one_call_a_passage(tmp_path: Path) -> None:
    defaults = Settings(extraction_calls=1)
    estimate = estimate_indexing(tmp_path / "i", DOCUMENTS, LLM, make_llm_clients(), defaults=defaults)
    assert (estimate.calls, estimate.passages) == (8, 8)
    content = "<title>\nTown 0\n</title>\n<passage>\nAnnaa met Boris in Oslo.\n</passage>"
    assert estimate.input_tokens == 8 * prompt_tokens(extraction.NAMES_AND_TRIPLES, content)
    seconds = (8 * SECONDS_PER_CALL + estimate.output_tokens / TOKENS_PER_SECOND) / 4
    assert estimate.seconds == pytest.approx(seconds)


def test_a_reply_is_no_longer_than_it_may_be(tmp_path: Path) -> None:
    short = LLMClientFactory(CallSettings(reply_tokens=5), prices=PRICES)
    assert estimate_indexing(tmp_path / "i", [Document("a", "", "Oslo " * 400)], LLM, short).output_tokens == 10


def test_nothing_is_called_created_or_written(tmp_path: Path) -> None:
    with model_server(answer_request) as server:
        for _ in range(2):
            estimate = estimate_indexing(tmp_path / "index", DOCUMENTS, LLM, make_llm_clients(server.url))
            assert (estimate.documents, estimate.passages, estimate.calls, estimate.cached_calls) == (8, 8, 16, 0)
    assert server.requests == []
    assert list(tmp_path.iterdir()) == []


def test_only_new_or_changed_documents_count_and_cached_replies_cost_nothing(tmp_path: Path) -> None:
    place = tmp_path / "index"
    with model_server(answer_request) as server:
        index = clew.create(place, Settings(encoder="none", extractor=LLM), llm_factory=make_llm_clients(server.url))
        assert index.add(DOCUMENTS[:5]).added == 5
        created, version = len(server.requests), index.table.version
        assert created == 10
        estimate = estimate_indexing(place, DOCUMENTS, None, make_llm_clients(server.url))
        assert (estimate.documents, estimate.unchanged, estimate.calls, estimate.cached_calls) == (3, 5, 6, 0)
        index.remove(["d0", "d1"])
        estimate = estimate_indexing(place, DOCUMENTS, LLM, make_llm_clients(server.url))
        assert (estimate.documents, estimate.unchanged, estimate.calls, estimate.cached_calls) == (5, 3, 6, 4)
        second = estimate_indexing(place, DOCUMENTS, LLM, make_llm_clients(server.url, cached=False))
        assert (second.documents, second.calls, second.cached_calls) == (5, 10, 0)
        assert index.add(DOCUMENTS).added == 5
        assert len(server.requests) == created + estimate.calls  # as estimated
        nothing = estimate_indexing(place, DOCUMENTS, LLM, make_llm_clients(server.url))
        assert (nothing.documents, nothing.calls, nothing.cost, nothing.seconds) == (0, 0, 0.0, 0.0)
        with pytest.raises(InputError, match="was made with the extractor 'llm:openai:test'"):
            estimate_indexing(place, DOCUMENTS, "llm:openai:other", make_llm_clients(server.url))
    assert clew.open(place).table.version == version + 2


def test_failed_passages_count_when_they_are_to_be_retried(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    file.write_text('{"id": "d0", "entities": ["Oslo"]}\n', encoding="utf-8")
    index = clew.create(tmp_path / "index", Settings(encoder="none", extractor=f"published:{file}"))
    assert len(index.add(DOCUMENTS).failures) == 7
    assert estimate_indexing(tmp_path / "index", [], None, make_llm_clients()).passages == 0
    assert estimate_indexing(tmp_path / "index", [], None, make_llm_clients(), retry_failed=True).passages == 7


@pytest.mark.parametrize("extractor", ["rules", None])
def test_without_a_model_there_are_no_calls(tmp_path: Path, extractor: str | None) -> None:
    failure = Failure("x.zip", "not a kind of file that can be read")
    estimate = estimate_indexing(tmp_path / "i", [*DOCUMENTS, failure], extractor, make_llm_clients())
    assert estimate == CostEstimate(8, 0, [failure], 8, max_concurrency=4, sentences=8, sentence_bytes=8 * 384)
    assert estimate.cost == 0.0


def test_the_same_passage_twice_costs_one_call(tmp_path: Path) -> None:
    twice = [Document(name, "", "Anna met Boris.") for name in "ab"]
    estimate = estimate_indexing(tmp_path / "i", twice, LLM, make_llm_clients())
    assert (estimate.passages, estimate.calls, estimate.cached_calls) == (2, 2, 1)


@pytest.mark.parametrize("wrong", ["llm:gpt", "llm:nobody:x", "llm:", "magic"])
def test_an_extractor_that_is_none_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InputError):
        estimate_indexing(tmp_path / "i", DOCUMENTS, wrong, make_llm_clients())


@pytest.mark.parametrize("sentences", ["vectors", "none"])
def test_the_vectors_of_a_paid_encoder_are_in_the_estimate(tmp_path: Path, sentences: str) -> None:
    settings = Settings.model_construct(encoder="openai-embeddings:small", sentences=sentences)
    clients = LLMClientFactory(prices=Prices({"openai:small": (2.0, 0.0)}))
    found = estimate_indexing(tmp_path / "new", iter(DOCUMENTS), "rules", clients, defaults=settings)
    texts = [text_tokens(f"{document.title}\n{document.text}") for document in DOCUMENTS]
    if sentences == "vectors":
        texts += [text_tokens(f"{document.title}: {document.text}") for document in DOCUMENTS]
    assert (found.embedding_model, found.embedding_tokens) == ("openai:small", sum(texts))
    assert found.embedding_cost == pytest.approx(2e-6 * sum(texts))
    assert (found.embedding_requests, found.embedding_seconds) == (1, 0.5)
    assert (found.model, found.cost) == ("", 0.0)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("encoder", "cost"), [("openai-embeddings:nameless", None), ("ollama-embeddings:small", 0.0), ("hashing", 0.0)]
)
def test_an_encoder_without_a_price(tmp_path: Path, encoder: str, cost: float | None) -> None:
    settings = Settings.model_construct(encoder=encoder)
    found = estimate_indexing(tmp_path / "new", iter(DOCUMENTS), "rules", LLMClientFactory(), defaults=settings)
    assert found.embedding_cost == cost
    assert bool(found.embedding_model) == (encoder != "hashing")
