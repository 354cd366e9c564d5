"""The errors that routes may answer with, as OpenAPI describes them."""

from typing import Any

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
    503: "The index cannot be read now.",
    504: "No answer within the deadline.",
}
_ALWAYS = (401, 403, 421, 429)
_Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> _Responses:
    """Return the descriptions of some errors, and of those that every route may answer with."""
    return {
        status: {
            "model": Problem,
            "description": _MEANING[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted({*_ALWAYS, *statuses})
    }


ASKING = problems(400, 404, 422, 502, 503, 504)
"""Of routes that read an index."""
WRITING = problems(400, 404, 409, 413, 415, 422)
"""Of routes that change one."""
