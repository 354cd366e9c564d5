"""The shape of the house, read from the source and never from running it: layers, cycles, sizes, forbidden things.

A new file or folder directly under `src/clew` gets a place in `LEVELS`; what it may import follows from that.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "clew"

# Lowest first. A unit (a folder or a file directly under src/clew) imports units of lower levels only, so those of one
# level do not import each other.
LEVELS = (
    ("errors", "types"),
    ("judging", "protocols", "ranks", "walked"),
    ("text",),
    ("graph", "models", "nn", "prompts"),
    ("filters", "indexing", "lexical", "store"),
    ("linking", "router"),
    ("reading",),
    ("retrievers",),
    ("rerankers",),
    ("agents", "answering", "evaluation", "training"),
    ("feedback",),
    ("parts",),
    ("assemble", "settings"),
    ("snapshots",),
    ("importing", "updating"),
    ("index",),
    ("graph_questions",),
    (
        "estimating",
        "graph_sources",
        "measuring",
        "measuring_graphs",
        "measuring_subgraphs",
        "teaching_data",
        "teaching_graphs",
        "teaching_subgraphs",
    ),
    ("reporting",),
    ("comparing_subgraphs", "graph_readers", "teaching", "teaching_choices", "teaching_reranking"),
    ("cli_options",),
    ("cli_calls", "cli_graph_training", "cli_graphs", "cli_indexing", "cli_reranking", "cli_subgraphs", "cli_training"),
    ("cli",),
    ("__init__", "__main__"),
)
PRINTING = (
    "cli.py",
    "cli_calls.py",
    "cli_graph_training.py",
    "cli_graphs.py",
    "cli_indexing.py",
    "cli_reranking.py",
    "cli_subgraphs.py",
    "cli_training.py",
    "reporting.py",
)
FILE_LINES, FUNCTION_LINES, METHODS = 400, 60, 10
OTHER_TESTS = {"browser", "contracts", "faults", "oracles"}
OWN = {"self", "cls"}
BROAD = {"Exception", "BaseException"}
UNSAFE_CALLS = {"__import__", "eval", "exec", "torch.load"}
UNSAFE_IMPORTS = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~:/])/(?:home|root|work|Users|tmp|opt|mnt)/\w{2}|\b[A-Z]:\\\w")
TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".jsonl", ".csv", ""}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name; a folder's `__init__` goes by the folder's name."""
    named: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def unit(module: str) -> str:
    """The folder or file directly under `src/clew` that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


@cache
def imports(module: str) -> frozenset[str]:
    """The package's modules that a module imports at run time, also where it does so inside a function."""
    top = tree(modules()[module])
    for_types = {
        id(inner)
        for node in ast.walk(top)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(top):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            names = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name in modules() else base for name in names}
    return frozenset(name for name in found if name in modules() and name != module)


def absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if modules()[module].name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def functions(top: ast.AST, *, public: bool = True) -> Iterator[tuple[str, Function]]:
    """Yield functions and methods with their qualified names; public ones are those no private name encloses."""
    for node in ast.iter_child_nodes(top):
        if isinstance(node, ast.ClassDef) and not (public and node.name.startswith("_")):
            yield from ((f"{node.name}.{name}", function) for name, function in functions(node, public=public))
        elif isinstance(node, Function):
            if not (public and node.name.startswith("_")):
                yield node.name, node
            if not public:
                yield from functions(node, public=False)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from functions(node, public=public)


def decorators(function: Function) -> set[str]:
    return {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in function.decorator_list}


def level() -> dict[str, int]:
    return {name: number for number, names in enumerate(LEVELS) for name in names}


def test_every_unit_has_a_level() -> None:
    units = {unit(module) for module in modules()}
    unknown, gone = sorted(units - level().keys()), sorted(level().keys() - units)
    assert not unknown, (
        f"{unknown} have no level: add them to LEVELS in tests/test_architecture.py, above what they use"
    )
    assert not gone, f"{gone} are no longer there: take them out of LEVELS in tests/test_architecture.py"


def test_imports_go_down() -> None:
    levels = level()
    upward = [
        f"{module} imports {target}"
        for module in modules()
        for target in sorted(imports(module))
        if unit(target) != unit(module) and levels.get(unit(target), 0) >= levels.get(unit(module), len(LEVELS))
    ]
    assert not upward, "what is imported must stand below in LEVELS"


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        TopologicalSorter({module: imports(module) for module in modules()}).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_files_functions_and_classes_are_small() -> None:
    large: list[str] = []
    for path in modules().values():
        if (lines := path.read_text(encoding="utf-8").count("\n")) > FILE_LINES:
            large.append(f"{place(path)} has {lines} lines, at most {FILE_LINES}")
        for name, function in functions(tree(path), public=False):
            if (lines := (function.end_lineno or function.lineno) - function.lineno + 1) > FUNCTION_LINES:
                large.append(f"{place(path, function)} {name} has {lines} lines, at most {FUNCTION_LINES}")
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                methods = [function for function in node.body if isinstance(function, Function) and is_method(function)]
                if len(methods) > METHODS:
                    large.append(f"{place(path, node)} {node.name} has {len(methods)} methods, at most {METHODS}")
    assert not large, "one concept a file, one step a function"


def test_everything_public_says_what_it_is_for() -> None:
    silent = [place(path) for path in modules().values() if tree(path).body and not ast.get_docstring(tree(path))]
    for path in modules().values():
        for name, function in functions(tree(path)):
            if not ast.get_docstring(function) and not {"overload", "override"} & decorators(function):
                silent.append(f"{place(path, function)} {name}")
    assert not silent, "these need a docstring"


def test_everything_public_is_typed() -> None:
    untyped: list[str] = []
    for path in modules().values():
        for name, function in functions(tree(path)):
            missing = [a.arg for a in all_arguments(function.args) if a.annotation is None and a.arg not in OWN]
            if missing or function.returns is None:
                untyped.append(f"{place(path, function)} {name} {missing or 'result'}")
    assert not untyped, "these need types"


def test_only_the_command_line_prints() -> None:
    printing = [
        place(path, node)
        for path in modules().values()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and called(node) == "print" and path.name not in PRINTING
    ]
    assert not printing, f"return it or raise; {' and '.join(PRINTING)} print"


def test_nothing_is_evaluated_or_unpickled() -> None:
    unsafe: list[str] = []
    for path in modules().values():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call):
                pickled = [k for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) != "False"]
                plain = called(node) == "torch.load" and "weights_only=True" in ast.unparse(node)
                if pickled or (called(node) in UNSAFE_CALLS and not plain):
                    unsafe.append(f"{place(path, node)} {ast.unparse(node)}")
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                error = [alias.name for alias in node.names] == ["UnpicklingError"]
                unsafe += [
                    f"{place(path, node)} {name}"
                    for name in names
                    if name.split(".")[0] in UNSAFE_IMPORTS and not error
                ]
    assert not unsafe, "data are read as data"


def test_every_caught_error_is_named() -> None:
    broad: list[str] = []
    for path in modules().values():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ExceptHandler):
                caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                if any(one is None or ast.unparse(one) in BROAD for one in caught):
                    broad.append(place(path, node))
    assert not broad, "name the errors that are meant"


def test_nothing_is_left_to_do() -> None:
    left = [place(path) for path in modules().values() if UNFINISHED.search(path.read_text(encoding="utf-8"))]
    assert not left, "do it, or write an issue"


def test_tests_mirror_the_package() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    tested = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.glob("test_*.py"))}
    assert folders <= tested, f"no tests for {sorted(folders - tested)}: add tests/FOLDER/test_*.py"
    assert tested <= folders | OTHER_TESTS, f"{sorted(tested - folders - OTHER_TESTS)} mirror no folder of src/clew"


def test_no_file_names_a_place_on_one_machine() -> None:
    paths = [ROOT / name for name in ("Makefile", "README.md", "CHANGELOG.md", "pyproject.toml", "constraints.txt")]
    for folder in ("src", "tests", "bench", "examples", "docs", ".ci"):
        paths += [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in TEXT_SUFFIXES]
    named = [
        f"{path.relative_to(ROOT)} names {found.group()}..."
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
        for found in MACHINE_PATH.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not named, "take the place as an argument"


def place(path: Path, node: ast.stmt | ast.expr | ast.ExceptHandler | None = None) -> str:
    """Where something stands, so that an editor finds it."""
    file = str(path.relative_to(ROOT))
    return file if node is None else f"{file}:{node.lineno}"


def is_method(function: Function) -> bool:
    """True for what is called: not for special methods, nor for what reads as an attribute."""
    attribute = {"property", "cached_property", "overload"} & decorators(function)
    return not attribute and not (function.name.startswith("__") and function.name.endswith("__"))


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    starred = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def called(call: ast.Call) -> str:
    return ast.unparse(call.func)
