"""Append-only log of answers that name the path supporting them, from which the hop predictor is adapted (FRAG-F).

One JSON line per answer: {"question", "topics", "hops", "path", "answer"}. Equal logs give equal predictors.

Source: Gao et al., "FRAG" (2025), section 4.2. Differs from the source: the log is kept, and adaptation is separate.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from clew.answering.kg_paths import named_path
from clew.errors import ProviderError
from clew.types import Answer, Question


def log_feedback(log: Path, questions: Sequence[Question], answers: Sequence[Answer]) -> int:
    """Append a line for each answer that names its path; return their number. Raises ProviderError if that fails."""
    lines = []
    for question, answer in zip(questions, answers, strict=True):
        path = named_path(answer)
        if path is None:
            continue
        record = {
            "question": question.text,
            "topics": list(question.topics or answer.evidence.topics),
            "hops": len(path),
            "path": [[triple.head, triple.relation, triple.tail] for triple in path],
            "answer": answer.text,
        }
        lines.append(json.dumps(record) + "\n")  # ASCII: a name may hold a line break or a lone surrogate
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as stream:
            stream.writelines(lines)
    except OSError as error:
        raise ProviderError(f"the feedback {log} cannot be written ({error}): choose another file") from error
    return len(lines)


def log_answer(log: Path, question: str, topics: Sequence[str], answer: Answer) -> int:
    """Append a line for one answer; return 0 if it names no path."""
    return log_feedback(log, [Question("", question, topics=tuple(topics))], [answer])
