"""Errors as problem details, `application/problem+json`, and those that routes may answer with, for OpenAPI.

Source: RFC 9457, "Problem Details for HTTP APIs". Differs from the source: nothing; a problem of the chat form has a
member `error` beside, in OpenAI's form.
"""

from http import HTTPStatus
from http.client import responses as phrases
from typing import Any, final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from clew.errors import ClewError
from clew.server.access import find_index
from clew.server.records import NewDocument
from clew.server.refusals import Refusal, describe_validation, report_error

MEDIA_TYPE = "application/problem+json"
CHAT_PREFIX = "/v1/chat/"
_MEANING = {
    400: "What was sent cannot be used.",
    401: "No key, or one that is not known.",
    403: "The key may not do this, or the request comes from another site's page.",
    404: "There is no such index, document, passage, entity or job, or the key may not see it.",
    409: "The job is not in a state for this.",
    413: "The body is larger than the limit.",
    415: "A file of a kind that is not read.",
    421: "The server is not called this.",
    422: "A field is missing, or has a value that it cannot have.",
    429: "Too many requests; `Retry-After` says when to come again.",
    502: "Something that the answer needs failed, such as a language model.",
    503: "The index, or the file of keys, cannot be read now.",
    504: "No answer within the deadline.",
}
_ALWAYS = (401, 403, 421, 429, 503)
_Responses = dict[int | str, dict[str, Any]]


class Problem(BaseModel):
    """An error, as RFC 9457 describes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:clew:no-index",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "there is no index 'x' here: GET /v1/indexes lists those that you may ask",
                }
            ]
        }
    )

    type: str = Field(default="about:blank", description="The kind of error.")
    title: str
    status: int
    detail: str
    error: dict[str, Any] | None = Field(
        default=None, description="The same in OpenAI's form; of the chat routes alone."
    )


@final
class ProblemResponse(JSONResponse):
    """A response that holds a problem."""

    media_type = MEDIA_TYPE


def make_problem(refusal: Refusal, *, chat: bool = False) -> Problem:
    """Return a refusal as a problem."""
    title = phrases.get(refusal.status, "Client Closed Request")
    error = None
    if chat:
        kind = "invalid_request_error" if refusal.status < 500 else "server_error"
        error = {"message": refusal.detail, "type": kind, "param": None, "code": refusal.kind or None}
    kind = f"urn:clew:{refusal.kind}" if refusal.kind else "about:blank"
    return Problem(type=kind, title=title, status=refusal.status, detail=refusal.detail, error=error)


def problem_response(refusal: Refusal, path: str = "") -> ProblemResponse:
    """Return the response for a refusal of a request for a path."""
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    problem = make_problem(refusal, chat=path.startswith(CHAT_PREFIX))
    return ProblemResponse(problem.model_dump(exclude_none=True), refusal.status, headers)


async def on_clew_error(request: Request, error: Exception) -> ProblemResponse:
    """Answer an error that Clew raised on purpose."""
    assert isinstance(error, ClewError)
    return problem_response(report_error(error, _place(request)), request.url.path)


async def on_http_error(request: Request, error: Exception) -> ProblemResponse:
    """Answer an error of the framework, such as a route that does not exist."""
    assert isinstance(error, HTTPException)
    response = problem_response(Refusal(error.status_code, str(error.detail)), request.url.path)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


async def on_invalid_request(request: Request, error: Exception) -> ProblemResponse:
    """Answer a request whose fields are not what its schema says, naming the first that is wrong."""
    assert isinstance(error, RequestValidationError)
    return problem_response(Refusal(422, describe_validation(error.errors())), request.url.path)


async def on_failure(request: Request, _error: Exception) -> ProblemResponse:
    """Answer a fault of the server, of which the client learns nothing but that it happened."""
    return problem_response(Refusal(500, "the server failed; its log says why"), request.url.path)


def _place(request: Request) -> str:
    """Return the route and index of a request for the log, without ids and texts."""
    route, index = getattr(request.scope.get("route"), "path", "other"), find_index(request.scope)
    return f"{request.method} {route} of the index {index!r}" if index else f"{request.method} {route}"


def problems(*statuses: int) -> _Responses:
    """Return the descriptions of some errors, and of those that every route may answer with."""
    return {
        status: {
            "description": _MEANING[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted({*_ALWAYS, *statuses})
    }


ASKING = problems(400, 404, 422, 502, 504)
"""Refusals of routes that read an index."""
POSING = ASKING | problems(413)
"""Refusals of routes whose questions are in the body."""
WRITING = problems(400, 404, 409, 413, 415, 422, 502)
"""Refusals of routes that change an index."""


def describe_problems(app: FastAPI) -> None:
    """Put the form of a problem into the application's description, beside the forms of its answers."""
    document = app.openapi()  # is made once and kept
    document["components"]["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "A key of this server, as `clew keys --add` prints it; a server without keys asks for none.",
        }
    }
    document["security"] = [{"key": []}, {}]
    document["paths"]["/health"]["get"]["security"] = []
    schemas = document["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema()
    schemas["NewDocument"] = NewDocument.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
