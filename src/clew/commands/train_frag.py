"""The commands that learn from questions on graphs: `clew train router` and `clew train paths`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.index import Index

Indexes = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--index", help="An index with an imported graph; once for each --questions, in the same order."),
]
Questions = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option("--questions", help="Questions on it: JSONL with question, topic and answers."),
]
OutOption = Annotated[Path, typer.Option(help="Gets the weights.")]
SeedOption = Annotated[int, typer.Option(help="Of everything random.")]


def router(
    out: OutOption,
    index: Indexes = None,
    questions: Questions = None,
    kind: Annotated[str, typer.Option(help="words (vectors of words), or tf-idf.")] = "words",
    start: Annotated[Path | None, typer.Option(help="Weights to go on from; the shipped ones with --feedback.")] = None,
    feedback: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(help="Logs of clew ask --feedback or clew eval --feedback."),
    ] = None,
    epochs: Annotated[Optional[int], typer.Option(help="How often each question is seen; 14, of feedback 3.")] = None,  # noqa: UP045
    seed: SeedOption = 0,
) -> None:
    """Train what tells simple questions from complex ones, for frag; used by --retriever frag:router_weights=FOLDER."""
    from clew.commands.output import progress_on_stderr
    from clew.retrievers.frag.hop_predictor import TERMS, WORDS
    from clew.store.pretrained import PRETRAINED_FOLDER
    from clew.training.fitting.hop_predictor import FEEDBACK_RECIPE, HopRecipe
    from clew.training.recipes.frag import train_frag_hops

    if kind not in (WORDS, TERMS):
        raise InputError(f"--kind is {kind!r}; wanted {WORDS} or {TERMS}")
    _check_out(out)
    logs = feedback or []
    recipe = FEEDBACK_RECIPE if logs and not index else HopRecipe()
    recipe = replace(recipe, kind=kind, seed=seed, epochs=recipe.epochs if epochs is None else epochs)
    recipe = replace(recipe, decay=1e-4) if kind == TERMS else recipe
    begin = PRETRAINED_FOLDER / "router" if start is None and logs and not index else start
    with progress_on_stderr() as progress:
        taught = train_frag_hops(
            _open_pairs(index, questions, progress, needed=not logs), out, recipe, progress, begin, logs
        )
    _print_result(taught.questions, taught.left_out, taught.figures)
    print(f"weights in {out}; use them: --retriever frag:router_weights={out}")


def paths(
    out: OutOption,
    index: Indexes = None,
    questions: Questions = None,
    hops: Annotated[int, typer.Option(min=1, max=4, help="Of the paths, at most.")] = 3,
    rank: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Of what is learned of the words themselves; 0 for graphs of other relations."),
    ] = None,
    nearness: Annotated[Optional[float], typer.Option(help="How near the features' weights stay to even ones.")] = None,  # noqa: UP045
    epochs: Annotated[Optional[int], typer.Option(help="How often each question is seen.")] = None,  # noqa: UP045
    seed: SeedOption = 0,
) -> None:
    """Train what ranks paths, for frag; used by --retriever frag:path_weights=FOLDER."""
    from clew.commands.output import progress_on_stderr
    from clew.training.fitting.path_ranker import PathRecipe
    from clew.training.recipes.frag import train_frag_paths

    _check_out(out)
    given = {"rank": rank, "nearness": nearness, "epochs": epochs}
    recipe = replace(PathRecipe(seed=seed), **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    with progress_on_stderr() as progress:
        taught = train_frag_paths(_open_pairs(index, questions, progress, needed=True), out, recipe, progress, hops)
    _print_result(taught.questions, taught.left_out, taught.figures)
    print(f"weights in {out}; use them: --retriever frag:path_weights={out}")


def _check_out(out: Path) -> None:
    if out.is_file():
        raise InputError(f"--out is {str(out)!r}, which is a file: name a folder")


def _open_pairs(
    indexes: list[str] | None, questions: list[Path] | None, progress: Any, *, needed: bool
) -> "list[tuple[Index, Path]]":
    from clew import index as opening

    places, files = indexes or [], questions or []
    if len(places) != len(files) or (needed and not places):
        raise InputError(
            f"{len(places)} --index and {len(files)} --questions; give one file of questions for each index"
        )
    return [(opening.open(place, progress), file) for place, file in zip(places, files, strict=True)]


def _print_result(questions: int, left_out: int, figures: dict[str, float]) -> None:
    without = f", {left_out} left out: no topic in the graph, or no path to an answer" if left_out else ""
    print(f"learned from {questions} questions{without}")
    for name, value in figures.items():
        print(f"{name}: {value:.3f}")
