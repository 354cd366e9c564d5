"""One request to a language model. Errors of the client are mapped to `NoReplyError` or `ProviderError`."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.errors import ProviderError
from clew.models.llm.call_settings import RETRIED_STATUSES, CallSettings, describe_error
from clew.models.llm.object_model import TextReply
from clew.models.validation import replace_surrogates
from clew.types import Prompt

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


OnText = Callable[[str], None]

_REPAIR_PROMPT = (  # sent to the model
    "The reply cannot be used: {problem}. Reply again, with {wanted} and nothing else."
)


class NoReplyError(Exception):
    """A request got no reply; it never leaves `models.llm`.

    `retry_after` is in seconds, None where the server names none; `unreachable`: no connection was made; `final`: no
    retry can succeed; `free`: the server did no work that it could charge for.
    """

    def __init__(
        self,
        reason: str,
        retry_after: float | None = None,
        *,
        unreachable: bool = False,
        final: bool = False,
        free: bool = False,
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.unreachable = unreachable
        self.final = final
        self.free = free or unreachable


def build_messages(prompt: Prompt) -> "list[ModelMessage]":
    """Return the messages of a prompt, lone surrogates replaced."""
    from pydantic_ai.messages import ModelRequest

    content, instructions = replace_surrogates(prompt.content), replace_surrogates(prompt.instructions)
    return [ModelRequest.user_text_prompt(content, instructions=instructions)]


def build_repair_messages(
    first: "list[ModelMessage]", response: "ModelResponse", reply_text: str, problem: str, schema: "type[BaseModel]"
) -> "list[ModelMessage]":
    """Return the first request, the part of the unusable reply to send back, and a request to correct the problem."""
    from pydantic_ai.messages import ModelRequest, TextPart

    reply = replace(response, parts=[TextPart(replace_surrogates(reply_text) or "(an empty reply)")])
    instructions = first[0].instructions if isinstance(first[0], ModelRequest) else None
    wanted = "the answer in words" if issubclass(schema, TextReply) else "the whole corrected JSON object"
    repair = replace_surrogates(_REPAIR_PROMPT.format(problem=problem, wanted=wanted))
    return [*first, reply, ModelRequest.user_text_prompt(repair, instructions=instructions)]


async def send_request(
    model: "Model", messages: "list[ModelMessage]", prompt: Prompt, settings: CallSettings, on_text: OnText | None
) -> "ModelResponse":
    """Send one request; a NoReplyError says that it got no reply, a ProviderError that none can (key, model, quota)."""
    import httpx2
    from pydantic_ai.exceptions import (
        ModelAPIError,
        ModelAuthenticationError,
        ModelConnectionError,
        ModelNotFoundError,
        ModelQuotaExceededError,
        UnexpectedModelBehavior,
        UserError,
    )

    try:
        return await _send(model, messages, prompt, settings, on_text)
    except (ModelAuthenticationError, ModelNotFoundError, ModelQuotaExceededError) as error:
        raise ProviderError(describe_error(error)) from error
    except ModelConnectionError as error:
        raise NoReplyError(
            describe_error(error), error.retry_after, unreachable=error.phase in ("pool", "connect")
        ) from error
    except ModelAPIError as error:
        status = getattr(error, "status_code", 0)
        final = 400 <= status < 500 and status not in RETRIED_STATUSES
        reason = f"the request was refused: {describe_error(error)}" if final else describe_error(error)
        raise NoReplyError(reason, error.retry_after, final=final, free=status >= 400) from error
    except UserError as error:
        raise ProviderError(describe_error(error)) from error
    except UnicodeEncodeError:
        raise  # from `on_text`: text that is sent or received can always be encoded
    except (UnexpectedModelBehavior, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, RecursionError) as error:
        raise NoReplyError(describe_error(error)) from error


async def _send(
    model: "Model", messages: "list[ModelMessage]", prompt: Prompt, settings: CallSettings, on_text: OnText | None
) -> "ModelResponse":
    from pydantic_ai.direct import model_request, model_request_stream

    limits, output = _model_settings(prompt, settings), _output_parameters(prompt, settings)
    if on_text is None:
        return await model_request(model, messages, model_settings=limits, model_request_parameters=output)
    async with model_request_stream(model, messages, model_settings=limits, model_request_parameters=output) as stream:
        async for _ in stream:
            on_text(response_text(stream.get()))
    return stream.get()


def _model_settings(prompt: Prompt, settings: CallSettings) -> "ModelSettings":
    from pydantic_ai.settings import ModelSettings

    return ModelSettings(
        max_tokens=min(prompt.reply_tokens or settings.reply_tokens, settings.reply_tokens),
        temperature=settings.temperature if prompt.temperature is None else prompt.temperature,
        timeout=settings.timeout,  # between two bytes; a provider's client may have a shorter one of its own
        request_timeout=settings.timeout,  # for the whole response
        max_retries=0,
    )


def _output_parameters(prompt: Prompt, settings: CallSettings) -> "ModelRequestParameters":
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if issubclass(prompt.reply, TextReply):
        return ModelRequestParameters(output_mode="text", allow_text_output=True)
    return ModelRequestParameters(
        output_mode="native" if settings.output == "native" else "prompted",
        output_object=OutputObjectDefinition(prompt.reply.model_json_schema(), name=prompt.reply.__name__),
        allow_text_output=True,
    )


def response_text(response: "ModelResponse") -> str:
    """Return the text of a response without its reasoning parts."""
    return replace_surrogates("".join(part.content for part in response.parts if part.part_kind == "text"))
