"""The command line. Results go to standard output, progress and errors to standard error; exit codes: see `errors`."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Optional

import typer
from typer.exceptions import TyperException

from clew.commands.cache import cache
from clew.commands.graphs import kg
from clew.commands.index import export, index
from clew.commands.options import (
    BaseOption,
    BaseUrlOption,
    CacheFlag,
    CostOption,
    CountOption,
    FeedbackOption,
    IndexOption,
    JsonFlag,
    ModelOption,
    PathsOption,
    PoolOption,
    PositivesFlag,
    ReaderOption,
    RerankOption,
    RetrieverOption,
    StepsOption,
    TokensOption,
    TopicOption,
    TraceFlag,
    WhereOption,
    check_json_file,
    make_client_factory,
)
from clew.commands.train_frag import paths as train_paths
from clew.commands.train_frag import router as train_router
from clew.commands.train_gfm import adapt, train, weights
from clew.commands.train_reranker import reranker as train_reranker
from clew.commands.train_subgraph import compare
from clew.commands.train_subgraph import subgraph as train_subgraph
from clew.errors import BudgetError, ClewError, InputError

if TYPE_CHECKING:
    from clew.index import Index
    from clew.models.llm.access import LLMClientFactory

app = typer.Typer(
    name="clew",
    help="Multi-hop retrieval: documents in, cited evidence out. Needs no language model and no network.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

train.command(name="router")(train_router)
train.command(name="paths")(train_paths)
train.command(name="subgraph")(train_subgraph)
train.command(name="reranker")(train_reranker)
app.command(name="compare")(compare)
app.add_typer(train, name="train")
app.add_typer(weights, name="weights")
app.add_typer(cache, name="cache")
app.add_typer(kg, name="kg")


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Print the help where no command is given."""
    if version:
        from importlib.metadata import version as installed

        print(f"clew {installed('clew')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command()(index)


@app.command()
def search(
    question: str,
    index: IndexOption,
    retriever: RetrieverOption = None,
    k: CountOption = None,
    where: WhereOption = None,
    paths: PathsOption = 1,
    topic: TopicOption = None,
    base: BaseOption = None,
    reader: ReaderOption = None,
    steps: StepsOption = None,
    rerank: RerankOption = None,
    pool: PoolOption = None,
    trace: TraceFlag = False,
    base_url: BaseUrlOption = None,
    max_cost: CostOption = None,
    max_tokens: TokensOption = None,
    cache: CacheFlag = True,
    json_: JsonFlag = False,
) -> None:
    """Find the passages that together answer a question, and the paths that join them."""
    from clew.commands.output import evidence_json, print_evidence, print_steps, progress_on_stderr
    from clew.commands.specs import add_options
    from clew.retrievers.registry import parse_retriever

    name, count = _defaults(retriever, k)
    with progress_on_stderr() as progress:
        opened = _open(index, progress, make_client_factory(base_url, max_cost, max_tokens, cache))
        given = {"base": base, "reader": reader, "steps": steps, "rerank": rerank, "rerank_depth": pool}
        (name,) = add_options([str(opened.resolve_retriever(name))], given)
        evidence = opened.search(question, count, parse_retriever(name), where, paths, topic or ())
    if json_:
        _print_json(evidence_json(question, name, evidence))
        return
    print_evidence(evidence)
    if trace:
        print_steps(evidence.steps)


@app.command()
def ask(
    question: str,
    index: IndexOption,
    model: ModelOption = None,
    retriever: RetrieverOption = None,
    k: CountOption = None,
    where: WhereOption = None,
    paths: PathsOption = 1,
    topic: TopicOption = None,
    base: BaseOption = None,
    reader: ReaderOption = None,
    steps: StepsOption = None,
    rerank: RerankOption = None,
    pool: PoolOption = None,
    trace: TraceFlag = False,
    feedback: FeedbackOption = None,
    base_url: BaseUrlOption = None,
    max_cost: CostOption = None,
    max_tokens: TokensOption = None,
    cache: CacheFlag = True,
    json_: JsonFlag = False,
) -> None:
    """Answer a question with quoted, cited sentences; without a language model nothing is ever made up."""
    from clew.answering.feedback_log import log_answer
    from clew.commands.output import (
        answer_json,
        print_answer,
        print_steps,
        progress_on_stderr,
        streaming_answer,
    )
    from clew.commands.specs import add_options
    from clew.retrievers.registry import parse_retriever
    from clew.settings import load_settings

    name, count = _defaults(retriever, k)
    with progress_on_stderr() as progress:
        opened = _open(index, progress, make_client_factory(base_url, max_cost, max_tokens, cache))
        given = {"base": base, "reader": reader, "steps": steps, "rerank": rerank, "rerank_depth": pool}
        (name,) = add_options([str(opened.resolve_retriever(name))], given)
        writer = load_settings().model if model is None else model
        if feedback is not None and not writer:
            raise InputError("--feedback notes the path that a language model names: give --model too")
        spec = parse_retriever(name)
        answerer = opened.answerer(writer, spec)
        evidence = opened.search(question, count, spec, where, paths, topic or ())
    growing = None if json_ else streaming_answer()
    answer = answerer.answer([question], [evidence], growing)[0]
    if feedback is not None:
        log_answer(feedback, question, topic or (), answer)
    if json_:
        _print_json(answer_json(question, name, answer))
    else:
        print_answer(answer, growing)
        if trace:
            print_steps(evidence.steps)
    if answer.failure and answer.failure.run_error:
        raise answer.failure.run_error


@app.command(name="eval")
def evaluate(
    index: IndexOption,
    questions: Annotated[Path, typer.Option(help="Questions with gold: JSONL, HotpotQA, MuSiQue, 2Wiki, BEIR.")],
    retriever: RetrieverOption = None,
    cutoffs: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, by commas.")] = "2,5,10",
    where: WhereOption = None,
    paths: PathsOption = 0,
    json_: Annotated[Optional[Path], typer.Option("--json", help="Write the figures to a file.")] = None,  # noqa: UP045
    runs: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Keep the rankings in this folder; those found there are scored, not run again."),
    ] = None,
    positives: PositivesFlag = False,
    answer: Annotated[bool, typer.Option("--answer", help="Also score the answers of `ask`.")] = False,
    model: ModelOption = None,
    feedback: FeedbackOption = None,
    base: BaseOption = None,
    reader: ReaderOption = None,
    steps: StepsOption = None,
    rerank: RerankOption = None,
    pool: PoolOption = None,
    base_url: BaseUrlOption = None,
    max_cost: CostOption = None,
    max_tokens: TokensOption = None,
    cache: CacheFlag = True,
) -> None:
    """Measure retrievers on questions whose evidence is known, side by side."""
    from clew.commands.output import print_scores, progress_on_stderr
    from clew.commands.specs import add_options
    from clew.datasets.loaders import load_questions
    from clew.evaluation.evaluate_kgqa import are_graph_questions, evaluate_path_retrievers
    from clew.evaluation.evaluate_retrieval import evaluate_retrievers
    from clew.plugins.spec import split_list
    from clew.retrievers.registry import parse_retriever
    from clew.settings import load_settings

    check_json_file(json_)
    names, _ = _defaults(retriever, None)
    with progress_on_stderr() as progress:
        opened = _open(index, progress, make_client_factory(base_url, max_cost, max_tokens, cache))
        ks = _parse_cutoffs(cutoffs)
        given = {"base": base, "reader": reader, "steps": steps, "rerank": rerank, "rerank_depth": pool}
        chosen = add_options([str(opened.resolve_retriever(name)) for name in split_list(names)], given)
        writer = load_settings().model if model is None else model
        answerer = opened.answerer(writer, parse_retriever(chosen[0])) if answer else None
        if feedback is not None and answerer is None:
            raise InputError("--feedback notes the paths that a language model names: give --answer and --model too")
        asked = load_questions(questions)
        if are_graph_questions(asked):
            if positives:
                raise InputError("--positives ranks gold ids, and questions on graphs have none: leave it out")
            report = evaluate_path_retrievers(opened, asked, chosen, progress, answerer, feedback)
        else:
            report = evaluate_retrievers(
                opened, questions, chosen, ks, where, runs, progress, answerer, paths=paths, positives=positives
            )
    figures = report.to_json()
    if json_ is not None:
        _write_json(json_, figures)
    print_scores(figures)
    if ended := opened.llm_factory.budget.exceeded_message:  # what was measured before it is printed all the same
        raise BudgetError(ended)


@app.command()
def corpus(path: Annotated[Path, typer.Argument(help="HotpotQA, MuSiQue, 2Wiki, HippoRAG or BEIR.")]) -> None:
    """Print the passages of a benchmark as JSON lines, to be read by `clew index -`; ids fit those of its questions."""
    from clew.datasets.loaders import load_corpus

    for document in load_corpus(path):
        record = {"id": document.id, "title": document.title, "text": document.text}
        print(json.dumps(record, ensure_ascii=False))


@app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids of documents, names of imported graphs.")],
    index: IndexOption,
) -> None:
    """Remove documents and imported graphs; nothing of them stays in the graph."""
    report = _open(index).remove(list(ids))
    graphs = f"{report.removed_graphs} graphs" if report.removed_graphs else ""
    documents = f"{report.removed} documents" if report.removed or not graphs else ""
    print(f"removed {' and '.join(filter(None, (documents, graphs)))}")


@app.command()
def stats(index: IndexOption, json_: JsonFlag = False) -> None:
    """Print what an index holds and what it was made with."""
    from clew.commands.output import print_stats

    figures = _open(index).stats()
    if json_:
        _print_json(asdict(figures))
    else:
        print_stats(figures)


@app.command()
def verify(index: IndexOption) -> None:
    """Read every row and every derived file and check them; exit 1 when damage is found."""
    from clew.indexing.snapshot_builder import snapshot_folder, snapshot_problems
    from clew.retrievers.gfm.weights import find_weights_problems
    from clew.store.passage_table import PassageTable
    from clew.store.verify import verify as check

    problems = check(index)
    if not problems:
        table = PassageTable.open(index)
        problems = snapshot_problems(snapshot_folder(table)) + find_weights_problems(table.location.derived)
    for problem in problems:
        print(problem)
    if problems:
        raise typer.Exit(1)
    print("clean: every passage reads back as it was written")


@app.command()
def repair(index: IndexOption) -> None:
    """Mend a damaged index: drop what is derived, go back to what can be read, and say what was lost."""
    from clew.store.verify import repair as mend

    for action in mend(index):
        print(action)
    print("done: run `clew index` on your documents to add what was lost")


@app.command()
def compact(index: IndexOption) -> None:
    """Rewrite many small files as few, and drop older versions."""
    opened = _open(index)
    print(f"dropped {opened.compact()} older versions")


@app.command()
def diff(old: str, new: str, limit: Annotated[int, typer.Option(min=0, help="Names shown a kind.")] = 10) -> None:
    """Compare the passages, entities and triples of two indexes; exit 0 for equal, 1 for different."""
    from clew.commands.output import print_difference
    from clew.graph.snapshot.diff import diff_snapshots

    changes = diff_snapshots(_open(old).snapshot, _open(new).snapshot)
    print_difference(changes, limit)
    if not changes.is_empty:
        raise typer.Exit(1)


app.command()(export)
app.command()(adapt)


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 our own fault, 2 bad input."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter must not stop a search
    try:
        # Not `app()`: that ends the process by itself, and without a word, on Ctrl-C and on a closed pipe.
        command = typer.main.get_command(app)
        with command.make_context("clew", sys.argv[1:]) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except ClewError as error:
        _exit_with_error(str(error), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _exit_with_error("stopped; what was committed is kept, and the same command goes on from there", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit flushes into the closed pipe again
    except TyperException as error:
        _exit_with_error(f"{error.format_message()} (see clew --help)", 2)
    sys.exit(0)


def _exit_with_error(message: str, code: int) -> NoReturn:
    """Print one line; what a terminal does not show as a letter, it gets as an escape."""
    line = " ".join(message.split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    print(f"clew: {shown}", file=sys.stderr)
    sys.exit(code)


def _open(location: str, progress: Any = None, clients: "LLMClientFactory | None" = None) -> "Index":
    from clew import index as indexes
    from clew.types import ignore_progress

    return indexes.open(location, progress or ignore_progress, clients)


def _defaults(retriever: str | None, k: int | None) -> tuple[str, int]:
    from clew.settings import load_settings

    settings = load_settings()
    return settings.retriever if retriever is None else retriever, settings.k if k is None else k


def _parse_cutoffs(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--k is {text!r}: give whole numbers by commas, such as 2,5,10") from error
    if min(numbers) < 1:
        raise InputError(f"--k is {text!r}: every cut-off must be at least 1")
    return sorted(set(numbers))


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _write_json(path: Path, value: Any) -> None:
    from clew.store.atomic import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
