"""The architecture, read from the source and never by running it: layers, forbidden imports, cycles, forbidden calls.

`LAYERS` and `FORBIDDEN` are the rules of the package's architecture (see docs/concepts.md): a package imports lower
layers only, and some packages are kept from each other beyond that.
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
LABORATORY = ROOT / "lab" / "src" / "clew_lab"
BOTH = (PACKAGE, LABORATORY)

# Lowest first. A unit (a folder or a file directly under src/clew) imports units of lower layers only, except where
# SIDEWAYS says that units of one layer may import each other in one direction.
LAYERS = (
    {"types", "errors", "arrays"},
    {"text", "protocols", "plugins"},
    {"graph", "inference", "models", "rendering", "store"},
    {"query", "answering", "nn", "settings"},
    {"indexing"},
    {"rerankers", "datasets"},
    {"retrievers"},
    {"index"},
    {"memory"},
    {"training"},
    {"evaluation"},
    {"commands", "server", "integrations"},
    {"__main__"},
)
SIDEWAYS = {("arrays", "errors"), ("answering", "query"), ("answering", "nn"), ("commands", "server")}
TOP = "__init__"  # the package's face: lazily imports `index` and what stands below it

FORBIDDEN = {
    "text": {"models", "store", "settings"},
    "rendering": {"arrays", "models", "store", "settings"},
    "arrays": {"types"},
    "graph": {"models", "store", "settings"},
    "inference": {"graph", "models", "store", "settings"},
    "nn": {"models", "store", "settings"},
    "types": {"*"},
    "errors": {"*"},
    "query": {"indexing"},
    "answering": {"indexing"},
    "indexing": {"query", "answering", "nn", "retrievers", "rerankers", "index"},
    "rerankers": {"retrievers", "datasets"},
    "retrievers": {"indexing", "datasets", "settings", "index", "training", "answering"},
}
# Every file and folder of retrievers/ is a retriever, which imports no other one, but for the registry and these.
SHARED_BY_RETRIEVERS = {
    "coverage", "evidence", "object_retriever", "spec", "supporting_passages",
}  # fmt: skip
WRAPPERS = {"reranked"}  # what the registry puts around another retriever
RETRIEVER_IMPORTS = {  # of retrievers that are built on another one
    ("agents", "fused"),
    ("agents", "graph_expansion"),
    ("graph_expansion", "fused"),
}
TRAINING_ORDER = {
    "recipes": {"objectives", "fitting", "data"},
    "objectives": {"data"},
    "fitting": {"data"},
    "data": set[str](),
}
TORCH = ("nn", "models", "training")
TORCH_PACKAGES = {"torch", "torch_geometric", "transformers", "peft", "sentence_transformers"}
TORCH_IN_FUNCTIONS = {"clew.retrievers.subgraph.settings"}
NN_IN_FUNCTIONS = {
    "clew.retrievers.gfm.factory",
    "clew.rerankers.g_rag.weights",
    "clew.rerankers.g_rag.reranker",
    *TORCH_IN_FUNCTIONS,
}
NN_USERS = {"nn", "answering", "training", "evaluation"}
SEARCHING = {
    "graph", "index", "inference", "integrations", "plugins", "protocols", "query", "rerankers", "retrievers", "server",
    "settings", "store", "text",
}  # fmt: skip
READS_ENVIRONMENT = {"clew.settings", "clew.index"}  # and commands, server
PRINTING = "commands"
OTHER_TESTS = {"bench", "browser", "contracts", "faults", "oracles", "tools"}
BROAD = {"Exception", "BaseException"}
UNSAFE_CALLS = {"__import__", "eval", "exec", "torch.load"}
UNSAFE_IMPORTS = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~:/])/(?:home|root|work|Users|tmp|opt|mnt)/\w{2}|\b[A-Z]:\\\w")
FILES_AT_ROOT = (
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "README.md", "SECURITY.md", ".dockerignore", ".gitignore"),
    *("Dockerfile", "Makefile", "constraints.txt", "mkdocs.yml", "pyproject.toml"),
)
TEXT_SUFFIXES = {
    *(".py", ".md", ".toml", ".txt", ".jsonl", ".json", ".csv", ".tsv", ".js", ".mjs", ".css", ".html", ".ipynb"),
    *(".yml", ".service", ".cff", ""),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules(*packages: Path) -> dict[str, Path]:
    """Every module of the packages, of Clew if none is named; a folder's `__init__` goes by the folder's name."""
    named: dict[str, Path] = {}
    for path in sorted(path for package in packages or [PACKAGE] for path in package.rglob("*.py")):
        source = next(folder for folder in path.parents if folder.name == "src")
        parts = path.relative_to(source).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def part(module: str) -> str:
    """Return the folder or file of a module inside its unit, "" for the unit itself."""
    return [*module.split("."), "", "", ""][2]


def is_retriever(module: str) -> bool:
    return unit(module) == "retrievers" and part(module) not in SHARED_BY_RETRIEVERS | {"", "registry"}


def registered_retrievers() -> set[str]:
    """Return the files and folders of retrievers/ that the registry names as text, `{_HERE}.bm25:build_bm25`."""
    places = re.findall(r"\{_HERE\}\.(\w+)", modules()["clew.retrievers.registry"].read_text(encoding="utf-8"))
    return set(places) - {"registry"}


def outside_imports(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the absolute names that a file imports, type checking included."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node, node.module


def unit(module: str) -> str:
    """The folder or file directly under `src/clew` that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def room(module: str) -> str:
    """The folder of a module inside its unit; a module that lies in no such folder stands for itself."""
    parts = module.split(".")
    return ".".join(parts[:3]) if modules(*BOTH)[module].parent.parent.parent in BOTH or len(parts) > 3 else module


@cache
def imports(module: str, *, nested: bool = True) -> frozenset[str]:
    """The package's modules that a module imports at run time; `nested` also inside its functions."""
    top = tree(modules(*BOTH)[module])
    for_types = {
        id(inner)
        for node in ast.walk(top)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(top) if nested else top.body:
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            names = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name in modules(*BOTH) else base for name in names}
    return frozenset(name for name in found if name in modules(*BOTH) and name != module)


def absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".") if modules(*BOTH)[module].name == "__init__.py" else module.split(".")[:-1]
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


def layer() -> dict[str, int]:
    return {name: number for number, names in enumerate(LAYERS) for name in names}


def arrows() -> Iterator[tuple[str, str]]:
    """Yield every import between two modules of the package."""
    for module in modules():
        for target in sorted(imports(module)):
            yield module, target


def test_every_unit_has_a_layer() -> None:
    units = {unit(module) for module in modules()} - {TOP}
    assert not (unknown := sorted(units - layer().keys())), f"{unknown} have no layer: add them to LAYERS"


def test_imports_go_down() -> None:
    layers = layer()
    upward = [
        f"{module} imports {target}"
        for module, target in arrows()
        if TOP not in (above := unit(module), below := unit(target))
        and above != below
        and (layers[below] > layers[above] or (layers[below] == layers[above] and (above, below) not in SIDEWAYS))
    ]
    assert not upward, "a package imports lower layers only"


def test_no_package_imports_what_it_must_not() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, target in arrows()
        if (forbidden := FORBIDDEN.get(unit(module), set())) and unit(target) != unit(module)
        and ("*" in forbidden or unit(target) in forbidden)
    ]  # fmt: skip
    assert not wrong, "see FORBIDDEN"


def test_nothing_imports_the_laboratory() -> None:
    wrong = [
        f"{place(path, node)} {name}"
        for path in modules().values()
        for node, name in outside_imports(path)
        if name.split(".")[0] == LABORATORY.name
    ]
    assert not wrong, "the laboratory enters by entry points alone"


def test_only_evaluation_s_users_import_it() -> None:
    users = {"evaluation": {"commands", "server"}, "commands": {"__main__"}}
    wrong = [
        f"{module} imports {target}"
        for module, target in arrows()
        if unit(target) in users and unit(module) not in users[unit(target)] | {unit(target)}
    ]
    assert not wrong, "evaluation is for commands and server, commands for __main__"


def test_retrievers_do_not_import_each_other() -> None:
    wrong, used = [], set()
    for module, target in arrows():
        if unit(module) == unit(target) == "retrievers" and (above := part(module)) != (below := part(target)):
            used.add((above, below))
            if above == "registry" or (above, below) in RETRIEVER_IMPORTS:
                continue
            if below == "registry" or is_retriever(target):
                wrong.append(f"{module} imports {target}")
    assert not wrong, "a retriever imports the shared files of retrievers/, not another retriever"
    assert used >= RETRIEVER_IMPORTS, "leave out what no longer imports another retriever"


def test_shared_files_of_retrievers_are_no_retrievers() -> None:
    registered = registered_retrievers()
    assert {"bm25", "gfm"} <= registered
    assert all(is_retriever(f"clew.retrievers.{name}") for name in registered), "a retriever is shared by none"
    assert {f"clew.retrievers.{name}" for name in registered | SHARED_BY_RETRIEVERS | WRAPPERS} <= modules().keys()


def test_the_registry_imports_a_retriever_when_it_is_asked_for() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, target in arrows()
        if module == "clew.retrievers.registry" and is_retriever(target) and part(target) not in WRAPPERS
    ]
    assert not wrong, "the registry names builders as text and imports them when one is asked for"


def test_index_imports_no_retriever() -> None:
    own = [module for module in modules() if unit(module) == "index"]
    assert "clew.index" in own
    wrong = [target for module in own for target in imports(module) if is_retriever(target)]
    assert not wrong, "clew.index asks retrievers/registry"


def test_training_goes_from_recipes_to_data() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, target in arrows()
        if unit(module) == unit(target) == "training"
        and (below := part(target)) in TRAINING_ORDER
        and (above := part(module)) != below
        and below not in TRAINING_ORDER.get(above, set())
    ]
    assert not wrong, "recipes -> objectives, fitting, data, loop; objectives -> data; never back"


def test_torch_is_imported_where_networks_are_trained() -> None:
    wrong = [
        f"{place(path, node)} {name}"
        for module, path in modules().items()
        if not module.removeprefix("clew.").startswith(TORCH) and module not in TORCH_IN_FUNCTIONS
        for node, name in outside_imports(path)
        if name.split(".")[0] in TORCH_PACKAGES
    ]
    assert not wrong, f"torch is for {', '.join(TORCH)}"
    users = [
        m for m, target in arrows() if unit(target) == "nn" and unit(m) not in NN_USERS and m not in NN_IN_FUNCTIONS
    ]
    assert not users, "networks are trained by training, and run by inference"


def test_searches_load_no_torch() -> None:
    loading = {
        module
        for module, path in modules().items()
        for node, name in outside_imports(path)
        if name.split(".")[0] in TORCH_PACKAGES and node in tree(path).body
    }
    assert loading
    while more := {m for m in modules() if m not in loading and imports(m, nested=False) & loading}:
        loading |= more
    wrong = sorted(m for m in loading if unit(m) in SEARCHING)
    assert not wrong, f"loading {wrong} loads torch: import it inside the function that needs it"


def test_only_the_faces_read_settings_of_the_folder() -> None:
    wrong = [
        f"{place(path, node)} {ast.unparse(node)}"
        for module, path in modules().items()
        if unit(module) not in {"commands", "server"} and module not in READS_ENVIRONMENT
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and called(node).split(".")[-1] == "load_settings"
    ]
    assert not wrong, "settings are read by commands, server, clew.open and clew.create; others are handed them"


def test_no_module_imports_itself_by_way_of_others() -> None:
    try:
        TopologicalSorter({module: imports(module) for module in modules(*BOTH)}).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_no_folder_imports_itself_by_way_of_others() -> None:
    graph: dict[str, set[str]] = {}
    for module in modules(*BOTH):
        graph.setdefault(room(module), set()).update(room(one) for one in imports(module) if room(one) != room(module))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"an import leads back to its folder: {' <- '.join(error.args[1])}") from None


def test_everything_public_says_what_it_is_for() -> None:
    silent = [place(path) for path in modules(*BOTH).values() if tree(path).body and not ast.get_docstring(tree(path))]
    for path in modules(*BOTH).values():
        for name, function in functions(tree(path)):
            if not ast.get_docstring(function) and not {"overload", "override"} & decorators(function):
                silent.append(f"{place(path, function)} {name}")
    assert not silent, "these need a docstring"


def test_only_the_command_line_prints() -> None:
    printing = [
        place(path, node)
        for path in modules(*BOTH).values()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and called(node) == "print" and PRINTING not in path.parts
    ]
    assert not printing, f"return it or raise; {PRINTING} print"


def test_nothing_is_evaluated_or_unpickled() -> None:
    unsafe: list[str] = []
    for path in modules(*BOTH).values():
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
    for path in modules(*BOTH).values():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ExceptHandler):
                caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                if any(one is None or ast.unparse(one) in BROAD for one in caught):
                    broad.append(place(path, node))
    assert not broad, "name the errors that are meant"


def test_nothing_is_left_to_do() -> None:
    left = [place(path) for path in modules(*BOTH).values() if UNFINISHED.search(path.read_text(encoding="utf-8"))]
    assert not left, "do it, or write an issue"


def test_tests_mirror_the_package() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    tested = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.glob("test_*.py"))}
    assert folders <= tested, f"no tests for {sorted(folders - tested)}: add tests/FOLDER/test_*.py"
    assert tested <= folders | OTHER_TESTS, f"{sorted(tested - folders - OTHER_TESTS)} mirror no folder of src/clew"


def test_no_file_names_a_place_on_one_machine() -> None:
    paths = [ROOT / name for name in FILES_AT_ROOT]
    for folder in ("src", "lab", "tests", "bench", "tools", "examples", "docs", "deploy", ".ci"):
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


def called(call: ast.Call) -> str:
    return ast.unparse(call.func)
