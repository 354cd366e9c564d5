"""Spans of OpenTelemetry around the stages of an answer: link, walk, network, rerank and the calls of language models.

The package `opentelemetry` is never imported here: a program that traces has imported it. In any other one a span costs
a look into a dictionary. Spans carry no texts, not even those of errors.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from types import ModuleType, TracebackType
from typing import Any, ParamSpec, TypeVar, final

P = ParamSpec("P")
R = TypeVar("R")
_NOTHING = nullcontext()


def span(name: str) -> AbstractContextManager[object]:
    """Return a span of the work done inside a `with` statement; where nothing traces, it does nothing."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or not hasattr(trace, "get_tracer"):  # which another thread may be importing just now
        return _NOTHING
    return _Span(trace, _open_tracer(trace).start_as_current_span(name, record_exception=False))


def trace_calls(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that puts each call of a function into a span."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def run(*args: P.args, **keywords: P.kwargs) -> R:
            with span(name):
                return function(*args, **keywords)

        return run

    return decorate


@final
class _Span:
    """A span that records the type of an error and not its text, which may hold a question."""

    def __init__(self, trace: ModuleType, current: Any) -> None:
        self._trace = trace
        self._current = current

    def __enter__(self) -> object:
        return self._current.__enter__()

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is not None:
            current = self._trace.get_current_span()
            current.set_attribute("error.type", kind.__name__)
            current.set_status(self._trace.StatusCode.ERROR)
        self._current.__exit__(None, None, None)


@cache
def _open_tracer(trace: ModuleType) -> Any:
    return trace.get_tracer("clew")
