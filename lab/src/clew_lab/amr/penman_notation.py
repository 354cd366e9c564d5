"""Conversion of one AMR graph in PENMAN notation to an `AMRGraph`.

A name such as `:name (n / name :op1 "Salt" :op2 "Lake")` becomes one concept, `"Salt Lake"`, under the same relation;
inverse relations (`:ARG0-of`) are inverted; each constant is a concept of its own; `:wiki` links are dropped.

Source: Goodman, "Penman: an open-source library and tool for AMR graphs" (2020), whose package parses the notation.
Differs from the source: faults that the package accepts, with a warning or without, are errors: a variable without a
concept or with two, an undefined variable, a relation without a target, text after the graph.
"""

import logging
import re
from typing import Any

from clew.errors import InputError
from clew.plugins.extras import import_package
from clew_lab.amr.graph import VARIABLE, AMRGraph, plain_word

_OP = re.compile(r":op(\d+)")
_INSTANCE, _WIKI, _NAME = ":instance", ":wiki", "name"
# The package silently stops at text that is no graph: reaching this end mark shows that there was none.
_END = "(end / end)"

_Triples = list[tuple[str, str, str]]


def parse_penman(notation: str, line: int = 1) -> AMRGraph:
    """Parse the notation of one graph that starts at a line; concepts are in its order, the top first.

    Raises InputError, with the line's number, where it is malformed; MissingPackageError without `penman`.
    """
    penman = import_penman()
    from penman.models.amr import model

    graph = penman.interpret(_parse_tree(penman, notation, line), model=model)
    triples: _Triples = [tuple(triple) for triple in graph.triples]
    if fault := _find_fault(triples):
        raise InputError(f"line {line}: the graph has {fault}: correct it")
    return _build_graph(triples)


def format_penman(notation: str) -> str:
    """Reformat a notation in the package's layout, one relation per line.

    Raises InputError where it is malformed; MissingPackageError where the package `penman` is not installed.
    """
    penman = import_penman()
    return str(penman.format(_parse_tree(penman, notation, 1)))


def import_penman() -> Any:
    """Import the package `penman` and silence its warnings; raises MissingPackageError where it is not installed."""
    penman = import_package("penman", "clew-lab", "reading AMR graphs")
    logger = logging.getLogger("penman")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return penman


def _parse_tree(penman: Any, notation: str, line: int) -> Any:
    # The package would also split at other separators, so that its line numbers differ from an editor's.
    lines = notation.split("\n")
    try:
        try:
            trees = list(penman.iterparse([*lines, _END]))
        except penman.DecodeError:
            trees = list(penman.iterparse(lines))  # so that the message is about these lines only
    except penman.DecodeError as error:
        place = line + max((error.lineno or 1) - 1, 0)
        raise InputError(f"line {place}: no PENMAN notation ({error.message}): correct the graph") from error
    except RecursionError as error:
        raise InputError(f"line {line}: the brackets are nested too deeply: correct the graph") from error
    if len(trees) != 2:
        raise InputError(f"line {line}: wanted one graph in brackets and nothing after it: correct the graph")
    if trees[0].node[0] is None:
        raise InputError(f"line {line}: empty brackets; wanted (variable / concept ...): correct the graph")
    return trees[0]


def _find_fault(triples: _Triples) -> str:
    defined: set[str] = set()
    for source, role, target in triples:
        if role == _INSTANCE:
            if target is None or source in defined:
                return f"a variable, {source}, with {'no concept' if target is None else 'two concepts'}"
            defined.add(source)
        elif target is None:
            return f"a relation, {role} of {source}, without a target"
    for source, role, target in triples:
        if role != _INSTANCE and target not in defined and VARIABLE.fullmatch(target):
            return f"a relation, {role} of {source}, to {target}, which is not defined"
    return ""


def _build_graph(triples: _Triples) -> AMRGraph:
    concepts = {source: target for source, role, target in triples if role == _INSTANCE}
    concepts |= (names := _merge_names(triples, concepts))
    places: dict[str, int] = {}
    edges: list[tuple[int, str, int]] = []
    for number, (source, role, target) in enumerate(triples):
        if role == _WIKI or (source in names and _OP.fullmatch(role)):
            continue
        places.setdefault(source, len(places))
        if role == _INSTANCE:
            continue
        end = target
        if target not in concepts:
            # Equal constants are separate concepts, as a second `-` negates something else. No variable has a space.
            end = f"constant {number}"
            concepts[end] = target
        places.setdefault(end, len(places))
        edges.append((places[source], role, places[end]))
    return AMRGraph(tuple(concepts[name] for name in places), tuple(edges))


def _merge_names(triples: _Triples, concepts: dict[str, str]) -> dict[str, str]:
    """Return the quoted text of each name variable whose parts are all constants."""
    parts: dict[str, list[tuple[int, str]]] = {}
    not_constant: set[str] = set()
    for source, role, target in triples:
        part = _OP.fullmatch(role)
        if part and concepts[source] == _NAME:
            parts.setdefault(source, []).append((int(part[1]), plain_word(target)))
            if target in concepts:
                not_constant.add(source)
    texts = {name: " ".join(text for _, text in sorted(ops)) for name, ops in parts.items() if name not in not_constant}
    return {name: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for name, text in texts.items()}
