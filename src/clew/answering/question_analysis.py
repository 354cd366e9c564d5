"""Analysis of a question and its evidence for an answer without a language model: sentences, scores, a selection.

Source: own rules. Differs from the source: nothing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.answering.languages import ENGLISH, QuestionLanguage, detect_language
from clew.answering.question_forms import restate_request
from clew.answering.question_types import classify_question, find_asked_verb, find_content_stems
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
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.text.page_text import blank_unread
from clew.text.sentences import sentence_spans
from clew.types import Evidence, Mention

NameFinder = Callable[[str, int, int], Sequence[Mention]]

MAX_SENTENCES = 80
MAX_QUOTES = 4
MIN_SHOUTED_WORDS = 3
"""Words from which a question in capitals is read in lower case: its capitals mark no names."""
ASKED_VERB_WEIGHT = 2.0
"""Factor on the weight of the question's main verb: the sentence with that verb names the agent."""


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    """A question, the sentences of its evidence, and those that fit it best."""

    question: str  # as it is read: a question in capitals in lower case, "Tell me who ..." as "who ..."
    query: QuestionTerms
    sentences: Sequence[Sentence]  # all of the evidence
    selected: Sequence[Sentence]  # those to quote


def analyze_question(question: str, evidence: Evidence, name_finder: NameFinder) -> QuestionAnalysis | None:
    """Return the analysis of a question; None where the question or the evidence has no text."""
    language = detect_language(question) or ENGLISH
    sentences = split_sentences(evidence, name_finder, language)
    if not question.strip() or not sentences:
        return None
    if question.isupper() and len(tokens(question)) >= MIN_SHOUTED_WORDS:
        question = question.lower()
    question = restate_request(question) if language.is_english else question
    query = _weigh_terms(question, sentences, name_finder, language)
    preselected = preselect_sentences(query, sentences, MAX_SENTENCES)
    paths = path_names(evidence) if language.is_english else ()  # the names of paths are English
    scores = [score_sentence(query, sentence, paths) for sentence in preselected]
    chain = chain_sentences(evidence, preselected)
    selected = select_sentences(query, preselected, scores, MAX_QUOTES, best_of_chain(query, chain))
    selected = [s for s in selected if not s.is_bare_title] or selected  # a title alone proves nothing
    return QuestionAnalysis(question, query, sentences, selected)


def split_sentences(
    evidence: Evidence, name_finder: NameFinder, language: QuestionLanguage = ENGLISH
) -> list[Sentence]:
    """Return the sentences of the distinct passages but for headings and menus; their stems are of a language."""
    sentences = []
    for rank, passage in enumerate({scored.item.id: scored.item for scored in evidence.passages}.values()):
        title = name_key(strip_parentheses(passage.title))
        title_stems = [word for word, _ in find_content_stems(passage.title, language=language)]
        text = blank_unread(passage.text)
        for start, end in sentence_spans(text):
            if text.startswith("#", start):
                continue  # a heading answers nothing
            words = tuple(find_content_stems(text[start:end], start, language))
            mentions = name_finder(text, start, end)
            mentions = tuple(m for m in mentions if start <= m.start < m.end <= end)
            names = frozenset((*(name_key(m.name) for m in mentions), title)) - {""}
            stem_set = frozenset((*(word for word, _ in words), *title_stems))
            sentences.append(Sentence(passage, rank, start, end, words, stem_set, mentions, names, title))
    return sentences


def _weigh_terms(
    question: str, sentences: Sequence[Sentence], name_finder: NameFinder, language: QuestionLanguage
) -> QuestionTerms:
    content = language.blank_question_words(question)
    words = dict.fromkeys(word for word, _ in find_content_stems(content, language=language))
    counts = {word: sum(word in s.stem_set for s in sentences) for word in words}
    rarity = {word: math.log(1 + len(sentences) / (0.5 + count)) for word, count in counts.items()}
    if language.is_english and (verb := find_asked_verb(question)) in rarity:
        rarity[verb] *= ASKED_VERB_WEIGHT
    total = sum(rarity.values())
    weights = {word: value / total for word, value in rarity.items()}
    mentions = name_finder(content, 0, len(content))
    names = tuple(m.name for m in mentions if m.kind not in ("date", "number"))
    key = f" {' '.join(token.key for token in tokens(question))} "
    return QuestionTerms(classify_question(question, language), key, names, weights, language)
