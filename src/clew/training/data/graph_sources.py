"""Where questions on graphs come from, as a user names it, and how they are parted to learn from and to measure on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clew import index as opening
from clew.datasets.explagraphs import explagraphs
from clew.datasets.g_retriever import g_retriever
from clew.datasets.graph_datasets import GraphSet, count_groups
from clew.datasets.kgqa import kg_questions
from clew.errors import InputError
from clew.protocols import Encoder
from clew.training.data.graph_questions import (
    AskedQuestion,
    Note,
    Progress,
    apart,
    asked_questions,
    index_questions,
    parted,
    spread,
)

HELD = 0.15
"""Of the questions to learn from, whose losses choose the epoch."""
TESTED = 0.2
"""Of all questions, that are measured where none are given for that."""
HOPS = 3
TRAIN, VAL, TEST = "train", "val", "test"
"""Names of the splits in G-Retriever's layout."""

_PARTS = 3


@dataclass(frozen=True, slots=True)
class GraphSource:
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
    def splits(self) -> tuple[str, ...]:
        """Names of the parts that its folder tells apart."""
        folder = self.data / "split" if self.data else None
        found = folder.glob("*_indices.txt") if folder and folder.is_dir() else ()
        return tuple(sorted(path.name.removesuffix("_indices.txt") for path in found))

    def beside(self, test: Path) -> "GraphSource":
        """Return other questions of the same form."""
        return replace(self, data=test) if self.data is not None else replace(self, questions=test)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Questions by what they are for.

    Attributes:
        learned: To learn from.
        held: To choose an epoch by.
        tested: To measure on.
        choices: The possible answers, where they are few.
    """

    learned: list[AskedQuestion]
    held: list[AskedQuestion]
    tested: list[AskedQuestion]
    choices: tuple[str, ...]


def parts_to_learn(
    source: GraphSource, split: str | None, encoder: Encoder, seed: int, progress: Progress, note: Note
) -> Parts:
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
    known, choices = _read(source, split or _default(source, TRAIN), encoder, progress, note)
    held = _held(source, (split or TRAIN,), encoder, progress, note)
    if not held:
        known, held = parted(known, 1 - HELD, seed)
    return Parts(known, held, [], choices)


def parts_to_compare(
    source: GraphSource,
    split: str | None,
    test: Path | None,
    test_split: str | None,
    encoder: Encoder,
    progress: Progress,
    note: Note,
) -> Parts:
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
    there = source if test is None else source.beside(test)
    source.check(split)
    there.check(test_split)
    measured = test_split or _default(there, TEST)
    known, choices = _read(source, split or _default(source, TRAIN), encoder, progress, note)
    if test is None and measured is None:
        if (groups := count_groups([one.question for one in known])) < _PARTS:
            raise InputError(
                f"{len(known)} questions on {groups} separate topics: wanted at least {_PARTS}, to learn from, to "
                "choose an epoch by and to measure on; give more questions (--limit), or others to measure on (--test)"
            )
        known, tested = parted(known, 1 - TESTED, 0)
        return Parts(*parted(known, 1 - HELD, 0), tested, choices)
    tested, _ = _read(there, measured, encoder, progress, note)
    own = test is None or test.resolve() == (source.data or source.questions or test).resolve()
    taken = (split or TRAIN, *((measured,) if own and measured else ()))
    held = _held(source, taken, encoder, progress, note)
    known, held = (_apart(some, tested, source, note, one_file=own) for some in (known, held))
    if known and not held:
        known, held = parted(known, 1 - HELD, 0)
    return Parts(known, held, tested, choices)


def _default(source: GraphSource, name: str) -> str | None:
    return name if source.splits else None


def _held(
    source: GraphSource, taken: Sequence[str], encoder: Encoder, progress: Progress, note: Note
) -> list[AskedQuestion]:
    """Return the questions of the split that chooses the epoch, where there is one that is not taken."""
    return _read(source, VAL, encoder, progress, note)[0] if VAL in source.splits and VAL not in taken else []


def _apart(
    known: list[AskedQuestion], tested: Sequence[AskedQuestion], source: GraphSource, note: Note, *, one_file: bool
) -> list[AskedQuestion]:
    left = apart(known, tested, one_file=one_file, graphs=source.data is not None)
    if len(left) < len(known):
        shared = "id or text" if one_file else "text or topic"
        note(f"{len(known) - len(left)} of {len(known)} questions share {shared} with those measured: not learned from")
    return left


def _read(
    source: GraphSource, split: str | None, encoder: Encoder, progress: Progress, note: Note
) -> tuple[list[AskedQuestion], tuple[str, ...]]:
    """Return the questions that a source has, and the possible answers where these are few."""
    if source.index is not None:
        return _of_index(source.index, source, encoder, progress, note), ()
    found = _graph_set(source, split)
    for told in found.notes:
        note(told)
    questions = tuple(found.questions[place] for place in spread(len(found.questions), source.limit))
    return asked_questions(replace(found, questions=questions), encoder, progress, note), found.choices


def _graph_set(source: GraphSource, split: str | None) -> GraphSet:
    if source.data is None:
        return kg_questions(source.kg or Path(), source.questions or Path(), source.hops or HOPS)
    return g_retriever(source.data, split) if source.data.is_dir() else explagraphs(source.data)


def _of_index(place: str, source: GraphSource, encoder: Encoder, progress: Progress, note: Note) -> list[AskedQuestion]:
    opened = opening.open(place, progress)
    made_with = opened.table.settings["encoder"]
    if made_with != encoder.name:
        raise InputError(
            f"{place} was made with the encoder {made_with!r}, not {encoder.name!r}: give --encoder {made_with}"
        )
    return index_questions(opened, source.questions or Path(), progress, source.limit, note)
