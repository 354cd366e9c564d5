"""Parsing of a language model's reply as JSON with a schema; nothing in a reply is executed.

Replies in plain text, for prompts that ask for no JSON.
"""

import json
import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from clew.errors import ModelReplyError
from clew.models.validation import replace_surrogates

# Possible start of an object; braces in prose are followed by other characters.
_OBJECT_START = re.compile(r'\{\s*["}]')
MAX_QUOTED_CHARACTERS = 2000  # characters of a reply that a failure quotes, and that are sent back for correction
_MAX_OBJECTS = 50
_MAX_ERRORS, _MAX_ERROR_CHARACTERS = 5, 200


def parse_reply(text: str, schema: type[BaseModel]) -> BaseModel:
    """Return the first object of a reply that fits the schema, whatever text is around it; else a ModelReplyError.

    For a `TextReply` the whole text is the reply, which must not be empty.
    """
    if issubclass(schema, TextReply):
        if not text.strip():
            raise ModelReplyError("the reply is empty")
        return schema(text=replace_surrogates(text.strip()))
    problem = ""
    for value in _iter_objects(text):
        try:
            return schema.model_validate(value)
        except ValidationError as error:
            problem = problem or _describe_misfit(error)
        except RecursionError:
            problem = problem or "the JSON is nested too deep"
    raise ModelReplyError(problem or "there is no JSON object in the reply")


def _iter_objects(text: str) -> Iterator[Any]:
    """Yield the outermost objects; raise a ModelReplyError at a broken one, whose inner objects are parts of it."""
    decoder = JSONDecoder(parse_constant=_refuse_constant)
    start = 0
    for _ in range(_MAX_OBJECTS):
        if (found := _OBJECT_START.search(text, start)) is None:
            return
        try:
            value, start = decoder.raw_decode(text, found.start())
            # A lone surrogate, as an escape may produce it, can be neither stored nor sent.
            value = json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))
        except JSONDecodeError as error:
            raise ModelReplyError(f"the JSON is broken at character {error.pos}: {error.msg}") from error
        except RecursionError as error:
            raise ModelReplyError("the JSON is nested too deep") from error
        except ValueError as error:  # numbers with thousands of digits, NaN and Infinity
            raise ModelReplyError(f"the JSON cannot be read: {error}") from error
        yield value


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _describe_misfit(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    problems = [f"{'.'.join(map(str, e['loc'])) or 'the reply'}: {e['msg']}"[:_MAX_ERROR_CHARACTERS] for e in errors]
    more = f"; and {len(problems) - _MAX_ERRORS} more" if len(problems) > _MAX_ERRORS else ""
    return f"the JSON does not fit: {'; '.join(problems[:_MAX_ERRORS])}{more}"


class TextReply(BaseModel):
    """A reply that is taken as it was written; no schema is sent with the prompt."""

    text: str

    @property
    def lines(self) -> list[str]:
        """The lines that hold more than white space."""
        return [line.strip() for line in self.text.splitlines() if line.strip()]
