"""Time saved by concurrent language-model calls: `python bench/model_calls.py [--questions 200]`.

A local server takes one second per call and refuses more than 16 concurrent ones. `gear` is run over a batch of
questions of hotpotqa, and over some of them one by one without concurrency, whose mean is scaled to all questions. The
replies are invented, so only times and counts are meaningful.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from clew import index as indexes
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.call_settings import CallSettings
from clew.retrievers.registry import parse_retriever
from clew.types import Evidence, Usage
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, DATA, ROOT, build_index, describe_machine, print_table

sys.path.insert(0, str(ROOT))

from tests.faults.model_server import Request, RunningServer, ServerReply, model_server

AT_ONCE = 16
SECONDS = 1.0
RETRIEVER = "gear:reader=openai:made-up,steps=2"


def main() -> None:
    """Print calls, seconds and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--alone", type=int, default=10, help="number of questions run one by one")
    arguments = parser.parse_args()
    print(describe_machine())
    benchmark = BENCHMARKS["hotpotqa"]
    location = str(build_index(benchmark))
    texts = [question.text for question in load_questions(DATA / benchmark.questions)][: arguments.questions]
    with model_server(lambda request, _: reply_to(server, request)) as server:
        together, calls = time_batches(location, server, AT_ONCE, [texts])
        alone, calls_alone = time_batches(location, server, 1, [[text] for text in texts[: arguments.alone]])
    scaled = alone * calls / calls_alone
    rows = [
        [f"{len(texts)} questions together", str(calls), f"{together:.1f}", f"{together / calls * AT_ONCE:.2f}"],
        [f"{arguments.alone} questions one by one", str(calls_alone), f"{alone:.1f}", f"{alone / calls_alone:.2f}"],
    ]
    print_table(("gear, 2 steps", "calls", "seconds", "seconds per call and slot"), rows)
    print(f"one by one, all {len(texts)} would take {scaled:.0f} s: together is {scaled / together:.1f} times faster")
    print(
        f"at once, at most: {server.max_concurrent}; refused: {sum(r.get('refused', False) for r in server.requests)}"
    )


def time_batches(
    location: str, server: RunningServer, concurrency: int, batches: Sequence[Sequence[str]]
) -> tuple[float, int]:
    """Return the seconds that the batches take one after the other, and the number of calls."""
    clients = LLMClientFactory(CallSettings(base_url=server.url, max_concurrency=concurrency), use_cache=False)
    retriever = indexes.open(location, llm_factory=clients).retriever(parse_retriever(RETRIEVER), paths=0)
    retriever.retrieve(["Who?"], 10)  # warm-up
    before = len(server.requests)
    started = time.perf_counter()
    results: list[Evidence] = [evidence for batch in batches for evidence in retriever.retrieve(batch, 10)]
    seconds = time.perf_counter() - started
    calls = sum((evidence.usage for evidence in results), Usage()).calls
    if calls != len(server.requests) - before:
        raise SystemExit(f"{calls} calls are counted, but {len(server.requests) - before} were made")
    return seconds, calls


def reply_to(server: RunningServer, request: Request) -> ServerReply:
    """Reply after a second with something that fits the schema; refuse calls beyond the limit."""
    if server.active > AT_ONCE:
        request["refused"] = True
        return ServerReply("too many at once", status=429)
    instructions = request["messages"][0]["content"]
    if "You collect evidence" in instructions:
        reply: object = {"triples": [["it", "was found in", f"place {len(server.requests)}"]]}
    else:
        reply = {"answerable": False, "reasoning": "more", "next_query": f"what is {len(server.requests)}?"}
    return ServerReply(json.dumps(reply), delay=SECONDS)


if __name__ == "__main__":
    main()
