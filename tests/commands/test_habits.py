"""Habits of a command line: the index of the settings, help in sections, one meaning of words, lines on stderr."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from clew.commands import health
from clew.commands.app import COMMANDS, GROUPS, SECTIONS
from clew.commands.health import FAULT, OK, WARNING
from clew.commands.lazy import SHOWN_OPTIONS
from tests.commands.refusals import check_refused
from tests.faults.commands import load_command, run_clew

QUESTION = "Where was the commander of the Vega born?"
WITHOUT_JSON = {
    *(("adapt",), ("chat",), ("serve",)),
    *(("train", name) for name in GROUPS["train"][1]),
}
"""Conversations, commands that run until they are stopped, training, and those whose lines are made for programs."""
PATHS = [(name,) for name in COMMANDS] + [(group, name) for group, (_, own) in GROUPS.items() for name in own]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestTheIndexOfTheSettings:
    def test_is_taken_from_the_environment_where_none_is_given(
        self, small_folder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = run_clew("stats", "--index", small_folder)
        monkeypatch.setenv("CLEW_INDEX", str(small_folder))
        assert run_clew("stats") == given
        assert run_clew("search", QUESTION, "--retriever", "bm25").code == 0

    def test_is_taken_from_the_file_and_what_is_given_comes_first(self, small_folder: Path, folder: Path) -> None:
        (folder / "clew.toml").write_text(f"index = {json.dumps(str(small_folder))}", encoding="utf-8")
        assert run_clew("stats").code == 0
        assert "no Clew index at nowhere" in run_clew("stats", "--index", "nowhere").err

    def test_is_asked_for_where_there_is_none(self, folder: Path) -> None:
        for arguments in (("stats",), ("search", QUESTION), ("index", ".")):
            done = run_clew(*arguments)
            check_refused(done, "there is no --index")
            assert "CLEW_INDEX" in done.err

    @pytest.mark.parametrize("path", PATHS, ids="-".join)
    def test_serves_every_command_that_needs_an_index(self, path: tuple[str, ...]) -> None:
        options = [option for option in load_command(*path).params if "--index" in option.opts]
        assert not any(option.required for option in options)


class TestHelp:
    def test_every_command_stands_below_one_heading(self) -> None:
        placed = [name for names in SECTIONS.values() for name in names]
        assert len(placed) == len(set(placed))
        assert len(placed) <= 20  # of the first screen; --help-all has the others
        assert set(placed) <= {*COMMANDS, *GROUPS}

    def test_begins_with_what_is_used_every_day_and_cuts_nothing_off(self) -> None:
        shown = run_clew("--help").out
        lines = [line.split()[0] for line in shown.partition("Every day:")[2].splitlines() if line.startswith("  ")]
        assert lines[0] == "index"
        assert shown.index("\n  index ") < shown.index("\n  search ") < shown.index("\n  ask ")
        assert "..." not in shown.partition("Every day:")[2]

    @pytest.mark.parametrize("path", [(), ("search",), ("train",), ("train", "gfm")], ids=" ".join)
    def test_is_short_and_whole_where_that_is_asked_for(self, path: tuple[str, ...]) -> None:
        long = run_clew(*path, "--help")
        assert (long.code, long.err) == (0, "")
        assert run_clew(*path, "-h") == long
        options = [line for line in long.out.splitlines() if line.startswith("  -")]
        whole = run_clew(*path, "--help-all")
        assert whole.code == 0
        assert len(options) <= SHOWN_OPTIONS
        assert ("--help-all" in long.out) == (whole.out != long.out)

    @pytest.mark.parametrize(
        ("arguments", "line"),
        [
            (("search", "--nosuch"), "(see clew search --help)"),
            (("train", "router", "--nosuch"), "(see clew train router --help)"),
            (("--nosuch",), "(see clew --help)"),
            (("ask", "who", "skippers", "the", "boat", "--index", "i"), 'put the question in quotes, as in clew ask "'),
            (("eval", "--index", "i", "--questions", "q", "--json", "figures.json"), "write them to one by --out FILE"),
        ],
    )
    def test_an_error_names_the_help_or_the_step_of_its_command(self, arguments: tuple[str, ...], line: str) -> None:
        check_refused(run_clew(*arguments), line)


class TestAWrongValue:
    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (("search", QUESTION, "-k", "many"), "-k is 'many'; wanted a whole number (see clew search --help)"),
            (("search", QUESTION, "-k=2.5"), "-k is '2.5'; wanted a whole number (see clew search --help)"),
            (("diff", "a", "b", "--limit=-1"), "--limit is '-1'; wanted a number of at least 0 (see clew diff --help)"),
            (
                ("serve", "--port", "99999"),
                "--port is '99999'; wanted a number of at most 65535 (see clew serve --help)",
            ),
        ],
    )
    def test_of_an_option_is_told_with_the_value_that_is_wanted(self, words: tuple[str, ...], line: str) -> None:
        assert run_clew(*words) == (2, "", f"clew: {line}\n")

    def test_of_a_variable_is_not_likened_to_another_for_their_common_beginning(
        self, small_folder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("clew.settings._unknown_names", set())
        monkeypatch.setenv("CLEW_MEMORY", "4GB")
        warned = run_clew("search", QUESTION, "--index", small_folder, "--retriever", "bm25")
        assert warned.err == "note: CLEW_MEMORY is set, and nothing reads it\n"

    def test_a_folder_called_clew_toml_is_refused(self, small_folder: Path, folder: Path) -> None:
        (folder / "clew.toml").mkdir()
        check_refused(run_clew("stats", "--index", small_folder), "clew.toml is no file")

    def test_a_folder_without_a_file_is_noted(self, folder: Path) -> None:
        (folder / "empty").mkdir()
        (folder / "empty" / ".hidden.txt").write_text("words", encoding="utf-8")
        done = run_clew("index", "empty", "--index", "i", "--encoder", "none")
        assert done.err == "note: empty: no file is there to be read, but for hidden ones and indexes\n"
        notes = json.loads(run_clew("index", "empty", "--index", "i", "--json").out)["notes"]
        assert notes == [done.err.removeprefix("note: ").rstrip()]


class TestTheStreamOfErrors:
    def test_holds_the_warning_of_an_unknown_variable_unless_it_is_quiet(
        self, small_folder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("clew.settings._unknown_names", set())
        monkeypatch.setenv("CLEW_RETREIVER", "bm25")
        search = ("search", QUESTION, "--index", small_folder, "--retriever", "bm25")
        warned = run_clew(*search)
        assert warned.err == "note: CLEW_RETREIVER is set, and nothing reads it; did you mean CLEW_RETRIEVER?\n"
        monkeypatch.setattr("clew.settings._unknown_names", set())
        assert run_clew(*search, "-q") == warned._replace(err="")

    def test_holds_what_a_command_does_with_v(self, small_folder: Path, folder: Path) -> None:
        search = ("search", QUESTION, "--index", small_folder, "--retriever", "bm25")
        plain, verbose = run_clew(*search), run_clew(*search, "-v")
        assert (plain.err, verbose.out) == ("", plain.out)
        assert " ms clew.store.passage_table: opened version " in verbose.err
        assert run_clew(*search).err == ""
        logger = logging.getLogger("clew")
        assert (logger.level, logger.handlers) == (logging.NOTSET, [])

    @pytest.mark.parametrize("path", PATHS, ids="-".join)
    def test_has_its_options_in_every_command(self, path: tuple[str, ...]) -> None:
        flags = [flag for option in load_command(*path).params for flag in option.opts]
        assert {"-v", "--verbose", "-q", "--quiet"} <= set(flags)
        assert len(flags) == len(set(flags))


class TestJson:
    @pytest.mark.parametrize("path", PATHS, ids="-".join)
    def test_is_a_flag_of_every_command_that_prints_what_a_program_may_read(self, path: tuple[str, ...]) -> None:
        flags = [option.is_flag for option in load_command(*path).params if "--json" in option.opts]
        assert flags == [] if path in WITHOUT_JSON else [True]

    @pytest.mark.parametrize(
        ("name", "keys"),
        [
            ("", {"retrievers", "rerankers"}),
            ("gfm", {"name", "summary", "settings"}),
            ("frag-simple", {"name", "summary", "settings"}),
            ("g-rag", {"name", "summary", "settings"}),
        ],
    )
    def test_of_the_retrievers_has_all_that_the_tables_have(self, name: str, keys: set[str]) -> None:
        words = ("retrievers", name) if name else ("retrievers",)
        done, shown = run_clew(*words, "--json"), " ".join(run_clew(*words).out.split())
        found = json.loads(done.out)
        assert (done.code, done.err, set(found)) == (0, "", keys)
        entries = found["settings"] if name else found["retrievers"] + found["rerankers"]
        assert entries
        assert all(entry["name"] in shown for entry in entries)
        if not name:
            wanted = [entry.get("needs", entry.get("spelling")) for entry in entries]
            assert wanted[0] == "passages"
            assert "llm:MODEL" in wanted

    def test_of_the_retrievers_refuses_an_unknown_name_in_words(self) -> None:
        check_refused(run_clew("retrievers", "pagernk", "--json"), "did you mean pagerank?")

    def test_is_one_object_of_every_command_that_changes_an_index(self, folder: Path) -> None:
        (folder / "a.txt").write_text("Ann Lind lives in Oslo. Oslo is in Norway.", encoding="utf-8")
        (folder / "g.tsv").write_text("Oslo\tcapital of\tNorway\n", encoding="utf-8")
        assert run_clew("index", "a.txt", "--index", "i", "--encoder", "none", "--json").code == 0

        def read(*words: str) -> Any:
            done = run_clew(*words, "--index", "i", "--json")
            assert done.code == 0, done
            return json.loads(done.out)

        assert read("kg", "import", "g.tsv")["triples"] == 1
        assert read("reencode", "--encoder", "hashing")["encoder"] == "hashing"
        assert read("reencode", "--encoder", "hashing")["is_unchanged"]
        assert read("repair")["lost"] is False
        assert [made["action"] for made in read("entities", "rename", "Oslo", "Christiania")] == ["rename"]
        assert [made["action"] for made in read("entities", "undo")] == ["undo"]
        versions = [entry["version"] for entry in read("restore", "--list")]
        assert read("restore", str(versions[1])) == {"version": versions[0] + 1, "restored": versions[1]}
        assert read("compact")["dropped_versions"] > 0
        assert read("cache", "--prune") == {"dropped_replies": 0}
        assert read("remove", "a.txt") == {"removed": 1, "removed_graphs": 0}


class TestTheLanguageModel:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("search", QUESTION, "--model", "openai:small"), "add --rerank llm"),
            (("search", QUESTION, "--rerank", "llm"), "--rerank is llm, and there is no --model"),
            (("index", ".", "--model", "openai:small"), "give --extractor llm"),
            (("index", ".", "--extractor", "rules", "--model", "openai:small"), "--extractor is 'rules'"),
            (("index", ".", "--extractor", "llm"), "--extractor is llm, and there is no --model"),
        ],
    )
    def test_is_named_once_and_never_ignored(
        self, arguments: tuple[str, ...], message: str, small_folder: Path, folder: Path
    ) -> None:
        check_refused(run_clew(*arguments, "--index", small_folder), message)

    def test_is_the_one_of_all_options_that_take_the_word_llm(self, small_folder: Path, folder: Path) -> None:
        (folder / "a.txt").write_text("Oslo is in Norway.", encoding="utf-8")
        done = run_clew("index", "a.txt", "--index", "i", "--extractor", "llm", "--model", "nosuch:small")
        assert "the language model is 'nosuch:small'" in done.err
        done = run_clew("search", QUESTION, "--index", small_folder, "--rerank", "llm", "--model", "nosuch:small")
        assert "the language model is 'nosuch:small'" in done.err


class TestTheDoctor:
    def test_finds_nothing_wrong_here_and_checks_an_index(self, small_folder: Path, folder: Path) -> None:
        done = run_clew("doctor", "--index", small_folder)
        assert (done.code, done.err) == (0, "")
        assert "passages, encoder hashing" in done.out
        findings = json.loads(run_clew("doctor", "--index", small_folder, "--json").out)
        assert {finding["name"] for finding in findings} >= {"python", "clew", "cache folder", "index", "index graph"}
        assert {finding["state"] for finding in findings} <= {OK, WARNING}

    def test_reports_every_fault_with_a_step_and_exits_with_1(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLEW_BASE_URL", "http://127.0.0.1:9/v1")
        done = run_clew("doctor", "--index", "nowhere", "--json")
        assert done.code == 1
        faults = {one["name"]: one for one in json.loads(done.out) if one["state"] == FAULT}
        assert set(faults) == {"index", "language model"}
        assert "127.0.0.1" in faults["language model"]["detail"]
        assert "make one with" in faults["index"]["detail"]

    def test_sees_a_damaged_graph(self, folder: Path, small_folder: Path) -> None:
        shutil.copytree(small_folder, folder / "copy")
        for manifest in (folder / "copy").rglob("manifest.json"):
            manifest.write_text("{}", encoding="utf-8")
        found = {one.name: one for one in health.check_index("copy")}
        assert found["index graph"].state == FAULT
        assert found["index graph"].step == "clew repair --index copy"

    def test_sees_broken_settings_and_goes_on(self, folder: Path) -> None:
        (folder / "clew.toml").write_text("passage_token = 5", encoding="utf-8")
        done = run_clew("doctor")
        assert done.code == 1
        assert "did you mean passage_tokens?" in done.out
        assert "fault settings" in done.out

    def test_sees_a_package_that_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        installed = health._version
        monkeypatch.setattr(health, "_version", lambda name: None if name == "sqlglot" else installed(name))
        found = health.check_packages()
        assert (found[0].state, found[0].step) == (FAULT, "pip install sqlglot")

    def test_sees_a_cache_folder_that_cannot_be_written(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "file").write_text("", encoding="utf-8")
        monkeypatch.setenv("CLEW_CACHE", str(folder / "file"))
        assert health._check_cache().state == FAULT

    def test_shows_no_secret(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CLEW_API_KEY", "tell-nobody")
        monkeypatch.setenv("CLEW_BASE_URL", "http://user:tell-nobody@127.0.0.1:9/v1")
        found = health.check_settings()
        assert any("CLEW_API_KEY" in one.detail for one in found)
        assert not any("tell-nobody" in f"{one.detail} {one.step}" for one in found)


@pytest.mark.parametrize("name", ["gfm", "frag", "gear"])
def test_a_table_of_settings_is_whole_where_its_cells_are_narrow(name: str) -> None:
    assert "…" not in run_clew("retrievers", name).out
