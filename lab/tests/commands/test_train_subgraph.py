"""Selections of subgraphs by the command line: training, comparing, searching with what was trained, and bad input."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import clew
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.settings import GCNSubgraph
from clew.text.display import to_single_line
from clew_lab.graph_readers.protocols import TokenCounter
from clew_lab.graph_readers.reader_files import open_reader
from clew_lab.graph_readers.selected_subgraph import retrieve_subgraphs, subgraph_source
from clew_lab.models.causal_lm import CausalModel
from tests.faults.commands import Outcome, run_clew
from tests.kinship import make_kinship_index, write_graph
from tests.models.tiny_llama import write_tiny_llama

TOPICS = ("Ada Lind", "Bo Lind", "Carl Lind", "Eva Holm", "Vardø", "Norway")
OTHERS = ("Dora Lind", "Tromsø")
ANSWERS = {"Ada Lind": "Vardø", "Bo Lind": "Carl Lind", "Carl Lind": "fisher", "Eva Holm": "teacher"}
HASHING = ("--encoder", "hashing:32", "--budget", "3", "--epochs", "1", "--draws", "16", "--width", "4")


def write_topic_questions(path: Path, topics: Sequence[str]) -> Path:
    """Write a question on each topic."""
    lines = [
        {
            "id": topic,
            "question": f"what has {topic}",
            "topic": [topic],
            "answers": [ANSWERS.get(topic, "Norway")],
        }
        for topic in topics
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_topic_questions(tmp_path / "questions.jsonl", TOPICS)


def train_network(folder: Path, questions: Path, *options: str) -> Outcome:
    kg = write_graph(folder)
    draws = HASHING.index("--draws")  # of which the objective paper compares none
    given = (*HASHING[:draws], *HASHING[draws + 2 :]) if "paper" in options else HASHING
    return run_clew("train", "subgraph", "--kg", kg, "--questions", questions, "--out", folder / "w", *given, *options)


def test_what_is_trained_is_searched_with(tmp_path: Path, questions: Path) -> None:
    done = train_network(tmp_path, questions)
    assert done.code == 0, done
    assert "learned from 5 questions, 1 chose the epoch" in done.out
    used = f"gcn-subgraph:weights={tmp_path / 'w'}"
    assert used in done.out
    make_kinship_index(tmp_path, "hashing:32")
    found = run_clew(
        "search", "what has [Ada Lind]", "--index", tmp_path / "index", "--retriever", used + ",budget=3", "--json"
    )
    assert found.code == 0, found
    paths = json.loads(found.out)["paths"]
    assert 1 <= len(paths) <= 3
    assert all(path["triples"][0]["head"] == "Ada Lind" or path["triples"][0]["tail"] == "Ada Lind" for path in paths)


def test_an_index_gives_questions_too(tmp_path: Path, questions: Path) -> None:
    make_kinship_index(tmp_path, "hashing:32")
    done = run_clew(
        "train", "subgraph", "--index", tmp_path / "index", "--questions", questions, "--out", tmp_path / "w", *HASHING
    )  # fmt: skip
    assert done.code == 0, done
    other = run_clew(
        "train", "subgraph", "--index", tmp_path / "index", "--questions", questions, "--out", tmp_path / "w"
    )
    assert other.code == 2
    assert "was made with the encoder 'hashing:32'" in other.err


def test_selections_are_compared(tmp_path: Path, questions: Path) -> None:
    kg = write_graph(tmp_path)
    names = "gcn,gcn-untrained,steiner,top-k,ego,random,whole"
    test = write_topic_questions(tmp_path / "test.jsonl", OTHERS)
    asked = ("compare", "--kg", kg, "--questions", questions, "--test", test, "--select", names, "--seeds", "1")
    done = run_clew(*asked, *HASHING, "--json")
    assert done.code == 0, done
    report = json.loads(done.out)
    assert list(report["selections"]) == names.split(",")
    assert (report["questions"], report["learned_from"]) == (len(OTHERS), 5)
    assert report["selections"]["whole"]["nodes"] > report["selections"]["top-k"]["nodes"] == 3
    table = run_clew(*asked, *HASHING)
    assert table.code == 0, table
    counts = table.out.splitlines()[0].partition(", budget")[0]
    assert counts == f"{len(OTHERS)} questions, 5 to learn from, 1 that choose the epoch"
    assert [line.split()[0] for line in table.out.splitlines()[2:9]] == names.split(",")
    assert "gcn minus steiner, accuracy: " in table.out
    header, whole = table.out.splitlines()[1].split(), table.out.splitlines()[8]
    assert header[-5:] == ["nodes", "tokens", "select_ms", "read_ms", "train_seconds"]
    assert whole.count("(") == len(header) - 1, "each figure has its interval"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give --data FOLDER or FILE, or --kg TRIPLES or --index INDEX with --questions FILE"),
        (("--data", "none.jsonl", "--kg", "kg.tsv"), "give --data FOLDER or FILE"),
        (("--data", "none.jsonl"), "none.jsonl"),
        (("--kg", "none.tsv", "--questions", "none.jsonl"), "none"),
    ],
)
@pytest.mark.parametrize("command", [("train", "subgraph", "--out", "w"), ("compare",)])
def test_what_cannot_be_read_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_clew(*command, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--objective", "best"), "'best' is not one of 'policy', 'paper'"),
        (("--rate", "0"), "rate is 0"),
        (("--preset", "paper", "--draws", "3"), "--draws is for --objective policy, and the objective is paper"),
    ],
)
def test_a_recipe_that_is_none_is_refused(
    tmp_path: Path, questions: Path, options: tuple[str, ...], message: str
) -> None:
    done = train_network(tmp_path, questions, *options)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "w").exists()


def test_a_causal_language_model_reads(tmp_path: Path, questions: Path) -> None:
    model = write_tiny_llama(tmp_path / "llama", [*TOPICS, *ANSWERS.values(), "what has"])
    asked = ("compare", "--kg", write_graph(tmp_path), "--questions", questions, "--seeds", "1")
    done = run_clew(*asked, "--select", "gcn,steiner", "--reader", model, *HASHING, "--json")
    assert done.code == 0, done
    selections = json.loads(done.out)["selections"]
    assert all(selections[name]["loss"] > 0 and selections[name]["train_seconds"] >= 0 for name in ("gcn", "steiner"))
    absent = run_clew(*asked, "--reader", tmp_path / "none", *HASHING)
    assert (absent.code, absent.err.count("\n")) == (2, 1)
    assert str(tmp_path / "none") in absent.err


def test_graphs_that_are_too_long_for_a_language_model_are_told(tmp_path: Path, questions: Path) -> None:
    model = write_tiny_llama(tmp_path / "llama", [*TOPICS, *ANSWERS.values(), "what has"])
    asked = ("compare", "--kg", write_graph(tmp_path), "--questions", questions, "--test", questions, "--seeds", "1")
    read = (*asked, "--select", "whole,ego", "--reader", model, *HASHING)
    whole, short = (json.loads(run_clew(*read, *options, "--json").out) for options in ((), ("--context-tokens", "40")))
    assert whole["shortened"] == {}
    assert whole["selections"]["whole"]["tokens"] > 40
    assert short["shortened"]["whole"] == len(TOPICS)
    assert 0 < short["selections"]["whole"]["tokens"] <= 40
    shortened = run_clew(*read, "--context-tokens", "40")
    assert shortened.code == 0, shortened
    assert "note: whole: 6 parts of graphs had more than 40 tokens" in shortened.err
    assert run_clew(*read, "--context-tokens", "0").code == 2
    local = run_clew(*asked, *HASHING, "--context-tokens", "40")
    assert local.code == 2
    assert "the local reader reads no tokens: give --reader FOLDER" in local.err


@pytest.mark.parametrize("option", ["--reader", "--encoder"])
@pytest.mark.parametrize("name", ["./nosuch", "no:such", "a/b/c"])
def test_a_model_that_cannot_be_is_bad_input(tmp_path: Path, questions: Path, option: str, name: str) -> None:
    kg = write_graph(tmp_path)
    done = run_clew("train", "subgraph", "--kg", kg, "--questions", questions, "--out", tmp_path / "w", option, name)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert f"can be called '{name}'" in done.err


def compare_selections(folder: Path, questions: Path, *options: str | Path) -> Outcome:
    return run_clew(
        "compare", "--kg", write_graph(folder), "--questions", questions, "--seeds", "1", *HASHING, "--json", *options
    )


def test_what_is_measured_is_not_learned_from(tmp_path: Path, questions: Path) -> None:
    done = compare_selections(tmp_path, questions, "--test", questions, "--select", "gcn,top-k")
    assert done.code == 2
    assert "6 of 6 questions share id or text with test questions and are not trained on" in done.err
    assert "no question is left, so there is nothing to learn from" in done.err
    fixed = compare_selections(tmp_path, questions, "--test", questions, "--select", "top-k,ego")
    assert fixed.code == 0, fixed
    assert (json.loads(fixed.out)["questions"], json.loads(fixed.out)["learned_from"]) == (6, 0)


def test_a_training_that_failed_leaves_the_folder_to_the_next(tmp_path: Path, questions: Path) -> None:
    done = train_network(tmp_path, questions, "--budget", "20")
    assert done.code == 2
    assert "answers do not depend on the selection" in done.err
    assert not (tmp_path / "w").exists()
    assert train_network(tmp_path, questions).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--select", ""), "0 selections to compare"),
        (("--select", ","), "0 selections to compare"),
        (("--select", "top-k,top-k"), "the selection 'top-k' is given 2 times"),
        (("--select", "gcn,best"), "no selection is called 'best'"),
        (("--select", "top-k,graphtoken"), "graphtoken reads graph tokens: give --reader"),
        (("--graph-token", "part"), "the local reader reads no tokens: give --reader"),
        (("--graph-encoder", "gin"), "the local reader reads no tokens: give --reader"),
        (("--graph-tokens", "4"), "the local reader reads no tokens: give --reader"),
        (("--dtype", "bfloat16"), "--dtype bfloat16 is of a language model's weights, and the reader is local"),
        (("--reader", "x", "--graph-encoder", "rnn"), "'rnn' is not one of 'transformer', 'gcn', 'gin', 'gat', 'mean'"),
        (("--reader", "x", "--graph-token", "all"), "'all' is not one of 'none', 'part', 'whole'"),
        (("--reader", "no-such-model"), "no-such-model"),
        (("--runs", "file/x"), "--runs is 'file/x', which lies below the file"),
        (("--runs", "file"), "--runs is 'file', which is a file"),
        (("--split", "val"), "the split 'val' needs a folder with splits"),
    ],
)
def test_what_can_be_known_at_once_is_said_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run_clew("compare", "--kg", "none.tsv", "--questions", "none.jsonl", *HASHING, *options)
    assert done.code != 0
    assert message in done.err
    assert "none.tsv" not in done.err
    assert "none.jsonl" not in done.err


@pytest.mark.parametrize("out", ["file", "file/x/y"])
def test_weights_that_have_no_place_are_not_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run_clew("train", "subgraph", "--kg", "none.tsv", "--questions", "none.jsonl", "--out", out)
    assert done.code == 2
    assert f"--out is {out!r}, which" in done.err


@pytest.mark.slow
def test_soft_prompts_and_graph_tokens_learn_with_the_selection(tmp_path: Path, questions: Path) -> None:
    model = write_tiny_llama(tmp_path / "llama", [*TOPICS, *ANSWERS.values(), "what has"])
    reads = ("--reader", str(model), "--soft-prompt", "2")
    done = compare_selections(tmp_path, questions, *reads, "--select", "g-retriever,graphtoken,steiner,top-k,gcn")
    assert done.code == 0, done
    selections = json.loads(done.out)["selections"]
    assert all(figures["train_seconds"] > 0 for figures in selections.values())
    assert selections["g-retriever"]["loss"] != selections["steiner"]["loss"]
    assert selections["graphtoken"]["nodes"] >= selections["steiner"]["nodes"]


def ask_reader(folder: Path, *options: str | Path) -> Outcome:
    return run_clew("ask-graph", "what has [Ada Lind]", "--index", folder / "index", *options)


@pytest.mark.slow
def test_what_was_trained_together_answers(tmp_path: Path, questions: Path) -> None:
    model = write_tiny_llama(tmp_path / "llama", [*TOPICS, *ANSWERS.values(), "what has"], gain=4.0)
    make_kinship_index(tmp_path, "hashing:32")
    reads = ("--reader", str(model), "--soft-prompt", "2", "--graph-token", "part", "--graph-encoder", "gin")
    done = train_network(tmp_path, questions, *reads, "--graph-tokens", "3")
    assert done.code == 0, done
    selecting = f"gcn-subgraph:weights={tmp_path / 'w'},budget=3"
    soft = ("--soft-prompt", tmp_path / "w" / "reader")
    assert f"--retriever {selecting} --reader {model} --soft-prompt {soft[1]}" in done.out
    assert {path.suffix for path in soft[1].iterdir()} >= {".safetensors"}
    answers = ("--retriever", selecting, "--reader", model)
    asked = ask_reader(tmp_path, *answers, *soft, "--json")
    assert asked.code == 0, asked
    answer = json.loads(asked.out)

    index = clew.open(tmp_path / "index")
    retriever = subgraph_source(index, GCNSubgraph(weights=tmp_path / "w", budget=3))
    ((_, text, context),) = retrieve_subgraphs(retriever, ["what has [Ada Lind]"], [()], 5)
    assert text == "what has Ada Lind"
    assert context is not None
    assert len(context.subgraph.nodes) == 3
    encoder = HashingEncoder(32)
    opened = open_reader(CausalModel(str(model)), soft[1], encoder.fingerprint)
    assert answer["answer"] == to_single_line(opened.generate([text], [context])[0])
    assert answer["notes"][0].startswith(f"written by {model}+soft-prompt, which read 3 entities and ")
    usage = answer["usage"]
    assert usage["calls"] == 1
    assert isinstance(opened, TokenCounter)
    assert usage["input_tokens"] > opened.count_tokens([text], [context])[0] + 2, "the soft prompt is counted"
    assert 1 <= usage["output_tokens"] <= 32
    assert answer["weak"] == any("name of no selected entity" in note for note in answer["notes"])
    shown = ask_reader(tmp_path, *answers, *soft).out
    assert shown.splitlines()[0] == ("Not sure: perhaps " if answer["weak"] else "") + answer["answer"]
    assert f"spent: 1 call, {usage['input_tokens']} + {usage['output_tokens']} tokens" in shown
    assert answer["evidence"]["paths"]
    plain = json.loads(ask_reader(tmp_path, *answers, "--json").out)
    assert plain["answer"] != answer["answer"], "the soft prompt is read"
    other = ask_reader(tmp_path, "--retriever", "steiner", *answers[2:], *soft)
    assert other.code == 0, other
    assert "note: the soft prompt was trained with another selection" in other.out

    changed = write_tiny_llama(tmp_path / "other", [*TOPICS], gain=2.0)
    for options, message in (
        (("--reader", changed, *soft), "was trained for the model"),
        (("--reader", model, *soft, "--dtype", "bfloat16"), "was trained with --dtype float32"),
        (("--reader", model, "--soft-prompt", tmp_path / "w"), "which holds no reader.json"),
    ):
        refused = ask_reader(tmp_path, "--retriever", selecting, *options)
        assert (refused.code, refused.out) == (2, ""), refused
        assert message in refused.err.splitlines()[-1], "below the bar of the model's weights"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reader", ""), "wanted a folder or a name"),
        (("--reader", "x", "--retriever", "bm25"), "not bm25: give --retriever gcn-subgraph or steiner"),
        (("--reader", "x", "--retriever", "frag"), "not frag: give --retriever gcn-subgraph or steiner"),
        (("--reader", "./none", "--retriever", "steiner"), "./none"),
        (("--reader", "x", "--retriever", "steiner", "--soft-prompt", "y"), "which holds no reader.json"),
    ],
)
def test_options_that_do_not_go_with_a_reader_of_subgraphs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_kinship_index(tmp_path, "hashing:32")
    done = ask_reader(tmp_path, *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert message in done.err


def test_the_preset_is_the_published_recipe_and_options_override_it(tmp_path: Path, questions: Path) -> None:
    done = train_network(tmp_path, questions, "--preset", "paper", "--rate", "0.25")
    assert done.code == 0, done
    assert "minus published loss: " in done.out
    config = json.loads((tmp_path / "w" / "config.json").read_text(encoding="utf-8"))
    told = config["settings"], config["about"]["feedback"], config["about"]["recipe"]
    assert (told[0]["inputs"], told[0]["combination"]) == ("text", "product")
    assert (told[1]["objective"], told[1]["choose_by"], told[1]["budget"]) == ("paper", "published", 3)
    plain = {"schedule": "constant", "decay": 0.0, "warmup": 0, "clip": 0.0, "average": 0.0, "rate": 0.25}
    assert told[2] | plain == told[2]
    part = run_clew("train", "subgraph", "--help-all")
    assert all(option in part.out for option in ("--choose-by", "--schedule", "--decay", "--clip", "--average"))
