"""Times of day that a sentence states: "At what time does X close on Saturdays?" of "On Saturdays X closes at 2 p.m.".

The sentence has the verb of the question in the present with a time after it, and is about what the question names: it
has the name before the verb, or the passage has it as title and the sentence names nothing else there. What the
question says of the day is in the sentence too. Where two sentences state different times, none is taken.

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

import re

from clew.answering.direct_statements import DirectStatement
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import DENIAL, find_clock_times, find_content_stems
from clew.answering.sentence_selection import DOUBT, Sentence
from clew.text.normalization import name_key, strip_parentheses
from clew.types import Mention

_ASKED = re.compile(
    r"\s*(?:when|(?:at\s+)?what\s+(?:time|hour))\s+(?:does|do)\s+(?:the\s+)?(?P<name>[^?]{2,80}?)\s+(?P<verb>[a-z]{3,})"
    r"(?:\s+(?P<day>(?:on|in|during|at|for)\s+[^?]{2,60}?))?\s*\?*\s*",
    re.IGNORECASE,
)
_DAY_NAME = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?", re.IGNORECASE)


def find_stated_time(analysis: QuestionAnalysis) -> DirectStatement | None:
    """Return the time of day at which the sentences say that something happens; None where none or several do."""
    asked = _ASKED.fullmatch(analysis.question) if analysis.query.language.is_english else None
    if asked is None:
        return None
    verb = re.compile(rf"\b{re.escape(asked['verb'])}(?:e?s)?\s+(?:[a-z]+\s+){{0,2}}?(?:at|from)\s+", re.IGNORECASE)
    day = {stem for stem, _ in find_content_stems(asked["day"] or "")}
    found = []
    for sentence in analysis.sentences:
        time = None if DOUBT.search(sentence.text) or DENIAL.search(sentence.text) else _time_after(sentence, verb)
        if time is None or not day <= {stem for stem, _ in find_content_stems(sentence.text)}:
            continue
        if _is_about(sentence, name_key(asked["name"]), verb):
            found.append(DirectStatement(time.name, sentence))
    return found[0] if len({one.text for one in found}) == 1 else None


def _time_after(sentence: Sentence, verb: re.Pattern[str]) -> Mention | None:
    """Return the time of day right after a verb and its "at" or "from"."""
    match = verb.search(sentence.passage.text, sentence.start, sentence.end)
    times = find_clock_times(sentence.passage.text, sentence.start, sentence.end)
    return next((time for time in times if match is not None and time.start == match.end()), None)


def _is_about(sentence: Sentence, key: str, verb: re.Pattern[str]) -> bool:
    """Return whether a name, by its key, is what a sentence says the verb of."""
    at = verb.search(sentence.passage.text, sentence.start, sentence.end)
    before = [m for m in sentence.mentions if m.kind != "date" and at is not None and m.start < at.start()]
    before = [mention for mention in before if not _DAY_NAME.fullmatch(mention.name)]
    if any(name_key(mention.name) == key for mention in before):
        return True
    return not before and name_key(strip_parentheses(sentence.passage.title)) == key
