"""FRAG on graphs: `python bench/frag.py [router] [quality] [variants] [paper] [feedback] [latency] [--questions N]`.

`router`: accuracy of simple or complex, in domain and on other graphs, with variants of the training. `quality`:
coverage of the selected paths and hits@1, with a plain bi-encoder and with a path ranker trained on the other family
of questions. `variants`: frag, frag-simple and frag-complex on a set balanced over 1, 2 and 3 hops, and frag with
each part replaced. `paper`: the published form beside ours on each set. `feedback`: FRAG-F, the router adapted to the
first quarter of the questions of each set beside the router as it was, of ours and of the published form, and their
accuracy on the rest; without a language model the labels are the shortest paths to the answers. `latency`: one
question on metaqa and on the generated graph of ten million triples.

Every tenth question of metaqa and pathquestion-2h is excluded from the training of routers. Rankers of the other family
see none of a set's questions; the shipped one was trained on all of metaqa/dev and pathquestion-2h.
"""

import argparse
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

import clew
from big_graph import generate
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.plugins.records import SettingsRecord
from clew.retrievers.frag.hop_predictor import TERMS, WORDS, HopPredictor, load_hop_predictor
from clew.retrievers.frag.retriever import FragRetriever
from clew.retrievers.frag.settings import Frag
from clew.retrievers.registry import parse_retriever
from clew.settings import Settings
from clew.text.display import format_count
from clew.training.fitting.hop_predictor import HopRecipe, accuracy
from clew.types import Question, ignore_progress
from clew_lab.datasets.loaders import load_questions
from clew_lab.evaluation.adaptation import FROM_ANSWERS, adapt, hops_to_gold, split_for_adaptation
from clew_lab.evaluation.evaluate_kgqa import evaluate_path_retrievers, open_path_retriever
from clew_lab.training.fitting.path_ranker import PathRecipe
from clew_lab.training.recipes.frag import hop_examples, train_frag_hops, train_frag_paths
from workbench import DATA, WORK, describe_machine, print_table

METAQA, PQ2, PQ3 = "metaqa", "pathquestion-2h", "pathquestion-3h"
FILES = {METAQA: "dev.jsonl", PQ2: "questions.jsonl", PQ3: "questions.jsonl"}
SETS = [PQ2, PQ3, METAQA]
ROWS: list[str] = []
TENTH = 10
BIG = 10_000_000
TARGETS = {  # coverage, hits@1 by a plain bi-encoder, hits@1 by a ranker of the other family
    (METAQA, 1): (0.95, 0.70, 0.90),
    (METAQA, 2): (0.85, 0.70, 0.85),
    (METAQA, 3): (0.70, 0.34, 0.55),
    (PQ2, 2): (0.98, 0.76, 0.85),
    (PQ3, 3): (0.95, 0.54, 0.70),
}
VARIANTS = (
    "frag",
    "frag-simple",
    "frag-complex",
    "frag:lengths=no",
    "frag:search=bfs,hops=3",
    "frag:search=shortest",
    "frag:search=cheapest",
    "frag:grm=rwr",
    "frag:grm=nibble",
    "frag:router=tf-idf",
    "frag:ranker=bi-encoder",
    "frag:ranker=bm25",
)

OTHER = "OTHER-FAMILY"
"""In the place of the folder of a ranker that was trained on the other family of questions."""

PUBLISHED = (
    "frag",
    "frag:preset=paper",
    "frag:preset=paper,ranker=bm25,relations_by=bm25",
    "frag:preset=paper,rank=relations,question=masked,ranker=trained",
    f"frag:path_weights={OTHER}",
)


def main() -> None:
    """Print the selected parts, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[[], "router", "quality", "variants", "paper", "feedback", "latency"]
    )
    parser.add_argument(
        "--sets", default=",".join((PQ2, PQ3, METAQA)), help="sets of paper and feedback, separated by commas"
    )
    parser.add_argument("--rows", default="", help="numbers of the rows of paper, from 0, separated by commas; all")
    parser.add_argument("--questions", type=int, default=300, help="number of questions of each kind")
    arguments = parser.parse_args()
    SETS[:] = arguments.sets.split(",")
    ROWS[:] = [PUBLISHED[int(row)] for row in arguments.rows.split(",")] if arguments.rows else PUBLISHED
    print(describe_machine())
    folder = WORK / "frag"
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "router": router, "quality": quality, "variants": variants, "paper": paper, "feedback": feedback,
        "latency": latency,
    }  # fmt: skip
    for name in arguments.parts or parts:
        print(f"\n## {name}")
        parts[name](folder, arguments.questions)


def open_graph(name: str) -> Index:
    """Return the index of a graph, imported if necessary."""
    location = WORK / f"kg-{name}"
    if not location.exists():
        clew.create(location, Settings(encoder=DEFAULT_ENCODER)).import_graph(DATA / name / "kg.tsv")
    return clew.open(location)


def open_frag(index: Index, name: str, spec: SettingsRecord) -> FragRetriever:
    """Return the retriever `frag`."""
    retriever = open_path_retriever(index, name, spec)
    if not isinstance(retriever, FragRetriever):
        raise SystemExit(f"{name} is not frag")
    return retriever


def test_questions(name: str) -> list[Question]:
    """Return the questions of a set that routers were not trained on."""
    loaded = load_questions(DATA / name / FILES[name])
    return loaded if name == PQ3 else loaded[TENTH - 1 :: TENTH]


def router(folder: Path, _count: int) -> None:
    """Train routers on metaqa, with and without pathquestion-2h, and print their accuracy."""
    encoder = open_encoder(DEFAULT_ENCODER)
    sets = {name: hop_examples(open_graph(name), test_questions(name), ignore_progress)[0] for name in FILES}
    rows = []
    for trained_on in ((METAQA,), (METAQA, PQ2)):
        for recipe in (HopRecipe(), HopRecipe(made_up=0), HopRecipe(kind=TERMS, decay=1e-4)):
            out = folder / f"router-{'+'.join(trained_on)}-{recipe.kind}-{recipe.made_up}"
            started = time.perf_counter()
            train_frag_hops(
                [(open_graph(name), DATA / name / FILES[name]) for name in trained_on], out, recipe, ignore_progress
            )
            seconds = time.perf_counter() - started
            predictor = HopPredictor(load_hop_predictor(out), encoder.encode)
            kind = recipe.kind + (", with synthetic questions" if recipe.kind == WORDS and recipe.made_up else "")
            metaqa, two, three = (accuracy(predictor, sets[name]) for name in (METAQA, PQ2, PQ3))
            figures = (metaqa, (two + three) / 2, two, three)
            rows.append([" + ".join(trained_on), kind, *(f"{figure:.3f}" for figure in figures), f"{seconds:.0f}"])
    head = ("trained on", "kind", "metaqa, held out", "PQ mixed", "PQ-2h", "PQ-3h", "seconds")
    print_table(head, rows)


def train_weights(folder: Path) -> dict[str, str]:
    """Return settings for each set: a router trained like the shipped one, and a ranker of the other family."""
    rankers = train_rankers(folder)
    both = folder / f"router-{METAQA}+{PQ2}-{WORDS}-{HopRecipe().made_up}"
    if not both.exists():
        sets = [(open_graph(name), DATA / name / FILES[name]) for name in (METAQA, PQ2)]
        train_frag_hops(sets, both, HopRecipe(), ignore_progress)
    return {name: f"router_weights={both}|path_weights={rankers[name]}" for name in FILES}


def train_rankers(folder: Path) -> dict[str, Path]:
    """Return for each set the folder of a path ranker that was trained on the other family of questions alone."""
    rankers = {}
    for family, sets_of in (("metaqa", (METAQA,)), ("pathquestion", (PQ2, PQ3))):
        out = folder / f"paths-{family}"
        if not out.exists():
            started = time.perf_counter()
            training = [(open_graph(name), DATA / name / FILES[name]) for name in sets_of]
            train_frag_paths(training, out, PathRecipe(rank=0), ignore_progress)
            print(f"ranker of paths trained on {family}: {time.perf_counter() - started:.0f} s")
        rankers[family] = out
    return {METAQA: rankers["pathquestion"], PQ2: rankers["metaqa"], PQ3: rankers["metaqa"]}


def quality(folder: Path, count: int) -> None:
    """Print coverage and hits@1 with their targets."""
    settings = train_weights(folder)
    rows = []
    for (name, hops), (coverage, plain, other) in TARGETS.items():
        selected = [q for q in test_questions(name) if q.hops == hops]
        selected = selected[:: max(1, len(selected) // count)][:count]
        routing, ranking = settings[name].split("|")
        retrievers = [f"frag:{routing},ranker=bi-encoder", f"frag:{routing},{ranking}", "frag"]
        specs = {text: parse_retriever(text) for text in retrievers}
        report = evaluate_path_retrievers(open_graph(name), selected, specs, ignore_progress).to_json()["retrievers"]
        for kind, retriever, wanted in zip(
            ("bi-encoder", "other family", "shipped weights"), retrievers, (plain, other, 0.0), strict=True
        ):
            figures = report[retriever]
            rows.append(
                [
                    f"{name}, {format_count(hops, 'hop')}",
                    str(len(selected)),
                    kind,
                    f"{figures['coverage@32']:.3f} ({coverage})",
                    _with_interval(figures, "hits@1") + (f" ({wanted})" if wanted else ""),
                    f"{figures['complex']:.2f}",
                    f"{figures['path_tokens']:.0f}",
                    f"{figures['seconds_p50'] * 1000:.0f}",
                ]
            )
    head = ("questions", "n", "ranker", "coverage@32 (wanted)", "hits@1 (wanted)", "complex", "tokens", "ms")
    print_table(head, rows)


def variants(folder: Path, count: int) -> None:
    """Print figures with each part replaced, on held-out questions of metaqa, equally many of 1, 2 and 3 hops."""
    del folder
    held_out = test_questions(METAQA)
    balanced = [q for hops in (1, 2, 3) for q in [q for q in held_out if q.hops == hops][:count]]
    specs = {text: parse_retriever(text) for text in VARIANTS}
    report = evaluate_path_retrievers(open_graph(METAQA), balanced, specs, ignore_progress).to_json()
    rows = [
        [
            name,
            _with_interval(figures, "hits@1"),
            _with_interval(figures, "coverage@32"),
            *(f"{figures[f'covered by {step}']:.3f}" for step in ("neighbourhood", "entity ranking", "path search")),
            f"{figures['seconds_p50'] * 1000:.0f}",
        ]
        for name, figures in report["retrievers"].items()
    ]
    print(f"{len(balanced)} questions, the shipped weights")
    print_table(("variant", "hits@1", "coverage@32", "in hops", "after ranking", "after search", "ms"), rows)
    _print_comparisons(report)


def _print_comparisons(report: dict[str, Any]) -> None:
    """Print the differences in hits@1 between retrievers, with their intervals."""
    for c in report["comparisons"]:
        if c["measure"] == "hits@1":
            interval = f"{c['difference']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f})"
            print(f"{c['a']} minus {c['b']}: {interval}, p = {c['p']:.4f}", flush=True)


def paper(folder: Path, count: int) -> None:
    """Print the published form beside ours, on evenly spaced held-out questions of each set.

    The last row has a ranker that saw none of the set's questions, nor any of its family.
    """
    other = train_rankers(folder) if any(OTHER in text for text in ROWS) else {}
    for name in SETS:
        held_out = test_questions(name)
        chosen = [held_out[i * len(held_out) // count] for i in range(min(count, len(held_out)))]
        specs = {text: parse_retriever(text.replace(OTHER, str(other.get(name)))) for text in ROWS}
        report = evaluate_path_retrievers(open_graph(name), chosen, specs, ignore_progress).to_json()
        rows = [
            [
                text,
                _with_interval(figures, "hits@1"),
                _with_interval(figures, "coverage@32"),
                f"{figures['path_recall']:.3f}" if "path_recall" in figures else "",
                f"{figures['complex']:.2f}",
                f"{figures['covered by path search']:.3f}",
                f"{figures['seconds_p50'] * 1000:.0f}",
            ]
            for text, figures in report["retrievers"].items()
        ]
        print(f"\n{name}: {len(chosen)} questions, the shipped weights")
        print_table(("variant", "hits@1", "coverage@32", "path recall", "complex", "after search", "ms"), rows)
        _print_comparisons(report)


def feedback(folder: Path, count: int) -> None:
    """Print FRAG-F beside FRAG, with the routers of the other sets' questions: the shipped one knows these sets."""
    for name in SETS:
        others = [other for other in FILES if other.partition("-")[0] != name.partition("-")[0]]
        unseen = folder / f"router-{'+'.join(others)}-{WORDS}-{HopRecipe().made_up}"
        index, held_out = open_graph(name), test_questions(name)
        if not unseen.exists():
            graphs = [(open_graph(other), DATA / other / FILES[other]) for other in others]
            train_frag_hops(graphs, unseen, HopRecipe(), ignore_progress)
        count_of_set = min(count, len(held_out))
        spaced = [held_out[i * len(held_out) // count_of_set] for i in range(count_of_set)]
        chosen = [spaced[int(i)] for i in np.random.default_rng(0).permutation(count_of_set)]
        specs = {
            text: parse_retriever(text)
            for form in ("frag", "frag:preset=paper")
            for text in (form, f"{form}{',' if ':' in form else ':'}router_weights={unseen}")
        }
        report = evaluate_path_retrievers(index, chosen, specs, ignore_progress, adapt_from=FROM_ANSWERS).to_json()
        adapting, rest = split_for_adaptation(chosen)
        examples, measured = (hops_to_gold(index, some, ignore_progress) for some in (adapting, rest))
        right: dict[str, float] = {}
        for text, spec in specs.items():
            retriever = open_frag(index, text, spec)
            for label, arm in ((text, retriever), (f"{text} adapted", adapt(text, retriever, examples))):
                assert arm.hop_predictor is not None  # `adapt` has refused it
                right[label] = accuracy(arm.hop_predictor, measured)
        rows = [
            [
                text.replace(str(unseen), "OTHERS"),
                _with_interval(figures, "hits@1"),
                _with_interval(figures, "coverage@32"),
                f"{figures['complex']:.2f}",
                f"{right[text]:.3f}",
            ]
            for text, figures in report["retrievers"].items()
        ]
        print(
            f"\n{name}: {len(rest)} questions, adapted to {len(examples)}; OTHERS: trained on {', '.join(others)} alone"
        )
        print_table(("variant", "hits@1", "coverage@32", "complex", "routed right"), rows)


def _with_interval(figures: dict[str, Any], measure: str) -> str:
    low, high = figures["intervals"][measure]
    return f"{figures[measure]:.3f} ({low:.3f}-{high:.3f})"


def latency(folder: Path, count: int) -> None:
    """Print the median time of a question on metaqa and on ten million triples."""
    big = WORK / "kg-big"
    if not big.exists():
        file = folder / f"graph-{BIG}.tsv"
        if not file.exists():
            generate(file, BIG)
        try:
            clew.create(big, Settings(encoder=DEFAULT_ENCODER)).import_graph(file)
        except KeyboardInterrupt:
            shutil.rmtree(big, ignore_errors=True)
            raise
    known = [(q.text, q.topics) for q in test_questions(METAQA)[:count]]
    names = clew.open(big).snapshot.entities
    heads = clew.open(big).snapshot.triples[:, 0]
    generator = np.random.default_rng(0)
    topics = [names[int(heads[i])] for i in generator.integers(0, len(heads), count)]
    others: list[tuple[str, tuple[str, ...]]] = [
        (text, (topic,)) for (text, _), topic in zip(known, topics, strict=True)
    ]
    graphs: dict[str, tuple[Index, list[tuple[str, tuple[str, ...]]]]] = {
        "metaqa": (clew.open(WORK / "kg-metaqa"), known),
        "ten million": (clew.open(big), others),
    }
    rows = []
    for kind in ("bi-encoder", "trained"):
        for name, (index, pairs) in graphs.items():
            retriever = open_path_retriever(index, "frag", Frag(ranker=kind))
            for text, topic in pairs[:20]:
                retriever.retrieve_about([text], [topic], 5)
            milliseconds = []
            for text, topic in pairs:
                started = time.perf_counter()
                retriever.retrieve_about([text], [topic], 5)
                milliseconds.append(1000 * (time.perf_counter() - started))
            rows.append([kind, name, f"{np.median(milliseconds):.1f}", f"{np.percentile(milliseconds, 95):.1f}"])
    print_table(("ranker", "graph", "ms, median", "ms, 95 %"), rows)


if __name__ == "__main__":
    main()
