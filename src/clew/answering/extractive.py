"""Answers without a language model: a trained reader finds the words, rules compute what no words of a text say.

The reader sees the question and the passages together and gives the probability of each answer, and that the passages
do not say it (see `models.reader`). Rules decide comparisons of two entities by what the passages say of each; each is
kept since it is right more often than the reader (`bench/reading.py --rules` prints the table). The answer is always
text of a quoted sentence, "yes", "no" or a computed number. What is asserted is decided by a calibrated probability
(see `confidence`).

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import final

from clew.answering.confidence import Confidence, Signals, find_own_sentences, read_signals
from clew.answering.languages import QuestionLanguage, detect_language
from clew.answering.missing_names import HasWords, missing_name_notes, missing_names
from clew.answering.question_analysis import MAX_QUOTES, NameFinder, QuestionAnalysis, analyze_question
from clew.answering.question_forms import SUMMARY_NOTE, asks_for_summary
from clew.answering.question_types import EXPLANATION, LIFE_EVENTS
from clew.answering.replies import check_lengths, empty_answer
from clew.answering.rules import RULES, PartialAnswer, Verdict, compute_from_dates
from clew.answering.sentence_selection import Sentence, find_fitting_mentions, order_other_language, place_of
from clew.answering.time_choice import Cosines, choose_by_time, resolve_date
from clew.models.reader.decoding import ReadSpan
from clew.models.reader.reader import READER_FOLDER, Reading, ReadsAnswers, average_readings, open_reader
from clew.models.reader.windows import READ_PASSAGES, evidence_texts
from clew.text.display import format_count
from clew.text.mentions import find_mentions
from clew.text.normalization import STOP_WORDS, name_key, token_keys
from clew.types import Answer, Citation, Evidence, Scored

NO_MODEL_NOTE = "no language model was used: the answer is quoted from the passages"
READ_NOTE = "the answer is what a trained reader finds in the first quoted sentence: check it there"
UNSURE_NOTE = "no answer is likely enough to be asserted: check the candidates against the quoted sentences"
UNLIKELY_NOTE = "the passages may not hold the answer"
TIME_NOTE = "passages of different times say different things: the times of their sentences decide"
RESOLVED_NOTE = "the day is counted from the date of the passage, by the words in brackets"
OTHER_LANGUAGE_NOTE = "the question is read as {}: the reader knows English alone, and no answer to it is asserted"
LANGUAGE_NOTE = "the language of the question is not understood: its words are matched as they are written"
MAX_CANDIDATES = 10
_DATES = re.compile(r"(?P<first>[^–—]*\d{3,4}[^–—]*?)\s*[–—]\s*(?P<last>[^–—]*\d{3,4})")
FIRST_PASSAGES, FIRST_WEIGHT = 2, 2.0
"""Passages that the reader sees once more by themselves, where the others only distract, and how much that counts."""


@final
class ExtractiveAnswerer:
    """Answers with words of the passages and quotes the sentences they stand in; no language model, no network.

    `reader` is the package's where none is given.
    `name_finder` returns for (text, start, end) the mentions inside `text[start:end]`. `has_words` tells which words
    the passages have that may be seen; None where those of the evidence are all there are. `cosines` is that of
    `choose_by_time`.
    """

    def __init__(
        self,
        reader: ReadsAnswers | None = None,
        name_finder: NameFinder = find_mentions,
        has_words: HasWords | None = None,
        cosines: Cosines | None = None,
    ) -> None:
        self._reader = open_reader(READER_FOLDER) if reader is None else reader
        self._confidence = Confidence.from_manifest(self._reader.manifest)
        self._name_finder = name_finder
        self._has_words = has_words
        self._cosines = cosines

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`); `on_text` is never called."""
        del on_text
        check_lengths(questions, evidence)
        return [self.answer_one(*pair) for pair in zip(questions, evidence, strict=True)]

    def answer_one(self, question: str, evidence: Evidence) -> Answer:
        """Answer one question from its evidence.

        The text is what a rule decides, else the likeliest answer of the reader; "" where the passages hardly hold one,
        or the question has a form that no single answer has. It is asserted, that is not `weak`, where a rule is sure,
        and where its calibrated probability reaches the reader's line. The sentence that states it is quoted first.
        """
        analysis = analyze_question(question, evidence, self._name_finder)
        if analysis is None or not token_keys(question):
            lacks = "the evidence holds no passage with text" if token_keys(question) else "the question has no words"
            return empty_answer(evidence, (NO_MODEL_NOTE, lacks if question.strip() else "the question is empty"))
        language = detect_language(analysis.question)
        missing = missing_names(analysis.query, evidence) if language is not None else []
        absent = missing_names(analysis.query, evidence, self._has_words) if missing and self._has_words else missing
        notes = (NO_MODEL_NOTE, *_language_notes(language), *missing_name_notes(absent))
        if asks_for_summary(analysis.question):
            return _withhold(analysis, evidence, (*notes, SUMMARY_NOTE))
        if not analysis.query.language.is_english:
            return _answer_other_language(analysis, evidence, notes)
        verdict = compute_from_dates(analysis.question, lambda other: self._read_likely(other, evidence))
        verdict = verdict or decide(analysis)
        if verdict is not None:
            return _answer_by_verdict(analysis, evidence, notes, verdict)
        return self._answer_by_reading(analysis, evidence, notes, len(missing))

    def _read_likely(self, question: str, evidence: Evidence) -> PartialAnswer:
        """Return the answer to another question; without text where none is likely."""
        analysis = analyze_question(question, evidence, self._name_finder)
        if analysis is None:
            return PartialAnswer("", (), is_sure=False)
        answer = self._answer_by_reading(analysis, evidence, (), len(missing_names(analysis.query, evidence)))
        own = [s for s in analysis.sentences if answer.citations and s.citation == answer.citations[0]]
        return PartialAnswer(answer.text, own, not answer.weak)

    def read_one(self, question: str, evidence: Evidence) -> list[tuple[ReadSpan, Signals]]:
        """Return the reader's best answers with their signals, to calibrate on; [] where it does not decide."""
        analysis = analyze_question(question, evidence, self._name_finder)
        if analysis is None or not analysis.query.language.is_english or decide(analysis) is not None:
            return []
        reading, spans = read_spans(self._reader, analysis, evidence)
        missing = len(missing_names(analysis.query, evidence))
        return list(zip(spans, read_signals(analysis, evidence, reading, spans, missing), strict=False))

    def _answer_by_reading(
        self,
        analysis: QuestionAnalysis,
        evidence: Evidence,
        notes: tuple[str, ...],
        missing: int,
    ) -> Answer:
        """Return the likeliest of the reader's best answers, asserted where its probability reaches the line."""
        reading, spans = read_spans(self._reader, analysis, evidence)
        spans = [span for span in spans if not evidence.as_of or _holds(span, analysis, evidence)]
        if not spans:
            return _withhold(analysis, evidence, (*notes, UNLIKELY_NOTE))
        spans, others = choose_by_time(self._reader, analysis, evidence, spans, self._cosines)
        signals = read_signals(analysis, evidence, reading, spans, missing)[: 1 if others else None]
        if not signals[0].coverage:  # no word of the question is in the passages
            return _withhold(analysis, evidence, (*notes, UNLIKELY_NOTE))
        probabilities = [self._confidence.probability(one) for one in signals]
        ranked = sorted(zip(probabilities, spans, strict=False), key=lambda pair: -pair[0])
        probability, span = ranked[0]
        least = ranked[-1][0]
        ranked += [(min(least, one.probability), one) for one in spans[len(ranked) :]]
        shown = f" (probability {probability:.2f}"
        if probability < self._confidence.threshold:
            return _withhold(analysis, evidence, (*notes, f"{UNLIKELY_NOTE}{shown} for {span.text!r})"))
        is_sure = probability >= self._confidence.line
        quotes = _quote(_sentences_behind(span, analysis, evidence))
        notes += (TIME_NOTE,) if others else ()
        notes += (f"{READ_NOTE if is_sure else UNSURE_NOTE}{shown})", _describe_window(reading, span, evidence))
        candidates, text = _list_candidates(ranked), span.text
        if analysis.query.question_type.kind == "date" and span.is_text and (days := resolve_date(span, evidence)):
            text, notes = days, (*notes, RESOLVED_NOTE)
            candidates = (Scored(text, probability), *candidates[1:])
        return Answer(text, quotes, candidates, evidence, weak=not is_sure, notes=notes, others=others)


def decide(analysis: QuestionAnalysis) -> Verdict | None:
    """Return what the first rule decides that is for a question; None where it is for the reader."""
    return next((verdict for rule in RULES if (verdict := rule.decide(analysis)) is not None), None)


def read_spans(reader: ReadsAnswers, analysis: QuestionAnalysis, evidence: Evidence) -> tuple[Reading, list[ReadSpan]]:
    """Return what a reader finds in the best passages, and the answers among it."""
    texts = evidence_texts(evidence)[:READ_PASSAGES]
    reading = reader.read(analysis.question, texts)
    if len(texts) > FIRST_PASSAGES:
        first = reader.read(analysis.question, texts[:FIRST_PASSAGES])
        reading = average_readings([reading, first], [1.0, FIRST_WEIGHT])
    return reading, choose_answers(reading, analysis)


def _holds(span: ReadSpan, analysis: QuestionAnalysis, evidence: Evidence) -> bool:
    """Return whether what the sentence of an answer states had begun, and not ended, on the day of the search."""
    own = find_own_sentences(analysis, evidence, span)
    return all(one.passage.holds_on(one.start, one.end, evidence.as_of) for one in own)


def choose_answers(reading: Reading, analysis: QuestionAnalysis) -> list[ReadSpan]:
    """Return the answers of a reading: no words of the question, unless it gives them as a choice.

    "Yes" and "no" are answers to questions that ask for them alone, and nothing else is one to these.
    """
    question_type = analysis.query.question_type
    options, key = " ".join(map(name_key, question_type.options)), analysis.query.text_key
    asks_verdict = question_type.kind == "yes or no" and not options
    return [
        _choose_date(one, analysis.question)
        for one in reading.spans
        if (not one.is_text and (asks_verdict or not question_type.kind))
        or (one.is_text and not asks_verdict and (name_key(one.text) in options or not _is_named(one, key)))
    ]


def _choose_date(span: ReadSpan, question: str) -> ReadSpan:
    """Return the first date of a span such as "8 April 1605 – 17 September 1665" for a birth, the last for a death."""
    event = next((name for name, pattern in LIFE_EVENTS.items() if pattern.search(question)), "")
    dash = _DATES.fullmatch(span.text) if event else None
    if dash is None or span.end - span.start != len(span.text):  # marks of links stand between
        return span
    side = "first" if event == "born" else "last"
    start, end = (span.start + at for at in dash.span(side))
    return replace(span, text=dash[side], start=start, end=end)


def _is_named(span: ReadSpan, question_key: str) -> bool:
    """Return whether a span says nothing that the question does not: its words are in it, or stop words alone."""
    words = name_key(span.text)
    return STOP_WORDS.issuperset(token_keys(span.text)) or f" {words} " in question_key


def _sentences_behind(span: ReadSpan, analysis: QuestionAnalysis, evidence: Evidence) -> list[Sentence]:
    """Return the sentences to quote for an answer: its own, then those of the first chain with it, then those that fit.

    For "yes" and "no", which stand nowhere, those that fit come first.
    """
    if not span.is_text:
        return list(analysis.selected)
    own = find_own_sentences(analysis, evidence, span)
    chain: list[Sentence] = []
    for scored in evidence.chains:
        steps = [[s for s in analysis.sentences if s.is_part_of(quote)] for quote in scored.item.sentences]
        if own and any(own[0] in step for step in steps):
            chain = [max(step, key=analysis.query.overlap) for step in steps if step]
            break
    return [*own, *chain, *analysis.selected]


def _describe_window(reading: Reading, span: ReadSpan, evidence: Evidence) -> str:
    """Return which passages were read together, how much of them, which once more, and which one the answer is of."""
    passages = [scored.item for scored in evidence.passages[:READ_PASSAGES]]
    read = sum(end - start for _, start, end in reading.shown)
    share = round(100 * read / max(1, sum(len(passage.text.strip()) for passage in passages)))
    note = f"read together: {format_count(len(passages), 'passage')}, {min(share, 100)}% of their text"
    if len(passages) > FIRST_PASSAGES:
        note += f", then the first {FIRST_PASSAGES} by themselves"
    if not span.is_text:
        return note
    title = passages[span.source].title
    return f"{note}; the answer is of passage {span.source + 1}{f', {title!r}' if title else ''}"


def _answer_by_verdict(
    analysis: QuestionAnalysis, evidence: Evidence, notes: tuple[str, ...], verdict: Verdict
) -> Answer:
    quotes = _quote((*verdict.sentences, *analysis.selected))
    notes += (verdict.note,) if verdict.is_sure else (UNSURE_NOTE, verdict.note)
    return Answer(verdict.text, quotes, verdict.candidates, evidence, weak=not verdict.is_sure, notes=notes)


def _answer_other_language(analysis: QuestionAnalysis, evidence: Evidence, notes: tuple[str, ...]) -> Answer:
    """Return the name, date or number of the best-fitting sentence as a weak answer: the reader knows English alone."""
    ordered = order_other_language(analysis.query, analysis.sentences)
    if analysis.query.language.find_kind(analysis.question)[0] == EXPLANATION:
        return _withhold(analysis, evidence, notes, ordered)
    names = [m.name for sentence in ordered for m in find_fitting_mentions(analysis.query, sentence)]
    candidates = tuple(Scored(name, 0.0) for name in dict.fromkeys(names))[:MAX_CANDIDATES]
    text = candidates[0].item if candidates else ""
    return Answer(text, _quote((*ordered, *analysis.selected)), candidates, evidence, weak=True, notes=notes)


def _withhold(
    analysis: QuestionAnalysis,
    evidence: Evidence,
    notes: tuple[str, ...],
    first: Sequence[Sentence] = (),
) -> Answer:
    """Return a weak answer without text, with the sentences that fit best, after those that come `first`."""
    return Answer("", _quote((*first, *analysis.selected)), (), evidence, weak=True, notes=notes)


def _list_candidates(ranked: Sequence[tuple[float, ReadSpan]]) -> tuple[Scored[str], ...]:
    """Return answers with their probabilities, of those that overlap or have the same words the first."""
    chosen: list[tuple[float, ReadSpan]] = []
    for probability, span in ranked:
        if not any(_is_same(span, one) for _, one in chosen):
            chosen.append((probability, span))
    return tuple(Scored(span.text, probability) for probability, span in chosen[:MAX_CANDIDATES])


def _is_same(one: ReadSpan, other: ReadSpan) -> bool:
    overlaps = one.source == other.source and one.start < other.end and other.start < one.end
    return overlaps or one.text == other.text


def _language_notes(language: QuestionLanguage | None) -> list[str]:
    if language is None:
        return [LANGUAGE_NOTE]
    return [] if language.is_english else [OTHER_LANGUAGE_NOTE.format(language.name)]


def _quote(sentences: Iterable[Sentence]) -> tuple[Citation, ...]:
    """Return the first distinct ones of some sentences as citations."""
    first: dict[tuple[str, int], Sentence] = {}
    for sentence in sentences:
        first.setdefault(place_of(sentence), sentence)
    return tuple(sentence.citation for sentence in list(first.values())[:MAX_QUOTES])
