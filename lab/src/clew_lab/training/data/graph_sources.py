"""Sources of questions on graphs, as given by a user, and their training, validation and test splits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from clew.errors import InputError
from clew.index import open as open_index
from clew.protocols import Encoder
from clew.text.display import format_count
from clew.training.hyperparameters import CheckedRecord
from clew.types import Progress
from clew_lab.datasets.explagraphs import load_explagraphs
from clew_lab.datasets.g_retriever import load_g_retriever, split_names
from clew_lab.datasets.gqa import has_scene_graphs, load_scene_graphs, scene_graph_splits
from clew_lab.datasets.graph_datasets import AccuracyRule, GraphDataset, connected_groups
from clew_lab.datasets.kgqa import load_kgqa
from clew_lab.datasets.published_kgqa import has_own_graphs, load_own_graphs, name_without_graphs
from clew_lab.training.data.graph_questions import (
    EncodedQuestion,
    Note,
    drop_leaked_questions,
    encode_index_questions,
    encode_questions,
    evenly_spaced,
    train_test_split,
)

VALIDATION_SHARE = 0.15
"""Share of the training questions that is held out to select the epoch."""
TEST_SHARE = 0.2
"""Share of all questions used for testing if no test questions are given."""
DEFAULT_HOPS = 3
TRAIN_SPLIT, VALIDATION_SPLIT, TEST_SPLIT = "train", "val", "test"
"""Names of the splits in G-Retriever's layout."""

_MIN_GROUPS = 3


@dataclass(frozen=True, slots=True)
class GraphQuestionSource(CheckedRecord):
    """Source of questions on graphs: one of `data`, `kg` and `index`; the latter two with `questions`.

    `hops` is None for `DEFAULT_HOPS`, and without `kg`.
    """

    data: Annotated[
        Path | None,
        Field(
            description="Questions with graphs: a folder of G-Retriever or GQA, or JSONL of ExplaGraphs, RoG or FRAG."
        ),
    ] = None
    kg: Annotated[
        Path | None,
        Field(description="Instead of --data: a graph of triples, of which the surroundings of each topic are used."),
    ] = None
    index: Annotated[
        str | None, Field(description="Instead of --kg: an index, of which the part is used that gcn-subgraph reads.")
    ] = None
    questions: Annotated[
        Path | None,
        Field(description="Questions on --kg or --index: JSONL with question, topic, answers and, if known, paths."),
    ] = None
    hops: Annotated[int | None, Field(ge=1, le=4, description="Distance from a topic up to which --kg is used; 3.")] = (
        None
    )
    limit: Annotated[
        int | None, Field(ge=2, description="Questions of each file or split, at most, evenly spaced over it.")
    ] = None

    def check(self, split: str | None = None) -> None:
        """Check that the options fit together: the source names questions, and a split only of a folder."""
        given = (self.data is not None, self.kg is not None, self.index is not None, self.questions is not None)
        if given not in ((True, False, False, False), (False, True, False, True), (False, False, True, True)):
            raise InputError("give --data FOLDER or FILE, or --kg TRIPLES or --index INDEX with --questions FILE")
        if self.hops is not None and self.kg is None:
            raise InputError(f"--hops {self.hops} needs --kg, whose graphs it limits: leave it out, or give --kg")
        if split is not None and not (self.data is not None and self.data.is_dir()):
            raise InputError(f"the split {split!r} needs a folder with splits: give --data FOLDER, or leave it out")

    @property
    def split_names(self) -> tuple[str, ...]:
        """Names of the splits in the source's folder, sorted."""
        if self.data is None:
            return ()
        return scene_graph_splits(self.data) if has_scene_graphs(self.data) else split_names(self.data)

    def with_path(self, path: Path) -> "GraphQuestionSource":
        """Return a copy with another file or folder of questions of the same kind."""
        return replace(self, data=path) if self.data is not None else replace(self, questions=path)


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Questions by use (`validation` selects the epoch), and the possible answers, if all share a small set."""

    train: list[EncodedQuestion]
    validation: list[EncodedQuestion]
    test: list[EncodedQuestion]
    choices: tuple[str, ...]
    rule: AccuracyRule = "hit"  # of accuracy as published, without choices


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    """Questions of one file or split, with the possible answers and the rule of accuracy of their data set."""

    questions: list[EncodedQuestion]
    choices: tuple[str, ...] = ()
    rule: AccuracyRule = "hit"


def load_training_splits(
    source: GraphQuestionSource, split: str | None, encoder: Encoder, seed: int, progress: Progress, note: Note
) -> Splits:
    """Return training and validation questions: the split `val`, or a random share of the training questions.

    `split` is the training split; None for `train` if the source has splits. `seed` draws the share, and `note` is
    called with what could not be used.
    """
    source.check(split)
    loaded = _load_questions(source, split or _default_split(source, TRAIN_SPLIT), encoder, progress, note)
    train = loaded.questions
    validation = _validation_questions(source, (split or TRAIN_SPLIT,), encoder, progress, note)
    if not validation:
        train, validation = train_test_split(train, 1 - VALIDATION_SHARE, seed)
    return Splits(train, validation, [], loaded.choices, loaded.rule)


def load_comparison_splits(
    source: GraphQuestionSource,
    split: str | None,
    test: Path | None,
    test_split: str | None,
    encoder: Encoder,
    progress: Progress,
    note: Note,
) -> Splits:
    """Return training, validation and test questions; training and validation questions leak none of the test.

    `split` and `test_split` are `train` and `test` by default, if the source has splits. `test` has the test questions
    in a file or folder of the same kind; without it they are a split, or a random share of the groups. `note` is called
    with what could not be used.
    """
    test_source = source if test is None else source.with_path(test)
    source.check(split)
    test_source.check(test_split)
    measured = test_split or _default_split(test_source, TEST_SPLIT)
    loaded = _load_questions(source, split or _default_split(source, TRAIN_SPLIT), encoder, progress, note)
    train, of_set = loaded.questions, (loaded.choices, loaded.rule)
    if test is None and measured is None:
        if (groups := len(set(connected_groups([one.question for one in train])))) < _MIN_GROUPS:
            raise InputError(
                f"{format_count(len(train), 'question')} on {format_count(groups, 'separate topic')}: wanted at least "
                f"{_MIN_GROUPS}, for training, validation and testing; give more questions (--limit), or separate test "
                "questions (--test)"
            )
        train, tested = train_test_split(train, 1 - TEST_SHARE, 0)
        return Splits(*train_test_split(train, 1 - VALIDATION_SHARE, 0), tested, *of_set)
    tested = _load_questions(test_source, measured, encoder, progress, note).questions
    same_file = test is None or test.resolve() == (source.data or source.questions or test).resolve()
    used = (split or TRAIN_SPLIT, *((measured,) if same_file and measured else ()))
    parts = [train, _validation_questions(source, used, encoder, progress, note)]
    for part, some in enumerate(parts):
        parts[part] = drop_leaked_questions(some, tested, same_file=same_file, own_graphs=source.data is not None)
        if dropped := len(some) - len(parts[part]):
            shared = "id or text" if same_file else "text or topic"
            note(f"{dropped} of {len(some)} questions share {shared} with test questions and are not trained on")
    train, validation = parts
    if train and not validation:
        train, validation = train_test_split(train, 1 - VALIDATION_SHARE, 0)
    return Splits(train, validation, tested, *of_set)


def _load_graphs(path: Path, split: str | None) -> GraphDataset:
    if path.is_dir():
        return load_scene_graphs(path, split) if has_scene_graphs(path) else load_g_retriever(path, split)
    if name := name_without_graphs(path):
        raise InputError(
            f"{path} holds questions of {name}, which bring no graph: give it as --questions, with --kg TRIPLES or "
            "--index INDEX, or give --data a file of RoG's records or FRAG's lines, which have it"
        )
    return load_own_graphs(path) if has_own_graphs(path) else load_explagraphs(path)


def _default_split(source: GraphQuestionSource, name: str) -> str | None:
    return name if source.split_names else None


def _validation_questions(
    source: GraphQuestionSource, used_splits: Sequence[str], encoder: Encoder, progress: Progress, note: Note
) -> list[EncodedQuestion]:
    """Return the questions of the split `val`; none if there is no such split or it is used otherwise."""
    if VALIDATION_SPLIT not in source.split_names or VALIDATION_SPLIT in used_splits:
        return []
    return _load_questions(source, VALIDATION_SPLIT, encoder, progress, note).questions


def _load_questions(
    source: GraphQuestionSource, split: str | None, encoder: Encoder, progress: Progress, note: Note
) -> _Loaded:
    """Return the questions of a source, with what its data set says of answers."""
    questions_path = source.questions or Path()
    if source.index is not None:
        index = open_index(source.index, progress)
        name = index.table.settings["encoder"]
        if name != encoder.name:
            raise InputError(
                f"{source.index} was made with the encoder {name!r}, not {encoder.name!r}: give --encoder {name}"
            )
        return _Loaded(encode_index_questions(index, questions_path, progress, source.limit, note))
    if source.data is None:
        dataset = load_kgqa(source.kg or Path(), questions_path, source.hops or DEFAULT_HOPS)
    else:
        dataset = _load_graphs(source.data, split)
    for text in dataset.notes:
        note(text)
    questions = tuple(dataset.questions[i] for i in evenly_spaced(len(dataset.questions), source.limit))
    encoded = encode_questions(replace(dataset, questions=questions), encoder, progress, note)
    return _Loaded(encoded, dataset.choices, dataset.accuracy)
