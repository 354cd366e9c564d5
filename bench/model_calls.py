"""How much asking a language model for many questions at once saves: `python bench/model_calls.py [--questions 200]`.

A server on this machine takes a second a call and refuses more than 16 at once. `gear` is run over questions of
hotpotqa together, and over some of them one by one with one call at a time; their mean is scaled to all of them.
What the model says is made up, so only times and counts mean anything.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.call_settings import CallSettings
from clew.types import Evidence, Usage
from workbench import BENCHMARKS, DATA, ROOT, indexed, machine, print_table

sys.path.insert(0, str(ROOT))

from tests.faults.model_server import Request, RunningServer, ServerReply, model_server

AT_ONCE = 16
SECONDS = 1.0
RETRIEVER = "gear:reader=openai:made-up,steps=2"


def main() -> None:
    """Print calls, seconds and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--alone", type=int, default=10, help="questions that are asked one by one")
    arguments = parser.parse_args()
    print(machine())
    benchmark = BENCHMARKS["hotpotqa"]
    place = str(indexed(benchmark))
    texts = [question.text for question in load_questions(DATA / benchmark.questions)][: arguments.questions]
    with model_server(lambda request, _: played_part(server, request)) as server:
        together, calls = timed(place, server, AT_ONCE, [texts])
        alone, calls_alone = timed(place, server, 1, [[text] for text in texts[: arguments.alone]])
    scaled = alone * calls / calls_alone
    rows = [
        [f"{len(texts)} questions together", str(calls), f"{together:.1f}", f"{together / calls * AT_ONCE:.2f}"],
        [f"{arguments.alone} questions one by one", str(calls_alone), f"{alone:.1f}", f"{alone / calls_alone:.2f}"],
    ]
    print_table(("gear, 2 steps", "calls", "seconds", "seconds a call and place"), rows)
    print(f"one by one, all {len(texts)} would take {scaled:.0f} s: together is {scaled / together:.1f} times faster")
    print(
        f"at once, at most: {server.max_concurrent}; refused: {sum(r.get('refused', False) for r in server.requests)}"
    )


def timed(place: str, server: RunningServer, at_once: int, batches: Sequence[Sequence[str]]) -> tuple[float, int]:
    """Return the seconds that the batches take one after the other, and the calls made."""
    asking = LLMClientFactory(CallSettings(base_url=server.url, max_concurrency=at_once), use_cache=False)
    retriever = indexes.open(place, llm_factory=asking).retriever(RETRIEVER, paths=0)
    retriever.retrieve(["Who?"], 10)  # loads what is loaded once
    before = len(server.requests)
    started = time.perf_counter()
    found: list[Evidence] = [evidence for batch in batches for evidence in retriever.retrieve(batch, 10)]
    seconds = time.perf_counter() - started
    calls = sum((evidence.usage for evidence in found), Usage()).calls
    if calls != len(server.requests) - before:
        raise SystemExit(f"{calls} calls are counted, {len(server.requests) - before} were made")
    return seconds, calls


def played_part(server: RunningServer, request: Request) -> ServerReply:
    """Say something that fits the schema, after a second; refuse what is one too many."""
    if server.active > AT_ONCE:
        request["refused"] = True
        return ServerReply("too many at once", status=429)
    told = request["messages"][0]["content"]
    if "You collect evidence" in told:
        said: object = {"triples": [["it", "was found in", f"place {len(server.requests)}"]]}
    else:
        said = {"answerable": False, "reasoning": "more", "next_query": f"what is {len(server.requests)}?"}
    return ServerReply(json.dumps(said), delay=SECONDS)


if __name__ == "__main__":
    main()
