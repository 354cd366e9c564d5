"""Concurrent LLM calls with retries and with repairs of replies that do not fit their schema.

All calls share one budget and one back-off: when a server limits the rate of one call, all of them pause.
"""

import asyncio
import logging
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from clew.errors import ClewError, ModelReplyError, ProviderError
from clew.models.llm.budget import Budget, Prices, estimate_tokens, max_token_count
from clew.models.llm.call_settings import LONG_WAIT, CallSettings, RetryLimit, cut_secret, shorten_to_line
from clew.models.llm.object_model import MAX_QUOTED_CHARACTERS, parse_reply
from clew.models.llm.request import (
    NoReplyError,
    OnText,
    build_messages,
    build_repair_messages,
    response_text,
    send_request,
)
from clew.plugins.tracing import span
from clew.types import Failure, Prompt, Reply, Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model

_logger = logging.getLogger(__name__)
_MAX_CONSECUTIVE_FAILURES = 10  # calls in a row that fail in all their attempts before the run gives up
_MAX_JITTER = 1.25  # factor on a pause, so that the calls do not all return at once
_BUDGET_POLL_SECONDS = 0.05  # seconds between two attempts to reserve budget that calls in progress may release
# Upper bound on the tokens of a request besides its texts: roles, and the instruction to reply in JSON.
_OVERHEAD_TOKENS = 512
_MAX_REPORTED_TOKENS = 10**12


@dataclass(slots=True)
class PendingCall:
    """A prompt in progress and the usage of its requests so far."""

    prompt: Prompt
    key: str
    on_text: OnText | None
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class CallBatch:
    """Concurrent calls and the error that ended them, if any."""

    model: "Model"
    semaphore: asyncio.Semaphore
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    error: ClewError | None = None

    def end(self, error: ClewError) -> None:
        """Stop further requests; the first error is kept."""
        self.error = self.error or error
        self.ended.set()

    async def sleep(self, seconds: float) -> None:
        """Wait; raise the error that ends the batch as soon as there is one."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ended.wait(), seconds)
        if self.error is not None:
            raise self.error


@final
@dataclass(slots=True, eq=False)
class RetryingClient:
    """Completes calls, with as many requests each as its settings allow; the API key `secret` is cut from messages."""

    name: str
    settings: CallSettings
    secret: str = field(repr=False)
    budget: Budget
    prices: Prices
    _resume_at: float = 0.0
    _server_reached: bool = False
    _consecutive_failures: int = 0
    _waits_are_told: bool = False

    async def complete(self, batch: CallBatch, call: PendingCall) -> Reply | Failure:
        """Return a fitting reply, or a failure after all attempts and repairs; raise what ends all calls."""
        first = messages = build_messages(call.prompt)
        problem, text = "", ""
        for _ in range(1 + self.settings.repairs):
            try:
                response = await self._request_with_retries(batch, messages, call)
            except NoReplyError as error:
                return Failure(call.prompt.name, f"{self.name} did not answer: {self._redact(error)}", call.usage)
            text = self._redact(response_text(response))
            if response.finish_reason == "content_filter":
                problem = "its provider held it back"
                break
            try:
                return Reply(parse_reply(text, call.prompt.reply), call.usage)
            except ModelReplyError as error:
                cut = response.finish_reason == "length"
                # The model is sent these words.
                problem = f"it was cut off at {self.settings.reply_tokens} tokens; be brief" if cut else str(error)
                quoted, schema = text[:MAX_QUOTED_CHARACTERS], call.prompt.reply
                messages = build_repair_messages(first, response, quoted, problem, schema)
        quoted = text[:MAX_QUOTED_CHARACTERS] + (" ..." if len(text) > MAX_QUOTED_CHARACTERS else "")
        reason = f"the reply of {self.name} cannot be used: {problem}; it was: {quoted}"
        return Failure(call.prompt.name, reason, call.usage)

    async def _request_with_retries(
        self, batch: CallBatch, messages: "list[ModelMessage]", call: PendingCall
    ) -> "ModelResponse":
        limit = RetryLimit(self.settings.attempts, self.settings.max_wait)
        last = NoReplyError("")
        while not limit.is_reached:
            await self._wait_until_resumed(batch)
            try:
                return await self._request_once(batch, messages, call)
            except NoReplyError as error:
                last = error
            if last.final or (last.unreachable and not self._server_reached):
                break
            self._back_off(last, limit)
        self._consecutive_failures += not last.final
        if self._consecutive_failures >= _MAX_CONSECUTIVE_FAILURES:
            raise ProviderError(
                f"{self.name} failed {self._consecutive_failures} calls in a row, each {limit}"
                f" ({self._redact(last)}): run it again when the server works; finished replies are kept"
            )
        if last.unreachable:
            server = self._redact(shorten_to_line(self.settings.base_url) or self.name)
            raise ProviderError(
                f"{server} cannot be reached ({self._redact(last)}): check that it is running and that the URL is right"
            )
        raise last

    async def _wait_until_resumed(self, batch: CallBatch) -> None:
        """Wait for the shared pause to end, with jitter, so that the calls do not all resume at once."""
        if batch.error is not None:
            raise batch.error
        while (wait := self._resume_at - time.monotonic()) > 0:
            await batch.sleep(wait * random.uniform(1.0, _MAX_JITTER))

    def _back_off(self, error: NoReplyError, limit: RetryLimit) -> None:
        """Pause all calls for the time that the server asks for, else exponentially longer with each attempt."""
        if error.retry_after is not None and error.retry_after > limit.max_wait:
            raise ProviderError(
                f"{self.name} asks to wait {error.retry_after:,.0f} s; Clew waits at most {limit.max_wait:,.0f} s "
                f"({self._redact(error)}): run it again then, or raise call_wait; finished replies are kept"
            )
        wait = limit.count(error.retry_after)
        self._resume_at = max(self._resume_at, time.monotonic() + wait)
        if limit.waited >= LONG_WAIT and not self._waits_are_told:
            self._waits_are_told = True
            _logger.warning(
                "%s limits the rate, and all calls wait as long as it asks, each %.0f s at most (call_wait)",
                self.name,
                limit.max_wait,
            )
        _logger.info("%s gave no reply, and is asked again in %.1f s: %s", self.name, wait, self._redact(error))

    async def _request_once(
        self, batch: CallBatch, messages: "list[ModelMessage]", call: PendingCall
    ) -> "ModelResponse":
        maximum = self._max_usage(messages, call)
        while not self.budget.admit(maximum):
            await batch.sleep(_BUDGET_POLL_SECONDS)
        started = time.perf_counter()
        spent = lost = replace(maximum, calls=0)  # a request without a reply may be charged in full
        try:
            with span("clew.model_call"):
                response = await send_request(batch.model, messages, call.prompt, self.settings, call.on_text)
            spent = self._actual_usage(response, messages, call, time.perf_counter() - started)
        except NoReplyError as error:
            spent = Usage() if error.free else lost
            self._server_reached = self._server_reached or not error.unreachable
            raise
        except ProviderError as error:
            spent = Usage()
            raise ProviderError(f"{self.name} cannot be used: {self._redact(error)}") from None
        finally:
            self.budget.settle(maximum, spent)
        self._server_reached = True
        self._consecutive_failures = 0
        call.usage = call.usage + spent
        return response

    def _max_usage(self, messages: "list[ModelMessage]", call: PendingCall) -> Usage:
        tokens, reply = max_token_count(_request_text(messages, call)) + _OVERHEAD_TOKENS, self.settings.reply_tokens
        return Usage(0.0, 1, tokens, reply, self.cost(tokens, reply) or 0.0)

    def _actual_usage(
        self, response: "ModelResponse", messages: "list[ModelMessage]", call: PendingCall, seconds: float
    ) -> Usage:
        counts = (response.usage.input_tokens, response.usage.output_tokens)
        tokens_in, tokens_out = (min(max(count, 0), _MAX_REPORTED_TOKENS) for count in counts)
        if not tokens_in + tokens_out:
            tokens_in = estimate_tokens(_request_text(messages, call))
            tokens_out = estimate_tokens("".join(str(getattr(part, "content", "")) for part in response.parts))
        return Usage(seconds, 1, tokens_in, tokens_out, self.cost(tokens_in, tokens_out) or 0.0)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the price of a call; None where it is unknown."""
        return self.prices.cost(self.name, tokens_in, tokens_out, custom_server=bool(self.settings.base_url))

    def _redact(self, text: object) -> str:
        """Remove the API key, which a server may repeat, from a text."""
        return cut_secret(str(text), self.secret)


def _request_text(messages: "list[ModelMessage]", call: PendingCall) -> str:
    parts = [str(getattr(part, "content", "")) for message in messages for part in message.parts]
    return "".join([call.prompt.instructions, str(call.prompt.reply.model_json_schema()), *parts])
