"""Retrievers as they are written on the command line, with the settings that have options of their own."""

from collections.abc import Mapping, Sequence

from clew.errors import InputError
from clew.plugins.spec import split_settings
from clew.retrievers.registry import RERANKED

BASE_OPTIONS = {
    "gear": ("base", "reader", "steps"),
    "ircot": ("base", "reader", "steps"),
    "naive-ge": ("base",),
    RERANKED: ("base",),
    "sync-ge": ("base", "reader"),
}
"""Settings with an option of their own, by retriever."""

RERANKING_OPTIONS = ("rerank", "rerank_depth")
"""The same, of every retriever of passages."""


def add_options(texts: Sequence[str], given: Mapping[str, str | int | None]) -> list[str]:
    """Return retrievers in their text form, with the options that each of them takes.

    Args:
        texts: `NAME` or `NAME:setting=value,...`.
        given: Options by name; None for one that is not given.

    Raises:
        InputError: No retriever takes an option that is given, or a value has a comma.
    """
    stated = {setting: value for setting, value in given.items() if value is not None}
    for setting, value in stated.items():
        if "," in str(value):
            raise InputError(f"{_option(setting)} is {value!r}, and a comma ends a setting: give one without a comma")
    accepted = [(*RERANKING_OPTIONS, *BASE_OPTIONS.get(text.partition(":")[0], ())) for text in texts]
    taken = [{name: value for name, value in stated.items() if name in names} for names in accepted]
    for setting in stated:
        if not any(setting in settings for settings in taken):
            able = ", ".join(name for name, settings in BASE_OPTIONS.items() if setting in settings)
            raise InputError(f"{_option(setting)} is for the retrievers {able}, not {', '.join(texts)}; leave it out")
    return [_add_settings(text, settings) for text, settings in zip(texts, taken, strict=True)]


def _add_settings(text: str, given: Mapping[str, str | int | None]) -> str:
    name, _, settings = text.partition(":")
    stated = split_settings(settings, name)
    if twice := next((setting for setting in given if setting in stated), ""):
        raise InputError(f"{text} has a setting {twice!r} of its own, and {_option(twice)} is given too: leave one out")
    joined = ",".join(part for part in (settings, *(f"{key}={value}" for key, value in given.items())) if part)
    return f"{name}:{joined}" if joined else name


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"
