"""The command line. Results go to standard output, progress and errors to standard error; exit codes: see `errors`."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Optional

import typer
from typer.exceptions import TyperException

from clew.cli_training import adapt, train, weights
from clew.errors import ClewError, InputError

if TYPE_CHECKING:
    from clew.index import Index

app = typer.Typer(
    name="clew",
    help="Multi-hop retrieval: documents in, cited evidence out. Needs no language model and no network.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(train, name="train")
app.add_typer(weights, name="weights")

IndexOption = Annotated[str, typer.Option("--index", help="The index: a folder, or s3://bucket/prefix.")]
RetrieverOption = Annotated[
    Optional[str],  # noqa: UP045 - typer reads Optional on every Python it supports
    typer.Option(
        "--retriever",
        help="gfm, pagerank, bm25, dense, fused, title-links, entity-graph, hipporag2, naive-ge, sync-ge, gear or "
        "ircot; settings after a colon.",
    ),
]
CountOption = Annotated[Optional[int], typer.Option("-k", help="How many passages.")]  # noqa: UP045
WhereOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--where", help="Keep passages whose metadata meet a condition: year >= 1990 AND lang = 'en'."),
]
BaseOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--base", help="Base retriever of naive-ge, sync-ge, gear and ircot; bm25."),
]
ReaderOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--reader", help="Who reads for sync-ge, gear and ircot: local, without a language model."),
]
StepsOption = Annotated[Optional[int], typer.Option("--steps", help="Steps of gear and ircot, at most; 4.")]  # noqa: UP045
PathsOption = Annotated[int, typer.Option("--paths", help="Paths a passage, for gfm; each costs milliseconds.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]


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


@app.command()
def index(
    paths: Annotated[list[str], typer.Argument(help="Files and folders to read; - reads standard input.")],
    index: IndexOption,
    extractor: Annotated[Optional[str], typer.Option(help="rules, or published:FILE.")] = None,  # noqa: UP045
    encoder: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="all-MiniLM-L6-v2, hashing, none, or a sentence-transformers name; for a new index."),
    ] = None,
) -> None:
    """Add documents to an index, making it where there is none; what has not changed costs nothing."""
    from clew.indexing.readers import read
    from clew.reporting import print_report, progress_on_stderr

    documents = read(list(paths))  # a path that does not exist fails here, before an index is made
    with progress_on_stderr() as progress:
        opened = _open_or_create(index, extractor, encoder, progress)
        report = opened.add(documents, extractor)
        if report.passages == opened.table.count_rows():  # else the first search makes what is missing, in a second
            opened.prepare()
    print_report(report, opened.table.count_rows())


def _open_or_create(location: str, extractor: str | None, encoder: str | None, progress: Any) -> "Index":
    from clew import index as indexes
    from clew.models.encoders import open_encoder
    from clew.settings import load_settings
    from clew.store.location import locate
    from clew.store.opening import open_dataset

    if open_dataset(locate(location)) is not None:
        opened = indexes.open(location, progress)
        if encoder is not None and open_encoder(encoder).name != opened.table.settings["encoder"]:
            raise InputError(
                f"{location} was made with the encoder {opened.table.settings['encoder']!r}, not {encoder!r}: "
                "leave --encoder out, or choose another --index"
            )
        return opened
    given = {"extractor": extractor, "encoder": encoder}
    chosen = load_settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    return indexes.create(location, chosen, progress)


@app.command()
def search(
    question: str,
    index: IndexOption,
    retriever: RetrieverOption = None,
    k: CountOption = None,
    where: WhereOption = None,
    paths: PathsOption = 1,
    base: BaseOption = None,
    reader: ReaderOption = None,
    steps: StepsOption = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print every step of an agent.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Find the passages that together answer a question, and the paths that join them."""
    from clew.reporting import evidence_json, print_evidence, print_steps, progress_on_stderr

    name, count = _defaults(retriever, k)
    with progress_on_stderr() as progress:
        opened = _open(index, progress)
        name = _with(opened.retriever_name(name), {"base": base, "reader": reader, "steps": steps})
        evidence = opened.search(question, count, name, where, paths)
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
    retriever: RetrieverOption = None,
    k: CountOption = None,
    where: WhereOption = None,
    paths: PathsOption = 1,
    base: BaseOption = None,
    reader: ReaderOption = None,
    steps: StepsOption = None,
    json_: JsonFlag = False,
) -> None:
    """Answer a question with quoted, cited sentences; without a language model nothing is ever made up."""
    from clew.reporting import answer_json, print_answer, progress_on_stderr

    name, count = _defaults(retriever, k)
    with progress_on_stderr() as progress:
        opened = _open(index, progress)
        name = _with(opened.retriever_name(name), {"base": base, "reader": reader, "steps": steps})
        answer = opened.ask(question, count, name, where, paths)
    if json_:
        _print_json(answer_json(question, name, answer))
    else:
        print_answer(answer)


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
    answer: Annotated[bool, typer.Option("--answer", help="Also score the answers of `ask`.")] = False,
    base: BaseOption = None,
    reader: ReaderOption = None,
    steps: StepsOption = None,
) -> None:
    """Measure retrievers on questions whose evidence is known, side by side."""
    from clew.measuring import measure
    from clew.reporting import print_scores, progress_on_stderr
    from clew.retrievers.options import split_names

    if json_ is not None and json_.is_dir():
        raise InputError(f"--json is {str(json_)!r}, which is a folder: name a file in it")
    if json_ is not None and any(part.is_file() for part in json_.parents):
        raise InputError(f"--json is {str(json_)!r}, which lies below a file: choose another place")
    names, _ = _defaults(retriever, None)
    with progress_on_stderr() as progress:
        opened = _open(index, progress)
        ks = _numbers(cutoffs)
        given = {"base": base, "reader": reader, "steps": steps}
        chosen = [_with(opened.retriever_name(name), given) for name in split_names(names)]
        report = measure(opened, questions, chosen, ks, where, runs, progress, answers=answer, paths=paths)
    if json_ is not None:
        _write_json(json_, report)
    print_scores(report)


@app.command()
def corpus(path: Annotated[Path, typer.Argument(help="HotpotQA, MuSiQue, 2Wiki, HippoRAG or BEIR.")]) -> None:
    """Print the passages of a benchmark as JSON lines, to be read by `clew index -`; ids fit those of its questions."""
    from clew.evaluation.datasets import load_corpus

    for document in load_corpus(path):
        record = {"id": document.id, "title": document.title, "text": document.text}
        print(json.dumps(record, ensure_ascii=False))


@app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids of documents.")],
    index: IndexOption,
) -> None:
    """Remove documents; nothing of them stays in the graph."""
    report = _open(index).remove(list(ids))
    print(f"removed {report.removed} documents")


@app.command()
def stats(index: IndexOption, json_: JsonFlag = False) -> None:
    """Print what an index holds and what it was made with."""
    from clew.reporting import print_stats

    figures = _open(index).stats()
    if json_:
        _print_json(figures)
    else:
        print_stats(figures)


@app.command()
def verify(index: IndexOption) -> None:
    """Read every row and every derived file and check them; exit 1 when damage is found."""
    from clew.retrievers.gfm_weights import weights_problems
    from clew.snapshots import snapshot_folder, snapshot_problems
    from clew.store.table import PassageTable
    from clew.store.verify import verify as check

    problems = check(index)
    if not problems:
        table = PassageTable.open(index)
        problems = snapshot_problems(snapshot_folder(table)) + weights_problems(table.location.derived)
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
    from clew.graph.difference import difference
    from clew.reporting import print_difference

    changes = difference(_open(old).snapshot, _open(new).snapshot)
    print_difference(changes, limit)
    if not changes.empty:
        raise typer.Exit(1)


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
        _fail(str(error), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _fail("stopped; what was committed is kept, and the same command goes on from there", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit flushes into the closed pipe again
    except TyperException as error:
        _fail(f"{error.format_message()} (see clew --help)", 2)
    sys.exit(0)


def _fail(message: str, code: int) -> NoReturn:
    """Print one line; what a terminal does not show as a letter, it gets as an escape."""
    line = " ".join(message.split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    print(f"clew: {shown}", file=sys.stderr)
    sys.exit(code)


def _open(location: str, progress: Any = None) -> "Index":
    from clew import index as indexes

    return indexes.open(location, progress) if progress else indexes.open(location)


def _defaults(retriever: str | None, k: int | None) -> tuple[str, int]:
    from clew.settings import load_settings

    settings = load_settings()
    return settings.retriever if retriever is None else retriever, settings.k if k is None else k


def _with(retriever: str, given: dict[str, str | int | None]) -> str:
    """Return a retriever's name with the settings of the options that were given."""
    name, _, settings = retriever.partition(":")
    more = [f"{key}={value}" for key, value in given.items() if value is not None]
    together = ",".join(part for part in (settings, *more) if part)
    return f"{name}:{together}" if together else name


def _numbers(text: str) -> list[int]:
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
    from clew.store.derived import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
