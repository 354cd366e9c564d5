"""`--memory` of every command that merges the graph."""

import shutil
from pathlib import Path

import pytest

import clew
from clew.commands import watching
from clew.index import Index
from clew.indexing import entry
from clew.settings import Settings
from tests.commands.refusals import check_refused
from tests.faults.commands import run_clew, write_lines

ROWS = [{"id": id_, "text": f"{id_} is a ship of Larvik."} for id_ in ("Fram", "Vega")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of two documents at version 2, and beside it a part of one more, and a graph."""
    place = tmp_path_factory.mktemp("made")
    (place / "folder").mkdir()
    with clew.create(place / "index", Settings(encoder="none", extractor="rules")) as index:
        index.add([clew.Document(row["id"], "", row["text"]) for row in ROWS])
        more = write_lines(place / "folder" / "more.jsonl", [{"id": "Gjøa", "text": "Gjøa is a ship."}])
        index.stage_part([more], "1/1", str(place / "parts"))
    (place / "graph.tsv").write_text("Fram\tbuilt by\tArcher\n", encoding="utf-8")
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """Return a copy, to be written to."""
    return shutil.copytree(made, tmp_path / "place")


COMMANDS: dict[str, tuple[str, ...]] = {
    "commit": ("index", "--commit", "parts"),
    "remove": ("remove", "Fram"),
    "reencode": ("reencode", "--encoder", "hashing:8"),
    "compact": ("compact",),
    "restore": ("restore", "1"),
    "kg import": ("kg", "import", "graph.tsv"),
    "watch": ("index", "folder", "--watch", "--poll", "1"),
}


@pytest.fixture(autouse=True)
def one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `clew index --watch` end after its first look."""
    monkeypatch.setattr(watching, "_poll", lambda _: iter([None]))


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_the_budget_reaches_the_merge(place: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    budgets: list[int] = []
    build = entry.ensure_snapshot

    def record(*arguments: object) -> Path:
        budgets.append(int(str(arguments[3])))
        return build(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(entry, "ensure_snapshot", record)
    done = run_clew(*command, "--index", "index", "--memory", "700MB")
    assert done.code == 0, done
    assert budgets
    assert set(budgets) == {700_000_000}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize(
    ("memory", "message"),
    [("4 apples", "give a size such as 4GB"), ("370MB", "the merge at the end takes at least 400MB: give that")],
)
def test_a_budget_that_no_merge_keeps_is_refused(
    made: Path, command: tuple[str, ...], memory: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setattr(Index, "_writing", lambda *_: pytest.fail("something was done"))
    check_refused(run_clew(*command, "--index", "index", "--memory", memory), message)


def test_what_the_index_holds_decides_before_anything_is_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr("clew.indexing.merging.workspace._LEAST_ENTRY_BYTES", 10**9)
    for name in ("commit", "remove", "compact", "kg import", "reencode"):
        check_refused(
            run_clew(*COMMANDS[name], "--index", "index", "--memory", "700MB"),
            "--memory is 700MB, and the merge of 2 passages takes at least",
        )
    assert clew.open("index").table.version == 2
