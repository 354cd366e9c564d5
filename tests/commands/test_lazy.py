"""Commands are imported when they are called: what help, completion and the table of commands need, and no more."""

import gc
import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from clew.commands import pause_collection
from clew.commands.app import COMMANDS, GROUPS
from clew.commands.lazy import LazyCommand, LazyGroup
from tests.commands.refusals import check_refused
from tests.faults.commands import load_command, run_clew

HEAVY = ("clew.index", "clew.settings", "lance", "numpy", "rich", "torch")
TARGETS = [(), *((name,) for name in COMMANDS), *((group, name) for group, (_, own) in GROUPS.items() for name in own)]


def lines(path: tuple[str, ...]) -> tuple[str, str]:
    """Return the target and the help line that the tables give a command."""
    return COMMANDS[path[0]] if len(path) == 1 else GROUPS[path[0]][1][path[1]]


@pytest.mark.parametrize("path", TARGETS[1:], ids="-".join)
def test_the_help_of_the_table_is_the_first_sentence_of_the_command(path: tuple[str, ...]) -> None:
    command = load_command(*path)
    assert command.name == path[-1]
    assert command.get_short_help_str(1000) == lines(path)[1]


@pytest.mark.parametrize("path", TARGETS[1:], ids="-".join)
def test_no_command_has_more_than_eight_parameters(path: tuple[str, ...]) -> None:
    module, _, name = lines(path)[0].partition(":")
    function = getattr(import_module(f"clew.commands.{module}"), name)
    assert len(inspect.signature(function).parameters) <= 8


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["search", "--help"], ["train", "--help"]], ids=" ".join
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    program = f"""
import sys
from clew.commands.app import main
sys.argv[1:] = {arguments}
try:
    main()
except SystemExit:
    print(",".join(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stderr, "clew" in done.stdout) == ("\n", True)


def test_no_options_load_torch() -> None:
    program = f"""
import sys
from tests.faults.commands import load_command
for path in {TARGETS[1:]}:
    load_command(*path)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def complete(text: str) -> list[str]:
    """Return what a shell is offered for the last word of a line."""
    words = text.split(" ")
    asked = {"_CLEW_COMPLETE": "complete_bash", "COMP_WORDS": text, "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-m", "clew"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | asked)
    return done.stdout.split()


def test_a_shell_completes_commands_and_options() -> None:
    assert complete("clew re") == ["retrievers", "remove", "repair", "restore", "reencode"]
    assert complete("clew train r") == ["router", "reader", "reranker", "routed"]
    assert complete("clew search --re") == ["--retriever", "--rerank"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_and_installed(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # a shell is named, not detected
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = run_clew("--show-completion", shell)
    assert shown.code == 0
    assert f"_CLEW_COMPLETE=complete_{shell}" in shown.out
    assert run_clew("--install-completion", shell).code == 0
    installed = [path for path in tmp_path.rglob("*clew*") if path.is_file()]
    assert f"_CLEW_COMPLETE=complete_{shell}" in installed[0].read_text(encoding="utf-8")


def test_a_misspelled_command_is_told_its_neighbour() -> None:
    check_refused(run_clew("verfy"), "No such command 'verfy'. Did you mean 'verify'?")
    assert isinstance(load_command("train"), LazyGroup)


@pytest.mark.parametrize(("command", "wanted"), [("search", "1"), ("eval", "1"), ("index", None)])
def test_a_command_that_answers_questions_multiplies_small_matrices_in_one_thread(
    command: str, wanted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    target, help_line = COMMANDS[command]
    LazyCommand(command, target, help_line).load()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == wanted
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    LazyCommand(command, target, help_line).load()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"


@pytest.mark.parametrize("enabled", [True, False])
def test_a_pause_leaves_collection_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pause_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        gc.unfreeze()
        (gc.enable if before else gc.disable)()
