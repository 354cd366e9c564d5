"""Questions on a graph by the command line: search, ask, eval, feedback and training, and what goes wrong with them."""

import json
from pathlib import Path

import pytest

from clew.index import Index
from clew.index import open as open_index
from clew.retrievers.frag.retriever import FragRetriever
from clew.retrievers.registry import parse_retriever
from clew_lab.evaluation.evaluate_kgqa import path_limit
from tests.faults.commands import run_clew
from tests.faults.model_server import Request, ServerReply, model_server
from tests.kinship import QUESTIONS, write_questions

THREE = QUESTIONS[4]


def test_ask_prints_the_paths_it_stands_on(family: Path) -> None:
    done = run_clew("ask", THREE[0], "--index", family)
    assert done.code == 0, done
    assert done.out.startswith("Tromsø\n")
    assert "The paths it stands on:" in done.out
    assert "Carl Lind --[place of birth]--> Tromsø\n" in done.out


def test_search_as_json_has_paths_and_topics(family: Path) -> None:
    done = run_clew("search", "what is her place of birth", "--topic", "Ada Lind", "--index", family, "--json")
    found = json.loads(done.out)
    assert (found["retriever"], found["topics"], found["passages"]) == ("frag", ["Ada Lind"], [])
    assert found["paths"][0]["triples"][0]["tail"] == "Vardø"


def test_a_topic_is_for_retrievers_of_paths(family: Path) -> None:
    done = run_clew("search", "where", "--topic", "Ada Lind", "--index", family, "--retriever", "bm25")
    assert done.code == 2
    assert "topics are for the retrievers frag" in done.err


def test_eval_of_questions_on_a_graph(family: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    file = write_questions(tmp_path)
    done = run_clew(
        "eval-graph",
        "--index",
        family,
        "--questions",
        file,
        "--retriever",
        "frag,frag-simple,frag-complex",
        "--out",
        out,
    )
    assert done.code == 0, done
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["questions"] == len(QUESTIONS)
    frag, simple = report["retrievers"]["frag"], report["retrievers"]["frag-simple"]
    assert frag["hits@1"] == frag["coverage@32"] == 1.0
    assert simple["coverage@32"] == simple["covered by path search"] == pytest.approx(4 / 6)
    assert "path_recall" not in frag
    assert {c["b"] for c in report["comparisons"]} == {"frag-simple", "frag-complex"}
    assert "hits@1" in done.out


def test_eval_counts_gold_paths_where_they_are_given(family: Path, tmp_path: Path) -> None:
    record = {
        "id": "a",
        "question": QUESTIONS[2][0],
        "topic": ["Ada Lind"],
        "answers": ["carpenter"],
        "paths": [[["Ada Lind", "spouse", "Bo Lind"], ["Bo Lind", "profession", "carpenter"]]],
    }
    file, out = tmp_path / "q.jsonl", tmp_path / "figures.json"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert run_clew("eval-graph", "--index", family, "--questions", file, "--out", out).code == 0
    figures = json.loads(out.read_text(encoding="utf-8"))["retrievers"]["frag"]
    assert figures["path_recall"] == figures["answer in 20 triples"] == figures["gold paths in 20 triples"] == 1.0


def test_eval_of_a_retriever_of_passages_is_refused(family: Path, tmp_path: Path) -> None:
    done = run_clew("eval-graph", "--index", family, "--questions", write_questions(tmp_path), "--retriever", "bm25")
    assert done.code == 2
    assert "choose one of " in done.err
    assert "frag, " in done.err
    assert "rog" in done.err


def test_questions_whose_topics_or_answers_the_graph_lacks_are_told(family: Path, tmp_path: Path) -> None:
    record = {"id": "a", "question": "who", "topic": ["Nobody"], "answers": ["Nothing at all"]}
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    done = run_clew("eval-graph", "--index", family, "--questions", file)
    assert done.code == 0, done
    assert "1 question has no topic entity in the graph" in done.err
    assert "1 question has no answer in the graph" in done.err


def write_records(folder: Path, *records: dict[str, object]) -> Path:
    """Write questions as JSON lines."""
    file = folder / "q.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return file


def evaluate_file(index: Path, file: Path, *options: str) -> tuple[dict[str, float], str]:
    """Return the figures of frag-simple on a file of questions, and what `clew eval` wrote to standard error."""
    out = file.with_suffix(".figures.json")
    chosen = ("--retriever", "frag-simple", "--out", out)
    done = run_clew("eval-graph", "--index", index, "--questions", file, *chosen, *options)
    assert done.code == 0, done
    return json.loads(out.read_text(encoding="utf-8"))["retrievers"]["frag-simple"], done.err


RIGHT: dict[str, object] = {"id": "a", "question": QUESTIONS[0][0], "topic": ["Eva Holm"], "answers": ["teacher"]}


def test_questions_without_topic_or_answer_are_left_out_and_counted(family: Path, tmp_path: Path) -> None:
    """One of them made the whole file one of questions without gold ids, and it was refused."""
    no_answer = RIGHT | {"id": "b", "answers": []}
    no_topic = RIGHT | {"id": "c", "topic": []}
    figures, told = evaluate_file(family, write_records(tmp_path, no_answer, RIGHT, no_topic))
    assert figures["hits@1"] == 1.0
    assert "2 of 3 questions are left out: 1 without a topic, 1 without an answer, first 'b'" in told


def test_eval_tells_that_graphs_of_questions_are_not_read(family: Path, tmp_path: Path) -> None:
    own = {"q_entity": ["Eva Holm"], "answer": ["teacher"], "graph": [["Eva Holm", "profession", "teacher"]]}
    file = write_records(tmp_path, {"id": "a", "question": QUESTIONS[0][0], **own})
    _, told = evaluate_file(family, file)
    assert "1 question brings a graph of its own, not read here" in told
    assert f"clew compare --data {file}" in told
    _, told = evaluate_file(family, write_records(tmp_path, RIGHT))
    assert "of its own" not in told


def test_hit_is_of_letters_as_published(family: Path, tmp_path: Path) -> None:
    """Whole words were compared."""
    figures, _ = evaluate_file(family, write_records(tmp_path, RIGHT | {"answers": ["teach"]}))
    assert (figures["hits@1"], figures["hit"], figures["F1"]) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("prompts", ["json", "text"])
def test_all_answers_of_a_reply_are_scored(
    family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompts: str
) -> None:
    """Of a reply in JSON the first answer alone was scored."""
    monkeypatch.setenv("CLEW_API_KEY", "none")
    file = write_records(tmp_path, RIGHT | {"answers": ["nurse", "teacher"]})
    reply = {"json": json.dumps({"answerable": True, "answers": ["teacher", "nurse"], "path": 1})}
    with model_server(lambda _request, _before: ServerReply(reply.get(prompts, "teacher\nnurse"))) as server:
        options = ("--answer", "--model", "openai:tiny", "--base-url", server.url, "--prompts", prompts, "--no-cache")
        figures, told = evaluate_file(family, file, *options)
    assert (figures["hits@1"], figures["hit"], figures["F1"], figures["failed"]) == (1.0, 1.0, 1.0, 0.0)
    assert "answered, the others" not in told


def test_a_model_that_fails_is_told(family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_API_KEY", "none")
    file = write_records(tmp_path, RIGHT)
    with model_server(lambda _request, _before: ServerReply("no JSON at all")) as server:
        options = ("--answer", "--model", "openai:tiny", "--base-url", server.url, "--no-cache")
        figures, told = evaluate_file(family, file, *options)
    assert (figures["failed"], figures["hit"]) == (1.0, 0.0)
    assert "frag-simple: 0 of 1 question answered, the others count 0: " in told


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("frag:simple_paths=4,complex_paths=8", 8),
        ("frag-simple:simple_paths=4,complex_paths=8", 4),
        ("frag-complex:simple_paths=9,complex_paths=8", 8),
        ("frag:paths=5", 5),
    ],
)
def test_the_limit_of_paths_is_that_of_the_kinds_that_can_be_asked(family: Path, name: str, limit: int) -> None:
    retriever = open_index(family).retriever(parse_retriever(name))
    assert isinstance(retriever, FragRetriever)
    assert path_limit(retriever) == limit


def answer_request(request: Request, _before: int) -> ServerReply:
    """Name the first path that ends at what the question is known to ask for."""
    content = request["messages"][-1]["content"]
    lines = [line for line in content.splitlines() if line[:1].isdigit()]
    for text, _, answers, _ in QUESTIONS:
        if text in content:
            number = next((line.split(".")[0] for line in lines if line.endswith(answers[0])), "0")
            return ServerReply(json.dumps({"answerable": number != "0", "answers": list(answers), "path": int(number)}))
    return ServerReply(json.dumps({"answerable": False}))


@pytest.mark.slow
def test_feedback_of_a_model_is_logged_and_teaches_the_router(
    family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, weights = tmp_path / "log.jsonl", tmp_path / "router"
    monkeypatch.setenv("CLEW_API_KEY", "none")
    with model_server(answer_request) as server:
        for text, topics, answers, hops in QUESTIONS:
            options = ("--model", "openai:tiny", "--base-url", server.url, "--no-cache", "--feedback", log)
            done = run_clew("ask", text, "--topic", topics[0], "--index", family, *options)
            assert done.code == 0, done
            assert done.out.splitlines()[0] == answers[0]
            assert json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["hops"] == hops
        assert all(request["max_tokens"] == 256 for request in server.requests)
    trained = run_clew("train", "router", "--log", log, "--out", weights)
    assert trained.code == 0, trained
    assert "learned from 6 questions" in trained.out
    again = run_clew("train", "router", "--log", log, "--out", tmp_path / "again")
    assert again.code == 0
    names = ("config.json", "model.safetensors")
    assert all((weights / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)
    used = run_clew("ask", THREE[0], "--index", family, "--retriever", f"frag:router_weights={weights}")
    assert used.out.startswith("Tromsø\n"), used


def test_eval_notes_feedback_of_the_first_quarter(
    family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    monkeypatch.setenv("CLEW_API_KEY", "none")
    with model_server(answer_request) as server:
        options = ("--answer", "--model", "openai:tiny", "--base-url", server.url, "--feedback", log)
        done = run_clew("eval-graph", "--index", family, "--questions", write_questions(tmp_path), *options)
    assert done.code == 0, done
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1
    assert "answer_calls" in done.out


def test_train_router_and_paths_on_a_graph(family: Path, tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    pair = ("--index", family, "--questions", questions)
    router = run_clew("train", "hops", *pair, "--kind", "tf-idf", "--out", tmp_path / "terms")
    assert router.code == 0, router
    paths = run_clew("train", "paths", *pair, "--rank", "0", "--out", tmp_path / "paths")
    assert paths.code == 0, paths
    settings = f"frag:router_weights={tmp_path / 'terms'},path_weights={tmp_path / 'paths'}"
    done = run_clew("ask", QUESTIONS[0][0], "--index", family, "--retriever", settings)
    assert done.out.startswith("teacher\n"), done
    asked = ("search", QUESTIONS[0][0], "--index", family, "--retriever")
    named = run_clew(*asked, f"frag:router_weights={tmp_path / 'terms'},router=tf-idf")
    assert named.code == 0, named
    other = run_clew(*asked, f"frag:router_weights={tmp_path / 'terms'},router=words")
    assert (other.code, other.out, other.err.count("\n")) == (2, "", 1)
    assert "router is 'words', and the hop predictor in" in other.err
    assert "is of the kind tf-idf: leave router out" in other.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("hops", "--out", "x"), "0 --index and 0 --questions"),
        (("paths", "--index", "a", "--out", "x"), "1 --index and 0 --questions"),
        (("hops", "--kind", "luck", "--out", "x"), "--kind is 'luck'"),
        (("hops", "--encoder", "hashing", "--out", "x"), "--encoder is for --kind classifier, and the kind is words"),
        (("hops", "--kind", "tf-idf", "--encoder", "hashing", "--out", "x"), "and the kind is tf-idf: leave it out"),
        (("hops", "--feedback", "nowhere.jsonl", "--out", "x"), "cannot be read"),
    ],
)
def test_training_on_nothing_is_refused(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_clew("train", *arguments)
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "x").exists()


def test_labels_are_shortest_paths_where_the_data_set_does_not_say(family: Path) -> None:
    import clew as package
    from clew.types import Question, ignore_progress
    from clew_lab.training.recipes.frag import hop_examples

    index: Index = package.open(family)
    asked = [
        Question("a", "where was [Ada Lind] born", ("Vardø",), topics=("Ada Lind",)),
        Question("b", "where is the husband's father from", ("Tromsø",), topics=("Ada Lind",)),
        Question("c", "who", ("nobody",), topics=("Ada Lind",)),
    ]
    found, left_out = hop_examples(index, asked, ignore_progress)
    assert [example.hops for example in found] == [1, 3]
    assert left_out == 1
