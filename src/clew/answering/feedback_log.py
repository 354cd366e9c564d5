"""A log of answers that name the path they stand on, from which the router learns (FRAG-F).

One line an answer: {"question", "topics", "hops", "path", "answer"}. It is only ever added to, so that it can be
replayed: `clew train router --feedback LOG` always makes the same of it.

Source: Gao et al., "FRAG" (2025), section 3.1.3. Differs from the source: the log stays, and adapting is a step of its
own.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from clew.answering.kg_paths import named_path
from clew.errors import ProviderError
from clew.types import Answer, Question


def log_feedback(log: Path, questions: Sequence[Question], answers: Sequence[Answer]) -> int:
    """Add a line for each answer that names its path, and return how many did.

    Raises:
        ProviderError: The log cannot be written.
    """
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
        lines.append(json.dumps(record) + "\n")  # in ASCII: a name may hold what ends a line, or half a character
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as stream:
            stream.writelines(lines)
    except OSError as error:
        raise ProviderError(f"the feedback {log} cannot be written ({error}): choose another place") from error
    return len(lines)


def log_answer(log: Path, question: str, topics: Sequence[str], answer: Answer) -> int:
    """Add a line for one answer that names its path; returns 0 where it names none."""
    return log_feedback(log, [Question("", question, topics=tuple(topics))], [answer])
