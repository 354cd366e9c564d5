"""Training of the reranker `g-rag` on questions with known evidence.

Every base retriever answers every question of some folders of data; the passages found, as document graphs, are stored
in the run's folder, so that another network or loss is trained without retrieving again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clew.errors import InputError
from clew.protocols import fingerprint_of
from clew.query.context import IndexContext
from clew.rerankers.g_rag.weights import FeatureColumns, TrainedDocumentGNN, save_reranker
from clew.retrievers.registry import RETRIEVERS, open_retriever, parse_retriever
from clew.settings import Settings
from clew.training.checkpoint import ProcessGroup
from clew.training.data import corpora
from clew.training.data.corpora import (
    CORPUS_FILE,
    DEVELOPMENT_FILE,
    QUESTIONS_PER_BATCH,
    TRAIN_FILE,
    hash_file,
    hash_folders,
)
from clew.training.hyperparameters import TrainingResult
from clew.training.loop import SINGLE_PROCESS, train
from clew.types import Evidence, Progress, Question
from clew_lab.amr.reranker import AMRForm, make_document_graphs
from clew_lab.datasets.loaders import load_questions
from clew_lab.nn.document_gnn import ARCHITECTURE_VERSION
from clew_lab.training.data.reranking_pools import (
    PoolExample,
    check_connected,
    load_pools,
    make_pool_examples,
    missing_graphs,
    save_pools,
)
from clew_lab.training.objectives.reranking import Reranking, figures_by_set
from clew_lab.training.recipes.candidate_pools import PoolPlace, find_candidate_pools, hash_parts
from clew_lab.training.recipes.networks import available_columns, build_document_network, input_columns
from clew_lab.training.recipes.rerank_recipe import RerankRecipe

POOL_FILE_VERSION = 2


def train_reranker(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    bases: Sequence[str],
    recipe: RerankRecipe,
    progress: Progress,
    run: Path | None = None,
    also: Mapping[Path, Sequence[str]] = MappingProxyType({}),
    group: ProcessGroup = SINGLE_PROCESS,
    candidates: Sequence[Path] = (),
    settings: Settings | None = None,
) -> TrainingResult:
    """Train the network that reranks on some folders of data, and write its weights.

    Folders have a corpus and `train.jsonl`, those of validation, which choose the epoch, `dev.jsonl`; without any, the
    last epoch is stored. `bases` are the retrievers whose pools are learned from, as `--retriever` takes them; `also`
    has further ones for one folder of data only, such as one that was trained on the other folders: on questions that
    it has learned from, its pools would be better than on others. `run`, by default `out`/run, holds the indexes, the
    pools and the state of the run, which resumes after a kill. Several recipes may share it.

    `candidates` are files of pools (see `clew_lab.datasets.candidates`) that are learned from beside the folders, or in
    their place; a file among `validation` is one, too. `settings` are those of indexes, among them the encoder; None
    for the user's.
    """
    files = [path for path in validation if path.is_file()]
    folders = [path for path in validation if path not in files]
    _check_inputs(data, folders, out, bases, also, (candidates, files))
    names, run = corpora.distinct_names([*data, *validation, *candidates]), run or out / "run"
    place = PoolPlace(run, progress, group.device.type, settings)
    source = (place.open_index(data[0]) if data else place.open_candidates(candidates[0], recipe.kind)).encoder
    own = [also.get(folder, ()) for folder in data]
    training = _training_pools(data, candidates, bases, own, recipe, place)
    held_out = _held_out_pools(folders, files, bases, names, recipe, place)
    read = input_columns(recipe)
    columns = FeatureColumns.locate(read, available_columns(recipe))
    objective = Reranking(training, held_out, columns, recipe.loss, recipe.steps, recipe.choose_by)
    model = build_document_network(recipe, source.dimension)
    recipe = _fit_schedule(recipe, len(objective))
    hashes = hash_folders(data, TRAIN_FILE, settings), hash_folders(folders, DEVELOPMENT_FILE, settings)
    read_files = [[hash_file(file) for file in some] for some in (candidates, files) if some]
    key = hash_parts(repr(recipe), ARCHITECTURE_VERSION, bases, own, *hashes, source.fingerprint, *read_files)
    result = train(model, objective, recipe.loop, run / f"state-{key}", progress, group)
    about = {
        **_describe_recipe(recipe),
        "bases": [*bases, *sorted({name.partition(":")[0] for some in also.values() for name in some})] if data else [],
        "data": [names[folder] for folder in (*data, *candidates)],
        "validation": [names[folder] for folder in validation],
        "pools": len(training),
        "best epoch": result.best_epoch,
        "figures": {name: round(value, 4) for name, value in result.figures.items()},
    }
    save_reranker(out, TrainedDocumentGNN(model.network(), recipe.kind, *read, source.fingerprint, about))
    return replace(
        result,
        initial_figures=figures_by_set(held_out, lambda examples: [one.relevant for one in examples], recipe.choose_by),
        questions=len(training),
        notes=missing_graphs([*training, *(example for some in held_out.values() for example in some)]),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
    )


def _training_pools(
    data: Sequence[Path],
    candidates: Sequence[Path],
    bases: Sequence[str],
    own: Sequence[Sequence[str]],
    recipe: RerankRecipe,
    place: PoolPlace,
) -> list[PoolExample]:
    """Return the pools to learn from: of each folder those of all bases and of its own ones, then those of files."""
    pools = [
        example
        for folder, others in zip(data, own, strict=True)
        for examples in _find_folder_pools(folder, TRAIN_FILE, (*bases, *others), recipe, place).values()
        for example in examples
    ]
    return pools + [example for file in candidates for example in find_candidate_pools(file, recipe, place)]


def _held_out_pools(
    folders: Sequence[Path],
    files: Sequence[Path],
    bases: Sequence[str],
    names: Mapping[Path, str],
    recipe: RerankRecipe,
    place: PoolPlace,
) -> dict[str, list[PoolExample]]:
    """Return the pools that choose the epoch, by the name of their folder and base, or of their file."""
    pools = {
        f"{names[folder]} {base}": examples
        for folder in folders
        for base, examples in _find_folder_pools(folder, DEVELOPMENT_FILE, bases, recipe, place).items()
    }
    return pools | {names[file]: find_candidate_pools(file, recipe, place) for file in files}


def _fit_schedule(recipe: RerankRecipe, batches: int) -> RerankRecipe:
    """Return the recipe with a warm-up and an averaging that fit a run of few steps."""
    loop, steps = recipe.loop, max(1, batches * recipe.loop.epochs)
    warmup, average = min(loop.warmup, steps // 5), min(loop.average, max(0.0, 1.0 - 5 / steps))
    return replace(recipe, loop=replace(loop, warmup=warmup, average=average))


def _check_inputs(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    bases: Sequence[str],
    also: Mapping[Path, Sequence[str]],
    files: tuple[Sequence[Path], Sequence[Path]],
) -> None:
    if unknown_folders := [folder for folder in also if folder not in data]:
        raise InputError(
            f"{unknown_folders[0]} has a retriever of its own and is no folder of data; give it as data too"
        )
    corpora.check_out_folder(out)
    if not (data or files[0]):
        raise InputError(
            f"there is no folder of data to learn from: give one or more with {CORPUS_FILE} and {TRAIN_FILE}, or a "
            "file of candidates"
        )
    if missing := next((file for file in (*files[0], *files[1]) if not file.is_file()), None):
        raise InputError(f"there is no file of candidates {str(missing)!r}: give one with 'ctxs'")
    for places in (data, validation, *files):
        if len({place.resolve() for place in places}) < len(places):
            raise InputError(f"{', '.join(map(str, places))} hold one twice: give each once")
    if (data and not bases) or len(set(bases)) < len(bases):
        raise InputError(f"the bases are {', '.join(bases) or 'none'}; wanted one or more retrievers, each once")
    if unknown := [base for base in (*bases, *chain(*also.values())) if base.partition(":")[0] not in RETRIEVERS]:
        raise InputError(f"no retriever is called {unknown[0]!r}; choose some of {', '.join(RETRIEVERS)}")
    corpora.question_files(data, validation)


def find_pools(
    context: IndexContext, path: Path, base: str, recipe: RerankRecipe, folder: Path, progress: Progress
) -> list[PoolExample]:
    """Return the pools that a retriever finds for a file of questions with evidence.

    They are stored in `folder`, under a hash of all that they depend on.
    """
    retriever = open_retriever(parse_retriever(base), context.with_paths_per_passage(0))
    amr = AMRForm(recipe.parser, recipe.whole, recipe.words)
    graphs = make_document_graphs(context, recipe.kind, amr, text=recipe.text, chains=recipe.chains)
    asked = (POOL_FILE_VERSION, hash_file(path), base, fingerprint_of(retriever), recipe.kind, recipe.pool, recipe.text)
    built = fingerprint_of(graphs), graphs.node_features, graphs.edge_features
    corpus = context.encoder.fingerprint, context.scope.snapshot.passage_ids[0], len(context.scope)
    file = folder / f"{hash_parts(asked, (*built, *corpus))}.npz"
    stored = load_pools(file)
    if stored is not None:
        return stored
    questions = load_questions(path)
    _check_gold(questions, context, path)
    evidence: list[Evidence] = []
    for start in range(0, len(questions), QUESTIONS_PER_BATCH):
        progress(f"asking {base}", start, len(questions))
        texts = [question.text for question in questions[start : start + QUESTIONS_PER_BATCH]]
        evidence += retriever.retrieve(texts, recipe.pool)
    progress(f"building document graphs of {base}", 0, 0)
    examples = make_pool_examples(questions, evidence, graphs)
    if not examples:
        raise InputError(f"{path} has no question with gold for which {base} finds a passage: give others")
    check_connected(examples, str(path))
    save_pools(file, examples)
    return examples


def _check_gold(questions: Sequence[Question], context: IndexContext, path: Path) -> None:
    """Refuse gold that the corpus lacks: it could never be found, and would count as missed."""
    snapshot = context.scope.snapshot
    known = {*snapshot.passage_ids, *snapshot.document_ids}
    for question in questions:
        if absent := [id_ for id_ in question.gold if id_ not in known]:
            raise InputError(
                f"{path}: the gold {absent[0]!r} of question {question.id!r} is not in the corpus: give the corpus of "
                "these questions"
            )


def _find_folder_pools(
    folder: Path, questions: str, bases: Sequence[str], recipe: RerankRecipe, place: PoolPlace
) -> dict[str, list[PoolExample]]:
    context = place.open_index(folder)
    pools = place.folder(corpora.corpus_key(folder, place.device, place.settings))
    return {base: find_pools(context, folder / questions, base, recipe, pools, place.progress) for base in bases}


def _describe_recipe(recipe: RerankRecipe) -> dict[str, Any]:
    loss, loop = recipe.loss, recipe.loop
    return {
        "parser": recipe.parser.partition(":")[0] if recipe.kind == "amr" else "",
        **({"whole": recipe.whole, "words": recipe.words} if recipe.kind == "amr" else {}),
        "pool": recipe.pool,
        "loss": {"kind": loss.kind, "temperature": loss.temperature, "hardest": loss.hardest, "batch": loss.batch},
        "loop": {"epochs": loop.epochs, "rate": loop.rate, "average": loop.average, "seed": loop.seed},
    }
