"""Names found by the rules and by the tagger, and recall by extractor: `python bench/extraction.py [SET ...]`.

Without sets: exact spans in the annotated passages of `musique` whose titles the shipped weights did not learn from, as
written and in lower case, title and text; and the time of a passage, as a share of that of its vectors. With sets:
indexes that differ in the extractor alone.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from clew import index as indexes
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.indexing.extraction.span_extractor import EXTRACTOR_WEIGHTS, LearnedExtractor, load_extractor
from clew.indexing.sentence_vectors import encode_with_sentences
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.plugins.spec import split_list
from clew.protocols import Extractor
from clew.retrievers.registry import parse_retriever
from clew.training.recipes.extractor import AnnotatedPassage, find_occurrences, is_held_out, read_annotated_passages
from clew.types import Extraction, Passage
from workbench import BENCHMARKS, DATA, build_index, build_questions, describe_machine, print_table

MEASURES = ("recall@2", "recall@5", "all_gold@5", "recall@10")
TIMED = 100  # passages


def main() -> None:
    """Print the tables of spans and time, or that of recall."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=[])
    parser.add_argument("--extractors", default="rules,learned,auto")
    parser.add_argument("--retrievers", default="pagerank,gfm,chains")
    arguments = parser.parse_args()
    print(describe_machine())
    if not arguments.sets:
        print_spans()
        return
    rows = [
        [name, extractor, retriever, *cells]
        for name in arguments.sets
        for extractor in split_list(arguments.extractors)
        for retriever, cells in measure_recall(name, extractor, split_list(arguments.retrievers))
    ]
    print_table(("set", "extractor", "retriever", *MEASURES), rows)


def print_spans() -> None:
    """Print precision, recall and F of exact spans, and the time of extraction beside that of encoding."""
    share = float(load_extractor(EXTRACTOR_WEIGHTS).about["recipe"]["held_out"])
    held_out = [p for p in read_annotated_passages(DATA / "musique") if is_held_out(p.title, share)]
    lower = [replace(p, title=p.title.lower(), text=p.text.lower()) for p in held_out]
    extractors: dict[str, Extractor] = {"rules": RuleExtractor(), "learned": LearnedExtractor()}
    rows = []
    for name, extractor in extractors.items():
        for form, passages in (("as written", held_out), ("lower case", lower)):
            rows.append([name, form, *(f"{value:.3f}" for value in measure_spans(extractor, passages))])
    print(f"{len(held_out)} passages held out; exact spans of names in the text")
    print_table(("extractor", "text", "precision", "recall", "F"), rows)
    some = [make_passage(p) for p in held_out[:TIMED]]
    encoder, texts = Int8MiniLM(), [(p.title, p.text) for p in held_out[:TIMED]]
    seconds = {
        "vectors alone": measure_seconds(lambda: encode_with_sentences(encoder, texts)),
        "vectors and names in one reading": measure_seconds(lambda: extractors["learned"].extract(some)),
        "names by rules": measure_seconds(lambda: extractors["rules"].extract(some)),
    }
    alone = seconds["vectors alone"]
    print_table(("work", "time / vectors alone"), [[name, f"{value / alone:.3f}"] for name, value in seconds.items()])


def make_passage(annotated: AnnotatedPassage) -> Passage:
    """Return a passage as extractors take it."""
    return Passage("p", "p", annotated.title, annotated.text, 0, len(annotated.text))


def measure_spans(extractor: Extractor, passages: Sequence[AnnotatedPassage]) -> tuple[float, float, float]:
    """Return precision, recall and F of the exact spans that an extractor finds."""
    right = found = wanted = 0
    for passage, result in zip(passages, extractor.extract([make_passage(p) for p in passages]), strict=True):
        spans = {(m.start, m.end) for m in result.mentions} if isinstance(result, Extraction) else set()
        gold = set(longest_spans(find_occurrences(passage.text, passage.names)))
        right, found, wanted = right + len(spans & gold), found + len(spans), wanted + len(gold)
    return right / max(found, 1), right / max(wanted, 1), 2 * right / max(found + wanted, 1)


def longest_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans without those that overlap an earlier one; they come longest first."""
    chosen: list[tuple[int, int]] = []
    for start, end in spans:
        if not any(start < other_end and other_start < end for other_start, other_end in chosen):
            chosen.append((start, end))
    return chosen


def measure_seconds(work: Callable[[], object]) -> float:
    """Return the least processor time of three runs."""
    least = float("inf")
    for _ in range(3):
        started = time.process_time()
        work()
        least = min(least, time.process_time() - started)
    return least


def measure_recall(name: str, extractor: str, retrievers: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the measures of retrievers on a set whose index has this extractor."""
    benchmark = replace(BENCHMARKS[name], extractor=extractor)
    index = indexes.open(build_index(benchmark))
    specs = {retriever: parse_retriever(retriever) for retriever in retrievers}
    report = evaluate_retrievers(index, build_questions(benchmark), specs, (2, 5, 10), None, None, lambda *_: None)
    summaries = report.to_json()["retrievers"]
    return [(one, [f"{100 * summaries[one][measure]:.1f}" for measure in MEASURES]) for one in retrievers]


if __name__ == "__main__":
    main()
