"""The package's face: complete, sorted, typed as it is told, and light to import."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import clew

SOURCE = Path(clew.__file__)
HEAVY = ("torch", "numpy", "pyarrow", "lance", "numba", "scipy", "typer", "pydantic", "rich", "tokenizers")


def isort_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by the alphabet, as ruff sorts `__all__`."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_names_are_sorted_and_complete() -> None:
    assert list(clew.__all__) == sorted(clew.__all__, key=isort_order)
    assert set(clew.__all__) == clew._HOMES.keys()
    assert list(clew._HOMES) == sorted(clew._HOMES)
    assert len(set(clew.__all__)) == len(clew.__all__)


def test_type_checkers_are_told_the_same_names_and_homes() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    told = {
        alias.asname or alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == clew._HOMES


def test_the_settings_of_every_retriever_are_there() -> None:
    records = {clew.RETRIEVERS.record(name) for name in clew.RETRIEVERS.usable_entries()}
    own = [record for record in records if record.model_fields and record.__module__.startswith("clew.")]
    assert len(own) >= 7
    assert not [record.__name__ for record in own if getattr(clew, record.__name__, None) is not record]


@pytest.mark.parametrize("name", clew.__all__)
def test_each_name_is_found_where_it_lives(name: str) -> None:
    value = getattr(clew, name)
    assert value is getattr(import_module(clew._HOMES[name]), name)
    assert name in dir(clew)
    if callable(value):
        assert value.__module__ == clew._HOMES[name]
        assert value.__doc__


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'clew' has no attribute 'opne'"):
        clew.opne  # noqa: B018


def test_every_error_has_an_exit_code_and_one_root() -> None:
    errors = [getattr(clew, name) for name in clew.__all__ if name.endswith("Error")]
    assert len(errors) == 8
    assert all(issubclass(error, clew.ClewError) for error in errors)
    assert {error.__name__ for error in errors if error.exit_code == 2} == {
        "InputError",
        "MissingPackageError",
        "IndexFormatError",
        "IndexLockedError",
    }


def loaded(code: str) -> set[str]:
    """Return which heavy packages a fresh interpreter has loaded after some code."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules.keys() & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import clew",
        "import clew; dir(clew)",
        "import clew; clew.Document('a', 'A', 'text'); clew.InputError",
        "import clew.types, clew.protocols, clew.errors",
        "from clew.text import normalization, casing, sentences",
        "import clew.indexing.extraction.rule_based",
    ],
)
def test_what_stays_light(code: str) -> None:
    assert loaded(code) == set()


@pytest.mark.slow
def test_opening_and_searching_without_vectors_loads_no_torch(tmp_path: Path) -> None:
    code = (
        "import clew; from clew.settings import Settings\n"
        f"index = clew.create({str(tmp_path / 'i')!r}, Settings(encoder='none'))\n"
        "index.add([clew.Document('a', 'Fram', 'Fram left Oslo.')])\n"
        "assert index.search('Who left Oslo?').passages"
    )
    assert "torch" not in loaded(code)
