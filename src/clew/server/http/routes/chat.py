"""The chat form of OpenAI: an index as a model, for front ends that speak it.

Source: OpenAI's API reference, "Chat completions". Differs from the source: the last message of a user is the question,
made whole by rules from the messages before it ("where was he born?"; English); where it may mean several names the
reply asks which, and the next message completes it; answers are quotes unless the server allows a language model;
`citations`, `index_version`, `notes` and `question`, as it was made whole, are extra fields.
"""

import secrets
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse
from pydantic import BaseModel, ConfigDict, Field

from clew.query.conversation import Conversation, WholeQuestion
from clew.server import questions, records
from clew.server.access import Access, note_index
from clew.server.http.events import format_event
from clew.server.http.problems import POSING, problems
from clew.server.http.routes.searching import start_answer
from clew.server.http.state import CallerAccess, IndexRequest, ServerState, State
from clew.server.refusals import Refusal, unknown
from clew.types import Citation, Usage

router = APIRouter(prefix="/v1", tags=["chat"])
PREFIX = "clew/"
_MAX_MESSAGES = 1_000
_NO_ANSWER = "The passages of this index do not hold an answer."


class TextPart(BaseModel):
    """A part of a message; only texts are read."""

    type: str
    text: str = ""


class Message(BaseModel):
    """A message of a conversation."""

    role: str = Field(max_length=32)
    content: str | list[TextPart] | None = None


class StreamOptions(BaseModel):
    """Options of a streamed answer."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A conversation, of which the last message of a user is the question, made whole from those before it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": "clew/polar",
                    "messages": [{"role": "user", "content": "Where was the ship of Fridtjof Nansen built?"}],
                }
            ]
        }
    )

    model: str = Field(max_length=300, description="`clew/INDEX`, or `clew/INDEX:RETRIEVER`.")
    messages: list[Message] = Field(min_length=1, max_length=_MAX_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] = 1


class ChatReply(BaseModel):
    """An answer in the chat form."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[dict[str, Any]] = Field(description="The only choice: `message.content` is the answer.")
    usage: dict[str, int] = Field(description="Tokens of the language models that were asked; 0 where none was.")
    citations: Sequence[Citation]
    notes: list[str]
    question: str
    index_version: int


@router.get("/models", summary="The indexes as models", responses=problems())
async def models(state: State, access: CallerAccess) -> dict[str, Any]:
    """List the indexes that the key may ask."""
    fields = {"object": "model", "created": 0, "owned_by": "clew"}
    listed = [{"id": f"{PREFIX}{name}", **fields} for name in state.names(access)]
    return {"object": "list", "data": listed}


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """The question of a conversation, or what to ask back before it can be answered."""

    index: str
    whole: WholeQuestion
    request: records.AskRequest


@router.post("/chat/completions", summary="Answer the last message", response_model=ChatReply, responses=POSING)
async def complete(request: Request, body: ChatRequest, state: State, access: CallerAccess) -> Response:
    """Answer the last message of the user, with citations as an extra field, or ask which name it means."""
    if body.model.startswith(PREFIX):
        note_index(request.scope, body.model.removeprefix(PREFIX).partition(":")[0])
    question = read_chat(body, state, access)
    call, reply = IndexRequest(request, question.index, state, access), _Reply(body, question.whole)
    if question.whole.query:
        whole = reply.ask_back(await call.run(lambda version, _: version.number))
        return (
            EventSourceResponse(_stream_whole(whole, reply))
            if body.stream
            else JSONResponse(whole.model_dump(mode="json"))
        )
    if body.stream:
        return EventSourceResponse(_stream(start_answer(call, question.request), reply))
    models = state.options.models
    answer = await call.run(lambda version, access: questions.ask(version, access, question.request, models))
    return JSONResponse(reply.whole(answer).model_dump(mode="json"))


def read_chat(body: ChatRequest, state: ServerState, access: Access) -> ChatQuestion:
    """Return the question of a conversation; without one, or for another model, it is a Refusal."""
    name, _, retriever = body.model.removeprefix(PREFIX).partition(":")
    if not body.model.startswith(PREFIX) or name not in state.indexes.locations or not access.may_ask(name):
        raise unknown("model", body.model)
    texts = [_text(message) for message in body.messages if message.role == "user"]
    if not texts or not texts[-1].strip():
        raise Refusal(400, "no message of a user has a text: send one with the role user", "input")
    if len(texts[-1]) > records.MAX_QUESTION:
        raise Refusal(400, f"the question has {len(texts[-1])} characters; at most {records.MAX_QUESTION} are read")
    model = state.options.models[0] if state.options.models else ""
    whole = resolve_last(body.messages)
    question = whole.text[: records.MAX_QUESTION]
    return ChatQuestion(name, whole, records.AskRequest(question=question, retriever=retriever or "auto", model=model))


def resolve_last(messages: Sequence[Message]) -> WholeQuestion:
    """Return the last message of a user, with what it refers to in earlier messages in place of the references.

    A message that was asked back about is no turn of its own: the next one, such as one of the names, completes it.
    """
    conversation, asked = Conversation(), WholeQuestion("")
    for message in messages:
        text = _text(message)
        if message.role == "user":
            if asked.text and not asked.query:
                conversation.add(asked.text)
            asked = conversation.resolve(text)
        elif message.role == "assistant":
            if asked.text and not asked.query:
                conversation.add(asked.text, text)
            asked = WholeQuestion("")
    return asked


class _Reply:
    """The parts of a reply that all of its chunks share."""

    def __init__(self, body: ChatRequest, question: WholeQuestion) -> None:
        self.question = question
        self.model = body.model
        self.id = f"chatcmpl-{secrets.token_hex(12)}"
        self.created = int(time.time())
        self.with_usage = body.stream_options is not None and body.stream_options.include_usage

    def whole(self, answer: records.Answer) -> ChatReply:
        """Return the answer at once."""
        return self._make(
            answer.headline or _NO_ANSWER,
            answer.version,
            usage=_usage(answer.usage, answer.evidence.usage),
            citations=answer.citations,
            notes=[*self.question.notes(), *answer.evidence.notes, *answer.notes],
            question=answer.evidence.question,
        )

    def ask_back(self, version: int) -> ChatReply:
        """Return what has to be known before there is an answer, given the version of the index."""
        return self._make(
            self.question.query, version, usage=_usage(), citations=[], notes=[], question=self.question.text
        )

    def _make(self, text: str, version: int, **fields: Any) -> ChatReply:
        return ChatReply(
            id=self.id,
            created=self.created,
            model=self.model,
            choices=[{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            index_version=version,
            **fields,
        )

    def chunk(self, delta: dict[str, Any], finish: str | None = None, **extra: Any) -> dict[str, Any]:
        """Return a part of the answer."""
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            **extra,
        }


async def _stream(events: AsyncIterator[tuple[str, object] | None], reply: _Reply) -> AsyncIterator[str]:
    yield format_event("", reply.chunk({"role": "assistant", "content": ""}))
    async for event in events:
        if event is None:
            yield ": still at it\n\n"
            continue
        name, data = event
        if name == "token" and isinstance(data, dict):
            start = "\n\n" if data.get("restart") else ""  # what was sent cannot be taken back
            yield format_event("", reply.chunk({"content": start + str(data["text"])}))
        elif name == "done" and isinstance(data, records.Answer):
            whole = reply.whole(data)
            if not data.answer:
                yield format_event("", reply.chunk({"content": _NO_ANSWER}))
            for line in _end(whole, reply):
                yield line
        elif name == "error" and isinstance(data, BaseModel):
            detail = getattr(data, "detail", "")
            yield format_event("", {"error": {"message": detail, "type": "server_error", "code": None}})


async def _stream_whole(whole: ChatReply, reply: _Reply) -> AsyncIterator[str]:
    content = whole.choices[0]["message"]["content"]
    yield format_event("", reply.chunk({"role": "assistant", "content": content}))
    for line in _end(whole, reply):
        yield line


def _end(whole: ChatReply, reply: _Reply) -> Iterator[str]:
    """Yield the last chunks of a reply whose text was sent."""
    fields = whole.model_dump(mode="json", include={"citations", "notes", "question", "index_version"})
    yield format_event("", reply.chunk({}, "stop", **fields))
    if reply.with_usage:
        yield format_event("", {**reply.chunk({}), "choices": [], "usage": whole.usage})
    yield "data: [DONE]\n\n"


def _text(message: Message) -> str:
    if isinstance(message.content, list):
        return "\n".join(part.text for part in message.content if part.type == "text")
    return message.content or ""


def _usage(*spent: Usage) -> dict[str, int]:
    read, written = sum(one.input_tokens for one in spent), sum(one.output_tokens for one in spent)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
