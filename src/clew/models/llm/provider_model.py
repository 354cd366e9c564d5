"""Language models of any provider: typed replies, concurrent calls, a reply cache and a budget."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import final
from warnings import catch_warnings, filterwarnings

from clew.errors import BudgetError, InputError, ProviderError
from clew.models.llm.budget import Budget, Prices
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.providers import api_key, check_installed, open_provider, parse_model_name
from clew.models.llm.reply_cache import ReplyCache, call_key
from clew.models.llm.request import OnText
from clew.models.llm.retrying import CallBatch, PendingCall, RetryingClient
from clew.types import Failure, Prompt, Reply, Usage

# Limit on the size of a response, streaming events and headers included.
_BASE_REPLY_BYTES, _REPLY_BYTES_PER_TOKEN = 1 << 20, 1024


@final
class ProviderModel:
    """A model `provider:model`; InputError: unknown provider, no package or key, or a limit on cost without a price."""

    def __init__(
        self,
        name: str,
        settings: CallSettings | None = None,
        cache: ReplyCache | None = None,
        budget: Budget | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.name = name
        self._settings = settings or CallSettings()
        self._cache = cache
        provider, _ = parse_model_name(name)
        check_installed()
        limits = budget or Budget()
        secret = api_key(provider, self._settings.base_url)
        self._client = RetryingClient(name, self._settings, secret, limits, prices or Prices())
        if limits.max_cost is not None and self._client.cost(1, 1) is None:
            raise InputError(
                f"cost is limited and no price of {name} is known: add it to clew.toml under [prices], or limit tokens"
            )

    def complete(self, prompts: Sequence[Prompt], on_text: OnText | None = None) -> list[Reply | Failure]:
        """Return one result a prompt, in order; equal prompts are sent once, and the first of them has the usage."""
        fields = self._settings.cache_key_fields
        keys = [call_key(self.name, prompt, fields) for prompt in prompts]
        distinct = dict(zip(keys, prompts, strict=True))
        by_key: dict[str, Reply | Failure] = {} if self._cache is None else dict(self._cache.get_many(distinct))
        missing = [PendingCall(prompt, key, on_text) for key, prompt in distinct.items() if key not in by_key]
        if missing:
            by_key |= {call.key: result for call, result in zip(missing, self._run_calls(missing), strict=True)}
        results: list[Reply | Failure] = []
        for key in keys:
            results.append(by_key[key])
            by_key[key] = _without_usage(by_key[key])
        return results

    def _run_calls(self, calls: Sequence[PendingCall]) -> list[Reply | Failure]:
        from anyio.from_thread import start_blocking_portal

        with catch_warnings():  # a setting that a model ignores, a server that reports negative token counts
            filterwarnings("ignore", module=r"pydantic_ai\b")
            with start_blocking_portal() as portal:  # a separate event loop: the caller may run in one (notebooks)
                return portal.call(self._run_concurrently, calls)

    async def _run_concurrently(self, calls: Sequence[PendingCall]) -> list[Reply | Failure]:
        """Make all calls, at most `max_concurrency` at a time; an error that ends the batch cancels the rest."""
        s = self._settings
        max_bytes = _BASE_REPLY_BYTES + _REPLY_BYTES_PER_TOKEN * s.reply_tokens
        async with open_provider(self.name, s.base_url, s.timeout, max_bytes) as model:
            batch = CallBatch(model, asyncio.Semaphore(s.max_concurrency))
            tasks = [asyncio.create_task(self._run_call(batch, call)) for call in calls]
            try:
                return list(await asyncio.gather(*tasks))
            finally:  # the caller was interrupted, or `on_text` raised
                for task in tasks:
                    task.cancel()

    async def _run_call(self, batch: CallBatch, call: PendingCall) -> Reply | Failure:
        async with batch.semaphore:
            try:
                if batch.error is None:
                    result = await self._client.complete(batch, call)
                    self._store_reply(batch, call, result)
                    return result
            except (BudgetError, ProviderError) as error:
                batch.end(error)
        return Failure(call.prompt.name, str(batch.error), call.usage, batch.error)

    def _store_reply(self, batch: CallBatch, call: PendingCall, result: Reply | Failure) -> None:
        if self._cache is None or isinstance(result, Failure):
            return
        try:
            self._cache.put(call.key, self.name, call.prompt, result)
        except ProviderError as error:  # a reply that is paid for is returned all the same
            batch.end(error)


def _without_usage(result: Reply | Failure) -> Reply | Failure:
    return replace(result, usage=Usage()) if isinstance(result, Failure) else Reply(result.value, cached=True)
