"""A stand-in for a language model that answers the prompts of extraction correctly, by a rule."""

import json
import re
from itertools import pairwise

from tests.faults.model_server import Request, ServerReply

NAME = re.compile(r"\b[A-Z][a-z]+\b")


def names_and_triples(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the capitalised words of a text as names, and a triple for each two consecutive ones."""
    names = list(dict.fromkeys(NAME.findall(text)))
    return names, [[head, "knows", tail] for head, tail in pairwise(names)]


def find_passage(content: str) -> str:
    """Return the passage in a prompt."""
    match = re.search(r"<passage>\n(.*?)\n</passage>", content, re.DOTALL)
    assert match, content
    return match[1]


def make_reply(schema: str, content: str) -> dict[str, object]:
    """Return the reply to a prompt of extraction, by the name of the reply's class."""
    names, triples = names_and_triples(find_passage(content))
    if schema == "NamedEntities":
        return {"names": names}
    return {"triples": triples} if schema == "Triples" else {"names": names, "triples": triples}


def parse_request(request: Request) -> tuple[str, str]:
    """Return the name of the reply's class that a request asks for, and the content of its user message."""
    system = "\n".join(str(m["content"]) for m in request["messages"] if m["role"] == "system")
    first = next(str(m["content"]) for m in request["messages"] if m["role"] == "user")
    schemas = [name for name in ("NamedEntities", "NamesAndTriples", "Triples") if f'"title": "{name}"' in system]
    assert len(schemas) == 1, system
    return schemas[0], first


def answer_request(request: Request, _number: int = 0) -> ServerReply:
    """Return the server's reply to a request."""
    return ServerReply(json.dumps(make_reply(*parse_request(request)), ensure_ascii=False), tokens=(100, 20))
