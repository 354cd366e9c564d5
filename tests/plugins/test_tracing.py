"""Spans around the stages of an answer."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clew.commands.serving import start_tracing
from clew.errors import InputError, MissingPackageError
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.plugins import tracing
from clew.plugins.tracing import span, trace_calls
from clew.retrievers.registry import parse_retriever
from tests.faults.model_server import ServerReply, model_server
from tests.faults.python_process import run_python
from tests.models.llm.model_calls import OSLO, complete_one, names, open_model
from tests.small_index import DOCUMENTS, make_index

Names = Callable[[], list[str]]


@pytest.fixture
def collect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    """A function that returns the spans that have ended, in the order of their ends."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_open_tracer", lambda _: provider.get_tracer("clew"))

    def describe() -> list[str]:
        ended = exporter.get_finished_spans()
        names = {each.context.span_id: each.name for each in ended if each.context is not None}
        lines = []
        for each in ended:
            parent = "" if each.parent is None else f" in {names[each.parent.span_id]}"
            error = (each.attributes or {}).get("error.type")
            assert not each.events
            assert not each.status.description
            lines.append(f"{each.name}{parent}{f': {error}' if error else ''}")
        return lines

    yield describe
    provider.shutdown()


def test_spans_are_nested_as_the_work_is(collect: Names) -> None:
    @trace_calls("inner")
    def double(value: int) -> int:
        """Double it."""
        return 2 * value

    with span("outer"):
        assert double(4) == 8
    assert double.__doc__ == "Double it."
    assert collect() == ["inner in outer", "outer"]


def test_an_error_is_told_by_its_type_alone(collect: Names) -> None:
    """The text of an error may hold a question."""
    with pytest.raises(InputError, match="secret"), span("outer"):
        raise InputError("a secret question")
    assert collect() == ["outer: InputError"]


@pytest.mark.slow
def test_a_search_has_a_span_for_each_stage(collect: Names, tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", DOCUMENTS[:6], DEFAULT_ENCODER)
    stages = {"pagerank": ["link", "walk"], "gfm": ["link", "walk", "network"]}
    for name, expected in stages.items():
        before = len(collect())
        index.search("Where was the commander of the Vega born?", 3, name)
        assert collect()[before:] == [f"clew.{stage}" for stage in expected]
    before = len(collect())
    index.search("Where was the commander of the Vega born?", 3, parse_retriever("bm25:rerank=g-rag"))
    assert collect()[before:][-1] == "clew.rerank"


def test_a_call_of_a_language_model_has_a_span(collect: Names) -> None:
    with model_server(lambda _request, _number: ServerReply(OSLO)) as server:
        assert names([complete_one(open_model(server))]) == [["Oslo"]]
    assert collect() == ["clew.model_call"]


@pytest.mark.parametrize("variable", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
def test_a_collector_without_the_extra_is_one_line(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    start_tracing()  # no collector is named
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with pytest.raises(MissingPackageError, match=r"pip install 'clew\[otel\]'"):
        start_tracing()


def test_without_a_tracer_nothing_is_imported_or_made() -> None:
    """In a process of its own, for another test may have loaded the package."""
    program = (
        "import sys\n"
        "from clew.plugins.tracing import span\n"
        "assert span('a') is span('b')\n"
        "with span('a'): pass\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    run_python(program)
