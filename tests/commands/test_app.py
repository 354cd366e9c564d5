"""The command line's contract: what other tools rely on. For what is wrong with inputs see faults/test_inputs.py."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.commands import run_clew
from tests.small_index import DOCUMENTS, make_index

QUESTION = "Where was the commander of the Vega born?"
SEARCH_KEYS = {"question", "retriever", "passages", "paths", "notes", "usage", "steps", "topics", "chains"}


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


def test_search_as_json(small_folder: Path) -> None:
    done = run_clew("search", QUESTION, "--index", small_folder, "--retriever", "pagerank", "-k", "3", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found.keys() == SEARCH_KEYS
    assert (found["question"], found["retriever"]) == (QUESTION, "pagerank")
    assert len(found["passages"]) == 3
    for passage in found["passages"]:
        assert passage.keys() >= {"id", "document_id", "title", "text", "score"}
    assert [p["score"] for p in found["passages"]] == sorted((p["score"] for p in found["passages"]), reverse=True)
    assert found["paths"]
    for path in found["paths"]:
        assert path["triples"]
        assert all(triple.keys() >= {"head", "relation", "tail", "passages"} for triple in path["triples"])
    assert found["usage"]["seconds"] > 0
    assert all(isinstance(note, str) for note in found["notes"])


def test_a_word_that_an_option_does_not_know_is_one_plain_line(small_folder: Path, tmp_path: Path) -> None:
    done = run_clew("index", tmp_path, "--index", small_folder, "--sentences", "maybe")
    assert done.code == 2
    assert done.err.startswith("clew: Invalid value for '--sentences': 'maybe' is not one of 'vectors', 'none'")


def test_search_for_people_shows_what_was_found(small_folder: Path) -> None:
    done = run_clew("search", QUESTION, "--index", small_folder, "-k", "2")
    assert done.code == 0
    assert "Louis Palander" in done.out
    assert "Traceback" not in done.out + done.err


def test_where_restricts_search_ask_and_eval(small_folder: Path, questions: Path) -> None:
    where = ("--where", "lang = 'de'")
    found = json.loads(run_clew("search", QUESTION, "--index", small_folder, *where, "--json").out)
    assert {passage["id"] for passage in found["passages"]} <= {"bridge", *(f"keeper-{n:02}" for n in range(8))}
    assert run_clew("ask", QUESTION, "--index", small_folder, *where).code == 0
    done = run_clew("eval", "--index", small_folder, "--questions", questions, "--retriever", "bm25", *where)
    assert done.code == 0


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
        done = run_clew(command, QUESTION, "--index", tmp_path / "all", "--strict-filters", *target)
        assert done.code == 2
        assert "--strict-filters is of --where" in done.err


def test_ask_as_json_cites_the_text_itself(small_folder: Path) -> None:
    done = run_clew("ask", "Where was Louis Palander born?", "--index", small_folder, "--json")
    assert done.code == 0
    answer = json.loads(done.out)
    assert answer["citations"]
    for citation in answer["citations"]:
        text = next(d.text for d in DOCUMENTS if d.id == citation["document_id"])
        assert text[citation["start"] : citation["end"]] == citation["quote"]
    assert any("no language model" in note for note in answer["notes"])


def test_eval_writes_the_figures(small_folder: Path, questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = ("eval", "--index", small_folder, "--questions", questions, "--retriever", "bm25,pagerank")
    done = run_clew(*command, "--k", "2,5", "--out", out)
    assert done.code == 0
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert figures.keys() >= {"index", "questions", "retrievers"}
    assert list(figures["retrievers"]) == ["bm25", "pagerank"]
    for scores in figures["retrievers"].values():
        assert scores.keys() >= {"recall@2", "recall@5", "all_gold@2", "all_gold@5", "seconds_p50", "seconds_p95"}
        # q1 and q2 can be found in full, the gold of q3 is not in the index.
        assert scores["recall@5"] == pytest.approx(2 / 3)
        assert scores["all_gold@5"] == pytest.approx(2 / 3)
    assert "pagerank" in done.out
    assert "recall@2" in done.out


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


def test_diff_tells_equal_from_different(tmp_path: Path, small_folder: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, text in ((one, "Oslo is in Norway."), (other, "Oslo lies in Norway.")):
        line = json.dumps({"id": "a", "title": "Oslo", "text": text}) + "\n"
        assert run_clew("index", "-", "--index", folder, "--encoder", "none", stdin=line.encode()).code == 0
    assert run_clew("diff", one, one).code == 0
    different = run_clew("diff", one, other)
    assert different.code == 1
    assert different.err == ""
    assert run_clew("diff", one, small_folder).code == 1


def test_verify_reports_damage(tmp_path: Path) -> None:
    line = json.dumps({"id": "a", "title": "Oslo", "text": "Oslo is in Norway."}) + "\n"
    assert run_clew("index", "-", "--index", tmp_path / "i", "--encoder", "none", stdin=line.encode()).code == 0
    entities = next((tmp_path / "i").rglob("entities.data.npy"))
    content = bytearray(entities.read_bytes())
    content[-1] ^= 1
    entities.write_bytes(content)
    done = run_clew("verify", "--index", tmp_path / "i")
    assert done.code == 1
    assert "repair" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", QUESTION, "--index", "INDEX", "--retriever", "nosuch"), "choose one of"),
        (("search", QUESTION, "--index", "INDEX", "-k", "0"), "at least 1"),
        (("search", QUESTION, "--index", "INDEX", "-k", "two"), "-k"),
        (("search", QUESTION, "--index", "INDEX", "--where", "lang = "), "lang ="),
        (("search", QUESTION, "--index", "INDEX", "--where", "nosuch = 1"), "nosuch"),
        (("search", QUESTION, "--index", "NOWHERE"), "clew index"),
        (("search", QUESTION), "--index"),
        (("search",), "clew search --help"),
        (("nosuch",), "nosuch"),
        (("search", QUESTION, "--index", "INDEX", "--nosuch"), "--nosuch"),
        (("ask", QUESTION, "--index", "INDEX", "-k", "-3"), "at least 1"),
        (("eval", "--index", "INDEX", "--questions", "NOWHERE"), "NOWHERE"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--k", "0,5"), "at least 1"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--k", "2,x"), "2,5,10"),
        (("eval", "--index", "INDEX", "--questions", "QUESTIONS", "--retriever", "bm25,nosuch"), "nosuch"),
        (("eval", "--index", "INDEX", "--questions", "BROKEN"), "BROKEN"),
        (("index", "NOWHERE", "--index", "NEW"), "NOWHERE"),
        (("index", "QUESTIONS", "--index", "NEW", "--encoder", "nosuch:1"), "nosuch"),
        (("index", "QUESTIONS", "--index", "NEW", "--extractor", "nosuch"), "rules"),
        (("index", "QUESTIONS", "--index", "INDEX", "--encoder", "none"), "hashing"),
        (("remove", "nosuch", "--index", "INDEX"), "nosuch"),
        (("stats", "--index", "NOWHERE"), "clew index"),
        (("verify", "--index", "NOWHERE"), "clew index"),
        (("diff", "INDEX", "NOWHERE"), "clew index"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    arguments: tuple[str, ...], message: str, small_folder: Path, questions: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "BROKEN"
    broken.write_text('{"id": "q1", "question": "Who', encoding="utf-8")
    places = {"INDEX": small_folder, "QUESTIONS": questions, "BROKEN": broken}
    places |= {name: tmp_path / name for name in ("NOWHERE", "NEW")}
    done = run_clew(*(places.get(argument, argument) for argument in arguments))
    assert done.code == 2, done
    assert message in done.err
    assert done.err.startswith("clew: ")
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert not (tmp_path / "NEW").exists()
    assert not (tmp_path / "NOWHERE").exists()


def test_a_process_of_its_own() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "clew", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    helped = run("--help")
    assert helped.returncode == 0
    commands = ("index", "search", "ask", "eval", "remove", "stats", "verify", "repair", "compact")
    assert all(f"\n  {command}" in helped.stdout for command in commands)
    wrong = run("search", QUESTION, "--index", "no such folder")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)


def test_a_closed_pipe_is_no_error(small_folder: Path) -> None:
    command = f'"{sys.executable}" -m clew search "{QUESTION}" --index "{small_folder}" --json | head -c 1'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")
