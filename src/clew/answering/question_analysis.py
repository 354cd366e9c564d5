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
    PathNames,
    QuestionTerms,
    Sentence,
    best_of_chain,
    chain_sentences,
    path_names,
    preselect_sentences,
    score_sentence,
    select_sentences,
    widen_selection,
)
from clew.protocols import Encoder
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.text.sentences import sentence_spans
from clew.types import Evidence, Mention

NameFinder = Callable[[str, int, int], Sequence[Mention]]

MAX_SENTENCES = 80
MAX_QUOTES = 4
CHOSEN_SENTENCES = 12
"""Sentences whose spans the learned ranker ranks."""
CHOSEN_CHAINS = 3
"""Chains whose sentences are among them."""
RANK_WEIGHT = 0.2
"""Weight of a passage's rank beside the share of the question's words, for questions that are not English."""
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
    preselected: Sequence[Sentence]
    similarities: Sequence[float]  # cosine of each preselected sentence and the question; 0 without an encoder
    scores: Sequence[float]  # of each preselected sentence
    selected: Sequence[Sentence]  # those to quote
    chosen: Sequence[Sentence]  # those whose spans the learned ranker ranks; the selected ones come first
    paths: PathNames
    chain: Sequence[Sequence[Sentence]]  # sentences of each step of the best chain

    @property
    def coverage(self) -> float:
        """Weighted share, 0 to 1, of the question's words that the selected sentences have."""
        return sum(w for word, w in self.query.weights.items() if any(word in s.stem_set for s in self.selected))


def analyze_question(
    question: str, evidence: Evidence, encoder: Encoder | None, name_finder: NameFinder, max_encoded: int
) -> QuestionAnalysis | None:
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
    similarities = _similarities(question, preselected, [query.overlap(s) for s in preselected], encoder, max_encoded)
    paths = path_names(evidence)
    if language.is_english:
        scores = [score_sentence(query, s, x, paths) for s, x in zip(preselected, similarities, strict=True)]
    else:  # the encoder and the names of paths are English
        scores = [query.overlap(s) + RANK_WEIGHT / (1 + s.rank) for s in preselected]
    chain = chain_sentences(evidence, preselected)
    selected = select_sentences(query, preselected, scores, MAX_QUOTES, best_of_chain(query, chain))
    selected = [s for s in selected if not s.is_bare_title] or selected  # a title alone proves nothing
    chains = [scored.item for scored in evidence.chains[:CHOSEN_CHAINS]]
    chosen = widen_selection(preselected, scores, selected, chains, CHOSEN_SENTENCES)
    return QuestionAnalysis(
        question, query, sentences, preselected, similarities, scores, selected, chosen, paths, chain
    )


def split_sentences(
    evidence: Evidence, name_finder: NameFinder, language: QuestionLanguage = ENGLISH
) -> list[Sentence]:
    """Return the sentences of the distinct passages, without headings; their stems are those of a language."""
    sentences = []
    for rank, passage in enumerate({scored.item.id: scored.item for scored in evidence.passages}.values()):
        title = name_key(strip_parentheses(passage.title))
        title_stems = [word for word, _ in find_content_stems(passage.title, language=language)]
        for start, end in sentence_spans(passage.text):
            if passage.text.startswith("#", start):
                continue  # a heading answers nothing
            words = tuple(find_content_stems(passage.text[start:end], start, language))
            mentions = name_finder(passage.text, start, end)
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


def _similarities(
    question: str,
    sentences: Sequence[Sentence],
    overlaps: Sequence[float],
    encoder: Encoder | None,
    max_encoded: int,
) -> list[float]:
    """Return a cosine for each sentence; one that is not encoded gets the minimum of those that are."""
    if encoder is None:
        return [0.0] * len(sentences)
    encoded = sorted(range(len(sentences)), key=lambda i: (-overlaps[i], i))[:max_encoded]
    # A sentence about "he" or "the town" is understood with its title.
    texts = [
        f"{sentences[i].passage.title}: {sentences[i].text}" if sentences[i].title_key else sentences[i].text
        for i in encoded
    ]
    # `encode` pads to full batches, three times the work for a dozen sentences; `encode_queries` does not.
    query_vector, *rows = encoder.encode_queries([question, *texts])
    cosines = {i: float(row @ query_vector) for i, row in zip(encoded, rows, strict=True)}
    lowest = min(cosines.values())
    return [cosines.get(i, lowest) for i in range(len(sentences))]
