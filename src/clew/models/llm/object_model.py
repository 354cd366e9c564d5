"""Language models that are given as objects: any `LanguageModel`, or a function from a prompt to a reply.

Parsing of a language model's reply as JSON with a schema; nothing in a reply is executed.

Replies in plain text, for prompts that ask for no JSON.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn, cast, final

from pydantic import BaseModel, ValidationError

from clew.errors import InputError, ModelReplyError
from clew.models.validation import replace_surrogates
from clew.plugins.arguments import FROM_PYTHON, Origin, check_given, describe_value, is_own
from clew.protocols import LanguageModel
from clew.types import Failure, Prompt, Reply

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


_KIND, _METHOD = "language model", "complete"
_REPAIRS = 2  # as of the providers' models
_JSON_INSTRUCTION = "Reply with one JSON object of this schema and nothing else:\n{schema}"  # sent to the model
_REPAIR_PROMPT = (  # sent to the model
    "{prompt}\n\nYour last reply was:\n{reply}\n\nIt cannot be used: {problem}. Reply again, with the whole corrected "
    "reply and nothing else."
)


@final
class FunctionModel:
    """A function from a prompt to a reply, as a language model; what the function raises is not caught.

    Args:
        function: Gets the instructions, the text and, where one is wanted, the schema of the reply as one string.
    """

    def __init__(self, function: Callable[[str], str]) -> None:
        self._function = function

    @property
    def name(self) -> str:
        """The function's own name."""
        return f"{FROM_PYTHON}{getattr(self._function, '__name__', type(self._function).__name__)}"

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return one result a prompt, in order; a reply that does not fit is sent back twice.

        Raises InputError where the function returns no string.
        """
        del on_text  # a function returns its whole reply
        return [self._complete(prompt) for prompt in prompts]

    def _complete(self, prompt: Prompt) -> Reply | Failure:
        first = text = "\n\n".join(filter(None, [prompt.instructions, prompt.content, _schema_instruction(prompt)]))
        reply = problem = ""
        for _ in range(1 + _REPAIRS):
            reply = self._function(text)
            if not isinstance(reply, str):
                raise InputError(f"the model {self.name} returned {describe_value(reply)}; wanted a string")
            try:
                return Reply(parse_reply(reply, prompt.reply))
            except ModelReplyError as error:
                problem = str(error)
                text = _REPAIR_PROMPT.format(prompt=first, reply=reply[:MAX_QUOTED_CHARACTERS], problem=problem)
        reason = f"the reply of {self.name} cannot be used: {problem}; it was: {reply[:MAX_QUOTED_CHARACTERS]}"
        return Failure(prompt.name, reason)


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenModel:
    """A language model of somebody else, whose replies are checked."""

    model: LanguageModel  # the object
    origin: Origin  # where it comes from, for messages

    @property
    def name(self) -> str:
        """Name of the object."""
        return self.model.name

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return what the object does; InputError: that is not one result a prompt, each of the prompt's schema."""
        with self.origin.map_errors():
            returned = self.model.complete(prompts, on_text)
        results: list[Reply | Failure] = self.origin.check_results(returned, len(prompts), (Reply, Failure), _METHOD)
        for prompt, result in zip(prompts, results, strict=True):
            if isinstance(result, Reply):
                self.origin.check_part(result.value, (prompt.reply,), _METHOD, "the value of a reply")
        return results


def accept_model(given: object, origin: Origin | None = None) -> LanguageModel:
    """Return a language model that was given as an object with `name` and `complete`, or as a function.

    Its replies are checked unless it is one of this package. Raises InputError for anything else.
    """
    if callable(given) and not isinstance(given, type) and not hasattr(given, "complete"):
        return FunctionModel(given)
    if not hasattr(given, "complete"):
        raise InputError(
            f"the {_KIND if origin is None else origin.label} is {describe_value(given)}; give a name, PROVIDER:NAME, "
            "an object with name and complete, or a function from a prompt to a reply"
        )
    found_at = check_given(given, _KIND, {"name": str, "complete": None}, origin)
    model = cast("LanguageModel", given)
    return model if is_own(given) else GivenModel(model, found_at)


def _schema_instruction(prompt: Prompt) -> str:
    if issubclass(prompt.reply, TextReply):
        return ""
    return _JSON_INSTRUCTION.format(schema=json.dumps(prompt.reply.model_json_schema(), ensure_ascii=False))
