"""The errors that routes may answer with, as OpenAPI describes them."""

from typing import Any

from fastapi import FastAPI

from clew.server.document_records import NewDocuments
from clew.server.http.problems import MEDIA_TYPE, Problem

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
_SCHEMAS = "schemas"
_REFERENCE = "#/components/schemas/{model}"
_ALWAYS = (401, 403, 421, 429, 503)
_KEY = "key"
_Responses = dict[int | str, dict[str, Any]]


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
        _KEY: {
            "type": "http",
            "scheme": "bearer",
            "description": "A key of this server, as `clew keys --add` prints it; a server without keys asks for none.",
        }
    }
    document["security"] = [{_KEY: []}, {}]
    document["paths"]["/health"]["get"]["security"] = []
    document["components"][_SCHEMAS]["Problem"] = Problem.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        document["components"][_SCHEMAS].pop(unused, None)
    document["components"][_SCHEMAS] |= {
        name: NewDocuments.model_json_schema(ref_template=_REFERENCE)["$defs"][name] for name in ("NewDocument",)
    }
