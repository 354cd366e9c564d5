"""What a language model that reads well would reply to the prompts of extraction, found out by a rule."""

import json
import re
from itertools import pairwise

from tests.faults.model_server import Request, ServerReply

NAME = re.compile(r"\b[A-Z][a-z]+\b")


def names_and_triples(text: str) -> tuple[list[str], list[list[str]]]:
    """The names of a text, its capitalised words, and a triple for each two that follow each other."""
    names = list(dict.fromkeys(NAME.findall(text)))
    return names, [[head, "knows", tail] for head, tail in pairwise(names)]


def find_passage(content: str) -> str:
    """The passage in a prompt."""
    found = re.search(r"<passage>\n(.*?)\n</passage>", content, re.DOTALL)
    assert found, content
    return found[1]


def make_reply(schema: str, content: str) -> dict[str, object]:
    """The reply to a prompt of extraction, by the name of its reply's class."""
    names, triples = names_and_triples(find_passage(content))
    if schema == "NamedEntities":
        return {"names": names}
    return {"triples": triples} if schema == "Triples" else {"names": names, "triples": triples}


def parse_request(request: Request) -> tuple[str, str]:
    """The class of the reply that a request asks for, and what the user's side of it says."""
    system = "\n".join(str(m["content"]) for m in request["messages"] if m["role"] == "system")
    first = next(str(m["content"]) for m in request["messages"] if m["role"] == "user")
    found = [name for name in ("NamedEntities", "NamesAndTriples", "Triples") if f'"title": "{name}"' in system]
    assert len(found) == 1, system
    return found[0], first


def answer_request(request: Request, _number: int = 0) -> ServerReply:
    """The part of such a model."""
    return ServerReply(json.dumps(make_reply(*parse_request(request)), ensure_ascii=False), tokens=(100, 20))
