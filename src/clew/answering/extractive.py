"""Answers without a language model: quotes the sentences that best fit the question and ranks the names in them.

A sentence is scored by its similarity to the question (vectors, shared words), the rank of its passage and the paths.
Sentences are selected greedily: one gains when it shares a new name with a selected sentence of another passage, and
when it covers words of the question that no selected sentence has. Names are scored by the expected answer type and the
question's words around them. The answer is always text of a quoted sentence, or "yes" or "no".

Source: own rules; weights tuned on development questions of HotpotQA and MuSiQue, given the gold passages alone and
among others. Differs from the source: nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import final

from clew.answering.candidates import Candidate, compare_nationalities, rank_candidates, rank_options
from clew.answering.question_analysis import MAX_QUOTES, NameFinder, QuestionAnalysis, analyze_question
from clew.answering.replies import check_lengths, empty_answer
from clew.answering.sentence_selection import QuestionTerms, Sentence
from clew.answering.span_ranker import SpanRanker
from clew.answering.verdicts import decide_option, decide_yes_or_no, is_comparison
from clew.errors import InputError
from clew.protocols import Encoder
from clew.text.gazetteer import COMMON_WORDS
from clew.text.mentions import find_mentions
from clew.text.normalization import tokens
from clew.types import Answer, Citation, Evidence, Scored

NO_MODEL_NOTE = "no language model was used: the answer is quoted from the passages"
CANDIDATE_NOTE = "the answer is the best-scored name, date or number of the quoted sentences: check it against them"
COMPARISON_NOTE = "the answer compares the two entities by the first quoted sentences: check it against them"
OFF_TOPIC_NOTE = "the passages hardly match the question: the most similar sentences are quoted, none is an answer"
MISSING_NAME_NOTE = "a name of the question is missing: the most similar sentences are quoted, none is an answer"
RANKED_NOTE = "the answer is the best-ranked span of the quoted sentences: check it against them"
UNLIKELY_NOTE = "the passages may not hold the answer"
UNDECIDED_NOTE = "the passages do not decide the question: read the quoted sentences"
MAX_CANDIDATES = 10
MIN_ANSWER_SCORE = 3.0
"""Minimum score of a candidate to be the answer; below it the best sentence is the answer."""
MIN_COVERAGE, MIN_SIMILARITY, MIN_COVERAGE_WITHOUT_ENCODER = 0.35, 0.4, 0.25
"""Evidence is weak if the weighted share of question words in the quotes and the best cosine are both below the first
two; without an encoder, if the share is below the third."""
OPTION_MARGIN = 0.03
"""Minimum lead of the better one of two options in score to be the answer."""


@final
class ExtractiveAnswerer:
    """Quotes the sentences that answer a question and ranks the names in them; no language model, no network.

    `encoder` encodes questions and sentences; None or one of dimension 0 compares words only. `name_finder` returns for
    (text, start, end) the mentions inside `text[start:end]`. `max_encoded` sentences are encoded per question, those
    with the largest word overlap; at least 1. `ranker` ranks the candidates of questions that are neither yes-or-no nor
    "A or B"; None for the rules.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        name_finder: NameFinder = find_mentions,
        max_encoded: int = 12,
        ranker: SpanRanker | None = None,
    ) -> None:
        if max_encoded < 1:
            raise InputError(f"max_encoded is {max_encoded}; wanted at least 1, or no encoder to encode no sentence")
        self._encoder = encoder if encoder is not None and encoder.dimension else None
        self._name_finder = name_finder
        self._max_encoded = max_encoded
        self._ranker = ranker

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`); `on_text` is never called."""
        del on_text
        check_lengths(questions, evidence)
        return [self.answer_one(*pair) for pair in zip(questions, evidence, strict=True)]

    def answer_one(self, question: str, evidence: Evidence) -> Answer:
        """Answer one question from its evidence.

        The text is "yes", "no" or one of two options where the sentences decide it, else the best candidate if its
        score suffices, else the best sentence; "" with `weak` where the evidence hardly matches the question.
        """
        analysis = self.analyze(question, evidence)
        if analysis is None:
            reason = "the evidence holds no passage with text" if question.strip() else "the question is empty"
            return empty_answer(evidence, (NO_MODEL_NOTE, reason))
        query, selected = analysis.query, list(analysis.selected)
        missing = missing_name_notes(query, evidence)
        notes = (NO_MODEL_NOTE, *missing)
        is_weak = self._is_off_topic(analysis)
        if not is_weak and (verdict := _decide_by_titles(analysis)) is not None:
            text, basis, ranked = verdict
            return Answer(text, _quote((*basis, *selected)), ranked, evidence, notes=(*notes, COMPARISON_NOTE))
        if not is_weak and self._ranker is not None and not is_comparison(question, query, analysis.sentences):
            return self._answer_by_ranker(self._ranker, analysis, evidence, notes)
        if is_weak or missing:
            # A name that no passage has marks a question that the corpus cannot answer: this rule finds three in four
            # of those, and wrongly rejects one in twenty-five of the others (hotpotqa/dev, musique-dev).
            notes += (OFF_TOPIC_NOTE if is_weak else MISSING_NAME_NOTE,)
            return Answer("", _quote(selected), (), evidence, weak=True, notes=notes)
        options = rank_options(query, analysis.sentences, analysis.preselected, analysis.scores)
        candidates = options or rank_candidates(
            query, analysis.preselected, selected, analysis.paths, analysis.chain[-1] if analysis.chain else ()
        )
        text, basis, note = _decide_answer(query, analysis.sentences, selected, options, candidates)
        notes += (note,) if note else ()
        ranked = tuple(Scored(c.name, c.score) for c in candidates[:MAX_CANDIDATES])
        return Answer(text, _quote((*basis, *selected)), ranked, evidence, notes=notes)

    def analyze(self, question: str, evidence: Evidence) -> QuestionAnalysis | None:
        """Return the analysis that an answer starts from; None where the question or the evidence has no text."""
        return analyze_question(question, evidence, self._encoder, self._name_finder, self._max_encoded)

    def _is_off_topic(self, analysis: QuestionAnalysis) -> bool:
        if self._encoder is None:
            return analysis.coverage < MIN_COVERAGE_WITHOUT_ENCODER
        return analysis.coverage < MIN_COVERAGE and max(analysis.similarities) < MIN_SIMILARITY

    def _answer_by_ranker(
        self, ranker: SpanRanker, analysis: QuestionAnalysis, evidence: Evidence, notes: tuple[str, ...]
    ) -> Answer:
        ranked = ranker.rank(analysis)
        selected = list(analysis.selected)
        if not ranked:
            return Answer(selected[0].text, _quote(selected), (), evidence, notes=notes)
        probability = ranker.calibrate(ranked, analysis, len(notes) - 1)
        best = ranked[0].candidate
        if probability < ranker.trained.threshold:
            notes += (f"{UNLIKELY_NOTE} (probability {probability:.2f} for {best.text!r})",)
            return Answer("", _quote(selected), (), evidence, weak=True, notes=notes)
        held = [best.sentence] if best.holder == best.sentence else [best.sentence, best.holder]
        others = [s for s in selected if s not in held]
        first = selected if all(s in selected for s in held) else [*others[: MAX_QUOTES - len(held)], *held]
        candidates = tuple(Scored(one.candidate.text, one.probability) for one in ranked[:MAX_CANDIDATES])
        notes += (f"{RANKED_NOTE} (probability {probability:.2f})",)
        return Answer(best.text, _quote((*first, *selected)), candidates, evidence, notes=notes)


def _quote(sentences: Iterable[Sentence]) -> tuple[Citation, ...]:
    """Return the first distinct ones of some sentences as citations."""
    quotes: list[Sentence] = []
    for sentence in sentences:
        quotes += [sentence] if sentence not in quotes and len(quotes) < MAX_QUOTES else []
    return tuple(s.citation for s in quotes)


def _decide_by_titles(
    analysis: QuestionAnalysis,
) -> tuple[str, Sequence[Sentence], tuple[Scored[str], ...]] | None:
    """Return the answer of a comparison of two titles, the sentences that decide it, and the candidates."""
    if options := decide_option(analysis.question, analysis.sentences):
        basis = [s for option in options for s in option.sentences]
        return options[0].name, basis, tuple(Scored(option.name, option.score) for option in options)
    if analysis.query.question_type.kind != "yes or no":
        return None
    verdict = decide_yes_or_no(analysis.question, analysis.sentences)
    return None if verdict is None else (*verdict, ())


def missing_name_notes(query: QuestionTerms, evidence: Evidence) -> list[str]:
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


def _decide_answer(
    query: QuestionTerms,
    sentences: Sequence[Sentence],
    selected: list[Sentence],
    options: Sequence[Candidate],
    ranked: Sequence[Candidate],
) -> tuple[str, list[Sentence], str]:
    """Return the answer's text, the sentences to quote first, and a note or ""."""
    question_type = query.question_type
    if question_type.options:
        basis = [s for option in options for s in option.sentences]
        decidable = options and question_type.comparison != "undecidable"
        if decidable and options[0].score - options[1].score >= OPTION_MARGIN:
            return options[0].name, basis, COMPARISON_NOTE
        return selected[0].text, [selected[0], *basis], UNDECIDED_NOTE
    if question_type.kind == "yes or no":
        verdict = compare_nationalities(query, sentences)
        return (*verdict, COMPARISON_NOTE) if verdict else ("", selected, UNDECIDED_NOTE)
    if ranked and ranked[0].score >= MIN_ANSWER_SCORE:
        source = ranked[0].sentences[0]
        basis = selected if source in selected else [*selected[: MAX_QUOTES - 1], source]
        return ranked[0].name, basis, CANDIDATE_NOTE
    return selected[0].text, selected, ""
