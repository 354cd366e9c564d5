"""Questions with the texts that a reader sees: read from files, found in an index, and made of texts or two questions.

A file has one JSON object a line: {id, question, answers, passages: [{title, text}], gold: [positions], starts?,
answerable?}. Passages outside `gold` are shown beside it, and others that share words with the question; where
`answerable` is false the right answer is that the texts do not say.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np

from clew.arrays import LongArray
from clew.datasets.questions import Record, load_questions, preview, read_records
from clew.errors import InputError
from clew.index import Index
from clew.models.reader.decoding import MAX_SPAN_TOKENS
from clew.models.reader.windows import READ_PASSAGES, ReaderText, Window, WindowMaker, evidence_texts
from clew.models.validation import require_unicode
from clew.text.bm25 import BM25Index
from clew.text.mentions import find_mentions
from clew.text.normalization import fold, token_keys
from clew.text.sentences import sentence_spans
from clew.types import Progress

FOUND = 10
"""Passages found for a question in an index."""
_NEAR = 16  # texts that share words with a question, of which those beside the gold ones are drawn
_WITHOUT_GOLD = 0.12  # share of the windows from which the gold texts are taken
_FEWER_GOLD = 0.08  # share of the windows of several gold texts from which one that lacks the answer is taken
_BESIDE_ONE = (0, 0, 0, 0, 0, 1, 2)  # texts beside a single gold one; windows of one text take a third of the time
_SENTENCES_OF_TEXT = 3  # that may become questions
_MOST_TEXTS = 20  # texts that a recurring span may stand in
_FEWEST_SHARED = 3  # rare words that a sentence shares with the text that answers it
_WORDS_OF_QUESTION = (6, 40)  # fewest and most words of a sentence that becomes a question
_HASHES = 1 << 32


@dataclass(frozen=True, slots=True)
class ReadingExample:
    """A question, the texts that answer it, others that do not, and its answers."""

    question: str
    answers: tuple[str, ...]
    gold: tuple[ReaderText, ...]  # () where nothing answers it
    others: tuple[ReaderText, ...] = ()  # the most confusing first
    kind: str = "span"  # one of `nn.span_reader.KINDS`
    starts: tuple[int, ...] = ()  # of each answer in the only gold text; () where all its places count


@dataclass(frozen=True, slots=True, eq=False)
class LabelledWindow:
    """A window with its kind of answer, and the first and last token of each place of it."""

    window: Window
    kind: str
    places: tuple[tuple[int, int], ...]


def read_examples(path: Path) -> list[ReadingExample]:
    """Return the examples of a file, without those whose answer no gold text has.

    Raises:
        InputError: The file or a line has another form, or nothing can be learned from it.
    """
    examples = [one for record in read_records(path) if (one := _read_example(record)) is not None]
    if not examples:
        raise InputError(f"{path}: no line has an answer that its gold passages hold; wanted their words, yes or no")
    return examples


def _read_example(record: Record) -> ReadingExample | None:
    question, answers = record.text("question"), tuple(str(a) for a in record.items("answers"))
    passages = []
    for one in record.items("passages"):
        if not isinstance(one, dict) or not isinstance(one.get("text"), str):
            raise record.error("a passage has no text", '{"title": ..., "text": ...}')
        passages.append(ReaderText(str(one.get("title") or ""), one["text"]))
    require_unicode([question, *answers, *(part for text in passages for part in (text.title, text.text))])
    gold = record.items("gold")
    if any(type(at) is not int or not 0 <= at < len(passages) for at in gold):
        raise record.error(f"'gold' is {preview(gold)}", f"positions of the {len(passages)} passages, from 0")
    if not isinstance(record.fields.get("answerable", True), bool):
        raise record.error(f"'answerable' is {preview(record.fields['answerable'])}", "true or false")
    others = tuple(text for at, text in enumerate(passages) if at not in gold)
    own = tuple(passages[at] for at in dict.fromkeys(gold))
    if record.fields.get("answerable") is False:
        return ReadingExample(question, (), (), (*own, *others), "none")
    starts = tuple(record.items("starts")) if record.fields.get("starts") is not None else ()
    stand_there = (
        len(own) == 1
        and len(starts) == len(answers)
        and all(
            isinstance(at, int) and at >= 0 and own[0].text[at : at + len(answer)] == answer
            for at, answer in zip(starts, answers, strict=True)
        )
    )
    return _make_example(question, answers, own, others, starts if stand_there else ())


def _make_example(
    question: str,
    answers: Sequence[str],
    gold: tuple[ReaderText, ...],
    others: tuple[ReaderText, ...],
    starts: tuple[int, ...] = (),
) -> ReadingExample | None:
    """Return an example; None where no gold text has an answer."""
    wanted = {fold(answer).strip(" .") for answer in answers}
    if gold and (verdict := wanted & {"yes", "no"}):
        return ReadingExample(question, tuple(answers), gold, others, verdict.pop()) if len(verdict) == 1 else None
    example = ReadingExample(question, tuple(answers), gold, others, "span", starts)
    return example if any(True for text in gold for _ in find_places(example, text)) else None


def find_places(example: ReadingExample, text: ReaderText) -> Iterator[tuple[int, int]]:
    """Yield the first and last character of every place of an answer in a text, in any case, as whole words."""
    for at, answer in enumerate(example.answers):
        if example.starts:
            yield example.starts[at], example.starts[at] + len(answer)
        elif words := answer.split():
            pattern = r"\s+".join(map(re.escape, words))
            for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text.text, re.IGNORECASE):
                yield match.span()


def found_examples(index: Index, questions: Path, progress: Progress) -> list[ReadingExample]:
    """Return the questions of a file with the passages that the default retriever finds, and their gold ones.

    Sentences of the chains are preferred. A question without gold passages or answers is left out.
    """
    answered = [one for one in load_questions(questions) if one.answers]
    examples = []
    for number, question in enumerate(answered):
        progress(f"searching {questions.stem}", number, len(answered))
        evidence = index.search(question.text, FOUND)
        texts = evidence_texts(evidence)
        gold_ids = [*question.gold]
        found = {scored.item.id: text for scored, text in zip(evidence.passages, texts, strict=True)}
        found |= {scored.item.document_id: text for scored, text in zip(evidence.passages, texts, strict=True)}
        for missing in [one for one in gold_ids if one not in found]:
            if (document := index.get(missing)) is not None:
                found[missing] = ReaderText(document.title, "\n".join(one.text for one in document.passages))
        gold = tuple(dict.fromkeys(found[one] for one in gold_ids if one in found))
        others = tuple(text for text in texts if text not in gold)
        if (example := _make_example(question.text, question.answers, gold, others)) is not None:
            examples.append(example)
    return examples


def recurring_questions(texts: Sequence[ReaderText], seed: int) -> list[ReadingExample]:
    """Return questions that need no labels: sentences with "what" for a name or number that another text has as well.

    The answer is the name; the text that answers is the one with it that shares most rare words with the sentence.

    Source: Ram et al. 2021, Few-shot question answering by pretraining span selection (Splinter), recurring spans.
    Differs from the source: the two places stand in two texts, and the sentence is the question.
    """
    chooser = random.Random(seed)
    keys = [frozenset(token_keys(text.text)) for text in texts]
    counts = Counter(key for own in keys for key in own)
    rare = {key for key, count in counts.items() if count <= max(_MOST_TEXTS, len(texts) // 100)}
    holders: dict[str, list[int]] = {}
    for at, text in enumerate(texts):
        for name in {one.name for one in find_mentions(text.text, 0, len(text.text))}:
            holders.setdefault(name, []).append(at)
    made = []
    for at, text in enumerate(texts):
        spans = sentence_spans(text.text)
        for start, end in chooser.sample(spans, min(len(spans), _SENTENCES_OF_TEXT)):
            mentions = [
                one
                for one in find_mentions(text.text, start, end)
                if 1 < len(holders.get(one.name, ())) <= _MOST_TEXTS and one.name not in text.title
            ]
            if not mentions:
                continue
            chosen = chooser.choice(mentions)
            question = f"{text.text[start : chosen.start]}what{text.text[chosen.end : end]}"
            words = (set(token_keys(f"{text.title} {question}")) & rare) - set(token_keys(chosen.name))
            shared, nearest = max((len(words & keys[other]), -other) for other in holders[chosen.name] if other != at)
            fewest, most = _WORDS_OF_QUESTION
            is_open = chosen.name not in question  # the sentence does not have the name once more
            if is_open and shared >= _FEWEST_SHARED and fewest <= len(question.split()) <= most:
                gold = texts[-nearest]
                question = question if text.title in question else f"{text.title}: {question}"
                if example := _make_example(question, (chosen.name,), (gold,), ()):
                    made.append(example)
    return made


_FORMS = (
    (re.compile(r"who (?:is|was|are|were) (the .+)\Z", re.I), r"\1"),
    (re.compile(r"(?:what|which) (?:is|was|are|were) (?:the name of )?(the .+)\Z", re.I), r"\1"),
    (
        re.compile(r"who ((?!is|was|are|were|do|does|did|has|have|had|will|would|can|could)\w+ .+)\Z", re.I),
        r"the one who \1",
    ),
    (re.compile(r"who (was \w+(?:ed|en) .+)\Z", re.I), r"the person who \1"),
    (
        re.compile(r"(?:what|which) ((?:[a-z]+ ){1,2}?)((?:was|is|were|are|has|had)? ?[a-z]+(?:ed|s|t|n) .+)\Z"),
        r"the \1that \2",
    ),
)
"""Questions as noun phrases: "who founded X" is "the one who founded X"."""


def combine_questions(examples: Sequence[ReadingExample], seed: int) -> list[ReadingExample]:
    """Return questions over two texts: a name in one question is replaced by another question that it answers.

    "Where was Ada Lovelace born?" and "Who wrote the first program?" give "Where was the one who wrote the first
    program born?". Each question is used once as the outer one.
    """
    chooser = random.Random(seed)
    phrases: dict[str, list[tuple[str, str, ReadingExample]]] = {}
    for example in examples:
        answer = example.answers[0].strip() if example.answers else ""
        if not _is_name(answer) or len(example.gold) != 1:
            continue
        question = " ".join(example.question.split()).rstrip(" ?.")
        for pattern, form in _FORMS:
            if pattern.match(question):
                phrase = pattern.sub(form, question)
                if len(phrase.split()) <= 16 and answer.lower() not in phrase.lower():
                    phrases.setdefault(answer, []).append((answer, phrase, example))
                break
    names = re.compile(r"[A-Z]\w+(?: (?:of |the |de |von )?[A-Z][\w.]*)*")
    made = []
    for outer in examples:
        if len(outer.gold) != 1 or outer.kind == "none":
            continue
        for match in names.finditer(outer.question):
            inner = [
                one
                for one in phrases.get(match.group(), ())
                if one[2].gold != outer.gold and not set(one[2].answers) & set(outer.answers)
            ]
            if inner and match.start():
                answer, phrase, example = chooser.choice(inner)
                text = f"{outer.question[: match.start()]}{phrase}{outer.question[match.end() :]}"
                text = re.sub(r"\bthe the\b", "the", text)
                made.append(replace(outer, question=text, gold=(*outer.gold, *example.gold), starts=(), others=()))
                break
    return made


def _is_name(answer: str) -> bool:
    words = answer.split()
    return 1 <= len(words) <= 5 and len(answer) > 3 and words[0][0].isupper() and words[-1][0].isupper()


HELD_OUT = 0.1
"""Share of the titles of single texts whose questions only measure."""
HELD_OUT_OF_INDEX = 0.15
"""Share of the questions on an index that only measure, and that probabilities are calibrated on."""


def is_held_out(example: ReadingExample) -> bool:
    """Return whether a question on given texts only measures, by the title of its first one; the same for every run."""
    title = example.gold[0].title if example.gold else ""
    return bool(title) and _falls_below(title, HELD_OUT)


def is_held_out_of_index(question: str) -> bool:
    """Return whether a question on an index only measures; the same for every run."""
    return _falls_below(question, HELD_OUT_OF_INDEX)


def _falls_below(text: str, share: float) -> bool:
    return crc32(fold(text).encode("utf-8", "surrogatepass")) < share * _HASHES


class Distractors:
    """Texts that share words with a question and do not answer it."""

    def __init__(self, examples: Iterable[ReadingExample], further: Iterable[ReaderText] = ()) -> None:
        texts = {(text.title, text.text): text for one in examples for text in (*one.gold, *one.others)}
        texts |= {(text.title, text.text): text for text in further}
        self._texts = list(texts.values())
        self._index = BM25Index.build(f"{text.title} {text.text}" for text in self._texts)

    def find_similar(self, example: ReadingExample, count: int) -> list[ReaderText]:
        """Return at most `count` texts, nearest first, none of them gold or with an answer."""
        order, _ = self._index.top(self._index.query(example.question), count + len(example.gold))
        gold = {text.text for text in example.gold}
        near = (self._texts[at] for at in order.tolist())
        return [text for text in near if text.text not in gold and not holds_answer(text, example)]


def holds_answer(text: ReaderText, example: ReadingExample) -> bool:
    """Return whether the words of an answer stand in a text."""
    words = f" {' '.join(token_keys(text.text))} "
    return any(f" {' '.join(token_keys(answer))} " in words for answer in example.answers if example.kind == "span")


def draw_window(
    example: ReadingExample, distractors: Distractors, maker: WindowMaker, chooser: random.Random
) -> LabelledWindow | None:
    """Return a window of an example with texts drawn beside its gold ones, in any order; None if its answer is cut off.

    From a part of them the gold texts are taken, so that the right answer is that the texts do not say.
    """
    several = len(example.gold) > 1 or len(example.others) > 1
    room = READ_PASSAGES - len(example.gold) if several else chooser.choice(_BESIDE_ONE)
    if example.kind == "none":
        room = max(room, min(READ_PASSAGES, len(example.others)))  # its own passages are the lesson
    others = [text for text in example.others if not holds_answer(text, example)]
    if len(others) < max(room, 2):
        near = distractors.find_similar(example, _NEAR)
        others += chooser.sample(near[:8], min(len(near[:8]), READ_PASSAGES))
    kind, gold = example.kind, list(example.gold)
    if kind != "none" and len(others) >= 2 and chooser.random() < _WITHOUT_GOLD:
        kind, gold, room = "none", [], chooser.choice((2, 3, READ_PASSAGES))
    elif kind == "span" and len(gold) > 1 and chooser.random() < _FEWER_GOLD:
        without = [text for text in gold if not any(True for _ in find_places(example, text))]
        if without:
            gold.remove(chooser.choice(without))
    texts = [*gold, *others[: max(room, 0)]]
    chooser.shuffle(texts)
    window = maker.make(example.question, texts)
    if kind != "span":
        return LabelledWindow(window, kind, ())
    gold_at = [(at, text) for at, text in enumerate(texts) if text in gold]
    places = {place for at, text in gold_at for place in token_places(window, at, example, text)}
    return LabelledWindow(window, kind, tuple(sorted(places))) if places else None


def token_places(window: Window, at: int, example: ReadingExample, text: ReaderText) -> Iterator[tuple[int, int]]:
    """Yield the first and last token of the places of an answer in the text at a position of a window.

    Those that no reader can give are left out: over two sentences, or longer than its spans.
    """
    tokens: LongArray = np.flatnonzero(window.text == at)
    starts, ends = window.starts[tokens], window.ends[tokens]
    for begin, end in find_places(example, text):
        inside = np.flatnonzero((starts < end) & (ends > begin))
        if len(inside) and starts[inside[0]] <= begin and ends[inside[-1]] >= end:
            first, last = int(tokens[inside[0]]), int(tokens[inside[-1]])
            if window.sentence[first] == window.sentence[last] and last - first < MAX_SPAN_TOKENS:
                yield first, last
