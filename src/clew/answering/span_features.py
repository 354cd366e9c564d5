"""Features of candidate answers for the learned ranker: their sentence, text, neighbours, and fit to the question.

Source: own choice. Differs from the source: nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from clew.answering.answer_spans import SPAN_KINDS, SpanCandidate
from clew.answering.candidates import CANDIDATE_WEIGHTS, candidate_features
from clew.answering.event_dates import LIFE
from clew.answering.languages import ENGLISH
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import NAME_NOUNS, find_asked_verb, find_content_stems, is_person_noun
from clew.answering.sentence_selection import QuestionTerms, Sentence, is_continuation, place_of, weighted_sum
from clew.arrays import FloatArray
from clew.text.normalization import name_key
from clew.types import Mention

QUESTION_KINDS = ("date", "number", "person", "place", "name", "")
QUESTION_CUES = {
    name: re.compile(pattern, re.I)
    for name, pattern in {
        "year": r"\byears?\b", "nationality": r"\bnationality\b|\bcountry\b", "birth": r"\bborn\b|\bbirth",
        "death": r"\bdie[ds]?\b|\bdeath\b", "called": r"\b(?:nick)?named?\b|\bcalled\b|\bknown\b",
        "both": r"\bboth\b|\band\b.*\bcommon\b", "who": r"\bwho(?:se|m)?\b", "what": r"\bwhat\b", "which": r"\bwhich\b",
        "where": r"\bwhere\b|\b(?:city|town|village)\b", "kind": r"\b(?:type|kind|sort|genre|profession|occupation)\b",
        "age": r"\bhow old\b|\bage\b",
    }.items()
}  # fmt: skip
_PREVIOUS = (
    ("in", "at", "near", "on"), ("of",), ("by", "with"), ("from",), ("to", "for"), ("as",), ("the", "a", "an"),
    ("is", "was", "are", "were", "be"), ("and", "or"), ("named", "called", "known", "titled", "nicknamed"),
    ("born", "died", "birth"), (",",), ("(",),
)  # fmt: skip
_NEXT = ((",",), (".", ";"), ("(",), ("and", "or"), ("is", "was", "are", "were"), ("of",), ("who", "that", "which"))
_NEIGHBOUR = re.compile(r"[^\W_]+|[^\w\s]")
_PLACE_BEFORE = re.compile(r"(?:\b(?:in|at|near|from|to|of|off|into|around)\s(?:the\s)?|,\s)\Z", re.I)
_PERSON_BEFORE = re.compile(r"\b(?:by|named|called|wife|husband|father|mother|son|daughter|brother|sister)\s\Z", re.I)
# Stems of verbs that tell events of a life or of a thing apart.
_EVENTS = frozenset(
    map(
        ENGLISH.stem,
        [
            "born",
            "died",
            "buried",
            "built",
            "founded",
            "established",
            "married",
            "lived",
            "educated",
            "worked",
            "moved",
            "retired",
            "launched",
            "released",
            "published",
            "directed",
            "written",
            "produced",
            "composed",
            "sold",
            "named",
            "owned",
            "killed",
            "opened",
            "closed",
        ],
    )
)
_WINDOW = 40  # characters around a name that may tell its type
_SHARED = (
    "continues", "quoted", "chain end", "chain", "sentence score", "best score", "similarity", "overlap", "rank",
    "order", "opens passage", "title asked",
)  # fmt: skip
_RULES = ("type fit", "proximity", "noun", "place", "words", "title", "bridge", "path end")
_OWN = (
    "asked", "in question", "shared words", "noun inside", "noun at end", "noun before", "noun after", "typed",
    "own passage", "own overlap", "frequency", "passages", "length", "all words", "position", "opens", "capital",
    "digits", "parenthesis", "verb", "verb before", "nearest", "person noun", "name noun", "first date", "second date",
    "life fit", "event fit", "place fit", "person fit", "date fit", "subject",
)  # fmt: skip
_RELATIVE = ("score", "proximity", "sentence score", "similarity")
FEATURES = (
    *_SHARED, *_RULES, *_OWN, *(f"below best {name}" for name in _RELATIVE), "score",
    *(f"after {words[0]}" for words in _PREVIOUS), *(f"before {words[0]}" for words in _NEXT),
    *(f"span {kind}" for kind in SPAN_KINDS), *(f"asks {kind or 'anything'}" for kind in QUESTION_KINDS),
    *(f"cue {name}" for name in QUESTION_CUES),
)  # fmt: skip


def span_features(analysis: QuestionAnalysis, candidates: Sequence[SpanCandidate]) -> FloatArray:
    """Return the features (n, f) of candidates, one column for each name of `FEATURES`."""
    if not candidates:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    shared = _sentence_features(analysis)
    corpus = _CorpusFacts(analysis)
    ends: dict[str, float] = {}
    for i, (_, last) in enumerate(analysis.paths):
        ends = dict.fromkeys(last, 1 / (1 + i)) | ends
    asked = _question_features(analysis)
    verb = find_asked_verb(analysis.question)
    rows = []
    for candidate in candidates:
        row = dict(shared[place_of(candidate.sentence)])
        key = name_key(candidate.text)
        row["title"] = float(key == candidate.sentence.title_key)
        row["path end"] = ends.get(key, 0.0)
        row["bridge"] = float(len({s.passage.id for s in analysis.selected if key in s.name_keys}) > 1)
        row |= _rule_features(analysis.query, candidate) | _type_features(analysis, candidate, verb)
        row["score"] = weighted_sum(CANDIDATE_WEIGHTS, {name: row[name] for name in CANDIDATE_WEIGHTS})
        row |= _text_features(analysis, candidate, key, corpus) | _neighbour_features(candidate)
        row[f"span {candidate.span.kind}"] = 1.0
        rows.append(row | asked)
    best = {name: max(row[name] for row in rows) for name in _RELATIVE}
    for row in rows:
        row.update({f"below best {name}": best[name] - row[name] for name in _RELATIVE})
    return np.array([[row.get(name, 0.0) for name in FEATURES] for row in rows], dtype=np.float32)


def _sentence_features(analysis: QuestionAnalysis) -> dict[tuple[str, int], dict[str, float]]:
    """Return the features that the candidates of a sentence share, for each chosen sentence by its place."""
    places = {place_of(s): i for i, s in enumerate(analysis.preselected)}
    scores = [analysis.scores[places[place_of(s)]] for s in analysis.chosen]
    first = {s.passage.id: s.start for s in reversed(analysis.sentences)}
    selected = set(map(place_of, analysis.selected))
    last = set(map(place_of, analysis.chain[-1] if analysis.chain else ()))
    in_chain = {place_of(s) for step in analysis.chain for s in step}
    features = {}
    for number, (sentence, score) in enumerate(zip(analysis.chosen, scores, strict=True)):
        place = place_of(sentence)
        features[place] = {
            "continues": float(is_continuation(analysis.query, sentence, analysis.selected)),
            "quoted": float(place in selected),
            "chain end": float(place in last),
            "chain": float(place in in_chain),
            "sentence score": score,
            "best score": float(score == max(scores)),
            "similarity": analysis.similarities[places[place]],
            "overlap": analysis.query.overlap(sentence),
            "rank": 1 / (1 + sentence.rank),
            "order": 1 / (1 + number),
            "opens passage": float(first[sentence.passage.id] == sentence.start),
            "title asked": float(bool(sentence.title_key) and analysis.query.mentions_name(sentence.title_key)),
        }
    return features


def _question_features(analysis: QuestionAnalysis) -> dict[str, float]:
    cues = {f"cue {name}": float(bool(cue.search(analysis.question))) for name, cue in QUESTION_CUES.items()}
    return cues | {f"asks {analysis.query.question_type.kind or 'anything'}": 1.0}


def _rule_features(query: QuestionTerms, candidate: SpanCandidate) -> dict[str, float]:
    span = candidate.span
    kind = {"year": "date", "day": "date", "title": "name"}.get(span.kind, span.kind)
    features = candidate_features(query, candidate.sentence, Mention(candidate.text, kind, span.start, span.end))
    if span.kind == "title":  # its text stands elsewhere
        features |= {"proximity": 0.0, "noun": 0.0, "place": 0.0}
    return features


def _type_features(analysis: QuestionAnalysis, candidate: SpanCandidate, verb: str) -> dict[str, float]:
    """Return how well a span fits the kind that is asked for, by its form, its neighbours and the events near it.

    1 speaks for it, -1 against it, 0 says nothing.
    """
    kind, span, sentence = analysis.query.question_type.kind, candidate.span, candidate.holder
    text = sentence.passage.text
    before = text[max(sentence.start, span.start - _WINDOW) : span.start]
    is_date = span.kind in ("date", "year", "day") or (span.kind == "joined" and text[span.start].isdigit())
    is_name = not is_date and span.kind not in ("number", "phrase") and text[span.start].isupper()
    features = {"event fit": _event_fit(sentence, span.start, verb)}
    if kind == "place":
        features["place fit"] = (1.0 if _PLACE_BEFORE.search(before) else -0.5) if is_name else -1.0
    elif kind == "person":
        features["person fit"] = (1.0 if _PERSON_BEFORE.search(before) else 0.0) if is_name else -1.0
    elif kind == "date":
        features["date fit"] = 1.0 if is_date else -1.0
    if is_date and verb in ("born", "die"):
        features["life fit"] = _life_fit(text, sentence, span.start, verb)
    features["subject"] = float(span.start == sentence.start and is_name)
    return features


def _event_fit(sentence: Sentence, start: int, verb: str) -> float:
    """Return 1 if the last event verb before a span is the one asked for, -1 if it is another, 0 without one."""
    events = [word for word, at in sentence.stem_positions if at < start and (word in _EVENTS or word == verb)]
    return (1.0 if events[-1] == verb else -1.0) if events and verb else 0.0


def _life_fit(text: str, sentence: Sentence, start: int, verb: str) -> float:
    """Return 1 for the date in "(birth - death)" that the verb asks for, -1 for the other one, 0 outside."""
    for match in LIFE.finditer(text, sentence.start, sentence.end):
        if match.start() < start < match.end():
            dates = [m.start for m in sentence.mentions if m.kind == "date" and match.start() < m.start < match.end()]
            if len(dates) > 1:
                return 1.0 if (start < dates[1]) == (verb == "born") else -1.0
    return 0.0


class _CorpusFacts:
    """Counts of names over all sentences of the evidence, the words near them, and the first sentences of passages."""

    def __init__(self, analysis: QuestionAnalysis) -> None:
        self.sentences: Counter[str] = Counter()
        self.passages: dict[str, set[str]] = {}
        self.near: dict[str, set[str]] = {}
        self.first: dict[str, Sentence] = {}
        for sentence in analysis.sentences:
            self.first.setdefault(sentence.title_key, sentence)
            for key in sentence.name_keys:
                self.sentences[key] += 1
                self.passages.setdefault(key, set()).add(sentence.passage.id)
            for mention in sentence.mentions:
                window = mention.start - _WINDOW, mention.end + _WINDOW
                words = {word for word, at in sentence.stem_positions if window[0] <= at < window[1]}
                self.near.setdefault(name_key(mention.name), set()).update(words)
        self.first.pop("", None)


def _text_features(
    analysis: QuestionAnalysis, candidate: SpanCandidate, key: str, corpus: _CorpusFacts
) -> dict[str, float]:
    query, sentence, span, text = analysis.query, candidate.sentence, candidate.span, candidate.text
    noun = query.language.stem(query.question_type.noun) if query.question_type.noun else ""
    words = key.split(" ")
    stems = [word for word, _ in find_content_stems(text, language=query.language)]
    last = words[-1]
    own = corpus.first.get(key)
    features = {
        "asked": float(query.mentions_name(key)),
        "in question": float(f" {key} " in query.text_key),
        "shared words": sum(word in query.weights for word in stems) / max(1, len(stems)),
        "noun inside": float(bool(noun) and noun in stems),
        "noun at end": float(bool(noun) and query.language.stem(last) == noun),
        "typed": float(bool(noun) and (noun in corpus.near.get(key, ()) or (own is not None and noun in own.stem_set))),
        "own passage": float(own is not None),
        "own overlap": query.overlap(own) if own is not None else 0.0,
        "frequency": math.log1p(corpus.sentences[key]),
        "passages": math.log1p(len(corpus.passages.get(key, ()))),
        "length": math.log1p(len(text)),
        "all words": math.log1p(len(words)),
        "capital": float(text[:1].isupper()),
        "digits": sum(letter.isdigit() for letter in text) / max(1, len(text)),
        "person noun": float(is_person_noun(last)),
        "name noun": float(last in NAME_NOUNS),
    }
    return features if span.kind == "title" else features | _position_features(analysis, sentence, candidate, noun)


def _position_features(
    analysis: QuestionAnalysis, sentence: Sentence, candidate: SpanCandidate, noun: str
) -> dict[str, float]:
    span, text = candidate.span, sentence.passage.text
    gaps = [
        (max(0, span.start - at) if at < span.start else at - span.end, at < span.start, word)
        for word, at in sentence.stem_positions
        if not span.start <= at < span.end
    ]
    weights: Mapping[str, float] = analysis.query.weights
    verb = find_asked_verb(analysis.question)
    to_verb = min(((gap, before) for gap, before, word in gaps if word == verb), default=None)
    heaviest = max((weights.get(word, 0.0) for _, _, word in gaps), default=0.0)
    nearest = min((gap for gap, _, word in gaps if heaviest and weights.get(word) == heaviest), default=None)
    dates = [m.start for m in sentence.mentions if m.kind == "date"]
    place = next((i for i, at in enumerate(dates) if at <= span.start < at + 30), -1)
    before = text[sentence.start : span.start]
    return {
        "noun before": float(bool(noun) and any(w == noun and g <= len(w) + 8 and b for g, b, w in gaps)),
        "noun after": float(bool(noun) and any(w == noun and g <= 12 and not b for g, b, w in gaps)),
        "position": (span.start - sentence.start) / max(1, len(sentence.text)),
        "opens": float(span.start == sentence.start),
        "parenthesis": float(before.count("(") > before.count(")")),
        "verb": 1 / (1 + to_verb[0] / 20) if to_verb else 0.0,
        "verb before": float(to_verb is not None and to_verb[1]),
        "nearest": heaviest / (1 + nearest / 20) if nearest is not None else 0.0,
        "first date": float(place == 0 and candidate.span.kind in ("date", "year", "day")),
        "second date": float(place == 1 and candidate.span.kind in ("date", "year", "day")),
    }


def _neighbour_features(candidate: SpanCandidate) -> dict[str, float]:
    """Return which words or marks stand next to the span."""
    text, span = candidate.holder.passage.text, candidate.span
    before = _NEIGHBOUR.findall(text[max(candidate.holder.start, span.start - 20) : span.start].lower())
    after = _NEIGHBOUR.match(text[span.end : min(candidate.holder.end, span.end + 20)].lower().lstrip())
    features = {f"after {words[0]}": 1.0 for words in _PREVIOUS if before and before[-1] in words}
    return features | {f"before {words[0]}": 1.0 for words in _NEXT if after and after.group() in words}
