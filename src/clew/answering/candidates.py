"""Ranking of candidate answers in quoted sentences: names, options of "A or B", nationalities (see `extractive`)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clew.answering.question_types import (
    extract_year,
    find_first_year,
    find_nationality,
    find_unmentioned_numbers,
    score_type_fit,
)
from clew.answering.sentence_selection import PathNames, QuestionTerms, Sentence, is_continuation, weighted_sum
from clew.text.normalization import name_key, strip_parentheses
from clew.types import Mention

CANDIDATE_WEIGHTS = {
    "continues": 1.4, "quoted": 0.7, "type fit": 1.7, "proximity": 1.5, "noun": 1.5, "place": 1.0, "words": 0.35,
    "title": 0.4, "bridge": -0.4, "path end": 0.7, "chain end": 1.0,
}  # fmt: skip
_PLACE_PREPOSITIONS = frozenset({"in", "at", "near", "from", "to"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate answer and the sentences that support it."""

    name: str
    score: float
    sentences: tuple[Sentence, ...]


def rank_candidates(
    query: QuestionTerms,
    sentences: Sequence[Sentence],
    selected: Sequence[Sentence],
    paths: PathNames,
    chain_end: Sequence[Sentence] = (),
) -> list[Candidate]:
    """Return the names of the sentences that are not in the question, best first, each once.

    A name gains in the sentences that a chain ends with.
    """
    ends: dict[str, float] = {}
    for i, (_, last) in enumerate(paths):
        ends = dict.fromkeys(last, 1 / (1 + i)) | ends
    best: dict[str, Candidate] = {}
    for sentence in sentences:
        text = sentence.passage.text
        asks_number = query.question_type.kind == "number"
        numbers = find_unmentioned_numbers(text, sentence.start, sentence.end, sentence.mentions) if asks_number else []
        shared = {
            "continues": float(is_continuation(query, sentence, selected)),
            "quoted": float(sentence in selected),
            "chain end": float(sentence in chain_end),
        }
        for mention in (*sentence.mentions, *numbers):
            if query.question_type.noun in ("year", "years"):
                mention = extract_year(mention)
            key = name_key(mention.name)
            if query.mentions_name(key):
                continue
            features = shared | candidate_features(query, sentence, mention)
            features["path end"] = ends.get(key, 0.0)
            features["title"] = float(key == sentence.title_key)
            features["bridge"] = float(len({s.passage.id for s in selected if key in s.name_keys}) > 1)
            score = weighted_sum(CANDIDATE_WEIGHTS, features)
            if key not in best or score > best[key].score:
                best[key] = Candidate(text[mention.start : mention.end], score, (sentence,))
    return sorted(best.values(), key=lambda candidate: -candidate.score)


def candidate_features(query: QuestionTerms, sentence: Sentence, mention: Mention) -> dict[str, float]:
    """Return the features of a mention that only its sentence and the question give."""
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
        "noun": float(gaps.get(query.language.stem(query.question_type.noun), 99) < 25),
        "place": float(kind == "place" and bool(before) and before[0].lower() in _PLACE_PREPOSITIONS),
        "words": float(min(3, len(mention.name.split())) - 1),
    }


def _sentences_about(name: str, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences of passages with `name` in the title, else those that mention it."""
    key = f" {name_key(strip_parentheses(name))} "
    titled = [s for s in sentences if s.title_key and (key in f" {s.title_key} " or f" {s.title_key} " in key)]
    return titled or [s for s in sentences if key.strip() in s.name_keys]


def rank_options(
    query: QuestionTerms, sentences: Sequence[Sentence], preselected: Sequence[Sentence], scores: Sequence[float]
) -> list[Candidate]:
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
        candidates.append(Candidate(named[1].group(), score, (named[0], basis)))
    return sorted(candidates, key=lambda candidate: -candidate.score)


def compare_nationalities(query: QuestionTerms, sentences: Sequence[Sentence]) -> tuple[str, list[Sentence]] | None:
    """Answer "are both of the same nationality" by yes or no, with the two sentences that decide it."""
    first = [about[0] for name in query.names if (about := _sentences_about(name, sentences))]
    nationalities = [find_nationality(s.text) for s in first]
    if not query.question_type.asks_same_nationality or len(nationalities) != 2 or not all(nationalities):
        return None
    return "yes" if nationalities[0] == nationalities[1] else "no", first
