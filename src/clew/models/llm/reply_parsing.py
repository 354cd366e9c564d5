"""The text of a language model's reply, read as JSON against a schema; nothing in it is ever run."""

import json
import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from clew.errors import ModelReplyError

_OBJECT_START = re.compile(r'\{\s*["}]')
"""Where an object may begin; braces in prose are followed by something else."""
_MAX_OBJECTS = 50
_MAX_ERRORS, _MAX_ERROR_CHARACTERS = 5, 200


def parse_reply(text: str, schema: type[BaseModel]) -> BaseModel:
    """Return the first object of a reply that fits, whatever stands around it: prose, a code fence, marks of a list.

    Raises:
        ModelReplyError: There is none, or it does not fit; the message says what is wrong, for the model to mend.
    """
    wrong = ""
    for value in _iter_objects(text):
        try:
            return schema.model_validate(value)
        except ValidationError as error:
            wrong = wrong or _describe_misfit(error)
        except RecursionError:
            wrong = wrong or "the JSON is nested too deep"
    raise ModelReplyError(wrong or "there is no JSON object in the reply")


def _iter_objects(text: str) -> Iterator[Any]:
    """Yield the outermost objects of a text.

    Raises:
        ModelReplyError: One is broken; what is inside it is not looked at, being but a part of what was asked for.
    """
    decoder = JSONDecoder(parse_constant=_refuse_constant)
    start = 0
    for _ in range(_MAX_OBJECTS):
        if (opened := _OBJECT_START.search(text, start)) is None:
            return
        try:
            value, start = decoder.raw_decode(text, opened.start())
            # Half a character, as an escape may give it, can neither be kept nor sent on.
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
        except JSONDecodeError as error:
            raise ModelReplyError(f"the JSON is broken at character {error.pos}: {error.msg}") from error
        except RecursionError as error:
            raise ModelReplyError("the JSON is nested too deep") from error
        except ValueError as error:  # numbers of thousands of digits, and those that are none
            raise ModelReplyError(f"the JSON cannot be read: {error}") from error
        yield value


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _describe_misfit(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    wrong = [f"{'.'.join(map(str, e['loc'])) or 'the reply'}: {e['msg']}"[:_MAX_ERROR_CHARACTERS] for e in errors]
    more = f"; and {len(wrong) - _MAX_ERRORS} more" if len(wrong) > _MAX_ERRORS else ""
    return f"the JSON does not fit: {'; '.join(wrong[:_MAX_ERRORS])}{more}"
