"""Answers without a language model: quotes the sentences that best fit the question and ranks the names in them.

A sentence is scored by its similarity to the question (vectors, shared words), the rank of its passage and the paths.
Sentences are selected greedily: one gains when it shares a new name with a selected sentence of another passage, and
when it covers words of the question that no selected sentence has. Names are scored by the expected answer type and the
question's words around them. The answer is always text of a quoted sentence, or "yes" or "no".

Source: own rules; weights tuned on development questions of HotpotQA and MuSiQue, given the gold passages alone and
among others. Differs from the source: nothing.

Spans that are known to be of another kind than the question asks for: a town for "who", a person for "where".

What a name is, the passage with that title says ("Vik is a village"), or its last word ("Elephant Island"). "Who" may
ask for a company or a museum, "where" for a ship: only places answer no "who", and only persons no "where".

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import final

from clew.answering.answer_spans import SpanCandidate
from clew.answering.candidates import Candidate, compare_nationalities, rank_candidates, rank_options
from clew.answering.direct_statements import find_statement
from clew.answering.languages import QuestionLanguage, detect_language
from clew.answering.named_subject import (
    COMPUTED_AGE_NOTE,
    HasWords,
    find_age,
    find_life_date,
    find_links,
    find_openings,
    missing_name_notes,
    missing_names,
    prefer_subject,
)
from clew.answering.question_analysis import MAX_QUOTES, NameFinder, QuestionAnalysis, analyze_question
from clew.answering.question_forms import COUNT_NOTE, DEFINITION_NOTE, asks_count, find_form
from clew.answering.replies import check_lengths, empty_answer
from clew.answering.sentence_selection import DOUBT, QuestionTerms, Sentence, place_of
from clew.answering.span_ranker import RankedSpan, SpanRanker
from clew.answering.stated_roles import PAST_HOLDER_NOTE, find_stated_role, prefer_present
from clew.answering.stated_times import find_stated_time
from clew.answering.verdicts import (
    compares_dates,
    dates_are_of_event,
    decide_option,
    decide_yes_or_no,
    decides_surely,
    is_comparison,
)
from clew.errors import InputError
from clew.protocols import Encoder
from clew.query.referents import PERSON, PLACE, Described, answer_referent
from clew.text.mentions import find_mentions
from clew.types import Answer, Citation, Evidence, Scored

_EXCLUDED = {"person": PLACE, "place": PERSON}
_MAX_SPANS = 20  # the best ones, of which the answer and its alternatives are taken


def drop_other_kinds(ranked: Sequence[RankedSpan], analysis: QuestionAnalysis) -> list[RankedSpan]:
    """Return spans without those that are known to be no answer to "who" or "where".

    The probabilities sum to what they summed to. Questions of other kinds and languages keep all.
    """
    excluded = _EXCLUDED.get(analysis.query.question_type.kind)
    if excluded is None or not analysis.query.language.is_english:
        return list(ranked)
    passages = {sentence.passage.id: sentence.passage for sentence in analysis.sentences}.values()
    described = [Described(passage.title, passage.text) for passage in passages]
    best = [one for one in ranked[:_MAX_SPANS] if answer_referent("", one.candidate.text, described).kind != excluded]
    left = [*best, *ranked[_MAX_SPANS:]]
    total, rest = (sum(one.probability for one in some) for some in (ranked, left))
    scale = total / rest if rest > 0 else 1.0
    return [replace(one, probability=one.probability * scale) for one in left]


NO_MODEL_NOTE = "no language model was used: the answer is quoted from the passages"
CANDIDATE_NOTE = "the rules alone rank the names, dates and numbers of the quoted sentences: no one of them is asserted"
COMPARISON_NOTE = "the answer compares the two entities by the first quoted sentences: check it against them"
STATEMENT_NOTE = "the first quoted sentence states the answer in the words of the question"
LIFE_NOTE = "the answer is the date in the brackets after the name, in the first quoted sentence"
OFF_TOPIC_NOTE = "the passages hardly match the question: the most similar sentences are quoted, none is an answer"
MISSING_NAME_NOTE = (
    "a name of the question is missing in the passages: the most similar sentences are quoted, none is an answer"
)
RANKED_NOTE = "the answer is the best-ranked span of the quoted sentences: check it against them"
UNSURE_NOTE = "no answer is likely enough to be asserted: check the candidates against the quoted sentences"
UNSTATED_NOTE = (
    "the quoted sentences do not clearly state this of all that the question names: check the answer against them"
)
UNLIKELY_NOTE = "the passages may not hold the answer"
UNDECIDED_NOTE = "the passages do not decide the question: read the quoted sentences"
NO_SPAN_NOTE = "no name, date or number of the passages can be the answer: read the quoted sentences"
LANGUAGE_NOTE = "the language of the question is not understood: its words are matched as they are written"
MAX_CANDIDATES = 10
MIN_ANSWER_SCORE = 3.0
"""Minimum score of a candidate of the rules to be a likely answer."""
MIN_COVERAGE, MIN_SIMILARITY, MIN_COVERAGE_WITHOUT_ENCODER = 0.35, 0.4, 0.25
"""Evidence is weak if the weighted share of question words in the quotes and the best cosine are both below the first
two; without an encoder, if the share is below the third."""
OPTION_MARGIN = 0.03
"""Minimum lead of the better one of two options in score to be the answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer that rules decide, the sentences that it rests on, and the options compared, best first."""

    text: str
    sentences: Sequence[Sentence]
    candidates: tuple[Scored[str], ...] = ()
    # Dates and shared words decide nine in ten of the training questions rightly; descriptions of two options six.
    is_decisive: bool = True
    note: str = COMPARISON_NOTE


@final
class ExtractiveAnswerer:
    """Quotes the sentences that answer a question and ranks the names in them; no language model, no network.

    `encoder` encodes questions and sentences; None or one of dimension 0 compares words only. `name_finder` returns for
    (text, start, end) the mentions inside `text[start:end]`. `max_encoded` sentences are encoded per question, those
    with the largest word overlap; at least 1. `ranker` ranks the candidates of questions that are neither yes-or-no nor
    "A or B"; None for the rules. `has_words` tells which words the passages have that may be seen; None where those of
    the evidence are all there are.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        name_finder: NameFinder = find_mentions,
        max_encoded: int = 12,
        ranker: SpanRanker | None = None,
        has_words: HasWords | None = None,
    ) -> None:
        if max_encoded < 1:
            raise InputError(f"max_encoded is {max_encoded}; wanted at least 1, or no encoder to encode no sentence")
        self._encoder = encoder if encoder is not None and encoder.dimension else None
        self._name_finder = name_finder
        self._max_encoded = max_encoded
        self._ranker = ranker
        self._has_words = has_words

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`); `on_text` is never called."""
        del on_text
        check_lengths(questions, evidence)
        return [self.answer_one(*pair) for pair in zip(questions, evidence, strict=True)]

    def answer_one(self, question: str, evidence: Evidence) -> Answer:
        """Answer one question from its evidence.

        The text is "yes", "no" or one of two options where the sentences decide it, else the best candidate; "" where
        no single name can answer, or the evidence hardly matches the question. It is asserted, that is not `weak`,
        where dates or words decide a comparison, where brackets after a name give the date of a birth or death, where
        a sentence states the answer in the question's words, and where its calibrated probability reaches the ranker's
        line: not of a span beside another entity than the one that a question of one step names. The
        sentence that states the answer is quoted first.
        """
        analysis = self.analyze(question, evidence)
        if analysis is None:
            reason = "the evidence holds no passage with text" if question.strip() else "the question is empty"
            return empty_answer(evidence, (NO_MODEL_NOTE, reason))
        query = analysis.query
        language = detect_language(analysis.question)
        missing = missing_names(query, evidence) if language is not None else []
        absent = missing_names(query, evidence, self._has_words) if missing and self._has_words else missing
        form = find_form(analysis.question, query.question_type, query.language)
        notes = (NO_MODEL_NOTE, *_language_notes(language), *missing_name_notes(absent))
        is_off_topic = self._is_off_topic(analysis)
        verdict = _decide_life(analysis)
        if verdict is None and form is None:
            verdict = _decide_statement(analysis) or (None if is_off_topic else _decide_comparison(analysis))
        if verdict is not None:
            return _answer_by_verdict(analysis, evidence, notes, verdict)
        notes += (form.note,) if form else ()
        ranked = self._rank(analysis)
        if not query.language.is_english:
            ranked = order_by_sentence(analysis, ranked)
        if form is not None:
            first = find_openings(analysis) if form.note == DEFINITION_NOTE else ()
            return _withhold(analysis, evidence, notes, ranked, shows_candidates=form.has_single_answer, first=first)
        if is_off_topic:
            return _withhold(analysis, evidence, (*notes, OFF_TOPIC_NOTE), ranked)
        if self._ranker is not None and not is_comparison(analysis.question, query, analysis.sentences):
            return self._answer_by_ranker(self._ranker, ranked, analysis, evidence, notes, len(missing))
        if missing:
            # A name that no passage has marks a question that the corpus cannot answer: this rule finds three in four
            # of those, and wrongly rejects one in twenty-five of the others (hotpotqa/dev, musique-dev).
            return _withhold(analysis, evidence, (*notes, MISSING_NAME_NOTE), ranked)
        return _answer_by_rules(analysis, evidence, notes)

    def analyze(self, question: str, evidence: Evidence) -> QuestionAnalysis | None:
        """Return the analysis that an answer starts from; None where the question or the evidence has no text."""
        return analyze_question(question, evidence, self._encoder, self._name_finder, self._max_encoded)

    def _is_off_topic(self, analysis: QuestionAnalysis) -> bool:
        if self._encoder is None:
            return analysis.coverage < MIN_COVERAGE_WITHOUT_ENCODER
        return analysis.coverage < MIN_COVERAGE and max(analysis.similarities) < MIN_SIMILARITY

    def _rank(self, analysis: QuestionAnalysis) -> list[RankedSpan]:
        return [] if self._ranker is None else self._ranker.rank(analysis)

    def _answer_by_ranker(
        self,
        ranker: SpanRanker,
        ranked: Sequence[RankedSpan],
        analysis: QuestionAnalysis,
        evidence: Evidence,
        notes: tuple[str, ...],
        missing: int,
    ) -> Answer:
        """Return the best span as the answer, asserted where it is likely and the quoted sentences state it."""
        ranked, is_about_subject = prefer_subject(ranked, analysis)
        ranked, is_present = prefer_present(drop_other_kinds(ranked, analysis), analysis)
        if not ranked:
            return _withhold(analysis, evidence, (*notes, NO_SPAN_NOTE), ranked)
        best = ranked[0].candidate
        probability = ranker.calibrate(ranked, analysis, missing)
        is_english = analysis.query.language.is_english  # probabilities are calibrated on English questions
        if probability < ranker.trained.threshold:
            shown = f" (probability {probability:.2f} for {best.text!r})" if is_english else ""
            return _withhold(analysis, evidence, (*notes, UNLIKELY_NOTE + shown), ranked)
        quoted, is_proved = _quote_proof(best, ranked, analysis)
        is_likely = is_english and probability >= ranker.trained.line
        is_stated = is_about_subject and is_proved
        is_sure = is_likely and is_stated and is_present
        if not is_sure and asks_count(analysis.question):
            notes += (COUNT_NOTE,)
        if not is_present:
            notes += (PAST_HOLDER_NOTE,)
        reason = RANKED_NOTE if is_sure else UNSTATED_NOTE if is_likely and not is_stated else UNSURE_NOTE
        notes += (reason + (f" (probability {probability:.2f})" if is_english else ""),)
        candidates = _list_candidates(ranked)
        return Answer(best.text, _quote(quoted), candidates, evidence, weak=not is_sure, notes=notes)


def _quote_proof(
    best: SpanCandidate, ranked: Sequence[RankedSpan], analysis: QuestionAnalysis
) -> tuple[list[Sentence], bool]:
    """Return the sentences to quote for a span, and whether they prove it.

    They do where quoted sentences link it to the question's names, and neither its own nor these express doubt.
    """
    holders = [best.holder] if best.holder == best.sentence else [best.sentence, best.holder]
    links = find_links(analysis.question, analysis.query, best, analysis.sentences)
    quoted = _first_distinct((*holders, *(links or ()), *order_sentences(analysis, ranked)))
    if links is None or not all(link in quoted for link in links):
        return quoted, False
    return quoted, not any(DOUBT.search(sentence.text) for sentence in (best.sentence, *links))


def _withhold(
    analysis: QuestionAnalysis,
    evidence: Evidence,
    notes: tuple[str, ...],
    ranked: Sequence[RankedSpan],
    *,
    shows_candidates: bool = False,
    first: Sequence[Sentence] = (),
) -> Answer:
    """Return a weak answer without text, with the sentences that fit best, after those that come `first`."""
    quotes = _quote((*first, *order_sentences(analysis, ranked)))
    return Answer("", quotes, _list_candidates(ranked) if shows_candidates else (), evidence, weak=True, notes=notes)


def _list_candidates(ranked: Sequence[RankedSpan]) -> tuple[Scored[str], ...]:
    return tuple(Scored(one.candidate.text, one.probability) for one in ranked[:MAX_CANDIDATES])


def _answer_by_verdict(
    analysis: QuestionAnalysis, evidence: Evidence, notes: tuple[str, ...], verdict: Verdict
) -> Answer:
    quotes = _quote((*verdict.sentences, *analysis.selected))
    notes += (verdict.note,) if verdict.is_decisive else (UNSURE_NOTE, verdict.note)
    return Answer(verdict.text, quotes, verdict.candidates, evidence, weak=not verdict.is_decisive, notes=notes)


def _answer_by_rules(analysis: QuestionAnalysis, evidence: Evidence, notes: tuple[str, ...]) -> Answer:
    """Return the likeliest answer by the rules alone; it is weak, since nothing says how often they are right."""
    query, selected = analysis.query, list(analysis.selected)
    options = rank_options(query, analysis.sentences, analysis.preselected, analysis.scores)
    candidates = options or rank_candidates(
        query, analysis.preselected, selected, analysis.paths, analysis.chain[-1] if analysis.chain else ()
    )
    text, basis, note = _decide_answer(query, analysis.sentences, selected, options, candidates)
    ranked = tuple(Scored(c.name, c.score) for c in candidates[:MAX_CANDIDATES])
    is_decided = note == COMPARISON_NOTE and query.question_type.kind == "yes or no"
    return Answer(text, _quote((*basis, *selected)), ranked, evidence, weak=not is_decided, notes=(*notes, note))


def _language_notes(language: QuestionLanguage | None) -> list[str]:
    if language is None:
        return [LANGUAGE_NOTE]
    return [] if language.is_english else [f"the question is read as {language.name}: no answer to it is asserted"]


def _quote(sentences: Iterable[Sentence]) -> tuple[Citation, ...]:
    """Return the first distinct ones of some sentences as citations."""
    return tuple(s.citation for s in _first_distinct(sentences))


def _first_distinct(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Return as many distinct sentences as are quoted."""
    quotes: list[Sentence] = []
    for sentence in sentences:
        quotes += [sentence] if sentence not in quotes and len(quotes) < MAX_QUOTES else []
    return quotes


def _decide_life(analysis: QuestionAnalysis) -> Verdict | None:
    """Return a verdict on the date of a birth or death, or an age at death; None where no brackets after a name do."""
    if (age := find_age(analysis)) is not None:
        return Verdict(age.text, [age.sentence], (Scored(age.text, 1.0),), note=COMPUTED_AGE_NOTE)
    if (life := find_life_date(analysis)) is not None:
        return Verdict(life.text, [life.sentence], (Scored(life.text, 1.0),), note=LIFE_NOTE)
    return None


def _decide_statement(analysis: QuestionAnalysis) -> Verdict | None:
    """Return a verdict on what a sentence states in the words of the question; None where none does."""
    stated = find_statement(analysis) or find_stated_role(analysis) or find_stated_time(analysis)
    scored = () if stated is None else (Scored(stated.text, 1.0),)
    return None if stated is None else Verdict(stated.text, [stated.sentence], scored, note=STATEMENT_NOTE)


def _decide_comparison(analysis: QuestionAnalysis) -> Verdict | None:
    """Return a verdict on a comparison of two titles; None where no sentence decides it."""
    if options := decide_option(analysis.question, analysis.sentences):
        basis = [option.sentences[0] for option in options]  # of each side what is compared, then the names
        basis += [s for option in options for s in option.sentences[1:]]
        scored = tuple(Scored(option.name, option.score) for option in options)
        is_sure = compares_dates(analysis.question) and dates_are_of_event(analysis.question, options)
        return Verdict(options[0].name, basis, scored, is_sure)
    if analysis.query.question_type.kind != "yes or no":
        return None
    verdict = decide_yes_or_no(analysis.question, analysis.sentences)
    if verdict is None:
        return None
    text, sentences = verdict
    return Verdict(text, sentences, is_decisive=decides_surely(analysis.question, sentences, text))


def _decide_answer(
    query: QuestionTerms,
    sentences: Sequence[Sentence],
    selected: list[Sentence],
    options: Sequence[Candidate],
    ranked: Sequence[Candidate],
) -> tuple[str, list[Sentence], str]:
    """Return the answer's text or "", the sentences to quote first, and a note."""
    question_type = query.question_type
    if question_type.options:
        basis = [s for option in options for s in option.sentences]
        decidable = options and question_type.comparison != "undecidable"
        if decidable and options[0].score - options[1].score >= OPTION_MARGIN:
            return options[0].name, basis, COMPARISON_NOTE
        return "", [selected[0], *basis], UNDECIDED_NOTE
    if question_type.kind == "yes or no":
        verdict = compare_nationalities(query, sentences)
        return (*verdict, COMPARISON_NOTE) if verdict else ("", selected, UNDECIDED_NOTE)
    if ranked and ranked[0].score >= MIN_ANSWER_SCORE:
        return ranked[0].name, [ranked[0].sentences[0], *selected], CANDIDATE_NOTE
    return "", selected, NO_SPAN_NOTE


def order_sentences(analysis: QuestionAnalysis, ranked: Sequence[RankedSpan]) -> list[Sentence]:
    """Return the selected sentences, the likelier to state the answer the earlier, by their best candidates.

    Of a question that is not English they come by their scores.
    """

    def fit(sentence: Sentence) -> float:
        return sum(one.probability for one in ranked if one.candidate.sentence == sentence)

    if analysis.query.language.is_english:
        return sorted(analysis.selected, key=fit, reverse=True)
    scores = score_by_sentence(analysis)
    return sorted(analysis.selected, key=lambda sentence: -scores[place_of(sentence)])


def order_by_sentence(analysis: QuestionAnalysis, ranked: Sequence[RankedSpan]) -> list[RankedSpan]:
    """Return the spans of sentences that share a stem with the question, those of better sentences first."""
    scores = score_by_sentence(analysis)
    shared = [one for one in ranked if analysis.query.overlap(one.candidate.sentence) > 0]
    return sorted(shared, key=lambda one: -scores[place_of(one.candidate.sentence)])


def score_by_sentence(analysis: QuestionAnalysis) -> dict[tuple[str, int], float]:
    """Return the score of each sentence that was scored, by its place."""
    return dict(zip(map(place_of, analysis.preselected), analysis.scores, strict=True))
