"""Choice of a retriever by a request: names and numbers, never files, models or addresses."""

import re
from typing import Any, get_args

from clew.errors import InputError
from clew.plugins.records import SettingsRecord
from clew.retrievers.registry import RETRIEVERS, parse_retriever
from clew.server.records import RetrieverChoice, Setting
from clew.types import AUTO_RETRIEVER

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_WORDS = frozenset({"local", "none", "all", "auto", "bm25", "g-rag", "tf-idf"})
"""Values of settings that are free texts, and that stand for something built in."""


def choose_retriever(choice: str | RetrieverChoice, rerank: str = "none") -> str | SettingsRecord:
    """Return "auto" or the settings record of a retriever; text is read as on the command line, `gfm:nodes=all`.

    Raises InputError for an unknown name or setting, and for a value that names a file, a model or an address.
    """
    if isinstance(choice, str):
        name, _, settings = choice.partition(":")
        given = [part for part in settings.split(",") if part]
    else:
        name, given = choice.name, [f"{key}={_format(value)}" for key, value in choice.settings.items()]
    if rerank != "none":
        given.append(f"rerank={rerank}")
    if name == AUTO_RETRIEVER and not given:
        return AUTO_RETRIEVER
    if name == AUTO_RETRIEVER:
        raise InputError("the retriever auto takes no settings and no rerank: name one that GET /v1/indexes lists")
    if not _WORD.fullmatch(name):
        raise InputError(f"no retriever is called {name[:80]!r}: name one that GET /v1/indexes lists")
    for part in given:
        _check_word(part)
    record = parse_retriever(f"{name}:{','.join(given)}" if given else name)
    _check_record(record)
    return record


def describe_retriever(spec: str | SettingsRecord) -> str:
    """Return the name of a retriever."""
    return spec if isinstance(spec, str) else str(getattr(type(spec), "label", type(spec).__name__))


def _format(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_word(part: str) -> None:
    key, _, value = part.partition("=")
    if not (_WORD.fullmatch(key) and (_WORD.fullmatch(value) or re.fullmatch(r"-?[0-9.]+", value))):
        raise InputError(
            f"the setting {part[:80]!r} cannot be given in a request: wanted NAME=VALUE, of letters and digits; files "
            "and models are chosen by whoever runs the server"
        )


def _check_record(record: SettingsRecord) -> None:
    for name in record.model_fields_set:
        value = getattr(record, name)
        if isinstance(value, SettingsRecord):
            _check_record(value)
        elif isinstance(value, str) and not _is_word(value, type(record).model_fields[name].annotation):
            raise InputError(f"{name} cannot be {value!r} in a request: files and models are chosen by the server")
        elif not (value is None or isinstance(value, str | int | float)):
            raise InputError(f"{name} names a file, which a request cannot choose: leave it out")


def _is_word(value: str, annotation: Any) -> bool:
    return value in _WORDS or value in _literals(annotation) or all(part in RETRIEVERS for part in value.split("+"))


def _literals(annotation: Any) -> set[object]:
    """Return the values of the literals in a type, however deep."""
    arguments = get_args(annotation)
    return {a for a in arguments if isinstance(a, str)} | {v for a in arguments for v in _literals(a)}
