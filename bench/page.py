"""The page in a real browser: `python bench/page.py`, with Chromium and the extra `server`.

    chain   milliseconds from pressing Enter to the first chain of the example corpus on the screen, and to the answer
    graph   frames a second, and the longest pause, while a graph of 2,000 nodes is dragged

Both are medians of `--runs`; the first question of the server is not counted.
"""

import argparse
import shutil
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.server.serving import server_process
from workbench import ROOT, WORK, describe_machine, print_table, run_clew

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTION = "Who founded the school where the boat James Caird is kept today?"
NODES = 2_000
_CHAIN = """() => new Promise((resolve) => {
  const began = performance.now();
  const seen = {};
  const look = () => {
    if (!seen.chain && document.querySelector(".chain")) seen.chain = performance.now() - began;
    if (!seen.answer && document.querySelector(".answer-text")?.textContent) seen.answer = performance.now() - began;
    seen.chain && seen.answer ? resolve(seen) : requestAnimationFrame(look);
  };
  document.getElementById("question-form").requestSubmit();
  look();
})"""
_GRAPH = """async (count) => {
  const { Graph } = await import("/page/js/graph.js");
  const graph = new Graph(document.getElementById("graph"), () => {}, () => {});
  const entities = Array.from({ length: count }, (_, i) => ({ id: `n${i}`, name: `Entity ${i}` }));
  const edges = entities.slice(1).flatMap((entity, i) => [
    { head_id: entity.id, tail_id: `n${Math.floor(i / 3)}`, relation: "near", head: "", tail: "" },
    { head_id: entity.id, tail_id: `n${(i * 7919) % count}`, relation: "met", head: "", tail: "" },
  ]);
  graph.add(entities, edges);
  return new Promise((resolve) => {
    const times = [];
    const step = (now) => {
      times.push(now);
      graph.core.panBy({ x: times.length % 2 ? 9 : -7, y: 5 });
      if (times.length < 90) requestAnimationFrame(step);
      else resolve(times.slice(1).map((time, i) => time - times[i]));
    };
    requestAnimationFrame(step);
  });
}"""


@contextmanager
def open_page() -> Iterator["Page"]:
    """Yield a page of Chromium."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        raise SystemExit("no Chromium on this machine: install Debian's package chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1200, "height": 900})
        browser.close()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    index = WORK / "polar"
    run_clew("index", str(ROOT / "examples" / "polar"), "--index", str(index))
    print(describe_machine())
    with server_process(f"polar={index}") as (_, client), open_page() as page:
        chains, answers, pauses = [], [], []
        for _ in range(runs + 1):
            page.goto(f"{client.base_url}/?index=polar")
            page.wait_for_selector("#index option", state="attached")
            page.fill("#question", QUESTION)
            seen = page.evaluate(_CHAIN)
            chains.append(seen["chain"])
            answers.append(seen["answer"])
        for _ in range(runs):
            page.goto(f"{client.base_url}/explore?index=polar")
            page.wait_for_selector("#index option", state="attached")
            pauses.append(page.evaluate(_GRAPH, NODES))
    middle = statistics.median
    rows = [
        ["answer on the screen", f"{middle(answers[1:]):.0f} ms"],
        ["first chain on the screen", f"{middle(chains[1:]):.0f} ms"],
        [f"{NODES:,} nodes dragged: frames a second", f"{middle(1000 * len(p) / sum(p) for p in pauses):.0f}"],
        [f"{NODES:,} nodes dragged: longest pause", f"{middle(max(p) for p in pauses):.0f} ms"],
    ]
    print_table(("page", "median"), rows)


if __name__ == "__main__":
    main()
