"""The tables of the papers on made data: each runs, has its rows, and its fits find laws that are known."""

import importlib
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from clew.settings import load_settings
from clew.training.hyperparameters import Recipe
from clew_lab.amr.reranker import GRagAMR
from clew_lab.training.objectives.kg_completion import KGCompletion
from clew_lab.training.recipes.rerank_recipe import published_rerank_recipe
from lab.tests.datasets.candidate_files import pool_records, write_candidates
from lab.tests.datasets.scene_graph_files import write_question_table, write_scene_graphs
from tests.faults.commands import run_clew
from tests.faults.model_server import Request, ServerReply, model_server
from tests.models.tiny_llama import write_tiny_llama

BENCH = Path(__file__).parents[3] / "bench"
FLAT = {path.stem for path in BENCH.glob("*.py")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers")


@pytest.fixture
def papers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Made data, as the scripts find it; the modules of `bench` are loaded anew, since they read it when loaded."""
    monkeypatch.syspath_prepend(str(BENCH))
    made = importlib.import_module("papers.made_data")
    if not (folder / "data").is_dir():
        made.write_made_data(folder / "data")
        made.write_made_graphs(folder / "data")
        made.write_made_stances(folder / "data")
    for name, value in made.made_environment(folder).items():
        monkeypatch.setenv(name, value)
    unload()
    run_commands_here(monkeypatch)
    yield folder
    unload()


def run_commands_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make indexes in this process: two others for each set took a third of the time of these tests."""
    workbench = importlib.import_module("workbench")

    def run(arguments: list[str]) -> Any:
        module, program, *rest = arguments
        assert (module, program) == ("-m", "clew")
        done = run_clew(*rest)
        assert done.code == 0, done.err
        return workbench.Process(0.0, 0.0, 0.0, done.out)

    monkeypatch.setattr(workbench, "run_python", run)


def unload() -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in FLAT | {"papers"}:
            del sys.modules[name]


def printed_by(capsys: pytest.CaptureFixture[str], script: str, *arguments: str) -> str:
    """Return what a script prints."""
    module: ModuleType = importlib.import_module(f"papers.{script}")
    module.main([*arguments, "--quick"])
    return capsys.readouterr().out


def cells(printed: str) -> list[list[str]]:
    """Return the cells of the tables in a text."""
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.splitlines() if "|" in line]


def table(capsys: pytest.CaptureFixture[str], script: str, *arguments: str) -> list[list[str]]:
    """Return the cells of the tables that a script prints."""
    return cells(printed_by(capsys, script, *arguments))


FRAG_ROWS = ["frag", "frag adapted", "frag-simple", "frag-complex"]


def published_row(name: str) -> str:
    """Return the label of a row without the rankers of the published form."""
    return name.replace(",ranker=bi-encoder,relations_by=bi-encoder", "")


@pytest.mark.usefixtures("papers")
def test_frags_main_table_has_both_forms_feedback_and_the_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, "frag", "main", "--sets", "pathquestion-2h")
    names = [published_row(row[0]) for row in rows[2:]]
    paper = "frag:preset=paper"
    assert names == [paper, f"{paper} adapted", "frag", "frag adapted", "tog", "rog", "gnn-rag"]
    heads = ["hits@1", "hit", "F1", "answer in 20 triples", "gold paths in 20 triples", "answer, all paths", "complex"]
    assert rows[0][1:] == heads
    assert all(float(row[4]) <= float(row[6].partition(" ")[0]) for row in rows[2:]), "of the first triples no more"
    assert all(0.0 <= float(row[2]) <= 100.0 for row in rows[2:])
    assert float(rows[4][2]) > 60.0, "frag answers questions in plain words"


@pytest.mark.usefixtures("papers")
@pytest.mark.slow
def test_frags_ablations_and_balanced_sample(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, "frag", "ablations", "--sets", "metaqa", "--limit", "8")
    names = [published_row(row[0]) for row in rows[2:]]
    assert names[4:] == FRAG_ROWS
    assert names[:4] == [
        "frag:preset=paper", "frag:preset=paper adapted", "frag-simple:preset=paper", "frag-complex:preset=paper"
    ]  # fmt: skip
    printed = printed_by(capsys, "frag", "kg1000")
    assert "6 of 6 questions are measured" in printed
    assert "minus frag-simple" in printed
    shown = {row[0]: row for row in cells(printed)}
    assert (shown["frag-simple"][-1], shown["frag-complex"][-1]) == ("0.0", "100.0")
    sample = table(capsys, "frag", "sample")
    assert sample[0] == ["questions", "1 hop", "2 hops", "3 hops"]
    assert sample[2:] == [["metaqa, held out", "4", "4", "4"], ["balanced sample", "2", "2", "2"]]


@pytest.mark.usefixtures("papers")
@pytest.mark.slow
def test_frags_rows_of_a_language_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_API_KEY", "none")

    def script(request: Request, _before: int) -> ServerReply:
        text = str(request["messages"])
        if "<passage>" in text:
            return ServerReply('{"score": 50}')
        return ServerReply("Alvin")

    with model_server(script) as server:
        monkeypatch.setenv("CLEW_BASE_URL", server.url)
        options = ("--sets", "pathquestion-2h", "--model", "openai:tiny", "--prompts", "text", "--limit", "4")
        rows = table(capsys, "frag", "retrieval", *options)
    by_name = {row[0]: row for row in rows}
    assert float(by_name["none"][2]) == 1.0
    assert float(by_name["none"][3]) == 0.0
    assert float(by_name["frag"][1]) == 0.0
    assert float(by_name["frag"][2]) == 2.0
    assert float(by_name["tog:ranker=llm:openai:tiny"][1]) > 3.0, "a call for each relation and entity"


GCN_ROWS = ["GCN-Retriever", "GCN-Retriever, untrained", "G-Retriever", "the whole graph"]


def gcn_tables(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, dict[str, list[str]]]:
    """Return what the table of GCN-Retriever prints, and its last table's rows by their labels."""
    printed = printed_by(capsys, "gcn_retriever", *arguments)
    return printed, {row[0]: row[1:] for row in cells(printed)}


@pytest.mark.usefixtures("papers")
def test_gcn_retrievers_table_without_a_language_model(capsys: pytest.CaptureFixture[str]) -> None:
    printed, rows = gcn_tables(capsys, "--sets", "explagraphs")
    assert "explagraphs: 12 questions, 20 for training, budget 3, epochs 1, seeds 0, reader local" in printed
    assert "by the rule first-choice" in printed
    assert rows["selection"] == ["zero-shot, published", "zero-shot, strict", "nodes"]
    ours = ["GCN-Retriever, ours", "GCN-Retriever, ours, untrained"]
    assert [name for name in rows if name in [*GCN_ROWS, *ours]] == [*GCN_ROWS, *ours]
    assert printed.count(f"{ours[0]} minus {ours[1]}: ") == 1
    for name in GCN_ROWS:
        published, strict, _ = rows[name]
        assert published == strict, "the local reader replies with nothing but a choice"
    assert "GraphToken" not in rows
    assert printed.count("GCN-Retriever minus") == 3


@pytest.mark.usefixtures("papers")
def test_gcn_retrievers_table_on_paths(capsys: pytest.CaptureFixture[str]) -> None:
    printed, rows = gcn_tables(capsys, "--sets", "pathquestion-2h")
    assert "by the rule hit" in printed
    assert all(0.0 <= float(rows[name][0].split(" ")[0]) <= 100.0 for name in GCN_ROWS)


@pytest.mark.slow
@pytest.mark.usefixtures("papers")
def test_gcn_retrievers_table_on_published_scene_graphs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = write_question_table(write_scene_graphs(tmp_path / "scenes", 5), 5)
    model = write_tiny_llama(tmp_path / "llama", ["What color is the cup?", "red", "blue", "green", "lamp"])
    reads = ("--reader", str(model), "--graph-tokens", "2", "--node-features", "random-walk", "--budget", "2")
    printed, rows = gcn_tables(capsys, "--data", str(data), *reads)
    assert "scenes: 2 questions, 6 for training, budget 2" in printed
    assert "by the rule inside" in printed
    assert rows["selection"] == [
        "zero-shot, published", "zero-shot, strict", "tuned, published", "tuned, strict", "nodes"
    ]  # fmt: skip
    assert rows["GraphToken"][:2] == ["", ""]
    assert rows["GraphToken"][2].endswith(")")
    assert rows["G-Retriever with its token"][2].endswith(")")
    assert all(len(rows[name]) == 5 and rows[name][0] for name in GCN_ROWS)


@pytest.mark.usefixtures("papers")
def test_gears_main_table_has_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, "gear", "main", "musique-dev")
    assert [row[0] for row in rows[2:]] == [
        "bm25",
        *(f"{name}{form}" for form in ("", ":preset=paper") for name in ("naive-ge", "sync-ge", "gear")),
        "ircot",
    ]
    assert rows[0][1:6] == ["R@2", "R@5", "R@10", "R@15", "all gold@5"]
    assert all(0.0 <= float(cell) <= 100.0 for row in rows[2:] for cell in row[1:6])
    assert float(rows[2][4]) == 100.0, "fifteen of fourteen passages hold all evidence"


@pytest.mark.usefixtures("papers")
def test_gears_ablations_are_of_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, "gear", "ablations", "musique-dev")
    assert len(rows) == 3 + 2 * 7
    steps = {row[0]: float(row[-2]) for row in rows[2:]}
    assert steps["gear, ours, 1 step"] == steps["gear, paper, 1 step"] == 1.0


@pytest.mark.usefixtures("papers")
def test_calls_of_agents_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, "gear", "calls", "musique-dev")
    assert [row[0] for row in rows[2:]] == ["gear over bm25", "ircot over bm25"]
    assert all(float(row[4]) >= 1 and float(row[5].replace(",", "")) > 100 for row in rows[2:])


@pytest.mark.parametrize(("script", "sets"), [("gear", ["musique-dev"]), ("gfm_rag", ["--sets", "musique-dev"])])
@pytest.mark.usefixtures("papers")
def test_answers_are_scored_with_a_language_model_and_without(
    script: str, sets: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []

    def reply(request: Request, _: int) -> ServerReply:
        asked.append(request)
        return ServerReply('{"answer": "Nowhere", "quotes": [], "sources": []}')

    rows = table(capsys, script, "answers", *sets, *(["--retrievers", "bm25,dense"] if script == "gfm_rag" else []))
    assert rows[0] == [f"musique-dev, {'quoted'}", "EM", "F1", "R@5", "calls", "tokens"]
    assert all(row[4] == "0.0" and 0 <= float(row[2]) <= 100 for row in rows[2:])
    with model_server(reply) as server:
        monkeypatch.setenv("CLEW_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        more = ["--retrievers", "bm25"] if script == "gfm_rag" else ["--variants", "naive-ge"]
        rows = table(capsys, script, "answers", *sets, *more, "--model", "openai:tiny")
    assert asked
    assert [row[1] for row in rows if row[0] == "bm25"] == ["0.0"]


@pytest.mark.usefixtures("papers")
def test_the_retrieval_table_has_every_retriever_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    named = "gfm,bm25,hipporag,hipporag2,maxsim,linearrag,sprig,ircot:base=hipporag"
    rows = table(capsys, "gfm_rag", "retrieval", "--sets", "musique-dev,2wiki", "--retrievers", named)
    assert [row[0] for row in rows if row[0] in named.split(",")] == 2 * named.split(",")


@pytest.mark.usefixtures("papers")
def test_nodes_of_the_retrieval_table_are_those_of_weights(capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module("papers.gfm_rag")
    with pytest.raises(SystemExit) as ended:
        module.main(["retrieval", "--nodes", "50"])
    assert ended.value.code == 2
    assert "those of the graph that --weights run on: give both" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("gfm_rag", "retrieval"),
        ("gfm_rag", "answers"),
        pytest.param("gear", "main", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("papers")
def test_a_table_of_retrievers_runs_by_its_defaults(script: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(capsys, script, name)
    assert len(rows) >= 3 * 4
    if script == "gfm_rag":
        module = importlib.import_module("papers.gfm_rag")
        named = module.ANSWERED if name == "answers" else module.RETRIEVERS
        assert [row[0] for row in rows].count("dense") == 3
        assert {row[0] for row in rows} >= set(named.split(","))


ROWS = {
    "encoders": ["all-MiniLM-L6-v2-int8", "hashing"],
    "stages": [
        "human questions (without pre-training)",
        "facts (without fine-tuning)",
        "facts, then human questions",
        "path questions",
        "path questions, then human questions",
    ],
    "alpha": ["alpha 0", "alpha 1", "alpha 0.7", "alpha 0.3"],
    "transfer": [
        "without musique (zero-shot there)",
        "without musique, then musique (fine-tuned)",
        "2wiki-train alone",
        "hotpotqa alone",
        "musique alone",
        "2wiki-train and hotpotqa and musique",
    ],
    "width": ["8", "16"],
    "data": ["0.5", "1.0"],
    "scaling": ["8 of 0.5", "8 of 1.0", "16 of 0.5", "16 of 1.0"],
}


def recorded_parameters(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Return what will hold the parameters of each network that a table measures, by the label of its row.

    The last epoch of every training is taken: the figures of made data are full from the beginning, so that no epoch
    would be better than the start.
    """
    module, seen = importlib.import_module("papers.gfm_rag"), dict[str, bytes]()
    measure, fit = module.measure, module.Lab.fit

    def record(network: Any, *others: Any) -> Any:
        tensors = network.model.state_dict().values()
        seen[network.label] = b"".join(tensor.cpu().numpy().tobytes() for tensor in tensors)
        return measure(network, *others)

    def fit_to_the_end(
        self: Any, recipe: Any, training: Any, start: Any = None, validation: Any = (), device: str = "cpu"
    ) -> Any:
        del validation
        return fit(self, recipe, training, start, (), device)

    monkeypatch.setattr(module, "measure", record)
    monkeypatch.setattr(module.Lab, "fit", fit_to_the_end)
    monkeypatch.setattr(KGCompletion, "validate", lambda *_: {})  # so that the last epoch is taken
    return seen


FAST, PAPER = ("alpha", "stages"), ("stages", "transfer", "scaling")
TRAINED = [
    pytest.param(name, "paper" if name in PAPER else "ours", marks=() if name in FAST else pytest.mark.slow)
    for name in ROWS
]


@pytest.mark.parametrize(("name", "form"), TRAINED)
@pytest.mark.usefixtures("papers")
def test_a_table_of_trained_networks_has_its_rows(
    name: str, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = recorded_parameters(monkeypatch)
    printed = printed_by(capsys, "gfm_rag", name, "--form", form, "--sets", "musique-dev")
    rows = cells(printed)
    assert rows[0] == [name, "musique-dev R@2", "musique-dev R@5", "musique-dev MRR", "epoch taken", "seconds"]
    assert [row[0] for row in rows[2:]] == ROWS[name]
    assert all(0.0 <= float(cell) <= 100.0 for row in rows[2:] for cell in row[1:4])
    assert ("missed of R@5 = " in printed) == (name in ("width", "data"))
    assert ("MRR: z = " in printed) == (name == "scaling")
    assert list(parameters) == ROWS[name]
    assert len(set(parameters.values())) == len(ROWS[name]), "figures of made data are equal, trainings are not"


G_RAG_ROWS = {
    "1": ["w/o reranker", "MLP", "GCN", "G-RAG", "G-RAG-RL"],
    "2": ["w/o reranker", "G-RAG-RL"],
    "3": ["hashing:32", "hashing:64"],
    "5": ["g-rag", "gcn", "gat", "sage", "gin"],
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "2" else pytest.mark.slow) for name in G_RAG_ROWS]
)
@pytest.mark.usefixtures("papers")
def test_a_table_of_g_rag_has_its_rows(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = printed_by(capsys, "g_rag", name)
    rows = cells(printed)
    measures = ["MRR", "MH", "MTRR", "TMH"] if name == "2" else ["MRR", "MH"]
    assert rows[0] == [f"table {name}", *(f"{measure} {split}" for measure in measures for split in ("dev", "test"))]
    assert [row[0] for row in rows[2:]] == G_RAG_ROWS[name]
    assert all(0.0 <= float(cell) <= 100.0 for row in rows[2:] for cell in row[1:])
    assert ("without the row of a language model" in printed) == (name == "2")


def test_a_trained_network_has_the_figures_of_its_reranker_on_stored_graphs(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("papers.g_rag")
    candidates = importlib.import_module("clew_lab.training.recipes.candidate_pools")
    recipe = replace(published_rerank_recipe(), width=8, steps=20, loop=Recipe(epochs=1, rate=1e-2))
    given = module.parse_arguments(["1", "--limit", "4,3,4"])
    files = {split: module.pool_file(split, given) for split in module.AT_HAND}
    figures = module.measure_row(module.Row("equal", recipe), files, 0)
    for split in ("dev", "test"):
        reranker = GRagAMR(weights=papers / "work" / "g-rag" / "weights" / "equal-seed-0")
        expected = module.measure(files[split], reranker, load_settings())
        measured = {name: value for name, value in figures[split].items() if not name.startswith("seconds")}
        assert measured == {name: expected[name] for name in measured}
        assert measured["positives_rr"] > 0.0

    def refuse(*_: object) -> None:
        raise AssertionError("graphs of a pool are built twice")

    monkeypatch.setattr(candidates, "make_pool_examples", refuse)
    assert module.measure_row(module.Row("again", recipe), files, 0).keys() == {"dev", "test"}


@pytest.mark.parametrize("text", ["0", "1,2", "3,x,4", "-1", "1,2,3,4"])
@pytest.mark.usefixtures("papers")
def test_a_limit_of_g_rags_tables_is_one_number_or_three(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        importlib.import_module("papers.g_rag").main(["1", f"--limit={text}"])
    assert ended.value.code == 2
    assert f"{text!r}: wanted one number, or three by commas" in capsys.readouterr().err


@pytest.mark.usefixtures("papers")
def test_networks_without_the_limits_of_g_rag_start_at_the_cosine(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row[0]: row[1:] for row in table(capsys, "g_rag_limits")}
    cosine = rows["cosine"][::2][:3]
    for name in ("MLP, skip", "MLP, skip, order", "G-RAG, skip", "G-RAG, skip, order"):
        assert rows[name][0:6:2] == cosine
    assert rows["MLP, width 8"][0:6:2] != cosine
    assert rows["MLP, width 8"][:6] != rows["MLP"][:6]


@pytest.mark.usefixtures("papers")
def test_the_tables_of_g_rag_read_files_with_amr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = write_candidates(tmp_path / "nq.json", pool_records(layout="fid", amr=True))
    given = ("--train", str(file), "--dev", str(file), "--test", str(file))
    printed = printed_by(capsys, "g_rag", "2", *given)
    assert "AMR candidates; train nq.json dev nq.json test nq.json" in printed
    (found, *_) = [row for row in cells(printed) if row[0] == "w/o reranker"]
    positives = [[rank for rank, c in enumerate(one["ctxs"], 1) if c["has_answer"]] for one in pool_records()]
    mrr = 100 * np.mean([np.mean([1 / rank for rank in ranks]) for ranks in positives])
    assert found[1:3] == [f"{mrr:.1f}"] * 2
    statistics = cells(printed_by(capsys, "g_rag", "statistics", *given))
    nodes = [len(c["nodes"]) for one in pool_records(amr=True) for c in one["ctxs"]]
    assert statistics[2][:4] == ["train", "32", "0", f"{np.mean(nodes):.1f} ({min(nodes)}-{max(nodes)})"]
    shares = [float(cell) for cell in statistics[2][5:]]
    assert shares[2:] == [0.0] * 6  # every concept is the question, its top, or next to it
    assert sum(shares) == pytest.approx(100.0, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parts", "losses", "rankers"])
@pytest.mark.usefixtures("papers")
def test_the_other_tables_run(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = recorded_parameters(monkeypatch)
    form = "paper" if name == "rankers" else "ours"
    rows = table(capsys, "gfm_rag", name, "--form", form, "--sets", "musique-dev")
    # of the eleven parts two change nothing in a quick run: it has two layers, and ours averages weights
    assert len(rows) == 2 + {"parts": 9, "losses": 12, "rankers": 4}[name]
    # with the weight 1 the ranking losses `listwise` and `paper` count for nothing; rankers are of one network
    assert len(set(parameters.values())) == {"parts": 9, "losses": 11, "rankers": 0}[name]


@pytest.mark.usefixtures("papers")
def test_hops_of_every_retriever_are_counted_and_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    importlib.import_module("gfm_hops").main(["musique-dev", "--figure", str(tmp_path / "hops.svg")])
    lines = [line for line in capsys.readouterr().out.splitlines() if "|" in line]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    assert [(row[0], row[1], row[2]) for row in rows[2:]] == [
        (retriever, hops, "6") for retriever in ("gfm", "pagerank", "hipporag", "hipporag2") for hops in ("2", "all")
    ]
    assert all(sum(map(int, row[3:])) == 6 for row in rows[2:] if row[1] == "2")
    assert "hipporag2" in (tmp_path / "hops.svg").read_text()


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("gfm_rag", ["alpha", "--limit", "3"]),
        ("gfm_rag", ["retrieval", "--width", "8"]),
        ("gear", ["main", "--model", "openai:x"]),
        ("g_rag", ["1", "--model", "openai:x"]),
        ("g_rag", ["statistics", "--epochs", "2"]),
        ("frag", ["sample", "--model", "openai:x"]),
    ],
)
@pytest.mark.usefixtures("papers")
def test_an_option_that_a_table_does_not_read_is_refused(
    script: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        table(capsys, script, *arguments)
    assert ended.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert f"{arguments[1]} is for " in message
    assert f"the table is {arguments[0]}: leave it out" in message


def ended_with(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str) -> tuple[Any, str]:
    """Return the exit code of a script that is run as a program, and what it prints on standard error."""
    script, *arguments = command.split()
    path = str(BENCH / "papers" / f"{script}.py")
    monkeypatch.setattr(sys, "argv", [path, *arguments])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(path, run_name="__main__")
    return ended.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("gfm_rag retrieval --quick --retrievers bm25,foo", "no retriever is called 'foo'"),
        ("gfm_rag answers --quick --model foo", "the language model is 'foo'; wanted PROVIDER:NAME"),
        ("gfm_rag alpha --quick --alphas 0,3", "'0,3': wanted numbers from 0 to 1"),
        ("gfm_rag data --quick --shares 0", "'0': wanted numbers above 0, up to 1"),
        ("gfm_rag retrieval --weights /none --quick", "'/none' is no folder"),
        ("gfm_rag retrieval --limit -1", "'-1': wanted a whole number of at least 1"),
        ("gfm_rag alpha --quick --device foo", "the device is 'foo'"),
        ("gfm_rag transfer --corpora musique", "transfer wants at least two"),
        ("gear calls --limit 0", "'0': wanted a whole number of at least 1"),
        ("frag main --quick --sets pathquestion-2h --ranker foo", "'foo'"),
        ("frag main --prompts text", "give --model PROVIDER:NAME too"),
        ("g_rag 3 --quick --encoders hashing:x", "encoder 'hashing:x'"),
        ("g_rag_limits --rate nan", "'nan': wanted a number above 0"),
        ("gcn_retriever --quick --data /none", "/none: cannot be read"),
        ("gcn_retriever --quick --data made/hotpotqa/corpus.jsonl", "line 1: the keys are id, title, text"),
        ("gcn_retriever --soft-prompt 3", "--soft-prompt is of a language model, and the reader is local"),
    ],
)
def test_bad_input_ends_a_script_with_one_line_and_exit_code_2(
    command: str, said: str, papers: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, error = ended_with(capsys, monkeypatch, command.replace("made/", f"{papers}/data/"))
    assert code == 2
    (line,) = [line for line in error.splitlines() if ".py: " in line]
    assert said in line
    assert error.endswith(f"{line}\n")
    assert "Traceback" not in error
    assert "usage:" not in error


@pytest.mark.usefixtures("papers")
def test_quick_sets_only_what_is_not_given() -> None:
    def parsed(script: str, command: str) -> dict[str, Any]:
        given = importlib.import_module(f"papers.{script}").parse_arguments([*command.split(), "--quick"])
        return dict(vars(given))

    gfm = parsed("gfm_rag", "scaling --widths 4 --shares 0.25 --seeds 7 --epochs 9")
    assert (gfm["widths"], gfm["shares"], gfm["seeds"], gfm["epochs"]) == ([4], [0.25], (7,), 9)
    assert (gfm["width"], gfm["layers"]) == (8, 2)
    assert parsed("gfm_rag", "retrieval --limit 5")["limit"] == 5
    assert parsed("gear", "main --bases dense --limit 2")["bases"] == ["dense"]
    assert parsed("gear", "main")["bases"] == ["bm25"]
    frag = parsed("frag", "kg1000 --each 3 --hops 1,2")
    assert (frag["each"], frag["hops"], frag["limit"]) == (3, [1, 2], 12)
    g_rag = importlib.import_module("papers.g_rag")
    given = g_rag.parse_arguments(["3", "--quick", "--encoders", "hashing:16", "--width", "5", "--limit", "2"])
    assert (given.encoders, given.limit["dev"], given.steps) == (["hashing:16"], 2, 3)
    assert g_rag.build_recipe(given).width == 5
    assert g_rag.build_recipe(g_rag.parse_arguments(["5", "--quick"])).width == 8
    gcn = parsed("gcn_retriever", "--epochs 2 --encoder hashing:16")
    assert (gcn["epochs"], gcn["encoder"], gcn["seeds"], gcn["limit"]) == (2, "hashing:16", (0,), 24)


@pytest.mark.usefixtures("papers")
def test_statistics_of_candidates_without_a_graph_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = write_candidates(tmp_path / "plain.json", pool_records(layout="fid"))
    files = f"--train {file} --dev {file} --test {file}"
    code, error = ended_with(capsys, monkeypatch, f"g_rag statistics {files} --quick")
    assert code == 2
    assert f"{file}: " in error
    assert "not one pool has a graph: give another parser (--amr) or file" in error


def test_a_joint_law_is_found_again(papers: Path) -> None:
    del papers
    laws = importlib.import_module("papers.scaling_law")
    x, y = (values.ravel() for values in np.meshgrid([3e3, 1e4, 4.5e4], [8e4, 6.6e5, 8.1e6]))
    z = 0.24 * x**0.05 + 0.11 * y**0.03
    law = laws.fit_joint_law(x, y, z)
    np.testing.assert_allclose(law.predict(x, y), z, rtol=1e-3)
    assert law.explained > 0.999
    falling = laws.fit_joint_law(x, y, 2.0 - z)
    assert falling.a >= 0
    assert falling.b >= 0
    power = laws.fit_power_law(y, 3.0 * y**-0.4)
    assert (power.a, power.p, power.explained) == pytest.approx((3.0, -0.4, 1.0))


@pytest.mark.slow
def test_a_quick_run_makes_its_own_data(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "BENCH_ON_MADE_DATA"}
    environment["CLEW_BENCH"] = str(tmp_path / "untouched")
    command = [sys.executable, str(BENCH / "papers" / "gear.py"), "calls", "musique-dev", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "gear over bm25" in done.stdout
    assert "nothing reads it" not in done.stderr, "the mark of a run on made data is no setting of clew"
    assert not (tmp_path / "untouched").exists()
