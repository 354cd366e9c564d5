"""Answers without a language model: the sentences that best fit the question, quoted, and the names that may answer it.

A sentence is scored by its nearness to the question (vectors, shared words), the rank of its passage and the paths. The
quoted ones are taken one by one, each next one preferred when it goes on from a name that a chosen one brought in, and
when it has words of the question that none has yet. The names in the sentences are scored by the kind of answer asked
for and the words around them. Nothing is written that does not stand in a quoted sentence, but for "yes" and "no".

Source: own rules; weights tuned on development questions of HotpotQA and MuSiQue, given the gold passages alone and
among others. Differs from the source: nothing.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, final

from clew.answering.question_types import (
    QuestionType,
    classify_question,
    extract_year,
    find_asked_verb,
    find_content_stems,
    find_first_year,
    find_nationality,
    find_numbers,
    score_type_fit,
    stem,
)
from clew.errors import InputError
from clew.text.gazetteer import COMMON_WORDS
from clew.text.mentions import find_mentions
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.text.sentences import sentence_spans
from clew.types import Answer, Citation, Evidence, Mention, Passage, Scored

if TYPE_CHECKING:
    from clew.protocols import Encoder

NO_MODEL_NOTE = "no language model was used: the answer is quoted from the passages"
CANDIDATE_NOTE = "the answer is the best-scored name, date or number of the quoted sentences: check it against them"
COMPARISON_NOTE = "the answer compares what the first quoted sentences say of the two: check it against them"
OFF_TOPIC_NOTE = "the passages hardly touch the question: the nearest sentences are quoted, none is an answer"
MISSING_NAME_NOTE = "what the question names is missing here: the nearest sentences are quoted, none is an answer"
UNDECIDED_NOTE = "the passages do not decide it in plain words: read the quoted sentences"
MAX_SENTENCES = 80
MAX_QUOTES = 4
MAX_CANDIDATES = 10
MIN_ANSWER_SCORE = 3.0
"""A candidate of at least this score is given as the answer; below it the best sentence is."""
MIN_COVERAGE, MIN_SIMILARITY, MIN_COVERAGE_WITHOUT_ENCODER = 0.35, 0.4, 0.25
"""The evidence hardly touches the question below both: share of its words that is quoted, and the best cosine; without
an encoder, below the third, a share of words."""
SENTENCE_WEIGHTS = {"near": 0.4, "shared": 0.2, "rank": 0.05, "path": 0.2}
NEXT_SENTENCE_WEIGHTS = {"goes on": 0.3, "new words": 0.2, "new passage": 0.1}
STOP_SHARE = 0.3
"""Quoting ends when the next sentence has less than this share of the first one's score."""
CANDIDATE_WEIGHTS = {
    "goes on": 1.4, "quoted": 0.7, "fit": 1.7, "around": 1.5, "noun": 1.5, "place": 1.0, "words": 0.35, "title": 0.4,
    "bridge": -0.4, "path end": 0.7,
}  # fmt: skip
ASKED_VERB_WEIGHT = 2.0
"""How much more the word for what was done counts than its rarity: the sentence that tells it names who did it."""
OPTION_MARGIN = 0.03
"""One of two options is the answer when its passage suits the question better by at least this."""
_PLACE_PREPOSITIONS = frozenset({"in", "at", "near", "from", "to"})

_PathNames = Sequence[tuple[frozenset[str], frozenset[str]]]


@dataclass(frozen=True, slots=True)
class _Sentence:
    passage: Passage
    rank: int
    start: int
    end: int
    stem_positions: tuple[tuple[str, int], ...]
    stem_set: frozenset[str]  # stems of the sentence and of the passage's title
    mentions: tuple[Mention, ...]
    name_keys: frozenset[str]  # keys of the mentions and of the title
    title_key: str

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def citation(self) -> Citation:
        passage, shift = self.passage, self.passage.start
        place = (shift + self.start, shift + self.end)
        return Citation(passage.document_id, passage.id, passage.title, *place, self.text)


@dataclass(frozen=True, slots=True)
class _Question:
    question_type: QuestionType
    text_key: str
    names: tuple[str, ...]
    weights: Mapping[str, float]  # of its words: rarity in the evidence, summing to 1

    def mentions_name(self, key: str) -> bool:
        """Whether the question has this name, one that this name only lengthens, or all its words but one."""
        if f" {key} " in self.text_key or any(f" {name_key(name)} " in f" {key} " for name in self.names):
            return True
        words = key.split(" ")
        return len(words) > 2 and sum(f" {word} " in self.text_key for word in words) >= len(words) - 1

    def overlap(self, sentence: _Sentence) -> float:
        return sum(weight for word, weight in self.weights.items() if word in sentence.stem_set)


@dataclass(frozen=True, slots=True)
class _Candidate:
    name: str
    score: float
    sentences: tuple[_Sentence, ...]


@final
class ExtractiveAnswerer:
    """Quotes the sentences that answer a question and names the candidates in them; no language model, no network.

    Args:
        encoder: For the nearness of sentence and question; None or one of dimension 0 compares words only.
        name_finder: Given (text, start, end), returns the mentions inside `text[start:end]`.
        max_encoded: How many sentences a question are encoded: those that share most words with it; at least 1.
    """

    def __init__(
        self,
        encoder: "Encoder | None" = None,
        name_finder: Callable[[str, int, int], Sequence[Mention]] = find_mentions,
        max_encoded: int = 12,
    ) -> None:
        if max_encoded < 1:
            raise InputError(
                f"encoded is {max_encoded}; wanted at least 1 sentence; leave the encoder out to encode none"
            )
        self._encoder = encoder if encoder is not None and encoder.dimension else None
        self._name_finder = name_finder
        self._encoded = max_encoded

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer a question (see `Answerer`); nothing is written, so `on_text` is told nothing."""
        del on_text
        if len(questions) != len(evidence):
            raise InputError(f"{len(questions)} questions, {len(evidence)} pieces of evidence; give one a question")
        return [self.answer_one(*pair) for pair in zip(questions, evidence, strict=True)]

    def answer_one(self, question: str, evidence: Evidence) -> Answer:
        """Read an answer from the evidence alone.

        Returns:
            The text is "yes", "no" or one of two options where the sentences decide it, else the best candidate when
            it is clear, else the best sentence; "" with `weak` when the evidence hardly touches the question.
        """
        every = self._split_sentences(evidence)
        if not question.strip() or not every:
            lack = "the evidence holds no passage with text" if question.strip() else "the question is empty"
            return Answer("", (), (), evidence, weak=True, notes=(NO_MODEL_NOTE, lack))
        asking = self._analyze_question(question, every)
        kept = _preselect_sentences(asking, every, MAX_SENTENCES)
        near = self._similarities(question, kept, [asking.overlap(s) for s in kept])
        paths = _path_names(evidence)
        scores = [_score_sentence(asking, s, n, paths) for s, n in zip(kept, near, strict=True)]
        chain = _select_sentences(asking, kept, scores)
        absent = _missing_name_notes(asking, evidence)
        notes = (NO_MODEL_NOTE, *absent)
        covered = sum(w for word, w in asking.weights.items() if any(word in s.stem_set for s in chain))
        far = (
            covered < MIN_COVERAGE_WITHOUT_ENCODER
            if self._encoder is None
            else covered < MIN_COVERAGE and max(near) < MIN_SIMILARITY
        )
        # A name that no passage has is what the question is about: of questions asked of a corpus that cannot answer
        # them, this finds three in four, and takes one in twenty-five of the others (hotpotqa/dev, musique-dev).
        if far or absent:
            notes += (OFF_TOPIC_NOTE if far else MISSING_NAME_NOTE,)
            return Answer("", tuple(s.citation for s in chain), (), evidence, weak=True, notes=notes)
        options = _rank_options(asking, every, kept, scores)
        ranked = options or _rank_candidates(asking, kept, chain, paths)
        text, basis, note = _decide_answer(asking, every, chain, options, ranked)
        quoted: list[_Sentence] = []
        for sentence in (*basis, *chain):
            quoted += [sentence] if sentence not in quoted and len(quoted) < MAX_QUOTES else []
        found = tuple(Scored(c.name, c.score) for c in ranked[:MAX_CANDIDATES])
        return Answer(text, tuple(s.citation for s in quoted), found, evidence, notes=(*notes, *note))

    def _split_sentences(self, evidence: Evidence) -> list[_Sentence]:
        found = []
        for rank, passage in enumerate({scored.item.id: scored.item for scored in evidence.passages}.values()):
            title = name_key(strip_parentheses(passage.title))
            title_words = [word for word, _ in find_content_stems(passage.title)]
            for start, end in sentence_spans(passage.text):
                if passage.text.startswith("#", start):
                    continue  # a heading says what a text is about, and answers nothing
                words = tuple(find_content_stems(passage.text[start:end], start))
                within = self._name_finder(passage.text, start, end)
                mentions = tuple(m for m in within if start <= m.start < m.end <= end)
                names = frozenset((*(name_key(m.name) for m in mentions), title)) - {""}
                held = frozenset((*(word for word, _ in words), *title_words))
                found.append(_Sentence(passage, rank, start, end, words, held, mentions, names, title))
        return found

    def _analyze_question(self, question: str, every: Sequence[_Sentence]) -> _Question:
        words = dict.fromkeys(word for word, _ in find_content_stems(question))
        rarity = {word: math.log(1 + len(every) / (0.5 + sum(word in s.stem_set for s in every))) for word in words}
        if (deed := find_asked_verb(question)) in rarity:
            rarity[deed] *= ASKED_VERB_WEIGHT
        total = sum(rarity.values())
        found = self._name_finder(question, 0, len(question))
        names = tuple(m.name for m in found if m.kind not in ("date", "number"))
        key = f" {' '.join(token.key for token in tokens(question))} "
        return _Question(
            classify_question(question), key, names, {word: value / total for word, value in rarity.items()}
        )

    def _similarities(self, question: str, kept: Sequence[_Sentence], shared: Sequence[float]) -> list[float]:
        """Return a cosine for each sentence; those that are not encoded have the least of those that are."""
        if self._encoder is None:
            return [0.0] * len(kept)
        chosen = sorted(range(len(kept)), key=lambda i: (-shared[i], i))[: self._encoded]
        # A sentence about "he" or "the town" is understood with its title.
        texts = [f"{kept[i].passage.title}: {kept[i].text}" if kept[i].title_key else kept[i].text for i in chosen]
        # All as questions: `encode` fills whole batches, three times the work for a dozen sentences.
        own, *rows = self._encoder.encode_queries([question, *texts])
        near = {i: float(row @ own) for i, row in zip(chosen, rows, strict=True)}
        return [near.get(i, min(near.values())) for i in range(len(kept))]


def _preselect_sentences(asking: _Question, every: Sequence[_Sentence], count: int) -> list[_Sentence]:
    value = [asking.overlap(s) + SENTENCE_WEIGHTS["rank"] / (1 + s.rank) for s in every]
    best = sorted(range(len(every)), key=lambda i: (-value[i], i))[:count]
    return [every[i] for i in sorted(best)]


def _path_names(evidence: Evidence) -> _PathNames:
    """Return for each path, best first, the keys of all its names and of those at its end."""
    found = []
    for scored in evidence.paths:
        links = [frozenset((name_key(t.head), name_key(t.tail))) for t in scored.item]
        if links:
            ends = links[-1] - links[-2] if len(links) > 1 else frozenset((name_key(scored.item[-1].tail),))
            found.append((frozenset().union(*links), ends))
    return found


def _score_sentence(asking: _Question, sentence: _Sentence, near: float, paths: _PathNames) -> float:
    shares = [(len(sentence.name_keys & names) / len(names), i) for i, (names, _) in enumerate(paths)]
    on_path = max((share / (1 + i) for share, i in shares), default=0.0)
    value = {"near": near, "shared": asking.overlap(sentence), "rank": 1 / (1 + sentence.rank), "path": on_path}
    return sum(SENTENCE_WEIGHTS[name] * x for name, x in value.items())


def _continues(asking: _Question, sentence: _Sentence, chosen: Iterable[_Sentence]) -> bool:
    """Whether a chosen sentence of another passage shares a name with this one that the question does not have."""
    return any(
        not asking.mentions_name(key)
        for other in chosen
        if other.passage.id != sentence.passage.id
        for key in sentence.name_keys & other.name_keys
    )


def _select_sentences(asking: _Question, kept: Sequence[_Sentence], scores: Sequence[float]) -> list[_Sentence]:
    """Choose the sentences to quote, each for what it adds to those before it."""
    chain: list[_Sentence] = []
    first = 0.0
    while len(chain) < min(MAX_QUOTES, len(kept)):
        gains = {i: scores[i] + _selection_gain(asking, s, chain) for i, s in enumerate(kept) if s not in chain}
        best, gain = max(gains.items(), key=lambda item: (item[1], -item[0]))
        if chain and gain < STOP_SHARE * first:
            break
        first = first if chain else gain
        chain.append(kept[best])
    return chain


def _selection_gain(asking: _Question, sentence: _Sentence, chain: Sequence[_Sentence]) -> float:
    new = sentence.stem_set.difference(*(s.stem_set for s in chain))
    value = {
        "goes on": float(_continues(asking, sentence, chain)),
        "new words": sum(weight for word, weight in asking.weights.items() if word in new),
        "new passage": float(all(s.passage.id != sentence.passage.id for s in chain)),
    }
    return sum(NEXT_SENTENCE_WEIGHTS[name] * x for name, x in value.items())


def _missing_name_notes(asking: _Question, evidence: Evidence) -> list[str]:
    """Return a note for each stretch of a name's words that stand in no passage, abbreviations aside."""
    held = COMMON_WORDS | {
        token.key for scored in evidence.passages for token in tokens(f"{scored.item.title} {scored.item.text}")
    }
    notes = []
    for name in asking.names:
        for gone, run in groupby(tokens(name), key=lambda token: token.key not in held):
            places = [(token.start, token.end) for token in run]
            lost = name[places[0][0] : places[-1][1]]
            if gone and (len(lost) > 2 or not lost.isascii()):
                notes.append(f"no passage mentions {lost!r}")
    return notes


def _rank_candidates(
    asking: _Question, kept: Sequence[_Sentence], chain: Sequence[_Sentence], paths: _PathNames
) -> list[_Candidate]:
    """Return the names that the question does not have, best first, each once."""
    ends: dict[str, float] = {}
    for i, (_, last) in enumerate(paths):
        ends = dict.fromkeys(last, 1 / (1 + i)) | ends
    best: dict[str, _Candidate] = {}
    for sentence in kept:
        text = sentence.passage.text
        numbers = _unmentioned_numbers(sentence) if asking.question_type.kind == "number" else []
        shown = {"goes on": float(_continues(asking, sentence, chain)), "quoted": float(sentence in chain)}
        for found in (*sentence.mentions, *numbers):
            mention = extract_year(found) if asking.question_type.noun in ("year", "years") else found
            key = name_key(mention.name)
            if asking.mentions_name(key):
                continue
            value = shown | _candidate_features(asking, sentence, mention)
            value["path end"] = ends.get(key, 0.0)
            value["title"] = float(key == sentence.title_key)
            value["bridge"] = float(len({s.passage.id for s in chain if key in s.name_keys}) > 1)
            score = sum(CANDIDATE_WEIGHTS[name] * x for name, x in value.items())
            if key not in best or score > best[key].score:
                best[key] = _Candidate(text[mention.start : mention.end], score, (sentence,))
    return sorted(best.values(), key=lambda candidate: -candidate.score)


def _unmentioned_numbers(sentence: _Sentence) -> list[Mention]:
    found = find_numbers(sentence.passage.text, sentence.start, sentence.end)
    return [n for n in found if not any(n.start < m.end and m.start < n.end for m in sentence.mentions)]


def _candidate_features(asking: _Question, sentence: _Sentence, mention: Mention) -> dict[str, float]:
    gaps: dict[str, int] = {}
    for word, at in sentence.stem_positions:
        if word in asking.weights and not mention.start <= at < mention.end:
            gap = max(0, mention.start - at if at < mention.start else at - mention.end)
            gaps[word] = min(gap, gaps.get(word, gap))
    before = sentence.passage.text[sentence.start : mention.start].split()[-1:]
    return {
        "fit": score_type_fit(mention, asking.question_type.kind),
        "around": sum(asking.weights[word] / (1 + gap / 20) for word, gap in gaps.items()),
        "noun": float(gaps.get(stem(asking.question_type.noun), 99) < 25),
        "place": float(
            asking.question_type.kind == "place" and bool(before) and before[0].lower() in _PLACE_PREPOSITIONS
        ),
        "words": float(min(3, len(mention.name.split())) - 1),
    }


def _sentences_about(name: str, every: Sequence[_Sentence]) -> list[_Sentence]:
    """Return the sentences of the passages on `name`, else those that mention it."""
    key = f" {name_key(strip_parentheses(name))} "
    own = [s for s in every if s.title_key and (key in f" {s.title_key} " or f" {s.title_key} " in key)]
    return own or [s for s in every if key.strip() in s.name_keys]


def _rank_options(
    asking: _Question, every: Sequence[_Sentence], kept: Sequence[_Sentence], scores: Sequence[float]
) -> list[_Candidate]:
    """Return the two that "A or B" offers, better first; none when the passages do not hold what is compared."""
    found = []
    for option in asking.question_type.options:
        about = _sentences_about(option, every)
        # Up to two names between are let pass: David Michael Draiman.
        pattern = r"\s+(?:[\w.]+\s+){0,2}?".join(map(re.escape, option.split()))
        named = next(((s, m) for s in about if (m := re.search(pattern, s.text, re.IGNORECASE))), None)
        if named is None:
            return []
        known = [(s, score) for s, score in zip(kept, scores, strict=True) if s in about]
        basis, score = max(known, key=lambda pair: pair[1], default=(about[0], 0.0))
        if asking.question_type.comparison in ("earlier", "later"):
            dated = next(((s, year) for s in about if (year := find_first_year(s.text))), None)
            if dated is None:
                return []
            basis, score = dated[0], float(-dated[1] if asking.question_type.comparison == "earlier" else dated[1])
        found.append(_Candidate(named[1].group(), score, (named[0], basis)))
    return sorted(found, key=lambda candidate: -candidate.score)


def _compare_nationalities(asking: _Question, every: Sequence[_Sentence]) -> tuple[str, list[_Sentence]] | None:
    """Return yes or no to "are both of the same nationality", and the two sentences that tell."""
    firsts = [about[0] for name in asking.names if (about := _sentences_about(name, every))]
    nations = [find_nationality(s.text) for s in firsts]
    if not asking.question_type.asks_same_nationality or len(nations) != 2 or not all(nations):
        return None
    return "yes" if nations[0] == nations[1] else "no", firsts


def _decide_answer(
    asking: _Question,
    every: Sequence[_Sentence],
    chain: list[_Sentence],
    options: Sequence[_Candidate],
    ranked: Sequence[_Candidate],
) -> tuple[str, list[_Sentence], tuple[str, ...]]:
    """Return the answer's text, the sentences to quote first, and a note on it."""
    if asking.question_type.options:
        basis = [s for option in options for s in option.sentences]
        decidable = options and asking.question_type.comparison != "undecidable"
        if decidable and options[0].score - options[1].score >= OPTION_MARGIN:
            return options[0].name, basis, (COMPARISON_NOTE,)
        return chain[0].text, [chain[0], *basis], (UNDECIDED_NOTE,)
    if asking.question_type.kind == "yes or no":
        verdict = _compare_nationalities(asking, every)
        return (*verdict, (COMPARISON_NOTE,)) if verdict else ("", chain, (UNDECIDED_NOTE,))
    if ranked and ranked[0].score >= MIN_ANSWER_SCORE:
        held = ranked[0].sentences[0]
        return ranked[0].name, chain if held in chain else [*chain[: MAX_QUOTES - 1], held], (CANDIDATE_NOTE,)
    return chain[0].text, chain, ()
