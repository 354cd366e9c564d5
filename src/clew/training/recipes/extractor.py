"""Training of the tagger of names on the states of the bundled encoder's tokens.

Passages with annotated names teach it, and those of corpora with capitals, in which the rules find the names: the
encoder ignores case, so that what it learns from capitals holds without them. A share of the titles of the annotated
passages is held out, and only measures.

Passages with annotated names and facts, as tags of their words.

A folder holds `corpus.jsonl` {id, title, text} and `openie.jsonl` {id, entities: [name], triples: [[head, relation,
tail]]}, as `--extractor published:FILE` reads them; triples are not used. Every occurrence of an entity as whole words
in title or text, in any case, is a name, longer ones first.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from clew.arrays import LongArray
from clew.datasets.questions import read_records
from clew.errors import InputError
from clew.indexing.extraction.span_extractor import ExtractorWeights, save_extractor
from clew.indexing.sentence_vectors import PassageReading, join_title, read_states
from clew.inference.span_tagger import BEGIN, INSIDE, SpanTagger, WordGroups, group_words, pool_words, tag_spans
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.text.mentions import find_mentions
from clew.text.normalization import fold, tokens
from clew.text.sentences import sentence_spans
from clew.training.data.corpora import CORPUS_FILE, check_out_folder
from clew.training.fitting.span_tagger import ExtractorRecipe, TaggedWords, train_tagger
from clew.training.hyperparameters import TrainingResult
from clew.types import Progress

ANNOTATIONS_FILE = "openie.jsonl"
_FORM = '{"id": ..., "entities": [name, ...]}'


@dataclass(frozen=True, slots=True)
class AnnotatedPassage:
    """A passage with the names that people or a model found in it."""

    title: str
    text: str
    names: tuple[str, ...]


def read_annotated_passages(folder: Path) -> list[AnnotatedPassage]:
    """Return the annotated passages of a folder, in the order of the annotations.

    Raises:
        InputError: A file is missing, a line has another form, or no annotation belongs to a passage of the corpus.
    """
    for name in (CORPUS_FILE, ANNOTATIONS_FILE):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}: give folders with {CORPUS_FILE} and {ANNOTATIONS_FILE}")
    corpus = {str(r.fields.get("id")): r.fields for r in read_records(folder / CORPUS_FILE)}
    path = folder / ANNOTATIONS_FILE
    passages = []
    for number, record in enumerate(read_records(path), 1):
        names = _read_names(record.fields, f"{path}, line {number}")
        if (passage := corpus.get(str(record.fields.get("id")))) is not None:
            title, text = str(passage.get("title") or ""), str(passage.get("text") or "")
            passages.append(AnnotatedPassage(title, text, names))
    if not passages:
        raise InputError(f"{path}: no line has the id of a passage in {folder / CORPUS_FILE}; wanted lines of {_FORM}")
    return passages


def _read_names(fields: Mapping[str, Any], place: str) -> tuple[str, ...]:
    names = fields.get("entities")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{place}: entities are {str(names)[:60]!r}; wanted {_FORM}")
    return tuple(dict.fromkeys(names))


def tag_words(passage: AnnotatedPassage, text: str, groups: WordGroups) -> LongArray:
    """Return the tags (n,) of the n words of a text, which is the passage's with its title."""
    tags = np.zeros(len(groups.starts), dtype=np.int64)
    for start, end in find_occurrences(text, passage.names):
        words = np.flatnonzero((groups.starts < end) & (groups.ends > start))
        if len(words) and not tags[words].any():
            tags[words] = INSIDE
            tags[words[0]] = BEGIN
    return tags


def find_occurrences(text: str, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of every occurrence of names in a text as whole words, in any case, longest first."""
    words = tokens(text)
    places: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        places.setdefault(word.key, []).append(number)
    wanted = [[token.key for token in tokens(name)] for name in names]
    for keys in sorted((keys for keys in wanted if keys), key=lambda keys: (-len(keys), keys)):
        for first in places.get(keys[0], ()):
            if [word.key for word in words[first : first + len(keys)]] == keys:
                yield words[first].start, words[first + len(keys) - 1].end


_BLOCK = 256  # passages that are read before progress is reported
_HASHES = 1 << 32

Tagging = Callable[[str, WordGroups], LongArray]
"""Returns the tags (n,) of the n words of a passage's title and text."""


def train_extractor(
    data: Sequence[Path], cased: Sequence[Path], out: Path, recipe: ExtractorRecipe, progress: Progress
) -> TrainingResult:
    """Train the tagger on annotated passages, and on the capitals of other corpora; write its weights into `out`.

    `data` are folders with corpus.jsonl and openie.jsonl, `cased` with corpus.jsonl. The figures are precision, recall
    and F of the exact spans of names in the annotated passages that were held out.

    Raises:
        InputError: A folder lacks a file, a line has another form, or there is nothing to learn from.
    """
    started = time.perf_counter()
    check_out_folder(out)
    annotated = [passage for folder in data for passage in read_annotated_passages(folder)]
    held_out = [is_held_out(passage.title, recipe.held_out) for passage in annotated]
    capitals = [one for folder in cased for one in read_titled_texts(folder)[: recipe.cased_passages]]
    texts = [(passage.title, passage.text) for passage in annotated]
    tagging: list[Tagging] = [*(partial(tag_words, passage) for passage in annotated)]
    tagging += [partial(tag_by_rules, title) for title, _ in capitals]
    encoder = Int8MiniLM()
    examples = read_examples(encoder, [*texts, *capitals], tagging, progress)
    learned = [one for one, held in zip(examples, [*held_out, *[False] * len(capitals)], strict=True) if not held]
    tagger = train_tagger(learned, recipe)
    figures = measure_tagger(tagger, [one for one, held in zip(examples, held_out, strict=False) if held])
    about = {
        "recipe": asdict(recipe), "data": [folder.resolve().name for folder in data],
        "cased": [folder.resolve().name for folder in cased], "passages": len(learned),
        "figures": {name: round(value, 4) for name, value in figures.items()},
    }  # fmt: skip
    save_extractor(out, ExtractorWeights(tagger, encoder.fingerprint, about))
    parameters = tagger.hidden.size + tagger.output.size
    seconds = time.perf_counter() - started
    return TrainingResult(
        figures=figures, seconds=seconds, questions=len(learned), held_out=sum(held_out), parameters=parameters
    )


def is_held_out(title: str, share: float) -> bool:
    """Return whether the passages of a title only measure; the same for every run."""
    return crc32(fold(title).encode("utf-8", "surrogatepass")) < share * _HASHES


def read_titled_texts(folder: Path) -> list[tuple[str, str]]:
    """Return the titles and texts of a folder's corpus; one without a corpus is an InputError."""
    path = folder / CORPUS_FILE
    if not path.is_file():
        raise InputError(f"{folder} has no {CORPUS_FILE}: give folders with one")
    fields = [record.fields for record in read_records(path)]
    return [(str(one.get("title") or ""), str(one.get("text") or "")) for one in fields]


def read_examples(
    encoder: Int8MiniLM, texts: Sequence[tuple[str, str]], tagging: Sequence[Tagging], progress: Progress
) -> list[TaggedWords]:
    """Return the words of passages, given by titles and texts: the part that the encoder reads at once."""
    found: dict[int, TaggedWords] = {}
    for start in range(0, len(texts), _BLOCK):
        progress("reading", start, len(texts))

        def keep(reading: PassageReading, start: int = start) -> None:
            if reading.begin == 0:
                groups = group_words(reading.text, reading.offsets)
                states = pool_words(reading.states, groups).astype(np.float16)
                place = start + reading.passage
                found[place] = TaggedWords(states, tagging[place](reading.text, groups))

        read_states(encoder, texts[start : start + _BLOCK], keep)
    return [found[place] for place in range(len(texts))]


def tag_by_rules(title: str, text: str, groups: WordGroups) -> LongArray:
    """Return the tags (n,) of the words of a title and text by the rules, which read capitals."""
    begin = len(join_title(title, ""))
    spans = [(0, len(title))] if title else []
    for start, end in sentence_spans(text[begin:]):
        spans += [(m.start, m.end) for m in find_mentions(text, begin + start, begin + end)]
    tags = np.zeros(len(groups.starts), dtype=np.int64)
    for start, end in spans:
        words = np.flatnonzero((groups.starts < end) & (groups.ends > start))
        tags[words] = INSIDE
        tags[words[:1]] = BEGIN
    return tags


def measure_tagger(tagger: SpanTagger, examples: Sequence[TaggedWords]) -> dict[str, float]:
    """Return precision, recall and F of exact spans of names."""
    right = found = wanted = 0
    for example in examples:
        spans = set(tagger.find_spans(example.states.astype(np.float32)))
        gold = set(tag_spans(example.tags))
        right, found, wanted = right + len(spans & gold), found + len(spans), wanted + len(gold)
    precision, recall = right / max(found, 1), right / max(wanted, 1)
    return {"precision": precision, "recall": recall, "F": 2 * right / max(found + wanted, 1)}
