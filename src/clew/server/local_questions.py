"""Questions that commands put to a server of the same user, and results that come back whole.

A result is what the command would have found by itself, so that it prints the same: nothing is rounded or left out.
"""

from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from clew.types import AUTO_RETRIEVER, Answer, Evidence

if TYPE_CHECKING:
    from clew.server.open_indexes import OpenVersion

TOKEN_HEADER = "Clew-Token"  # noqa: S105 (the name of a header)
QUESTIONS_PATH, PROOF_PATH = "/local/questions", "/local/proof"


@dataclass(frozen=True, slots=True)
class LocalQuestion:
    """A question with the options of `clew search` and `clew ask` that a server honours."""

    kind: Literal["search", "ask"]
    question: str
    retriever: str  # a name alone, or "auto"
    k: int
    where: str | None = None
    strict: bool = False
    paths: int = 1
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalResult:
    """The retriever that was used, and what it found or what was answered."""

    retriever: str
    evidence: Evidence | None = None
    answer: Answer | None = None


def encode_result(result: LocalResult) -> dict[str, Any]:
    """Return a result as JSON holds it; a failure of a language model is none, since none is called."""
    return asdict(result)


def decode_record(kind: Any, value: Any) -> Any:
    """Return the record of a type, nested ones and tuples included, from its form in JSON.

    Raises KeyError or TypeError where the value has another form.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        some = next(argument for argument in arguments if argument is not type(None))
        return None if value is None else decode_record(some, value)
    if origin is tuple:
        many = len(arguments) == 2 and arguments[1] is Ellipsis
        kinds = [arguments[0]] * len(value) if many else arguments
        return tuple(decode_record(one, each) for one, each in zip(kinds, value, strict=True))
    made = origin or kind
    if isinstance(made, type) and issubclass(made, tuple):  # with names
        return made(*(decode_record(one, each) for one, each in zip(get_type_hints(made).values(), value, strict=True)))
    if not (isinstance(made, type) and is_dataclass(made)):
        return value
    bound = dict(zip(getattr(made, "__parameters__", ()), arguments, strict=False))
    hints = get_type_hints(made)
    return made(
        **{each.name: decode_record(bound.get(hints[each.name], hints[each.name]), value[each.name])
           for each in fields(made)}
    )  # fmt: skip


def answer_question(version: "OpenVersion", question: LocalQuestion) -> LocalResult:
    """Return what a command would find in a version by itself.

    Raises InputError as the command would, for example where the filter cannot be read.
    """
    from clew.retrievers.registry import describe_default, open_retriever, parse_retriever

    index = version.restrict(question.where) if question.strict and question.where is not None else version.index
    name = str(index.resolve_retriever(question.retriever))
    spec = parse_retriever(name)
    key = ("local", index.selection is not None and question.where, spec, question.paths)
    opened = version.retriever(key, lambda: open_retriever(spec, index.context.with_paths_per_passage(question.paths)))
    where = None if question.strict else question.where
    evidence = index.search(question.question, question.k, opened, where, question.paths, question.topics)
    if question.retriever == AUTO_RETRIEVER:
        evidence = replace(evidence, notes=(*evidence.notes, *describe_default(name)))
    if question.kind == "search":
        return LocalResult(name, evidence=evidence)
    return LocalResult(name, answer=index.answerer("", spec, where=where).answer([question.question], [evidence])[0])
