"""Language models that are given as objects: any `LanguageModel`, or a function from a prompt to a reply."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, final

from clew.errors import InputError, ModelReplyError
from clew.models.llm.reply_parsing import MAX_QUOTED_CHARACTERS, TextReply, parse_reply
from clew.plugins.arguments import FROM_PYTHON, Origin, check_given, describe_value, is_own
from clew.protocols import LanguageModel
from clew.types import Failure, Prompt, Reply

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
