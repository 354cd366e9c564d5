"""Calls against a limit of the rate, with our retries and with those of pydantic-ai: `python bench/retries.py`.

A local server replies after 50 ms to `--limit` requests in each second; others get status 429 and a `Retry-After` of a
second. The same prompts are sent, 16 at a time, by `models/llm/retrying.py`, whose calls share one pause and count no
such wait as an attempt, and by pydantic-ai with its `AsyncHTTPX2TenacityTransport` and `wait_retry_after`, where each
call waits for itself and is sent five times at most. Printed are requests, refused ones, calls without a reply, and
seconds. The replies are invented.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence

from httpx2 import HTTPStatusError
from pydantic import BaseModel
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import create_async_httpx2_client
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.retries import AsyncHTTPX2TenacityTransport, RetryConfig, wait_retry_after
from tenacity import retry_if_exception_type, stop_after_attempt

from clew.models.llm.call_settings import CallSettings
from clew.models.llm.provider_model import ProviderModel
from clew.types import Failure, Prompt
from workbench import ROOT, describe_machine, print_table

sys.path.insert(0, str(ROOT))

from tests.faults.model_server import Request, ServerReply, model_server

AT_ONCE, ATTEMPTS = 16, 5
SECONDS = 0.05


class Name(BaseModel):
    """The reply that is asked for."""

    name: str


def main() -> None:
    """Print a row for each way to retry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=160)
    parser.add_argument("--limit", type=int, default=10, help="requests that the server takes in a second")
    arguments = parser.parse_args()
    texts = [f"What is the name of number {number}?" for number in range(arguments.calls)]
    print(describe_machine())
    least = (len(texts) - 1) // arguments.limit  # the first are taken at once
    print(f"{len(texts)} calls, {AT_ONCE} at a time, {arguments.limit} a second: at least {least} s")
    ways = {"retrying.py": call_by_clew, "pydantic-ai with tenacity": call_by_pydantic_ai}
    rows = [measure(name, way, texts, arguments.limit) for name, way in ways.items()]
    print_table(("retries by", "requests", "refused", "calls without a reply", "seconds"), rows)


def measure(name: str, way: Callable[[str, Sequence[str]], int], texts: Sequence[str], limit: int) -> list[str]:
    """Return a row of the table: `way` makes the calls at a URL, and returns how many got no reply."""
    taken: dict[int, int] = {}

    def reply_to(request: Request, _: int) -> ServerReply:
        second = int(time.monotonic() - started)
        taken[second] = taken.get(second, 0) + 1
        if taken[second] > limit:
            request["refused"] = True
            return ServerReply("too many in this second", status=429, headers={"Retry-After": "1"})
        return ServerReply('{"name": "a name"}', delay=SECONDS)

    with model_server(reply_to) as server:
        started = time.monotonic()
        failed = way(server.url, texts)
        seconds = time.monotonic() - started
    refused = sum(request.get("refused", False) for request in server.requests)
    return [name, str(len(server.requests)), str(refused), str(failed), f"{seconds:.1f}"]


def call_by_clew(url: str, texts: Sequence[str]) -> int:
    """Make the calls by our client."""
    settings = CallSettings(base_url=url, max_concurrency=AT_ONCE, attempts=ATTEMPTS)
    prompts = [Prompt("name", "Tell the name.", text, Name) for text in texts]
    return sum(isinstance(result, Failure) for result in ProviderModel("openai:made-up", settings).complete(prompts))


def call_by_pydantic_ai(url: str, texts: Sequence[str]) -> int:
    """Make the calls by pydantic-ai, with the transport of its documentation."""
    return asyncio.run(_call_together(url, texts))


async def _call_together(url: str, texts: Sequence[str]) -> int:
    config = RetryConfig(
        retry=retry_if_exception_type(HTTPStatusError),
        wait=wait_retry_after(max_wait=120),
        stop=stop_after_attempt(ATTEMPTS),
        reraise=True,
    )
    transport = AsyncHTTPX2TenacityTransport(config, validate_response=lambda response: response.raise_for_status())
    async with create_async_httpx2_client(transport=transport) as client:
        provider = OpenAIProvider(base_url=url, api_key="none", http_client=client)
        provider.client.max_retries = 0  # those of the transport alone
        model = OpenAIChatModel("made-up", provider=provider)
        free = asyncio.Semaphore(AT_ONCE)

        async def call(text: str) -> bool:
            async with free:
                try:
                    await model_request(model, [ModelRequest.user_text_prompt(text)])
                except (HTTPStatusError, ModelHTTPError):
                    return False
            return True

        return (await asyncio.gather(*map(call, texts))).count(False)


if __name__ == "__main__":
    main()
