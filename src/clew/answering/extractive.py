"""Answers without a language model: quotes the sentences that best fit the question and ranks the names in them.

A sentence is scored by its similarity to the question (vectors, shared words), the rank of its passage and the paths.
Sentences are selected greedily: one gains when it shares a new name with a selected sentence of another passage, and
when it covers words of the question that no selected sentence has. Names are scored by the expected answer type and the
question's words around them. The answer is always text of a quoted sentence, or "yes" or "no".

Source: own rules; weights tuned on development questions of HotpotQA and MuSiQue, given the gold passages alone and
among others. Differs from the source: nothing.
"""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import final

from clew.answering.candidates import Candidate, compare_nationalities, rank_candidates, rank_options
from clew.answering.question_types import classify_question, find_asked_verb, find_content_stems
from clew.answering.replies import check_lengths, empty_answer
from clew.answering.sentence_selection import (
    QuestionTerms,
    Sentence,
    best_of_chain,
    chain_sentences,
    path_names,
    preselect_sentences,
    score_sentence,
    select_sentences,
)
from clew.errors import InputError
from clew.protocols import Encoder
from clew.text.gazetteer import COMMON_WORDS
from clew.text.mentions import find_mentions
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.text.sentences import sentence_spans
from clew.types import Answer, Evidence, Mention, Scored

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
ASKED_VERB_WEIGHT = 2.0
"""Factor on the weight of the question's main verb: the sentence with that verb names the agent."""
OPTION_MARGIN = 0.03
"""Minimum lead of the better one of two options in score to be the answer."""


@final
class ExtractiveAnswerer:
    """Quotes the sentences that answer a question and ranks the names in them; no language model, no network.

    `encoder` encodes questions and sentences; None or one of dimension 0 compares words only. `name_finder` returns for
    (text, start, end) the mentions inside `text[start:end]`. `max_encoded` sentences are encoded per question, those
    with the largest word overlap; at least 1.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
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

        The text is "yes", "no" or one of two options where the sentences decide it, else the best candidate if its
        score suffices, else the best sentence; "" with `weak` where the evidence hardly matches the question.
        """
        sentences = self._split_sentences(evidence)
        if not question.strip() or not sentences:
            reason = "the evidence holds no passage with text" if question.strip() else "the question is empty"
            return empty_answer(evidence, (NO_MODEL_NOTE, reason))
        query = self._analyze_question(question, sentences)
        preselected = preselect_sentences(query, sentences, MAX_SENTENCES)
        similarities = self._similarities(question, preselected, [query.overlap(s) for s in preselected])
        paths = path_names(evidence)
        scores = [score_sentence(query, s, x, paths) for s, x in zip(preselected, similarities, strict=True)]
        chain = chain_sentences(evidence, preselected)
        selected = select_sentences(query, preselected, scores, MAX_QUOTES, best_of_chain(query, chain))
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
        options = rank_options(query, sentences, preselected, scores)
        ranked = options or rank_candidates(query, preselected, selected, paths, chain[-1] if chain else ())
        text, basis, note = _decide_answer(query, sentences, selected, options, ranked)
        notes += (note,) if note else ()
        quotes: list[Sentence] = []
        for sentence in (*basis, *selected):
            quotes += [sentence] if sentence not in quotes and len(quotes) < MAX_QUOTES else []
        candidates = tuple(Scored(c.name, c.score) for c in ranked[:MAX_CANDIDATES])
        return Answer(text, tuple(s.citation for s in quotes), candidates, evidence, notes=notes)

    def _split_sentences(self, evidence: Evidence) -> list[Sentence]:
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
                sentences.append(Sentence(passage, rank, start, end, words, stem_set, mentions, names, title))
        return sentences

    def _analyze_question(self, question: str, sentences: Sequence[Sentence]) -> QuestionTerms:
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
        return QuestionTerms(classify_question(question), key, names, weights)

    def _similarities(self, question: str, sentences: Sequence[Sentence], overlaps: Sequence[float]) -> list[float]:
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


def _missing_name_notes(query: QuestionTerms, evidence: Evidence) -> list[str]:
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
