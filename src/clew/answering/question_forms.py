"""Questions about the documents as a whole, and requests read as the questions in them.

Source: own rules. Differs from the source: nothing.
"""

import re

_DOCUMENTS = (
    r"(?:documents?|files?|texts?|notes?|passages?|pages?|articles?|reports?|index|folder|corpus|collection|data)"
)
_SUMMARY = re.compile(
    rf"\bwhat (?:is|are) (?:this|these|those|it|they|(?:the|my|all|our)\s(?:\w+\s)?{_DOCUMENTS})\b.{{0,40}}\babout\W*\Z"
    rf"|\bwhat (?:is|are)\b.{{0,20}}\b{_DOCUMENTS} about\b"
    rf"|\bwhat do(?:es)? .{{0,30}}\b{_DOCUMENTS} (?:say|contain|cover|tell)\b"
    r"|\bsummar(?:y|ies|ise|ize|ising|izing)\b|\boverview of\b|\bmain (?:topics?|themes?|points?|ideas?)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\A\W*(?:please,?\s+)?(?:(?:can|could|would|will) you\s+(?:please\s+)?)?"
    r"(?:tell|show|give|name|find|state|identify|say)\b(?:\s+(?:me|us)\b)?(?:\s+please\b)?,?\s+(?P<rest>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_CONTRACTION = re.compile(r"\A(\W*(?:who|what|where))['’]s\b", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:(?:in|on|at|by|for|to|of|from)\s+)?(?:who|whom|whose|when|where|what|which|why|how)\b", re.IGNORECASE
)

SUMMARY_NOTE = "a question about the documents as a whole is not understood: the best-fitting sentences are quoted"


def asks_for_summary(question: str) -> bool:
    """Whether a question is about the documents as a whole, which no words of a passage answer."""
    return _SUMMARY.search(question) is not None


def restate_request(question: str) -> str:
    """Return "who built it" for "Tell me who built it", "What is the ship" for "Name the ship", "who is" for "who's".

    Others are returned as they are.
    """
    question = _CONTRACTION.sub(r"\1 is", question)
    match = _REQUEST.match(question)
    if match is None or _SUMMARY.search(question):
        return question
    rest = match["rest"]
    if _ASKS.match(rest):
        return rest
    return f"What is {rest}" if rest.lower().startswith("the ") else question
