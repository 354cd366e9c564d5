"""Names taken for the full names in their document, or left: `python bench/aliases.py [SET ...] [--long KIND,...]`.

Indexes that differ in `clew index --aliases` alone, each retriever on both, with paired tests: sets of questions
(`workbench.BENCHMARKS`), and kinds of one long file (`long_files`), where a document has hundreds of passages. The rows
of the second index are those of the first with aliases, so that no passage is encoded twice.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clew import index as indexes
from clew.evaluation.runs import execute
from clew.evaluation.scoring import compare, score
from clew.evaluation.significance import Comparison, compare_means
from clew.indexing.repeated_extraction import with_aliases
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from clew.store.passage_table import PassageTable
from clew.store.schema import ALIAS_RELATION, ALIASES, IN_DOCUMENTS, WITHOUT_ALIASES, passages_schema
from clew_lab.datasets.loaders import load_questions
from long_files import QUESTIONS, K, build_index, measure
from long_files import load_questions as load_quoted_questions
from long_texts import KINDS, read_text
from workbench import BENCHMARKS, build_questions, describe_machine, print_table
from workbench import build_index as build_set

MEASURES = ("recall@2", "recall@5", "all_gold@5")
NAME_VECTORS = "derived/vectors.lance"  # of names, which most synonyms are found by
SETTINGS = (WITHOUT_ALIASES, IN_DOCUMENTS)


def main() -> None:
    """Print for each set and retriever the measures without and with aliases, and their difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=[], metavar="SET")
    parser.add_argument("--long", default="", metavar="KIND,...", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--retrievers", default="pagerank,chains,gfm")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER, help="of the indexes; gfm needs the default")
    arguments = parser.parse_args()
    retrievers = split_list(arguments.retrievers)
    print(describe_machine())
    rows: list[list[str]] = []
    for name in arguments.sets:
        rows += compare_on_set(name, arguments.encoder, retrievers)
    if arguments.long:
        rows += compare_on_long_files(split_list(arguments.long), arguments.encoder, retrievers)
    print_table(("text", "aliases", "retriever", "measure", "none", "document", "difference, paired"), rows)


def compare_on_set(name: str, encoder: str, retrievers: Sequence[str]) -> list[list[str]]:
    """Return a row for each retriever and measure on a set of questions."""
    plain = build_set(BENCHMARKS[name], encoder)
    opened = [indexes.open(plain), indexes.open(add_aliases(plain))]
    questions = load_questions(build_questions(BENCHMARKS[name]))
    count = count_aliases(opened[1])
    rows = []
    for retriever in retrievers:
        first, second = (
            score(execute(index.retriever(parse_retriever(retriever), 0), retriever, questions, 10), questions, (2, 5))
            for index in opened
        )
        for one in MEASURES:
            means = first.summary.means[one], second.summary.means[one]
            rows.append([name, count, retriever, one, *format_cells(means, compare(second, first, one))])
    return rows


def compare_on_long_files(kinds: Sequence[str], encoder: str, retrievers: Sequence[str]) -> list[list[str]]:
    """Return a row for each kind and retriever, and one for all kinds: whole evidence in the first passages."""
    rows, values = [], {(name, aliases): [] for name in retrievers for aliases in SETTINGS}  # type: ignore[var-annotated]
    for kind in kinds:
        text = read_text(kind, KINDS[kind].source)
        questions = load_quoted_questions(QUESTIONS / f"{kind}.jsonl", text)
        plain = build_index(kind, text, encoder)
        opened = dict(zip(SETTINGS, map(indexes.open, (plain, add_aliases(plain))), strict=True))
        for name in retrievers:
            for aliases, index in opened.items():
                shares, _ = measure(questions, index.retriever(parse_retriever(name), 0))
                values[name, aliases].append((shares == 1.0).astype(float))
            pair = [values[name, aliases][-1] for aliases in SETTINGS]
            rows.append([kind, count_aliases(opened[IN_DOCUMENTS]), name, f"all evidence@{K}", *compare_values(pair)])
    for name in retrievers if len(kinds) > 1 else ():
        pair = [np.concatenate(values[name, aliases]) for aliases in SETTINGS]
        rows.append(["all kinds", "", name, f"all evidence@{K}", *compare_values(pair)])
    return rows


def compare_values(pair: Sequence[np.ndarray]) -> list[str]:
    """Return the cells of the values of each question (n,) without and with aliases."""
    first, second = pair
    comparison = compare_means(SETTINGS[::-1], "value", second, first, np.random.default_rng(0))
    return format_cells((float(first.mean()), float(second.mean())), comparison)


def format_cells(means: tuple[float, float], comparison: Comparison) -> list[str]:
    """Return both means and the paired difference with its interval and p, in %."""
    c = comparison
    difference = f"{100 * c.difference:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.4f})"
    return [*(f"{100 * mean:.1f}" for mean in means), difference]


def add_aliases(plain: Path) -> Path:
    """Return an index of the same passages and vectors with the aliases of their documents, made if necessary."""
    folder = plain.with_name(f"{plain.name}-aliases")
    if not folder.is_dir():
        table = PassageTable.open(plain)
        columns = passages_schema(table.dimension, sentences=table.has_sentence_vectors).names
        rows = with_aliases(table.read().select(columns))
        made = PassageTable.create(folder, {**table.settings, ALIASES: IN_DOCUMENTS}, table.dimension)
        made.replace(rows, rows["document_id"].unique().to_pylist())
        if (plain / NAME_VECTORS).is_dir():
            shutil.copytree(plain / NAME_VECTORS, folder / NAME_VECTORS)
    return folder


def count_aliases(index: indexes.Index) -> str:
    """Return how many aliases the passages of an index have."""
    stored = index.table.read(["triples"])["triples"].combine_chunks().flatten().field("relation").to_pylist()
    return f"{stored.count(ALIAS_RELATION):,}"


if __name__ == "__main__":
    main()
