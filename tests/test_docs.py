"""What the documents say is true: their examples run, their output is what is printed, their lists are complete.

Run are, in their order and in one folder a document: Python blocks, lines `clew ...` of `sh` blocks, and the commands
`$ clew ...` of `console` blocks, whose output must be the one shown, but for decimal figures.
"""

import re
import runpy
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
import typer

import clew
from clew.retrievers import registry
from clew.settings import Settings
from tests.faults.commands import load_command, run_clew
from tests.test_tutorial import run_script
from tests.tools.loading import load_script

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "methods").glob("*.md")),
]
A_RETRIEVER = ROOT / "docs" / "add-a-retriever.md"  # its blocks are a file and a line of another, not a script
OWN_PARTS = ROOT / "docs" / "extend.md"  # see plugins/test_own_parts.py
TUTORIAL = ROOT / "docs" / "tutorial.md"  # its lines share an environment: see test_tutorial.py
FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
ANCHOR = re.compile(r"\]\((?!https?:)(?P<target>[^)#\s]*)#(?P<anchor>[^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]+")
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)(?:#[^)]*)?\)")


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    body: str


def blocks(page: Path) -> list[Block]:
    return [Block(match["kind"], match["body"]) for match in FENCE.finditer(page.read_text(encoding="utf-8"))]


def runs(block: Block) -> bool:
    lines = block.body.splitlines()
    commands = block.kind in ("sh", "console") and any(line.removeprefix("$ ").startswith("clew ") for line in lines)
    return block.kind == "python" or commands


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p not in (A_RETRIEVER, OWN_PARTS, TUTORIAL) and any(map(runs, blocks(p)))],
    ids=lambda p: p.name,
)
def test_examples_run_and_print_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.kind == "python":
            run_script(block.body, tmp_path / "block.py")
        elif block.kind == "sh":
            for line in block.body.splitlines():
                if line.startswith("clew "):
                    run_command(line)
        elif block.kind == "console":
            for line, shown in sessions(block.body):
                assert plain(run_command(line)) == plain(shown), f"{page.name} shows another output of {line}"


def sessions(body: str) -> list[tuple[str, str]]:
    """Commands with the output below each."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    return [(line, output) for line, _, output in (part.partition("\n") for part in parts)]


def run_command(line: str) -> str:
    """Run a command in this process, which has loaded what each would load anew; return what it prints."""
    name, *arguments = shlex.split(line)
    assert name == "clew", line
    done = run_clew(*arguments)
    assert done.code == 0, f"{line} exited with {done.code}: {done.err}"
    return done.out


def plain(output: str) -> str:
    """Output without what differs from machine to machine: decimal figures, and the width of columns that hold them."""
    figures = re.sub(r"[+-]?\d+\.\d+", "#", output.strip())
    return re.sub(r"[ ─━]+", " ", figures)


def test_links_lead_somewhere() -> None:
    dead = [
        f"{page.name}: {match['target']}"
        for page in PAGES
        for match in LINK.finditer(FENCE.sub("", page.read_text(encoding="utf-8")))
        if not (page.parent / match["target"]).exists()
    ]
    assert not dead


def test_anchors_are_headings() -> None:
    dead = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for target, anchor in ANCHOR.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            headings = re.findall(r"^#+ (.*)$", (page.parent / (target or page.name)).read_text("utf-8"), re.MULTILINE)
            if anchor not in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]:
                dead.append(f"{page.name}: {target}#{anchor}")
    assert not dead


def test_named_options_are_those_of_their_command() -> None:
    sections = re.split(r"^## ", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    known = {title: set(OPTION.findall(text)) for title, _, text in (part.partition("\n") for part in sections)}
    wrong, seen = [], 0
    for page in PAGES:
        if page.name in ("cli.md", "CHANGELOG.md"):  # the changes of former versions name their options
            continue
        for written in re.findall(r"\bclew [a-z][^`\n|;#)]*", page.read_text(encoding="utf-8")):
            words, options = written.split(), set(OPTION.findall(written))
            for name in filter(known.__contains__, (" ".join(words[:3]), " ".join(words[:2]))):
                seen += len(options)
                wrong += [f"{page.name}: {name} {option}" for option in options - known[name]]
    assert not wrong
    assert seen > 100


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "methods").glob("*.md")), ids=lambda page: page.name)
def test_commands_of_methods_have_their_options_and_arguments(page: Path) -> None:
    lines = [line for block in blocks(page) for line in block.body.splitlines() if line.startswith("clew ")]
    assert lines or page.name == "index.md"
    for line in lines:
        words = [word for word in shlex.split(line, comments=True)[1:] if word != "..."]
        path = words[: 2 if words[0] in ("train", "kg", "questions", "weights", "candidates") else 1]
        command = load_command(*path)
        context = typer.Context(command, resilient_parsing=True)
        _, unread, _ = command.make_parser(context).parse_args(words[len(path) :])  # raises for an unknown option
        assert not unread, f"{page.name}: {line} has arguments that the command does not take: {unread}"


def test_named_files_exist() -> None:
    named = re.compile(r"`(?:python )?((?:bench|docs|examples|src|tests)/[\w./-]+\.\w+)")
    own = re.compile(r"`((?:graph|indexing|evaluation|models|retrievers|store|text)/\w+\.py)`")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        written = {"src/clew/retrievers/well_linked.py"} if page == A_RETRIEVER else set()
        files = {*named.findall(text), *(f"src/clew/{name}" for name in own.findall(text))} - written
        assert not [name for name in sorted(files) if not (ROOT / name).exists()], page.name


def test_the_page_of_the_command_line_is_current() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "generate_cli.py"))["page"]
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == page(), "run `make docs`"


def test_the_page_of_retrievers_lists_every_one() -> None:
    section = (ROOT / "docs" / "retrievers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)`", section, re.MULTILINE)
    laboratory = [name for name in registry.RETRIEVERS if registry.RETRIEVERS.origin(name).label.find("clew_lab") >= 0]
    assert sorted(rows) == sorted({*registry.RETRIEVERS.entries, *laboratory})  # without those that other tests install


def test_the_changelog_knows_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"\n## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_constraints_pin_every_dependency_exactly() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    laboratory = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text(encoding="utf-8"))
    extras = settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["optional-dependencies"]
    wanted = [*settings["project"]["dependencies"], *(d for extra in extras.values() for d in extra)]
    wanted += [need for need in laboratory["project"]["dependencies"] if need != "clew"]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in pinned)
    names = {line.split("==")[0].lower().replace("_", "-") for line in pinned}
    assert {re.split(r"[\[<>=;\s]", need)[0].lower().replace("_", "-") for need in wanted} <= names


class TestTheRetrieverOfTheGuide:
    """The file and the line of docs/add-a-retriever.md, put where the guide says."""

    @pytest.fixture
    def index(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> clew.Index:
        module = written(tmp_path)
        monkeypatch.setitem(sys.modules, "clew.retrievers.well_linked", module)
        monkeypatch.setitem(registry.RETRIEVERS.entries, "well-linked", module.NEW["well-linked"])
        made = clew.create(tmp_path / "index", Settings(encoder="none"))
        made.add([ROOT / "examples" / "polar"])
        return made

    def test_keeps_the_contract(self, index: clew.Index) -> None:
        questions = ["Where was the Fram built?", "", "Who led the Discovery Expedition?", "zzz"]
        retriever = index.retriever("well-linked")
        together = retriever.retrieve(questions, 5)
        for question, evidence in zip(questions, together, strict=True):
            (alone,) = retriever.retrieve([question], 5)
            assert alone.passages == evidence.passages
            order = [(-found.score, found.item.id) for found in evidence.passages]
            assert order == sorted(order)
            assert len(order) == (0 if question in ("", "zzz") else 5)
            assert evidence.passages or evidence.notes
        (found,) = retriever.retrieve(["Where was the Fram built?"], 5, "id != 'fram.md'")
        assert "fram.md" in {p.item.id for p in together[0].passages} - {p.item.id for p in found.passages}
        with pytest.raises(clew.InputError):
            retriever.retrieve(questions, 0)

    def test_is_another_ranking_than_bm25(self, index: clew.Index) -> None:
        question = "Where was the Fram built?"
        rankings = [[p.item.id for p in index.search(question, 20, name).passages] for name in ("well-linked", "bm25")]
        assert rankings[0] != rankings[1]


def written(folder: Path) -> ModuleType:
    """The guide's file as a module, with the guide's line in a table `NEW`."""
    source, line = (block.body for block in blocks(A_RETRIEVER) if block.kind == "python")
    path = folder / "well_linked.py"
    imports = "from clew.retrievers.spec import RetrieverEntry\n_HERE = 'clew.retrievers'\n"
    path.write_text(f"{source}\n\n{imports}NEW = {{\n{line}}}\n", encoding="utf-8")
    return load_script(path)
