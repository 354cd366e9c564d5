"""The command line's contract, on which other tools rely: shapes in full, streams, versions, odd arguments."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from clew.commands import progress
from clew.commands.app import COMMANDS
from tests.commands.refusals import check_refused
from tests.faults.commands import Outcome, load_command, run_clew, write_lines
from tests.small_index import DOCUMENTS, make_index

QUESTION = "Where was the commander of the Vega born?"
LONG = "\n\n".join(f"Part {name} tells of {name}. " + "It drifts with the ice. " * 90 for name in ("seals", "gulls"))
ROWS = (
    {"id": "log", "title": "The Log", "text": LONG, "metadata": {"lang": "en"}},
    {"id": "oslo", "title": "Oslo", "text": "Oslo is the capital of Norway.", "metadata": {"lang": "de"}},
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One document of several passages and one of one; tests must not write to it."""
    folder = tmp_path_factory.mktemp("contract")
    done = run_clew("index", write_lines(folder / "rows.jsonl", ROWS), "--index", folder / "index", "--encoder", "none")
    assert "2 added" in done.out
    return folder / "index"


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three questions: gold by document id, by passage id, and one whose gold is not in the index."""
    path = tmp_path_factory.mktemp("questions") / "questions.jsonl"
    rows = (
        {"id": "q1", "question": QUESTION, "answers": ["Karlskrona"], "gold": ["vega", "palander"]},
        {"id": "q2", "question": "Where is Karlskrona?", "answers": ["Sweden"], "gold": ["karlskrona"]},
        {"id": "q3", "question": "Who sank the Wasa?", "answers": ["nobody"], "gold": ["nowhere"]},
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_questions(folder: Path, **gold: list[str]) -> Path:
    asked = {"seals": "Which part tells of seals?", "oslo": "What is the capital of Norway?"}
    rows = [{"id": name, "question": asked[name], "gold": ids, "answers": ["x"]} for name, ids in gold.items()]
    return write_lines(folder / "questions.jsonl", rows)


def evaluate(index: Path, file: Path, *options: str | Path) -> dict[str, dict[str, float]]:
    out = file.with_name("figures.json")
    done = run_clew("eval", "--index", index, "--questions", file, "--out", out, *options)
    assert done.code == 0, done
    retrievers: dict[str, dict[str, float]] = json.loads(out.read_text(encoding="utf-8"))["retrievers"]
    return retrievers


def test_version_and_help() -> None:
    assert run_clew("--version") == Outcome(0, f"clew {version('clew')}\n", "")
    helped = run_clew("--help")
    assert (helped.code, helped.err) == (0, "")
    assert run_clew() == helped
    for command in COMMANDS:
        done = run_clew(command, "--help")
        assert (done.code, done.err) == (0, "")
        assert f"clew {command}" in done.out


@pytest.mark.parametrize(
    ("arguments", "code"), [(("--version",), 0), (("search", QUESTION, "--index", "no such folder"), 2)]
)
def test_a_process_of_its_own_is_the_same(arguments: tuple[str, ...], code: int) -> None:
    command = [sys.executable, "-m", "clew", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == run_clew(*arguments)
    assert done.returncode == code


def test_eval_takes_every_option_of_search() -> None:
    options = {
        name: {option for p in load_command(name).params if p.param_type_name == "option" for option in p.opts}
        for name in ("search", "eval", "ask")
    }
    assert options["search"] >= {"--index", "--retriever", "-k", "--where", "--json"}
    alone = {"--trace", "--topic"}  # the steps of many questions are no figure, and each question has topics of its own
    alone |= {"--svg", "--html"}  # drawings of one question
    alone |= {"--server"}  # a server is asked single questions
    assert options["eval"] >= options["search"] - alone
    assert options["eval"] >= options["ask"] - alone - {"--feedback"}


def test_search_writes_one_object_and_nothing_on_stderr(index: Path) -> None:
    done = run_clew("search", QUESTION, "--index", index, "--retriever", "bm25", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert list(found) == [
        "question", "retriever", "passages", "paths", "notes", "usage", "steps", "topics", "chains", "as_of"
    ]  # fmt: skip
    assert found["usage"].keys() == {"seconds", "calls", "input_tokens", "output_tokens", "cost"}
    scores = [passage["score"] for passage in found["passages"]]
    assert scores == sorted(scores, reverse=True)
    for passage in found["passages"]:
        source = next(row for row in ROWS if row["id"] == passage["document_id"])
        assert passage["text"] == str(source["text"])[passage["start"] : passage["end"]]
        assert passage["metadata"] == source["metadata"]
        assert passage["title"] == source["title"]


def test_paths_are_of_triples(small_folder: Path) -> None:
    done = run_clew("search", QUESTION, "--index", small_folder, "--retriever", "pagerank", "-k", "3", "--json")
    found = json.loads(done.out)
    assert len(found["passages"]) == 3
    assert found["paths"]
    for path in found["paths"]:
        assert path["triples"]
        assert all(triple.keys() >= {"head", "relation", "tail", "passages"} for triple in path["triples"])
    assert found["usage"]["seconds"] > 0
    assert "Louis Palander" in run_clew("search", QUESTION, "--index", small_folder, "-k", "2").out


def test_where_restricts_search_and_ask(small_folder: Path) -> None:
    where = ("--where", "lang = 'de'")
    found = json.loads(run_clew("search", QUESTION, "--index", small_folder, *where, "--json").out)
    assert {passage["id"] for passage in found["passages"]} <= {"bridge", *(f"keeper-{n:02}" for n in range(8))}
    assert run_clew("ask", QUESTION, "--index", small_folder, *where).code == 0


def test_strict_filters_of_search_ask_eval_and_explain(tmp_path: Path, questions: Path) -> None:
    """The command line gives what an index of these documents alone gives."""
    make_index(tmp_path / "all", DOCUMENTS)
    make_index(tmp_path / "english", [d for d in DOCUMENTS if d.metadata["lang"] == "en"])
    options = ("--where", "lang = 'en'", "--strict-filters")
    for command in ("search", "ask"):
        strict = run_clew(command, QUESTION, "--index", tmp_path / "all", "--retriever", "bm25", *options, "--json")
        alone = run_clew(command, QUESTION, "--index", tmp_path / "english", "--retriever", "bm25", "--json")
        found, expected = (
            json.loads(re.sub(r'"seconds": [^,]+', '"seconds": 0', done.out)) for done in (strict, alone)
        )
        assert found == expected
    figures = []
    for name, given in (("all", options), ("english", ())):
        out, at = tmp_path / f"{name}.json", ("--index", tmp_path / name, "--questions", questions)
        run_clew("eval", *at, "--retriever", "bm25", "--runs", tmp_path / "runs", "--out", out, *given)
        figures.append(json.loads(out.read_text(encoding="utf-8"))["retrievers"]["bm25"]["recall@2"])
    assert figures[0] == figures[1]
    assert len(list((tmp_path / "runs").iterdir())) == 1  # the files of the two snapshots are equal
    for command in ("search", "ask", "explain"):
        target = ("--target", "Vega") if command == "explain" else ()
        check_refused(
            run_clew(command, QUESTION, "--index", tmp_path / "all", "--strict-filters", *target),
            "--strict-filters is of --where",
        )


def test_eval_scores_a_kept_run_again(small_folder: Path, questions: Path, tmp_path: Path) -> None:
    command = ("eval", "--index", small_folder, "--questions", questions, "--retriever", "bm25", "--runs", tmp_path)
    assert run_clew(*command).code == 0
    (run,) = tmp_path.iterdir()
    record = json.loads(run.read_text(encoding="utf-8"))
    text = json.dumps(record)
    assert "karlskrona" in text
    run.write_text(text.replace('"karlskrona"', '"bornholm"'), encoding="utf-8")
    out = tmp_path / "again.json"
    assert run_clew(*command, "--out", out).code == 0
    figures = json.loads(out.read_text(encoding="utf-8"))["retrievers"]["bm25"]
    assert figures["recall@10"] < 2 / 3, "the run was not scored but made again"


def test_indexing_from_files_and_standard_input(tmp_path: Path) -> None:
    index, file = tmp_path / "index", tmp_path / "oslo.txt"
    file.write_text("Oslo\n\nOslo is the capital of Norway.", encoding="utf-8")
    done = run_clew("index", file, "--index", index, "--encoder", "none")
    assert done.code == 0
    assert "1 added" in done.out
    line = json.dumps({"id": "bergen", "title": "Bergen", "text": "Bergen is west of Oslo."}) + "\n"
    done = run_clew("index", "-", "--index", index, stdin=line.encode())
    assert (done.code, "1 added" in done.out) == (0, True)
    again = run_clew("index", file, "--index", index)
    assert "1 unchanged" in again.out
    stats = json.loads(run_clew("stats", "--index", index, "--json").out)
    assert (stats["documents"], stats["passages"]) == (2, 2)
    assert run_clew("remove", "bergen", "--index", index).code == 0
    assert json.loads(run_clew("stats", "--index", index, "--json").out)["documents"] == 1
    assert run_clew("compact", "--index", index).code == 0
    assert run_clew("repair", "--index", index).code == 0
    assert run_clew("verify", "--index", index).code == 0


def test_a_closed_pipe_is_no_error(small_folder: Path) -> None:
    command = f'"{sys.executable}" -m clew search "{QUESTION}" --index "{small_folder}" --json | head -c 1'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")


def test_the_gold_that_the_index_lacks_is_not_found(small_folder: Path, questions: Path) -> None:
    for scores in evaluate(small_folder, questions, "--retriever", "bm25,pagerank", "--k", "2,5").values():
        assert scores.keys() >= {"recall@2", "recall@5", "all_gold@2", "all_gold@5", "seconds_p50", "seconds_p95"}
        assert scores["recall@5"] == scores["all_gold@5"] == pytest.approx(2 / 3)


def test_what_is_found_nowhere_is_no_error(index: Path) -> None:
    done = run_clew("search", "zeppelin", "--index", index, "--retriever", "bm25", "--json")
    assert (done.code, json.loads(done.out)["passages"]) == (0, [])
    assert run_clew("search", "zeppelin", "--index", index).code == 0


def test_ask_as_json_has_one_shape_with_and_without_an_answer(small_folder: Path) -> None:
    keys = {
        "question", "retriever", "answer", "headline", "weak", "citations", "candidates", "others", "notes", "usage",
        "evidence",
    }  # fmt: skip
    for question, retriever, text, quotes in (
        ("Where was Louis Palander born?", "chains", "Karlskrona", True),
        ("zeppelin", "chains", "", True),
        ("zeppelin", "pagerank", "", False),
    ):
        options = () if retriever == "chains" else ("--retriever", retriever)
        done = run_clew("ask", question, "--index", small_folder, "--json", *options)
        assert (done.code, done.err) == (0, "")
        answer = json.loads(done.out)
        assert answer.keys() == keys
        assert (answer["question"], answer["retriever"]) == (question, retriever)
        assert answer["weak"] or answer["answer"]
        assert (answer["answer"], bool(answer["citations"])) == (text, quotes)
        assert answer["evidence"]["question"] == question
        for citation in answer["citations"]:
            assert citation.keys() >= {"document_id", "passage_id", "start", "end", "quote"}
            text = next(document.text for document in DOCUMENTS if document.id == citation["document_id"])
            assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_gold_may_be_a_passage_or_a_document(index: Path, tmp_path: Path) -> None:
    done = run_clew("search", "seals", "--index", index, "--retriever", "bm25", "--json")
    first, *_ = (passage["id"] for passage in json.loads(done.out)["passages"])
    assert first.startswith("log#")
    for gold, recall in ((["log"], 1.0), ([first], 1.0), (["log#99"], 0.0), ([first, "oslo"], 0.5)):
        figures = evaluate(index, write_questions(tmp_path, seals=gold), "--retriever", "bm25", "--k", "1")
        assert figures["bm25"]["recall@1"] == recall
        assert figures["bm25"]["all_gold@1"] == float(recall == 1.0)


def test_the_filter_of_eval_is_that_of_search(index: Path, tmp_path: Path) -> None:
    file = write_questions(tmp_path, seals=["log"], oslo=["oslo"])
    assert evaluate(index, file, "--retriever", "bm25", "--k", "5")["bm25"]["recall@5"] == 1.0
    german = evaluate(index, file, "--retriever", "bm25", "--k", "5", "--where", "lang = 'de'")
    assert german["bm25"]["recall@5"] == 0.5


@pytest.mark.parametrize("name", ["-k", "--k"])
def test_cut_offs_are_those_asked_for_in_order_and_once(index: Path, tmp_path: Path, name: str) -> None:
    figures = evaluate(index, write_questions(tmp_path, oslo=["oslo"]), "--retriever", "bm25", name, "5,2,5")["bm25"]
    assert [key for key in figures if key.startswith("recall")] == ["recall@2", "recall@5"]
    assert [key for key in figures if key.startswith("all_gold")] == ["all_gold@2", "all_gold@5"]
    assert 0 < figures["seconds_p50"] <= figures["seconds_p95"]


def test_a_cut_off_far_beyond_the_corpus_is_the_whole_corpus(index: Path, tmp_path: Path) -> None:
    # Where a measure counts up to its cut-off, this test does not end.
    cutoffs = ("--k", f"9,{10**9}")
    figures = evaluate(index, write_questions(tmp_path, oslo=["oslo", "gone"]), "--retriever", "bm25", *cutoffs)["bm25"]
    assert figures[f"recall@{10**9}"] == figures["recall@9"] == 0.5
    assert figures[f"ndcg@{10**9}"] == figures["ndcg@9"]


def test_eval_replaces_an_older_file_and_prints_a_table(index: Path, tmp_path: Path) -> None:
    file, out = write_questions(tmp_path, oslo=["oslo", "gone"]), tmp_path / "new" / "figures.json"
    command = ("eval", "--index", index, "--questions", file, "--retriever", " bm25,pagerank,bm25", "--out", out)
    for _ in range(2):
        done = run_clew(*command)
        assert done.code == 0
        figures = json.loads(out.read_text(encoding="utf-8"))
        assert (figures["index"], figures["questions"]) == (str(index), 1)
        assert list(figures["retrievers"]) == ["bm25", "pagerank"]
        out.write_text("older", encoding="utf-8")
    # What is measured goes to stdout, what is odd about it to stderr.
    assert "all_gold@2" in done.out
    assert done.err.startswith("warning: gold id 'gone'")
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_progress_goes_to_stderr_and_the_result_to_stdout(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0.0)
    rows = write_lines(tmp_path / "rows.jsonl", ROWS)
    done = run_clew("index", rows, tmp_path / "rows.jsonl", "--index", tmp_path / "index", "--encoder", "none")
    assert done.code == 0
    assert done.out.count("\n") == 1
    assert "2 added" in done.out
    assert "indexing: " in done.err
    assert "/s" in done.err
    done = run_clew(
        "eval", "--index", index, "--questions", write_questions(tmp_path, oslo=["oslo"]), "--retriever", "bm25"
    )
    assert "bm25: 1 of 1" in done.err
    assert "1 of 1" not in done.out


@pytest.mark.parametrize(
    ("stage", "total", "expected"),
    [
        ("indexing", 71_027, "indexing: 1,000 of 71,027 bytes, "),
        ("indexing", 0, "indexing: 1,000 characters, "),
        ("importing", 0, "importing: 1,000, "),
    ],
)
def test_indexing_counts_bytes_of_files_and_characters_of_standard_input(
    stage: str, total: int, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_PER_LINE", 0.0)
    with progress.progress_on_stderr() as show:
        show(stage, 1_000, total)
    assert capsys.readouterr().err.startswith(expected)


def test_failures_are_counted_on_stdout_and_told_on_stderr(tmp_path: Path) -> None:
    lines = [*(json.dumps(row) for row in ROWS), "not json", '{"id": "a"}']
    done = run_clew("index", "-", "--index", tmp_path / "i", "--encoder", "none", stdin="\n".join(lines).encode())
    assert done.code == 1
    assert "2 added, 0 updated, 0 unchanged, 2 failed" in done.out
    assert done.err.count("failed: ") == done.err.count("\n") - 1 == 2
    assert done.err.splitlines()[-1] == "exit code 1: 2 failed, the rest is in the index"


@pytest.mark.parametrize("stdin", [b"", b"\x7fELF\x00binary\x00", b"\n\n\n", b'{"id": "a"}\n{not json\n'])
@pytest.mark.parametrize("beside", [(), ("empty.md",)])
def test_standard_input_of_no_use_is_told_and_leaves_nothing(
    stdin: bytes, beside: tuple[str, ...], tmp_path: Path
) -> None:
    files = [tmp_path / name for name in beside]
    for file in files:
        file.touch()
    done = run_clew("index", "-", *files, "--index", tmp_path / "i", "--encoder", "none", stdin=stdin)
    assert done.code == 1
    assert "0 added" in done.out
    assert "stdin" in done.err
    assert all(file.name in done.err for file in files)
    assert done.err.splitlines()[-1].endswith("failed, nothing was added")
    assert not (tmp_path / "i").exists()


def test_standard_input_that_is_read_ahead_is_indexed_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    lines = ["{not json", *(json.dumps(row) for row in ROWS), '{"id": "a"}']
    given = (tmp_path / "empty.md", "-", "--index", tmp_path / "i", "--encoder", "none")
    done = run_clew("index", *given, stdin="\n".join(lines).encode())
    assert done.code == 1
    assert "2 added, 0 updated, 0 unchanged, 3 failed" in done.out
    assert [line.split(": ")[1].rpartition("/")[2] for line in done.err.splitlines()[:-1]] == [
        "empty.md", "stdin:1", "stdin:4",
    ]  # fmt: skip


def test_removing_is_all_or_nothing(tmp_path: Path) -> None:
    rows = write_lines(tmp_path / "rows.jsonl", ROWS)
    assert run_clew("index", rows, "--index", tmp_path / "i", "--encoder", "none").code == 0
    check_refused(run_clew("remove", "oslo", "gone", "--index", tmp_path / "i"), "'gone'")
    assert json.loads(run_clew("stats", "--index", tmp_path / "i", "--json").out)["documents"] == 2
    done = run_clew("remove", "oslo", "oslo", "log", "--index", tmp_path / "i")
    assert (done.code, done.out) == (0, "removed 2 documents\n")
    stats = json.loads(run_clew("stats", "--index", tmp_path / "i", "--json").out)
    assert (stats["documents"], stats["passages"], stats["entities"], stats["triples"]) == (0, 0, 0, 0)


def test_diff_names_what_differs_up_to_the_limit(tmp_path: Path) -> None:
    for name, rows in (("one", ROWS[:1]), ("other", [{**ROWS[0], "id": f"copy-{n}"} for n in range(3)])):
        file = write_lines(tmp_path / f"{name}.jsonl", rows)
        assert run_clew("index", file, "--index", tmp_path / name, "--encoder", "none").code == 0
    done = run_clew("diff", tmp_path / "one", tmp_path / "other", "--limit", "1")
    assert (done.code, done.err) == (1, "")
    assert "passages added: copy-0#1, ..." in done.out
    assert "copy-1" not in done.out
    assert "passages removed: log#1, ..." in done.out
    assert run_clew("diff", tmp_path / "one", tmp_path / "other", "--limit", "0").code == 1
    same = run_clew("diff", tmp_path / "other", tmp_path / "other")
    assert (same.code, same.out, same.err) == (0, "equal: the same passages, entities and triples\n", "")
    found = run_clew("diff", tmp_path / "one", tmp_path / "other", "--limit", "1", "--json")
    changes = json.loads(found.out)
    assert (found.code, found.err, changes["equal"], changes["changed"]) == (1, "", False, [])
    assert {id_.partition("#")[0] for id_ in changes["added"]["passages"]} == {"copy-0", "copy-1", "copy-2"}
    assert {id_.partition("#")[0] for id_ in changes["removed"]["passages"]} == {"log"}
    none: dict[str, list[str]] = {"passages": [], "entities": [], "triples": []}
    equal = run_clew("diff", tmp_path / "one", tmp_path / "one", "--json")
    assert (equal.code, json.loads(equal.out)) == (
        0,
        {"equal": True, "added": none, "removed": none, "changed": []},
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", " ", "--index", "NOWHERE"), "the question is ' ', which is empty: write one"),
        (("ask", " ", "--index", "NOWHERE"), "the question is ' ', which is empty: write one"),
        (("search", QUESTION, "--index", ""), "location"),
        (("search", QUESTION, "--index", "INDEX", "--retriever", "nosuch"), "choose one of"),
        (("search", QUESTION, "--index", "INDEX", "--where", "lang = "), "lang ="),
        (("search", QUESTION, "--index", "INDEX", "--where", "nosuch = 1"), "nosuch"),
        (("search", QUESTION, "--index", "NOWHERE"), "clew index"),
        (("search",), "clew search --help"),
        (("eval", "--index", "INDEX", "--questions", "NOWHERE"), "NOWHERE"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--k", "0,5"), "at least 1"),
        (("eval", "--index", "INDEX", "--questions", "BROKEN"), "BROKEN"),
        (("index", "QUESTIONS", "--index", "NEW", "--encoder", "nosuch:1"), "nosuch"),
        (("index", "QUESTIONS", "--index", "NEW", "--extractor", "nosuch"), "rules"),
        (("index", "QUESTIONS", "--index", "INDEX", "--encoder", "hashing"), "none"),
        (("remove", "nosuch", "--index", "INDEX"), "nosuch"),
        (("search", QUESTION, "--index", "s3://"), "names no bucket"),
        (("search", QUESTION, "--index", "FILE"), "clew index"),
        (("search", QUESTION, "--index", "INDEX", "--retriever", "dense"), "--encoder none"),
        (("search", QUESTION, "another", "--index", "INDEX"), "another"),
        (("search", QUESTION, "--index"), "--index"),
        (("search", QUESTION, "--index", "INDEX", "--rerank", "nosuch"), "choose one of none, cross-encoder"),
        (("search", QUESTION, "--index", "INDEX", "--rerank", "cross-encoder"), "cross-encoder:NAME"),
        (("search", QUESTION, "--index", "INDEX", "--rerank", "llm:openai:x"), "OPENAI_API_KEY"),
        (("ask", QUESTION, "--index", "INDEX", "--rerank", "nosuch"), "choose one of none, cross-encoder"),
        (("ask", QUESTION, "--index", "INDEX", "--retriever", "nosuch"), "choose one of"),
        (("eval", "--index", "INDEX"), "--questions"),
        (("eval", "--index", "INDEX", "--questions", "EMPTY"), "EMPTY"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--k", ""), "2,5,10"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--k", "2,,5"), "2,5,10"),
        (
            ("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--rerank", "nosuch"),
            "choose one of none, cross-encoder",
        ),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--where", "nosuch = 1"), "nosuch"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--out", "FOLDER"), "folder"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--out", "FILE/x.json"), "below a file"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--runs", "FILE"), "FILE"),
        (("index", "--index", "NEW"), "paths"),
        (("index", "", "--index", "NEW"), "path"),
        (("index", "QUESTIONS", "--index", "FILE", "--encoder", "none"), "FILE"),
        (("index", "QUESTIONS", "NOWHERE", "--index", "NEW", "--encoder", "none"), "NOWHERE"),
        (("index", "QUESTIONS", "--index", "NEW", "--encoder", "none", "--extractor", "published:"), "published"),
        (("index", "QUESTIONS", "--index", "INDEX", "--extractor", "published:FILE"), "rules"),
        (("remove", "--index", "INDEX"), "ids"),
        (("remove", "", "--index", "INDEX"), "''"),
        (("repair", "--index", "NOWHERE"), "clew index"),
        (("restore", "--index", "INDEX"), "--list"),
        (("restore", "1", "--list", "--index", "INDEX"), "--list"),
        (("restore", "99", "--index", "INDEX"), "version 99"),
        (("restore", "--list", "--index", "NOWHERE"), "clew index"),
        (("compact", "--index", "NOWHERE"), "clew index"),
        (("corpus", "NOWHERE"), "NOWHERE"),
        (("diff", "INDEX"), "new"),
        (("index", "QUESTIONS", "--index", "INDEX", "--sentences", "maybe"), "'maybe' is not one of 'vectors', 'none'"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_changes_nothing(
    arguments: tuple[str, ...], message: str, index: Path, tmp_path: Path
) -> None:
    for name in ("FILE", "EMPTY"):
        (tmp_path / name).touch()
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "BROKEN").write_text('{"id": "q1", "question": "Who', encoding="utf-8")
    places = {"INDEX": index, "QUESTIONS": write_questions(tmp_path, oslo=["oslo"])}
    names = ("FILE/x.json", "FILE", "EMPTY", "BROKEN", "FOLDER", "NOWHERE", "NEW")
    places |= {name: tmp_path / name for name in names}
    before = sorted(tmp_path.rglob("*"))
    check_refused(run_clew(*(places.get(argument, argument) for argument in arguments)), message)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("CLEW_K", "0", "CLEW_K"), ("CLEW_K", "many", "CLEW_K"), ("CLEW_RETRIEVER", "nosuch", "choose one of")],
)
def test_a_wrong_setting_is_bad_input(
    name: str, value: str, message: str, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    check_refused(run_clew("search", QUESTION, "--index", index), message)


@pytest.mark.parametrize("content", ["k = ", "nosuch = 1", "k = 0"])
def test_a_wrong_file_of_settings_is_bad_input(
    content: str, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clew.toml").write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    check_refused(run_clew("search", QUESTION, "--index", index), "clew.toml")


def test_settings_stand_in_for_options_that_are_not_given(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_K", "1")
    monkeypatch.setenv("CLEW_RETRIEVER", "bm25")
    found = json.loads(run_clew("search", "seals ice", "--index", index, "--json").out)
    assert (found["retriever"], len(found["passages"])) == ("bm25", 1)
    found = json.loads(
        run_clew("search", "seals ice", "--index", index, "--retriever", "pagerank", "-k", "2", "--json").out
    )
    assert (found["retriever"], len(found["passages"])) == ("pagerank", 2)


@pytest.mark.parametrize(("value", "message"), [("gpu", "correct clew.toml or CLEW_DEVICE"), ("cuda", "finds none")])
def test_a_wrong_device_of_the_environment_is_refused_where_a_model_runs(
    value: str, message: str, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv("CLEW_DEVICE", value)
    check_refused(run_clew("search", QUESTION, "--index", index), message)
    file = write_lines(tmp_path / "rows.jsonl", [{"id": "a", "text": "Fram is a ship."}])
    check_refused(run_clew("index", file, "--index", tmp_path / "new"), message)
    assert not (tmp_path / "new").exists()
    assert run_clew("search", QUESTION, "--index", index, "--device", "cpu").code == 0
    for command in (("stats", "--index", index), ("diff", index, index), ("verify", "--index", index)):
        assert run_clew(*command).code == 0, command
    monkeypatch.setenv("CLEW_DEVICE", "")
    assert run_clew("search", QUESTION, "--index", index).code == 0


def test_letters_that_steer_a_terminal_are_shown_as_escapes(tmp_path: Path) -> None:
    rows = [{"id": "a\u001b[2J", "title": "T\u0007", "text": "Oslo \u001b[31mred\u001b[0m [bold]not markup[/bold]."}]
    file = write_lines(tmp_path / "rows.jsonl", rows)
    assert run_clew("index", file, "--index", tmp_path / "i", "--encoder", "none").code == 0
    done = run_clew("search", "Oslo", "--index", tmp_path / "i")
    assert "\x1b" not in done.out
    assert "\x07" not in done.out
    assert "[bold]not markup[/bold]" in done.out
    check_refused(run_clew("stats", "--index", f"{tmp_path}/a\x1b[2J\nb"), "a\\x1b[2J b")


def test_our_own_fault_is_exit_code_1(index: Path, tmp_path: Path) -> None:
    # A place that exists, is no folder and takes no files: the system refuses, the caller did nothing wrong.
    file = write_questions(tmp_path, oslo=["oslo"])
    out = Path("/proc/figures.json")
    if not Path("/proc/self").exists():
        pytest.skip("no file system here that refuses even root")
    done = run_clew("eval", "--index", index, "--questions", file, "--retriever", "bm25", "--out", out)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "could not be written" in done.err


def test_an_agent_shows_its_steps(plain_folder: Path) -> None:
    options = (
        "--index",
        plain_folder,
        "--retriever",
        "gear:base=pagerank,reader=local,steps=2",
    )
    found = json.loads(run_clew("search", QUESTION, *options, "--json").out)
    assert found["retriever"] == "gear:base=pagerank,reader=local,steps=2"
    assert 1 <= len(found["steps"]) <= 2
    assert found["steps"][0].keys() >= {"query", "read", "linked", "new", "gist", "verdict", "reasoning", "usage"}
    shown = run_clew("search", QUESTION, *options, "--trace")
    assert (shown.code, shown.err) == (0, "")
    assert f"): {QUESTION}" in shown.out
