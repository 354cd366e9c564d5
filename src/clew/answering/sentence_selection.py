"""Selection of the sentences to quote, by a greedy search over weighted features (see `extractive`).

Of questions in languages other than English, which the reader does not know, the sentences come by the stems that they
share with the question and by the ranks of their passages.

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clew.answering.languages import ENGLISH, QuestionLanguage
from clew.answering.question_types import QuestionType, can_answer, find_unmentioned_numbers, score_type_fit
from clew.text.normalization import name_key
from clew.types import Citation, Evidence, Mention, Passage

SENTENCE_WEIGHTS = {"overlap": 0.2, "rank": 0.05, "path": 0.2}
NEXT_SENTENCE_WEIGHTS = {"continues": 0.3, "new words": 0.2, "new passage": 0.1}
RANK_WEIGHT = 0.2
"""Weight of a passage's rank beside the share of the question's words, for questions that are not English."""
STOP_SHARE = 0.3
"""Selection stops when the gain of the next sentence is below this share of the first one's score."""

PathNames = Sequence[tuple[frozenset[str], frozenset[str]]]  # of each path, keys of all names and of those at its end


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage, analyzed for matching; `start` and `end` are offsets in the passage's text."""

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
        """The sentence as written."""
        return self.passage.text[self.start : self.end]

    @property
    def is_bare_title(self) -> bool:
        """Whether it is no more than the title of its passage, as the first line of a plain text."""
        return name_key(self.text) in (name_key(self.passage.title), self.title_key)

    def is_part_of(self, quote: Citation) -> bool:
        """Return whether it lies in a quotation."""
        shift = self.passage.start
        return (
            self.passage.id == quote.passage_id and quote.start <= shift + self.start and shift + self.end <= quote.end
        )

    @property
    def citation(self) -> Citation:
        """The sentence as a citation of its document."""
        return self.passage.cite(self.start, self.end)


def place_of(sentence: Sentence) -> tuple[str, int]:
    """Return a sentence's passage and its offset there."""
    return sentence.passage.id, sentence.start


DOUBT = re.compile(
    r"\b(?:not|never|nor|neither|almost|nearly|partly|partially|reportedly|allegedly|supposedly|possibly|perhaps|legend"
    r"|rumou?rs?|falsely)\b|n['’]t\b",
    re.IGNORECASE,
)
"""A word of a sentence that denies or doubts what it says."""


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """A question, analyzed for matching."""

    question_type: QuestionType
    text_key: str
    names: tuple[str, ...]
    weights: Mapping[str, float]  # of the question's words: rarity in the evidence, summing to 1
    language: QuestionLanguage = ENGLISH

    def mentions_name(self, key: str) -> bool:
        """Whether the question has this name, a shorter form of it, or all its words but one."""
        if f" {key} " in self.text_key or any(f" {name_key(name)} " in f" {key} " for name in self.names):
            return True
        words = key.split(" ")
        return len(words) > 2 and sum(f" {word} " in self.text_key for word in words) >= len(words) - 1

    def overlap(self, sentence: Sentence) -> float:
        """Return the total weight of the question's words in a sentence."""
        return sum(weight for word, weight in self.weights.items() if word in sentence.stem_set)


def preselect_sentences(query: QuestionTerms, sentences: Sequence[Sentence], count: int) -> list[Sentence]:
    """Return the `count` sentences with the largest overlap, in their order."""
    scores = [query.overlap(s) + SENTENCE_WEIGHTS["rank"] / (1 + s.rank) for s in sentences]
    best = sorted(range(len(sentences)), key=lambda i: (-scores[i], i))[:count]
    return [sentences[i] for i in sorted(best)]


def order_other_language(query: QuestionTerms, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences that share a stem with a question, best first."""
    sharing = [sentence for sentence in sentences if query.overlap(sentence) > 0]
    return sorted(sharing, key=lambda sentence: -query.overlap(sentence) - RANK_WEIGHT / (1 + sentence.rank))


def find_fitting_mentions(query: QuestionTerms, sentence: Sentence) -> list[Mention]:
    """Return the names, dates and numbers of a sentence that can answer a question and are not in it, best first."""
    kind = query.question_type.kind
    numbers = find_unmentioned_numbers(sentence.passage.text, sentence.start, sentence.end, sentence.mentions)
    fitting = [
        mention
        for mention in (*sentence.mentions, *numbers)
        if can_answer(mention.name, mention.kind, query.question_type)
        and f" {name_key(mention.name)} " not in query.text_key
    ]
    return sorted(fitting, key=lambda mention: -score_type_fit(mention, kind))


def path_names(evidence: Evidence) -> PathNames:
    """Return the name keys of each path, best first."""
    names = []
    for scored in evidence.paths:
        links = [frozenset(map(name_key, t.entities)) for t in scored.item]
        if links:
            ends = links[-1] - links[-2] if len(links) > 1 else frozenset((name_key(scored.item[-1].entities[1]),))
            names.append((frozenset().union(*links), ends))
    return names


def chain_sentences(evidence: Evidence, sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """Return those of some sentences that lie in each sentence of the best chain; [] without a chain."""
    quotes = evidence.chains[0].item.sentences if evidence.chains else ()
    return [[s for s in sentences if s.is_part_of(quote)] for quote in quotes]


def best_of_chain(query: QuestionTerms, chain: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    """Return of each sentence of a chain the part that shares most with the question."""
    return [max(parts, key=query.overlap) for parts in chain if parts]


def score_sentence(query: QuestionTerms, sentence: Sentence, paths: PathNames) -> float:
    """Return the score of a sentence on its own."""
    shares = [(len(sentence.name_keys & names) / len(names), i) for i, (names, _) in enumerate(paths)]
    on_path = max((share / (1 + i) for share, i in shares), default=0.0)
    overlap = query.overlap(sentence)
    features = {"overlap": overlap, "rank": 1 / (1 + sentence.rank), "path": on_path}
    return weighted_sum(SENTENCE_WEIGHTS, features)


def is_continuation(query: QuestionTerms, sentence: Sentence, selected: Iterable[Sentence]) -> bool:
    """Whether it shares a name that is not in the question with a selected sentence of another passage."""
    return any(
        not query.mentions_name(key)
        for other in selected
        if other.passage.id != sentence.passage.id
        for key in sentence.name_keys & other.name_keys
    )


def select_sentences(
    query: QuestionTerms,
    sentences: Sequence[Sentence],
    scores: Sequence[float],
    count: int,
    chain: Sequence[Sentence] = (),
) -> list[Sentence]:
    """Select up to `count` sentences: those of a chain, then greedily, each by its score and gain over those before."""
    selected = list(chain)
    first = max((scores[i] for i, s in enumerate(sentences) if s in selected), default=0.0)
    while len(selected) < min(count, len(sentences)):
        gains = {
            i: scores[i] + _selection_gain(query, s, selected) for i, s in enumerate(sentences) if s not in selected
        }
        best, gain = max(gains.items(), key=lambda item: (item[1], -item[0]))
        if selected and gain < STOP_SHARE * first:
            break
        first = first if selected else gain
        selected.append(sentences[best])
    return selected


def _selection_gain(query: QuestionTerms, sentence: Sentence, selected: Sequence[Sentence]) -> float:
    new = sentence.stem_set.difference(*(s.stem_set for s in selected))
    features = {
        "continues": float(is_continuation(query, sentence, selected)),
        "new words": sum(weight for word, weight in query.weights.items() if word in new),
        "new passage": float(all(s.passage.id != sentence.passage.id for s in selected)),
    }
    return weighted_sum(NEXT_SENTENCE_WEIGHTS, features)


def weighted_sum(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Return the weighted sum of named features."""
    return sum(weights[name] * value for name, value in features.items())
