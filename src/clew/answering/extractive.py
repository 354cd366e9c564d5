"""Answers without a language model: quotes the sentences that best fit the question and ranks the names in them.

A sentence is scored by its similarity to the question (vectors, shared words), the rank of its passage and the paths.
Sentences are selected greedily: one gains when it shares a new name with a selected sentence of another passage, and
when it covers words of the question that no selected sentence has. Names are scored by the expected answer type and the
question's words around them. The answer is always text of a quoted sentence, or "yes" or "no".

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
from clew.answering.replies import check_lengths, empty_answer
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
COMPARISON_NOTE = "the answer compares the two entities by the first quoted sentences: check it against them"
OFF_TOPIC_NOTE = "the passages hardly match the question: the most similar sentences are quoted, none is an answer"
MISSING_NAME_NOTE = "a name of the question is missing: the most similar sentences are quoted, none is an answer"
UNDECIDED_NOTE = "the passages do not decide the question: read the quoted sentences"
MAX_SENTENCES = 80
MAX_QUOTES = 4
MAX_CANDIDATES = 10
MIN_ANSWER_SCORE = 3.0
"""Minimum score of a candidate to be the answer; below it the best sentence is the answer."""
MIN_COVERAGE, MIN_SIMILARITY, MIN_COVERAGE_WITHOUT_ENCODER = 0.35, 0.4, 0.25
"""Evidence is weak if the weighted share of question words in the quotes and the best cosine are both below the first
two; without an encoder, if the share is below the third."""
SENTENCE_WEIGHTS = {"similarity": 0.4, "overlap": 0.2, "rank": 0.05, "path": 0.2}
NEXT_SENTENCE_WEIGHTS = {"continues": 0.3, "new words": 0.2, "new passage": 0.1}
STOP_SHARE = 0.3
"""Selection stops when the gain of the next sentence is below this share of the first one's score."""
CANDIDATE_WEIGHTS = {
    "continues": 1.4, "quoted": 0.7, "type fit": 1.7, "proximity": 1.5, "noun": 1.5, "place": 1.0, "words": 0.35,
    "title": 0.4, "bridge": -0.4, "path end": 0.7,
}  # fmt: skip
ASKED_VERB_WEIGHT = 2.0
"""Factor on the weight of the question's main verb: the sentence with that verb names the agent."""
OPTION_MARGIN = 0.03
"""Minimum lead of the better one of two options in score to be the answer."""
_PLACE_PREPOSITIONS = frozenset({"in", "at", "near", "from", "to"})

_PathNames = Sequence[tuple[frozenset[str], frozenset[str]]]  # of each path, keys of all names and of those at its end


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
    weights: Mapping[str, float]  # of the question's words: rarity in the evidence, summing to 1

    def mentions_name(self, key: str) -> bool:
        """Whether the question has this name, a shorter form of it, or all its words but one."""
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
    """Quotes the sentences that answer a question and ranks the names in them; no language model, no network.

    Args:
        encoder: Encodes questions and sentences; None or one of dimension 0 compares words only.
        name_finder: Given (text, start, end), returns the mentions inside `text[start:end]`.
        max_encoded: Sentences encoded per question, those with the largest word overlap; at least 1.
    """

    def __init__(
        self,
        encoder: "Encoder | None" = None,
        name_finder: Callable[[str, int, int], Sequence[Mention]] = find_mentions,
        max_encoded: int = 12,
    ) -> None:
        if max_encoded < 1:
            raise InputError(f"max_encoded is {max_encoded}; wanted at least 1, or no encoder to encode no sentence")
        self._encoder = encoder if encoder is not None and encoder.dimension else None
        self._name_finder = name_finder
        self._max_encoded = max_encoded

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`); `on_text` is never called."""
        del on_text
        check_lengths(questions, evidence)
        return [self.answer_one(*pair) for pair in zip(questions, evidence, strict=True)]

    def answer_one(self, question: str, evidence: Evidence) -> Answer:
        """Answer one question from its evidence.

        Returns:
            Its text is "yes", "no" or one of two options where the sentences decide it, else the best candidate if its
            score suffices, else the best sentence; "" with `weak` where the evidence hardly matches the question.
        """
        sentences = self._split_sentences(evidence)
        if not question.strip() or not sentences:
            reason = "the evidence holds no passage with text" if question.strip() else "the question is empty"
            return empty_answer(evidence, (NO_MODEL_NOTE, reason))
        query = self._analyze_question(question, sentences)
        preselected = _preselect_sentences(query, sentences, MAX_SENTENCES)
        similarities = self._similarities(question, preselected, [query.overlap(s) for s in preselected])
        paths = _path_names(evidence)
        scores = [_score_sentence(query, s, x, paths) for s, x in zip(preselected, similarities, strict=True)]
        selected = _select_sentences(query, preselected, scores)
        missing = _missing_name_notes(query, evidence)
        notes = (NO_MODEL_NOTE, *missing)
        coverage = sum(w for word, w in query.weights.items() if any(word in s.stem_set for s in selected))
        if self._encoder is None:
            off_topic = coverage < MIN_COVERAGE_WITHOUT_ENCODER
        else:
            off_topic = coverage < MIN_COVERAGE and max(similarities) < MIN_SIMILARITY
        # A name that no passage has marks a question that the corpus cannot answer: this rule finds three in four of
        # those, and wrongly rejects one in twenty-five of the others (hotpotqa/dev, musique-dev).
        if off_topic or missing:
            notes += (OFF_TOPIC_NOTE if off_topic else MISSING_NAME_NOTE,)
            return Answer("", tuple(s.citation for s in selected), (), evidence, weak=True, notes=notes)
        options = _rank_options(query, sentences, preselected, scores)
        ranked = options or _rank_candidates(query, preselected, selected, paths)
        text, basis, note = _decide_answer(query, sentences, selected, options, ranked)
        notes += (note,) if note else ()
        quotes: list[_Sentence] = []
        for sentence in (*basis, *selected):
            quotes += [sentence] if sentence not in quotes and len(quotes) < MAX_QUOTES else []
        candidates = tuple(Scored(c.name, c.score) for c in ranked[:MAX_CANDIDATES])
        return Answer(text, tuple(s.citation for s in quotes), candidates, evidence, notes=notes)

    def _split_sentences(self, evidence: Evidence) -> list[_Sentence]:
        sentences = []
        for rank, passage in enumerate({scored.item.id: scored.item for scored in evidence.passages}.values()):
            title = name_key(strip_parentheses(passage.title))
            title_stems = [word for word, _ in find_content_stems(passage.title)]
            for start, end in sentence_spans(passage.text):
                if passage.text.startswith("#", start):
                    continue  # a heading answers nothing
                words = tuple(find_content_stems(passage.text[start:end], start))
                mentions = self._name_finder(passage.text, start, end)
                mentions = tuple(m for m in mentions if start <= m.start < m.end <= end)
                names = frozenset((*(name_key(m.name) for m in mentions), title)) - {""}
                stem_set = frozenset((*(word for word, _ in words), *title_stems))
                sentences.append(_Sentence(passage, rank, start, end, words, stem_set, mentions, names, title))
        return sentences

    def _analyze_question(self, question: str, sentences: Sequence[_Sentence]) -> _Question:
        words = dict.fromkeys(word for word, _ in find_content_stems(question))
        counts = {word: sum(word in s.stem_set for s in sentences) for word in words}
        rarity = {word: math.log(1 + len(sentences) / (0.5 + count)) for word, count in counts.items()}
        if (verb := find_asked_verb(question)) in rarity:
            rarity[verb] *= ASKED_VERB_WEIGHT
        total = sum(rarity.values())
        weights = {word: value / total for word, value in rarity.items()}
        mentions = self._name_finder(question, 0, len(question))
        names = tuple(m.name for m in mentions if m.kind not in ("date", "number"))
        key = f" {' '.join(token.key for token in tokens(question))} "
        return _Question(classify_question(question), key, names, weights)

    def _similarities(self, question: str, sentences: Sequence[_Sentence], overlaps: Sequence[float]) -> list[float]:
        """Return a cosine for each sentence; one that is not encoded gets the minimum of those that are."""
        if self._encoder is None:
            return [0.0] * len(sentences)
        encoded = sorted(range(len(sentences)), key=lambda i: (-overlaps[i], i))[: self._max_encoded]
        # A sentence about "he" or "the town" is understood with its title.
        texts = [
            f"{sentences[i].passage.title}: {sentences[i].text}" if sentences[i].title_key else sentences[i].text
            for i in encoded
        ]
        # `encode` pads to full batches, three times the work for a dozen sentences; `encode_queries` does not.
        query_vector, *rows = self._encoder.encode_queries([question, *texts])
        cosines = {i: float(row @ query_vector) for i, row in zip(encoded, rows, strict=True)}
        lowest = min(cosines.values())
        return [cosines.get(i, lowest) for i in range(len(sentences))]


def _preselect_sentences(query: _Question, sentences: Sequence[_Sentence], count: int) -> list[_Sentence]:
    scores = [query.overlap(s) + SENTENCE_WEIGHTS["rank"] / (1 + s.rank) for s in sentences]
    best = sorted(range(len(sentences)), key=lambda i: (-scores[i], i))[:count]
    return [sentences[i] for i in sorted(best)]


def _path_names(evidence: Evidence) -> _PathNames:
    names = []
    for scored in evidence.paths:
        links = [frozenset((name_key(t.head), name_key(t.tail))) for t in scored.item]
        if links:
            ends = links[-1] - links[-2] if len(links) > 1 else frozenset((name_key(scored.item[-1].tail),))
            names.append((frozenset().union(*links), ends))
    return names


def _score_sentence(query: _Question, sentence: _Sentence, similarity: float, paths: _PathNames) -> float:
    shares = [(len(sentence.name_keys & names) / len(names), i) for i, (names, _) in enumerate(paths)]
    on_path = max((share / (1 + i) for share, i in shares), default=0.0)
    overlap = query.overlap(sentence)
    features = {"similarity": similarity, "overlap": overlap, "rank": 1 / (1 + sentence.rank), "path": on_path}
    return _weighted_sum(SENTENCE_WEIGHTS, features)


def _continues(query: _Question, sentence: _Sentence, selected: Iterable[_Sentence]) -> bool:
    """Whether it shares a name that is not in the question with a selected sentence of another passage."""
    return any(
        not query.mentions_name(key)
        for other in selected
        if other.passage.id != sentence.passage.id
        for key in sentence.name_keys & other.name_keys
    )


def _select_sentences(query: _Question, sentences: Sequence[_Sentence], scores: Sequence[float]) -> list[_Sentence]:
    """Select greedily the sentences to quote, each by its score and its gain over those before it."""
    selected: list[_Sentence] = []
    first = 0.0
    while len(selected) < min(MAX_QUOTES, len(sentences)):
        gains = {
            i: scores[i] + _selection_gain(query, s, selected) for i, s in enumerate(sentences) if s not in selected
        }
        best, gain = max(gains.items(), key=lambda item: (item[1], -item[0]))
        if selected and gain < STOP_SHARE * first:
            break
        first = first if selected else gain
        selected.append(sentences[best])
    return selected


def _selection_gain(query: _Question, sentence: _Sentence, selected: Sequence[_Sentence]) -> float:
    new = sentence.stem_set.difference(*(s.stem_set for s in selected))
    features = {
        "continues": float(_continues(query, sentence, selected)),
        "new words": sum(weight for word, weight in query.weights.items() if word in new),
        "new passage": float(all(s.passage.id != sentence.passage.id for s in selected)),
    }
    return _weighted_sum(NEXT_SENTENCE_WEIGHTS, features)


def _weighted_sum(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    return sum(weights[name] * value for name, value in features.items())


def _missing_name_notes(query: _Question, evidence: Evidence) -> list[str]:
    """Return a note for each run of a name's words that are in no passage, abbreviations aside."""
    present = COMMON_WORDS | {
        token.key for scored in evidence.passages for token in tokens(f"{scored.item.title} {scored.item.text}")
    }
    notes = []
    for name in query.names:
        for is_missing, run in groupby(tokens(name), key=lambda token: token.key not in present):
            words = list(run)
            text = name[words[0].start : words[-1].end]
            if is_missing and (len(text) > 2 or not text.isascii()):
                notes.append(f"no passage mentions {text!r}")
    return notes


def _rank_candidates(
    query: _Question, sentences: Sequence[_Sentence], selected: Sequence[_Sentence], paths: _PathNames
) -> list[_Candidate]:
    """Return the names of the sentences that are not in the question, best first, each once."""
    ends: dict[str, float] = {}
    for i, (_, last) in enumerate(paths):
        ends = dict.fromkeys(last, 1 / (1 + i)) | ends
    best: dict[str, _Candidate] = {}
    for sentence in sentences:
        text = sentence.passage.text
        numbers = _unmentioned_numbers(sentence) if query.question_type.kind == "number" else []
        shared = {"continues": float(_continues(query, sentence, selected)), "quoted": float(sentence in selected)}
        for mention in (*sentence.mentions, *numbers):
            if query.question_type.noun in ("year", "years"):
                mention = extract_year(mention)
            key = name_key(mention.name)
            if query.mentions_name(key):
                continue
            features = shared | _candidate_features(query, sentence, mention)
            features["path end"] = ends.get(key, 0.0)
            features["title"] = float(key == sentence.title_key)
            features["bridge"] = float(len({s.passage.id for s in selected if key in s.name_keys}) > 1)
            score = _weighted_sum(CANDIDATE_WEIGHTS, features)
            if key not in best or score > best[key].score:
                best[key] = _Candidate(text[mention.start : mention.end], score, (sentence,))
    return sorted(best.values(), key=lambda candidate: -candidate.score)


def _unmentioned_numbers(sentence: _Sentence) -> list[Mention]:
    numbers = find_numbers(sentence.passage.text, sentence.start, sentence.end)
    return [n for n in numbers if not any(n.start < m.end and m.start < n.end for m in sentence.mentions)]


def _candidate_features(query: _Question, sentence: _Sentence, mention: Mention) -> dict[str, float]:
    kind = query.question_type.kind
    gaps: dict[str, int] = {}
    for word, at in sentence.stem_positions:
        if word in query.weights and not mention.start <= at < mention.end:
            gap = max(0, mention.start - at if at < mention.start else at - mention.end)
            gaps[word] = min(gap, gaps.get(word, gap))
    before = sentence.passage.text[sentence.start : mention.start].split()[-1:]
    return {
        "type fit": score_type_fit(mention, kind),
        "proximity": sum(query.weights[word] / (1 + gap / 20) for word, gap in gaps.items()),
        "noun": float(gaps.get(stem(query.question_type.noun), 99) < 25),
        "place": float(kind == "place" and bool(before) and before[0].lower() in _PLACE_PREPOSITIONS),
        "words": float(min(3, len(mention.name.split())) - 1),
    }


def _sentences_about(name: str, sentences: Sequence[_Sentence]) -> list[_Sentence]:
    """Return the sentences of passages with `name` in the title, else those that mention it."""
    key = f" {name_key(strip_parentheses(name))} "
    titled = [s for s in sentences if s.title_key and (key in f" {s.title_key} " or f" {s.title_key} " in key)]
    return titled or [s for s in sentences if key.strip() in s.name_keys]


def _rank_options(
    query: _Question, sentences: Sequence[_Sentence], preselected: Sequence[_Sentence], scores: Sequence[float]
) -> list[_Candidate]:
    """Return the two options of "A or B", better first; [] if the passages lack the compared facts."""
    comparison = query.question_type.comparison
    candidates = []
    for option in query.question_type.options:
        about = _sentences_about(option, sentences)
        # Up to two names may stand between: David Michael Draiman.
        pattern = r"\s+(?:[\w.]+\s+){0,2}?".join(map(re.escape, option.split()))
        named = next(((s, m) for s in about if (m := re.search(pattern, s.text, re.IGNORECASE))), None)
        if named is None:
            return []
        scored = [(s, score) for s, score in zip(preselected, scores, strict=True) if s in about]
        basis, score = max(scored, key=lambda pair: pair[1], default=(about[0], 0.0))
        if comparison in ("earlier", "later"):
            dated = next(((s, year) for s in about if (year := find_first_year(s.text))), None)
            if dated is None:
                return []
            basis, score = dated[0], float(-dated[1] if comparison == "earlier" else dated[1])
        candidates.append(_Candidate(named[1].group(), score, (named[0], basis)))
    return sorted(candidates, key=lambda candidate: -candidate.score)


def _compare_nationalities(query: _Question, sentences: Sequence[_Sentence]) -> tuple[str, list[_Sentence]] | None:
    """Answer "are both of the same nationality" by yes or no, with the two sentences that decide it."""
    first = [about[0] for name in query.names if (about := _sentences_about(name, sentences))]
    nationalities = [find_nationality(s.text) for s in first]
    if not query.question_type.asks_same_nationality or len(nationalities) != 2 or not all(nationalities):
        return None
    return "yes" if nationalities[0] == nationalities[1] else "no", first


def _decide_answer(
    query: _Question,
    sentences: Sequence[_Sentence],
    selected: list[_Sentence],
    options: Sequence[_Candidate],
    ranked: Sequence[_Candidate],
) -> tuple[str, list[_Sentence], str]:
    """Return the answer's text, the sentences to quote first, and a note or ""."""
    question_type = query.question_type
    if question_type.options:
        basis = [s for option in options for s in option.sentences]
        decidable = options and question_type.comparison != "undecidable"
        if decidable and options[0].score - options[1].score >= OPTION_MARGIN:
            return options[0].name, basis, COMPARISON_NOTE
        return selected[0].text, [selected[0], *basis], UNDECIDED_NOTE
    if question_type.kind == "yes or no":
        verdict = _compare_nationalities(query, sentences)
        return (*verdict, COMPARISON_NOTE) if verdict else ("", selected, UNDECIDED_NOTE)
    if ranked and ranked[0].score >= MIN_ANSWER_SCORE:
        source = ranked[0].sentences[0]
        basis = selected if source in selected else [*selected[: MAX_QUOTES - 1], source]
        return ranked[0].name, basis, CANDIDATE_NOTE
    return selected[0].text, selected, ""
