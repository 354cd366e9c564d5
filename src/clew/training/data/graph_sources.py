"""Where questions on graphs come from, as a user names it, and how they are parted to learn from and to measure on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clew import index as opening
from clew.datasets.explagraphs import load_explagraphs
from clew.datasets.g_retriever import load_g_retriever
from clew.datasets.graph_datasets import GraphDataset, count_groups
from clew.datasets.kgqa import load_kgqa
from clew.errors import InputError
from clew.protocols import Encoder
from clew.training.data.graph_questions import (
    EncodedQuestion,
    Note,
    Progress,
    drop_leaked_questions,
    encode_index_questions,
    encode_questions,
    evenly_spaced,
    train_test_split,
)

VALIDATION_SHARE = 0.15
"""Of the questions to learn from, whose losses choose the epoch."""
TEST_SHARE = 0.2
"""Of all questions, that are measured where none are given for that."""
DEFAULT_HOPS = 3
TRAIN_SPLIT, VALIDATION_SPLIT, TEST_SPLIT = "train", "val", "test"
"""Names of the splits in G-Retriever's layout."""

_MIN_GROUPS = 3


@dataclass(frozen=True, slots=True)
class GraphQuestionSource:
    """What a user names: one of `data`, `kg` and `index`; the latter two with `questions`.

    Attributes:
        data: A folder in G-Retriever's layout, or ExplaGraphs as JSONL.
        kg: A graph of triples.
        index: An index.
        questions: On `kg` or `index`.
        hops: How far around a topic `kg` is cut out; None for `HOPS`, and without `kg`.
        limit: Questions used at most of each part, spread evenly over it.
    """

    data: Path | None
    kg: Path | None
    index: str | None
    questions: Path | None
    hops: int | None
    limit: int | None

    def check(self, split: str | None = None) -> None:
        """Refuse what names no questions, or a split where there are none.

        Raises:
            InputError: It is so.
        """
        given = (self.data is not None, self.kg is not None, self.index is not None, self.questions is not None)
        if given not in ((True, False, False, False), (False, True, False, True), (False, False, True, True)):
            raise InputError("give --data FOLDER or FILE, or --kg TRIPLES or --index INDEX with --questions FILE")
        if self.hops is not None and self.kg is None:
            raise InputError(
                f"--hops {self.hops} says how far around a topic --kg is cut out: leave it out, or give --kg"
            )
        if split is not None and not (self.data is not None and self.data.is_dir()):
            raise InputError(f"the split {split!r} is wanted of one file: give --data FOLDER, or leave the split out")

    @property
    def split_names(self) -> tuple[str, ...]:
        """Names of the parts that its folder tells apart."""
        folder = self.data / "split" if self.data else None
        found = folder.glob("*_indices.txt") if folder and folder.is_dir() else ()
        return tuple(sorted(path.name.removesuffix("_indices.txt") for path in found))

    def with_path(self, path: Path) -> "GraphQuestionSource":
        """Return other questions of the same form."""
        return replace(self, data=path) if self.data is not None else replace(self, questions=path)


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Questions by what they are for.

    Attributes:
        train: To learn from.
        validation: To choose an epoch by.
        test: To measure on.
        choices: The possible answers, where they are few.
    """

    train: list[EncodedQuestion]
    validation: list[EncodedQuestion]
    test: list[EncodedQuestion]
    choices: tuple[str, ...]


def load_training_splits(
    source: GraphQuestionSource, split: str | None, encoder: Encoder, seed: int, progress: Progress, note: Note
) -> Splits:
    """Return questions to learn from, and others to choose an epoch by: those of the split `val`, or a share by chance.

    Args:
        source: Of the questions.
        split: To learn from; `train` where the source has splits and None is given.
        encoder: Of the graphs' texts.
        seed: Of the share.
        progress: Told what is read.
        note: Told what could not be used.

    Raises:
        InputError: The source cannot be used.
    """
    source.check(split)
    known, choices = _load_questions(source, split or _default_split(source, TRAIN_SPLIT), encoder, progress, note)
    held = _validation_questions(source, (split or TRAIN_SPLIT,), encoder, progress, note)
    if not held:
        known, held = train_test_split(known, 1 - VALIDATION_SHARE, seed)
    return Splits(known, held, [], choices)


def load_comparison_splits(
    source: GraphQuestionSource,
    split: str | None,
    test: Path | None,
    test_split: str | None,
    encoder: Encoder,
    progress: Progress,
    note: Note,
) -> Splits:
    """Return questions to learn from, to choose an epoch by and to measure on; none of the last is learned from.

    Args:
        source: Of the questions.
        split: To learn from; `train` where the source has splits and None is given.
        test: A source of the same form to measure on; None for the splits, or for a share of the groups by chance.
        test_split: To measure on; `test` where the source has splits and None is given.
        encoder: Of the graphs' texts.
        progress: Told what is read.
        note: Told what could not be used.

    Raises:
        InputError: A source cannot be used.
    """
    there = source if test is None else source.with_path(test)
    source.check(split)
    there.check(test_split)
    measured = test_split or _default_split(there, TEST_SPLIT)
    known, choices = _load_questions(source, split or _default_split(source, TRAIN_SPLIT), encoder, progress, note)
    if test is None and measured is None:
        if (groups := count_groups([one.question for one in known])) < _MIN_GROUPS:
            raise InputError(
                f"{len(known)} questions on {groups} separate topics: wanted at least {_MIN_GROUPS}, to learn from, to "
                "choose an epoch by and to measure on; give more questions (--limit), or others to measure on (--test)"
            )
        known, tested = train_test_split(known, 1 - TEST_SHARE, 0)
        return Splits(*train_test_split(known, 1 - VALIDATION_SHARE, 0), tested, choices)
    tested, _ = _load_questions(there, measured, encoder, progress, note)
    own = test is None or test.resolve() == (source.data or source.questions or test).resolve()
    taken = (split or TRAIN_SPLIT, *((measured,) if own and measured else ()))
    held = _validation_questions(source, taken, encoder, progress, note)
    known, held = (_drop_leaked(some, tested, source, note, same_file=own) for some in (known, held))
    if known and not held:
        known, held = train_test_split(known, 1 - VALIDATION_SHARE, 0)
    return Splits(known, held, tested, choices)


def _default_split(source: GraphQuestionSource, name: str) -> str | None:
    return name if source.split_names else None


def _validation_questions(
    source: GraphQuestionSource, used_splits: Sequence[str], encoder: Encoder, progress: Progress, note: Note
) -> list[EncodedQuestion]:
    """Return the questions of the split that chooses the epoch, where there is one that is not taken."""
    return (
        _load_questions(source, VALIDATION_SPLIT, encoder, progress, note)[0]
        if VALIDATION_SPLIT in source.split_names and VALIDATION_SPLIT not in used_splits
        else []
    )


def _drop_leaked(
    training: list[EncodedQuestion],
    test: Sequence[EncodedQuestion],
    source: GraphQuestionSource,
    note: Note,
    *,
    same_file: bool,
) -> list[EncodedQuestion]:
    left = drop_leaked_questions(training, test, same_file=same_file, own_graphs=source.data is not None)
    if len(left) < len(training):
        shared = "id or text" if same_file else "text or topic"
        note(
            f"{len(training) - len(left)} of {len(training)} questions share {shared} with those measured: not learned "
            f"from"
        )
    return left


def _load_questions(
    source: GraphQuestionSource, split: str | None, encoder: Encoder, progress: Progress, note: Note
) -> tuple[list[EncodedQuestion], tuple[str, ...]]:
    """Return the questions that a source has, and the possible answers where these are few."""
    if source.index is not None:
        return _load_index_questions(source.index, source, encoder, progress, note), ()
    found = _load_graph_dataset(source, split)
    for told in found.notes:
        note(told)
    questions = tuple(found.questions[place] for place in evenly_spaced(len(found.questions), source.limit))
    return encode_questions(replace(found, questions=questions), encoder, progress, note), found.choices


def _load_graph_dataset(source: GraphQuestionSource, split: str | None) -> GraphDataset:
    if source.data is None:
        return load_kgqa(source.kg or Path(), source.questions or Path(), source.hops or DEFAULT_HOPS)
    return load_g_retriever(source.data, split) if source.data.is_dir() else load_explagraphs(source.data)


def _load_index_questions(
    place: str, source: GraphQuestionSource, encoder: Encoder, progress: Progress, note: Note
) -> list[EncodedQuestion]:
    opened = opening.open(place, progress)
    made_with = opened.table.settings["encoder"]
    if made_with != encoder.name:
        raise InputError(
            f"{place} was made with the encoder {made_with!r}, not {encoder.name!r}: give --encoder {made_with}"
        )
    return encode_index_questions(opened, source.questions or Path(), progress, source.limit, note)
