"""`POST /v1/{index}/search` and `POST /v1/{index}/ask`."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse

from clew.server import questions, records
from clew.server.access import Access
from clew.server.http.events import AnswerEvents, format_event
from clew.server.http.problems import POSING
from clew.server.http.state import IndexRequest, RequestOfIndex
from clew.server.open_indexes import OpenVersion

router = APIRouter(prefix="/v1/{index}", tags=["questions"])
_EVENTS = {
    "description": "The answer, or with `stream` its events `note, step, passage, path, token, citation, done, error`.",
    "content": {
        "text/event-stream": {
            "schema": {"type": "string"},
            "example": 'event: token\ndata: {"text": "Larvik"}\n\n',
        }
    },
}


@router.post("/search", summary="Find passages, paths and chains", response_model=records.SearchReply, responses=POSING)
async def search(call: RequestOfIndex, body: records.SearchRequest) -> Response:
    """Return the evidence for each question; all of it belongs to one version."""

    def answer(version: OpenVersion, access: Access) -> str:
        return questions.search(version, access, body).model_dump_json()  # in the thread that has the records

    return Response(await call.run(answer), media_type="application/json")


@router.post("/ask", summary="Answer a question", response_model=records.Answer, responses={**POSING, 200: _EVENTS})
async def ask(
    call: RequestOfIndex,
    body: records.AskRequest,
    accept: Annotated[str, Header(max_length=1_000, include_in_schema=False)] = "",
) -> Response:
    """Return an answer in quoted sentences, or written by a language model with quotes that were checked."""
    if body.stream or "text/event-stream" in accept:
        return EventSourceResponse(_encode(start_answer(call, body)))
    models = call.state.options.models
    answer = await call.run(lambda version, access: questions.ask(version, access, body, models))
    return JSONResponse(answer.model_dump(mode="json"))


def start_answer(call: IndexRequest, body: records.AskRequest) -> AsyncIterator[tuple[str, object] | None]:
    """Queue an answer and return its events, None in pauses; where nobody listens any more, nothing more is done.

    Raises:
        Refusal: The index does not exist or the key may not ask it (404), or the queue is full (429).
        InputError: The model or the retriever is none that may be call.
    """
    call.check()
    state, models = call.state, call.state.options.models
    questions.check_request(body, models)
    events = AnswerEvents()

    def make() -> None:
        with state.indexes.lease(call.index) as version:
            events.on_answer(questions.ask(version, call.access, body, models, events, events.cancelled))

    return events.follow(state.pool, state.pool.submit(make))


async def _encode(events: AsyncIterator[tuple[str, object] | None]) -> AsyncIterator[str]:
    async for event in events:
        yield ": still at it\n\n" if event is None else format_event(*event)
