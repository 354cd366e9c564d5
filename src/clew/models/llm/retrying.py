"""Calls of a language model that are made together: each until its reply fits, within one budget and one patience.

A reply that does not fit its schema goes back with what is wrong, a bounded number of times. A server that asks for
patience is given it by all calls together.
"""

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from clew.errors import ClewError, ModelReplyError, ProviderError
from clew.models.llm.budget import Budget
from clew.models.llm.error_text import shorten_to_line
from clew.models.llm.pricing import Prices, estimate_tokens, max_token_count
from clew.models.llm.reply_parsing import parse_reply
from clew.models.llm.request import (
    NoReplyError,
    OnText,
    build_messages,
    build_repair_messages,
    response_text,
    send_request,
)
from clew.types import Failure, Prompt, Reply, Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model

    from clew.models.llm.call_settings import CallSettings

MAX_QUOTED_CHARACTERS = 2000
"""Characters of a reply that a failure quotes and that go back to be mended."""

_FIRST_WAIT, _MAX_WAIT = 1.0, 120.0
_MAX_CONSECUTIVE_FAILURES = 10
"""Calls that fail with all their attempts, and none between them that succeeds, before the server is given up."""
_MAX_JITTER = 1.25
_BUDGET_POLL_SECONDS = 0.05
"""Seconds between two looks at a budget that calls under way, of this model or another, may give something back to."""
_OVERHEAD_TOKENS = 512
"""Tokens, at most, that stand around the texts of a request: roles, and the words that ask for JSON."""
_MAX_REPORTED_TOKENS = 10**12
_MIN_SECRET_CHARACTERS = 8
"""Letters of a key worth hiding."""


@dataclass(slots=True)
class PendingCall:
    """One prompt under way."""

    prompt: Prompt
    key: str
    on_text: OnText | None
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class CallBatch:
    """Calls that are made together, and the error that ended them."""

    model: "Model"
    semaphore: asyncio.Semaphore
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    error: ClewError | None = None

    def end(self, error: ClewError) -> None:
        """Let no further request be made."""
        self.error = self.error or error
        self.ended.set()

    async def sleep(self, seconds: float) -> None:
        """Wait, and raise the error that ends the calls, if one does, as soon as it does."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), seconds)
        if self.error is not None:
            raise self.error


@final
class RetryingClient:
    """Answers prompts, one call each, however often a request has to be made.

    Args:
        name: `provider:model`.
        settings: How calls are made.
        secret: The key, which no message shows.
        budget: What may be spent.
        prices: What a call costs.
    """

    def __init__(self, name: str, settings: "CallSettings", secret: str, budget: Budget, prices: Prices) -> None:
        self._name = name
        self._settings = settings
        self._secret = secret
        self._budget = budget
        self._prices = prices
        self._resume_at = 0.0
        self._server_reached = False
        self._consecutive_failures = 0

    async def complete(self, batch: CallBatch, call: PendingCall) -> Reply | Failure:
        """Ask until the reply fits, or nothing more is allowed.

        Raises:
            BudgetError: The budget is spent.
            ProviderError: No call can have an answer.
        """
        first = messages = build_messages(call.prompt)
        wrong, text = "", ""
        for _ in range(1 + self._settings.repairs):
            try:
                response = await self._request_with_retries(batch, messages, call)
            except NoReplyError as error:
                return Failure(call.prompt.name, f"{self._name} did not answer: {self._redact(error)}", call.usage)
            text = self._redact(response_text(response))
            if response.finish_reason == "content_filter":
                wrong = "its provider held it back"
                break
            try:
                return Reply(parse_reply(text, call.prompt.reply), call.usage)
            except ModelReplyError as error:
                cut = response.finish_reason == "length"
                wrong = f"it was cut off at {self._settings.reply_tokens} tokens; be brief" if cut else str(error)
                messages = build_repair_messages(first, response, text[:MAX_QUOTED_CHARACTERS], wrong)
        quoted = text[:MAX_QUOTED_CHARACTERS] + (" ..." if len(text) > MAX_QUOTED_CHARACTERS else "")
        reason = f"the reply of {self._name} cannot be used: {wrong}; it was: {quoted}"
        return Failure(call.prompt.name, reason, call.usage)

    async def _request_with_retries(
        self, batch: CallBatch, messages: "list[ModelMessage]", call: PendingCall
    ) -> "ModelResponse":
        """Make a request, and more of them while the server fails or asks to wait."""
        last = NoReplyError("")
        for attempt in range(self._settings.attempts):
            await self._wait_until_resumed(batch)
            try:
                return await self._request_once(batch, messages, call)
            except NoReplyError as error:
                last = error
            if last.final or (last.unreachable and not self._server_reached):
                break
            self._back_off(last, attempt)
        self._consecutive_failures += not last.final
        if self._consecutive_failures >= _MAX_CONSECUTIVE_FAILURES:
            raise ProviderError(
                f"{self._name} failed {self._consecutive_failures} calls in a row, each {self._settings.attempts} times"
                f" ({self._redact(last)}): run it again when the server is well; what was done is kept"
            )
        if last.unreachable:
            place = self._redact(shorten_to_line(self._settings.base_url) or self._name)
            raise ProviderError(
                f"{place} cannot be reached ({self._redact(last)}): is the server running, and the address right?"
            )
        raise last

    async def _wait_until_resumed(self, batch: CallBatch) -> None:
        """Wait until calls may be made again, each a little longer than it must, or all come back at one moment."""
        if batch.error is not None:
            raise batch.error
        while (wait := self._resume_at - time.monotonic()) > 0:
            await batch.sleep(wait * random.uniform(1.0, _MAX_JITTER))

    def _back_off(self, error: NoReplyError, attempt: int) -> None:
        """Let all calls wait for a limit that one of them met: a storm of refused calls helps nobody."""
        if error.retry_after is not None and error.retry_after > _MAX_WAIT:
            raise ProviderError(
                f"{self._name} asks to wait {error.retry_after:,.0f} s, and Clew waits {_MAX_WAIT:,.0f} s at most "
                f"({self._redact(error)}): run it again then; what was done is kept"
            )
        wait = error.retry_after or min(_FIRST_WAIT * 2**attempt, _MAX_WAIT)
        self._resume_at = max(self._resume_at, time.monotonic() + wait)

    async def _request_once(
        self, batch: CallBatch, messages: "list[ModelMessage]", call: PendingCall
    ) -> "ModelResponse":
        """Make one request within the budget and count what it cost."""
        most = self._max_usage(messages, call)
        while not self._budget.admit(most):
            await batch.sleep(_BUDGET_POLL_SECONDS)
        started = time.perf_counter()
        spent = lost = replace(most, calls=0)  # what breaks off may be charged all the same
        try:
            response = await send_request(batch.model, messages, call.prompt, self._settings, call.on_text)
            spent = self._actual_usage(response, messages, call, time.perf_counter() - started)
        except NoReplyError as error:
            spent = Usage() if error.free else lost
            self._server_reached = self._server_reached or not error.unreachable
            raise
        except ProviderError as error:
            spent = Usage()
            raise ProviderError(f"{self._name} cannot be used: {self._redact(error)}") from None
        finally:
            self._budget.settle(most, spent)
        self._server_reached = True
        self._consecutive_failures = 0
        call.usage = call.usage + spent
        return response

    def _max_usage(self, messages: "list[ModelMessage]", call: PendingCall) -> Usage:
        """Return the most that a request can cost."""
        tokens, reply = max_token_count(_request_text(messages, call)) + _OVERHEAD_TOKENS, self._settings.reply_tokens
        return Usage(0.0, 1, tokens, reply, self.cost(tokens, reply) or 0.0)

    def _actual_usage(
        self, response: "ModelResponse", messages: "list[ModelMessage]", call: PendingCall, seconds: float
    ) -> Usage:
        """Return what a response cost; a server that does not count is counted for."""
        counts = (response.usage.input_tokens, response.usage.output_tokens)
        tokens_in, tokens_out = (min(max(count, 0), _MAX_REPORTED_TOKENS) for count in counts)
        if not tokens_in + tokens_out:
            tokens_in = estimate_tokens(_request_text(messages, call))
            tokens_out = estimate_tokens("".join(str(getattr(part, "content", "")) for part in response.parts))
        return Usage(seconds, 1, tokens_in, tokens_out, self.cost(tokens_in, tokens_out) or 0.0)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the price of a call; None where none is known."""
        return self._prices.cost(self._name, tokens_in, tokens_out, custom_server=bool(self._settings.base_url))

    def _redact(self, text: object) -> str:
        """Return a text without the key, which a server may repeat."""
        return str(text).replace(self._secret, "...") if len(self._secret) >= _MIN_SECRET_CHARACTERS else str(text)


def _request_text(messages: "list[ModelMessage]", call: PendingCall) -> str:
    """Return all texts of a request."""
    parts = [str(getattr(part, "content", "")) for message in messages for part in message.parts]
    return "".join([call.prompt.instructions, str(call.prompt.reply.model_json_schema()), *parts])
