"""From folders of data to a network that reranks: pools that are found once, weights that load, and what is refused."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import clew as library
from clew.errors import InputError, ProviderError
from clew.index import Index
from clew.index import open as open_index
from clew.indexing.report import IndexingReport
from clew.rerankers.g_rag import document_graph
from clew.rerankers.g_rag.weights import save_reranker
from clew.retrievers.registry import parse_retriever
from clew.store.writer_lock import writer_lock
from clew.training.checkpoint import exclusive_lock
from clew.training.data.corpora import CORPUS_FILE, DEVELOPMENT_FILE, TRAIN_FILE, open_corpus_index
from clew.training.hyperparameters import Recipe, TrainingResult
from clew.types import Document
from clew_lab.amr import amr_document_graph as meaning_graphs
from clew_lab.amr.reranker import load_any_reranker
from clew_lab.training.hyperparameters import RerankLoss
from clew_lab.training.recipes.rerank_recipe import Network, RerankRecipe
from clew_lab.training.recipes.reranker import find_pools, train_reranker
from tests.conftest import EXAMPLES
from tests.faults.commands import Outcome, run_clew, write_lines

POOL = 12
BASES = ("bm25", "fused")
RECIPE = RerankRecipe(width=8, pool=POOL, loss=RerankLoss(hardest=5), loop=Recipe(epochs=3, rate=0.01, average=0.5))
AMR = replace(RECIPE, kind="amr", chains=False, numbers=False, text=True, pool=5, loop=replace(RECIPE.loop, epochs=1))
BRIDGE = "In which town was the designer of the ship Fram born?"


class StoppedError(Exception):
    """Stands for a kill."""


class ProgressRecorder:
    """Progress callback that records the stages, each as often as it is reported."""

    def __init__(self, stop: str = "") -> None:
        self.stages: list[str] = []
        self._stop = stop

    def __call__(self, stage: str, done: int, total: int) -> None:
        assert stage
        assert done <= total or not total
        self.stages.append(stage)
        if self._stop and stage.startswith(self._stop):
            raise StoppedError

    @property
    def retrievers(self) -> list[str]:
        """The stages in which a retriever answers, in order."""
        return [stage for stage in dict.fromkeys(self.stages) if stage.startswith("asking")]


@pytest.fixture(autouse=True, scope="module")
def _an_encoder_that_costs_nothing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLEW_ENCODER", "hashing")
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example corpus as a folder of data: every second question to learn from."""
    folder = tmp_path_factory.mktemp("data") / "polar"
    folder.mkdir()
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in sorted((EXAMPLES / "polar").glob("*.md"))]
    records = ({"id": id_, "title": text.partition("\n")[0].lstrip("# "), "text": text} for id_, text in texts)
    write_lines(folder / CORPUS_FILE, records)
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / TRAIN_FILE).write_text("".join(lines[::2]), encoding="utf-8")
    (folder / DEVELOPMENT_FILE).write_text("".join(lines[1::2]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def first(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingResult, ProgressRecorder]:
    """A whole run."""
    folder, recorder = tmp_path_factory.mktemp("out"), ProgressRecorder()
    return folder, train_reranker([data], [data], folder, BASES, RECIPE, recorder), recorder


@pytest.fixture
def prepared(first: tuple[Path, TrainingResult, ProgressRecorder], tmp_path: Path) -> Path:
    """A folder for weights whose run has the index of the first one, and no pools."""
    (tmp_path / "out" / "run").mkdir(parents=True)
    (tmp_path / "out" / "run" / "indexes").symlink_to(first[0] / "run" / "indexes")
    return tmp_path / "out"


def open_run_index(out: Path) -> Index:
    (place,) = (out / "run" / "indexes").glob("polar-*")
    return open_index(place)


def read_pool_files(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted((out / "run" / "pools").rglob("*.npz"))}


def read_weights(out: Path) -> bytes:
    return (out / "model.safetensors").read_bytes()


def recall(index: Index, questions: Path, retriever: str, k: int) -> float:
    """Return the mean share of a question's gold among the first `k` of the passages found, counted by hand."""
    shares = []
    for line in questions.read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        found = [
            scored.item.document_id
            for scored in index.search(asked["question"], POOL, parse_retriever(retriever)).passages
        ]
        shares.append(len(set(found[:k]) & set(asked["gold"])) / len(set(asked["gold"])))
    return float(np.mean(shares))


def test_weights_come_out_that_say_what_they_are(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder]
) -> None:
    out, result, recorder = first
    trained = load_any_reranker(out)
    assert (trained.kind, trained.node_features, trained.edge_features) == (
        "index",
        document_graph.NODE_FEATURES + document_graph.CHAIN_NODE_FEATURES,
        document_graph.EDGE_FEATURES + document_graph.CHAIN_EDGE_FEATURES,
    )
    assert (trained.model.settings.width, trained.model.settings.text) == (8, 0)
    assert trained.encoder == open_run_index(out).context.encoder.fingerprint
    assert trained.about["data"] == trained.about["validation"] == ["polar"]
    assert trained.about["bases"] == list(BASES)
    assert trained.about["pool"] == POOL
    assert str(data.parent) not in (out / "config.json").read_text(encoding="utf-8")
    assert result.parameters == sum(array.size for array in trained.model.arrays.values())
    assert result.questions == trained.about["pools"] == 2 * 30
    assert recorder.retrievers == ["asking bm25", "asking fused"]
    assert len(read_pool_files(out)) == 4
    names = [f"polar {base} {m}" for base in BASES for m in ("recall@2", "recall@5", "all_gold@5")]
    assert list(result.initial_figures) == list(result.figures) == ["mean", *names]
    assert result.initial_figures["mean"] == pytest.approx(np.mean([result.initial_figures[name] for name in names]))


def test_figures_are_those_of_searches(data: Path, first: tuple[Path, TrainingResult, ProgressRecorder]) -> None:
    out, result, _ = first
    index = open_run_index(out)
    for base in BASES:
        for k in (2, 5):
            found = recall(index, data / DEVELOPMENT_FILE, base, k)
            assert result.initial_figures[f"polar {base} recall@{k}"] == pytest.approx(found, abs=1e-9)
        after = recall(index, data / DEVELOPMENT_FILE, f"{base}:rerank=g-rag-amr:{out},rerank_depth={POOL}", 5)
        # Half precision of what is kept may exchange passages of nearly one score.
        assert result.figures[f"polar {base} recall@5"] == pytest.approx(after, abs=0.05)


def test_training_finds_more_than_the_base(first: tuple[Path, TrainingResult, ProgressRecorder]) -> None:
    _, result, _ = first
    assert result.best_epoch >= 0
    assert result.figures["mean"] > np.mean(list(result.initial_figures.values())) + 0.02


def test_the_same_again_asks_nobody_trains_nothing_and_writes_the_same(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder]
) -> None:
    out, result, _ = first
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    before, recorder = read_pool_files(out), ProgressRecorder()
    again = train_reranker([data], [data], out, BASES, RECIPE, recorder)
    assert (recorder.retrievers, [stage for stage in recorder.stages if stage.startswith("epoch")]) == ([], [])
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == files
    assert read_pool_files(out) == before
    assert (again.initial_figures, again.figures) == (result.initial_figures, result.figures)


@pytest.mark.slow
def test_a_retriever_for_one_folder_of_data_alone(data: Path, prepared: Path, tmp_path: Path) -> None:
    recorder = ProgressRecorder()
    result = train_reranker([data], [data], prepared, ("bm25",), RECIPE, recorder, None, {data: ["pagerank"]})
    assert result.questions == 2 * 30
    assert {name.rpartition(" ")[0] for name in result.initial_figures} == {"", "polar bm25"}
    assert load_any_reranker(prepared).about["bases"] == ["bm25", "pagerank"]
    states = set((prepared / "run").glob("state-*"))
    train_reranker([data], [data], prepared, ("bm25",), RECIPE, recorder)
    assert set((prepared / "run").glob("state-*")) > states  # without it, it is another run
    for also, message in (({tmp_path: ["pagerank"]}, "no folder of data"), ({data: ["nothing"]}, "'nothing'")):
        with pytest.raises(InputError, match=message):
            train_reranker([data], [data], tmp_path / "refused", ("bm25",), RECIPE, recorder, None, also)
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize("network", get_args(Network))
def test_other_networks_learn_from_the_pools_that_are_there(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder], tmp_path: Path, network: Network
) -> None:
    (tmp_path / "run").symlink_to(first[0] / "run")
    recorder = ProgressRecorder()
    recipe = replace(RECIPE, network=network, edges=("common nodes", "link to"), loop=replace(RECIPE.loop, epochs=1))
    train_reranker([data], [], tmp_path, BASES[:1], recipe, recorder)
    assert recorder.retrievers == []
    trained = load_any_reranker(tmp_path)
    assert (trained.model.settings.network, trained.edge_features) == (network, ("common nodes", "link to"))
    assert (
        len(open_run_index(first[0]).search(BRIDGE, 3, parse_retriever(f"bm25:rerank=g-rag-amr:{tmp_path}")).passages)
        == 3
    )


def test_a_network_that_reads_no_chains(data: Path, prepared: Path) -> None:
    recipe = replace(RECIPE, chains=False, loop=replace(RECIPE.loop, epochs=1))
    train_reranker([data], [], prepared, BASES[:1], recipe, ProgressRecorder())
    trained = load_any_reranker(prepared)
    assert (trained.node_features, trained.edge_features) == (
        document_graph.NODE_FEATURES,
        document_graph.EDGE_FEATURES,
    )
    assert trained.model.settings.numbers == len(trained.node_features)
    ranked = open_run_index(prepared).search(BRIDGE, 3, parse_retriever(f"bm25:rerank=g-rag-amr:{prepared}"))
    assert len(ranked.passages) == 3


def test_other_questions_pools_and_graphs_are_asked_for_anew_and_the_rest_is_kept(
    data: Path, prepared: Path, tmp_path: Path
) -> None:
    lines = (data / TRAIN_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    files = [tmp_path / name for name in ("few.jsonl", "fewer.jsonl")]
    for file, count in zip(files, (6, 5), strict=True):
        file.write_text("".join(lines[:count]), encoding="utf-8")
    parts, keep = open_corpus_index(data, prepared / "run", ProgressRecorder()), tmp_path / "keep"
    keep.mkdir()

    def asked(file: Path, base: str = "bm25", **changed: Any) -> bool:
        recorder = ProgressRecorder()
        find_pools(parts, file, base, replace(RECIPE, **changed), keep, recorder)
        return bool(recorder.retrievers)

    first_time: list[tuple[Path, str, dict[str, Any]]] = [
        (files[0], "bm25", {}),
        (files[1], "bm25", {}),
        (files[0], "fused", {}),
        (files[0], "bm25", {"pool": 4}),
        (files[0], "bm25", {"text": True}),
        (files[0], "bm25", {"kind": "amr", "numbers": False, "text": True, "chains": False}),
    ]
    assert [asked(file, base, **changed) for file, base, changed in first_time] == [True] * 6
    assert [asked(file, base, **changed) for file, base, changed in first_time] == [False] * 6
    assert len(list(keep.iterdir())) == 6
    untouched: dict[str, Any] = {
        "network": "gat",
        "width": 16,
        "loss": RerankLoss("pairwise"),
        "edges": ("link to",),
        "layers": 1,
    }
    assert not asked(files[0], **untouched)


def test_other_weights_of_one_name_have_pools_of_their_own(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder], tmp_path: Path
) -> None:
    parts, place = open_run_index(first[0]).context, tmp_path / "weights"
    trained = load_any_reranker(first[0])
    for count in (1, 2):
        save_reranker(place, trained)
        find_pools(
            parts, data / DEVELOPMENT_FILE, f"bm25:rerank=g-rag-amr:{place}", RECIPE, tmp_path, ProgressRecorder()
        )
        assert len(list(tmp_path.glob("*.npz"))) == count
        trained.model.arrays["number_score.weight"][:] = count


def test_another_parser_has_pools_of_its_own(data: Path, prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("penman")
    graphs = tmp_path / "graphs.amr"
    graphs.write_text("# ::question other\n# ::passage none\n(w / win-01)\n", encoding="utf-8")
    parts, file = open_corpus_index(data, prepared / "run", ProgressRecorder()), tmp_path / "few.jsonl"
    file.write_text((data / TRAIN_FILE).read_text(encoding="utf-8").partition("\n")[0] + "\n", encoding="utf-8")
    local = find_pools(parts, file, "bm25", AMR, tmp_path, ProgressRecorder())
    recorder = ProgressRecorder()
    assert local[0].graph.edge_features.any()
    with pytest.raises(InputError, match=r"5 of 5 passages have no AMR graph.*not one pool is connected"):
        find_pools(parts, file, "bm25", replace(AMR, parser=f"file:{graphs}"), tmp_path, recorder)
    assert recorder.retrievers == ["asking bm25"]
    assert len(list(tmp_path.glob("*.npz"))) == 1


def test_pools_that_were_damaged_are_found_again(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder]
) -> None:
    out, _, _ = first
    kept, before = read_pool_files(out), read_weights(out)
    damaged = next(iter(kept))
    damaged.write_bytes(kept[damaged][:100])
    recorder = ProgressRecorder()
    train_reranker([data], [data], out, BASES, RECIPE, recorder)
    assert len(recorder.retrievers) == 1
    assert read_pool_files(out) == kept
    assert read_weights(out) == before


@pytest.mark.parametrize("stage", ["asking fused", "epoch 2 "])
def test_a_run_that_was_killed_leaves_no_weights_and_goes_on_to_the_same(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder], prepared: Path, stage: str
) -> None:
    with pytest.raises(StoppedError):
        train_reranker([data], [data], prepared, BASES, RECIPE, ProgressRecorder(stage))
    assert [path.name for path in prepared.iterdir()] == ["run"]
    recorder = ProgressRecorder()
    train_reranker([data], [data], prepared, BASES, RECIPE, recorder)
    assert "asking bm25" not in recorder.retrievers or stage != "epoch 2 "
    assert read_weights(prepared) == read_weights(first[0])


def test_graphs_of_meaning_by_the_local_parser(data: Path, prepared: Path) -> None:
    result = train_reranker([data], [data], prepared, ["bm25"], AMR, ProgressRecorder())
    trained = load_any_reranker(prepared)
    assert (trained.kind, trained.node_features, trained.edge_features) == ("amr", (), meaning_graphs.EDGE_FEATURES)
    assert trained.model.settings.text == 256
    assert trained.about["parser"] == "local"
    assert "mean" in result.figures
    evidence = open_run_index(prepared).search(
        BRIDGE, 5, parse_retriever(f"bm25:rerank=g-rag-amr:{prepared},rerank_depth=5")
    )
    plain = open_run_index(prepared).search(BRIDGE, 5, "bm25")
    assert sorted(s.item.id for s in evidence.passages) == sorted(s.item.id for s in plain.passages)


def test_weights_of_another_encoder_are_refused_where_vectors_are_read(
    data: Path, prepared: Path, first: tuple[Path, TrainingResult, ProgressRecorder]
) -> None:
    recipe = replace(RECIPE, text=True, loop=replace(RECIPE.loop, epochs=1))
    train_reranker([data], [], prepared, ["bm25"], recipe, ProgressRecorder())
    config = json.loads((prepared / "config.json").read_text(encoding="utf-8"))
    assert open_run_index(prepared).search(BRIDGE, 3, parse_retriever(f"bm25:rerank=g-rag-amr:{prepared}")).passages
    config["encoder"]["fingerprint"] = "another"
    del config["checksum"]
    (prepared / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(InputError, match="encoder hashing, and the network reads another's vectors"):
        open_run_index(prepared).search(BRIDGE, 3, parse_retriever(f"bm25:rerank=g-rag-amr:{prepared}"))


def test_by_the_command_line(data: Path, prepared: Path) -> None:
    options = ("--base", "bm25", "--rerank-depth", "8", "--width", "8", "--epochs", "1", "--validate", data)
    done = run_clew("train", "reranker", "--data", data, "--out", prepared, *options)
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[0].startswith("mean: ")
    assert lines[1].startswith("polar bm25 recall@2: ")
    assert lines[1].endswith("before reranking")
    assert lines[-1].endswith(f"use them by --rerank g-rag:{prepared}")
    worse = "they find less than the rankings as they were found"
    figures = [float(number) for number in re.findall(r"[0-9.]+", lines[0])]
    assert len(figures) == 2
    assert len(lines) == 6 + (figures[0] < figures[1])
    assert lines[-2].startswith(worse) == (figures[0] < figures[1])
    (place,) = (prepared / "run" / "indexes").glob("polar-*")
    found = run_clew(
        "search", BRIDGE, "--index", place, "--retriever", "bm25", "--rerank", f"g-rag:{prepared}", "--json"
    )
    assert found.code == 0, found
    assert json.loads(found.out)["passages"]


def check_refused(done: Outcome, out: Path) -> str:
    """Return the one line that a command was refused with; it wrote no weights."""
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert not out.exists() or not [path for path in out.iterdir() if path.name != "run"]
    return done.err


def test_several_trainings_share_an_index_at_the_same_time(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder], prepared: Path
) -> None:
    with writer_lock(open_run_index(first[0]).table.location):  # as another training does that makes an index there
        train_reranker([data], [data], prepared, BASES, RECIPE, ProgressRecorder())
    assert read_weights(prepared) == read_weights(first[0])


def fail_as_killed(*_: object) -> IndexingReport:
    raise StoppedError


def test_an_index_that_is_not_whole_is_finished_and_not_learned_from(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexes = tmp_path / "run" / "indexes"
    begun = indexes / open_run_index(first[0]).table.location.derived.parent.name
    library.create(begun)
    library.open(begun).add([Document("fram", "Fram", "Fram is a ship.")])  # as a kill leaves it
    train_reranker([data], [data], tmp_path, BASES, RECIPE, ProgressRecorder())
    assert read_weights(tmp_path) != b""
    assert (
        len(open_run_index(tmp_path).snapshot.document_ids) == len(open_run_index(first[0]).snapshot.document_ids) + 1
    )
    shutil.rmtree(begun)  # and its mark stays
    with monkeypatch.context() as patch:
        patch.setattr(Index, "add", fail_as_killed)
        with pytest.raises(StoppedError):
            train_reranker([data], [data], tmp_path, BASES, RECIPE, ProgressRecorder())
    train_reranker([data], [data], tmp_path, BASES, RECIPE, ProgressRecorder())
    assert set(open_run_index(tmp_path).snapshot.document_ids) == set(open_run_index(first[0]).snapshot.document_ids)


def test_what_stopped_half_way_is_not_learned_from(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Index, "add", lambda *_: IndexingReport(stop_error=ProviderError("the budget is spent")))
    for _ in range(2):
        with pytest.raises(ProviderError, match="the budget is spent"):
            train_reranker([data], [data], tmp_path, BASES, RECIPE, ProgressRecorder())


def test_one_run_is_of_one_process_at_a_time(data: Path, first: tuple[Path, TrainingResult, ProgressRecorder]) -> None:
    states = sorted((first[0] / "run").glob("state-*"))
    with ExitStack() as held:
        for state in states:
            held.enter_context(exclusive_lock(state))
        with pytest.raises(InputError, match="is being trained by another process: wait"):
            train_reranker([data], [data], first[0], BASES, RECIPE, ProgressRecorder())


def test_few_steps_warm_up_and_are_averaged_over_fewer(
    data: Path, first: tuple[Path, TrainingResult, ProgressRecorder], prepared: Path
) -> None:
    short = replace(RECIPE, loop=Recipe(epochs=6, rate=0.01))
    train_reranker([data], [data], prepared, BASES, short, ProgressRecorder())
    loop = load_any_reranker(prepared).about["loop"]
    assert loop["average"] == pytest.approx(1 - 5 / (6 * 8))  # 8 batches of 60 pools
    assert load_any_reranker(first[0]).about["loop"]["average"] == RECIPE.loop.average


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--data", "{data}"), "hold one twice: give each once"),
        (("--edges", "link to,link to"), "give each once"),
        (("--base", "bm26"), "no retriever is called 'bm26'"),
        (("--base", "bm25:speed=2"), "speed"),
        (("--base", "bm25,bm25"), "each once"),
        (("--network", "transformer"), "'transformer' is not one of 'relational'"),
        (("--network", "gat", "--width", "12"), "multiple of 8"),
        (("--rerank-depth", "1"), "--rerank-depth is '1'; wanted a number of at least 2"),
        (("--temperature", "0"), "above 0"),
        (("--graph", "amr", "--no-text"), "amr graphs have no numbers"),
        (("--no-numbers",), "neither numbers nor vectors of passages are read"),
        (("--edges", "common nodes,wings"), "--edges names 'wings'; wanted features of edges of common nodes, common"),
        (("--dropout", "1"), "dropout is 1.0: wanted at least 0 and below 1"),
        (("--graph", "amr", "--amr", "nobody"), "no AMR parser is called 'nobody'"),
        (("--amr", "local"), "--graph index reads no AMR"),
        (("--graph", "amr", "--chains"), "amr graphs have no chains of sentences: leave --chains out"),
        (("--loss", "pairwise", "--temperature", "3"), "--temperature is for --loss set, and the loss is pairwise"),
        (("--preset", "paper", "--temperature", "3"), "and the loss is pairwise: leave it out"),
        (("--grid", "--width", "8"), "--grid trains its own rates, widths and dropout: leave --width out"),
        (("--grid", "--rate", "1e-3"), "leave --rate out, or --grid"),
        (("--grid", "--dropout", "0.1"), "leave --dropout out, or --grid"),
        (("--network", "mlp", "--whole"), "--whole is for --graph amr, and the graph is index: leave it out"),
        (("--no-words",), "--no-words is for --graph amr, and the graph is index: leave it out"),
        (("--network", "mlp", "--edges", "link to"), "--edges is for --network relational, g-rag, gcn"),
        (("--network", "sage", "--edge-rule", "relu"), "--edge-rule is for --network g-rag, and the network is sage"),
        (("--network", "sage", "--messages", "divided"), "--messages is for --network g-rag, and the network is sage"),
        (("--normalization", "root"), "or gin, and the network is relational: leave it out"),
        (("--network", "sage", "--normalization", "root", "--no-edge-weights"), "which --no-edge-weights leaves out"),
        (
            ("--preset", "paper", "--no-edge-weights"),
            "--no-edge-weights is for --network gcn, gat, sage or gin, and the network is g-rag: leave it out",
        ),
    ],
    ids=str,
)
def test_what_trains_nothing_is_refused_in_one_line(
    data: Path, prepared: Path, options: Sequence[str], message: str
) -> None:
    options = [option.format(data=data) for option in options]
    assert message in check_refused(
        run_clew("train", "reranker", "--data", data, "--out", prepared, *options), prepared
    )
    assert read_pool_files(prepared) == {}  # nobody was asked for what cannot be trained


def test_folders_that_lack_something(data: Path, tmp_path: Path) -> None:
    empty, out, file = tmp_path / "empty", tmp_path / "out", tmp_path / "file"
    empty.mkdir()
    file.write_text("", encoding="utf-8")
    assert CORPUS_FILE in check_refused(run_clew("train", "reranker", "--data", empty, "--out", out), out)
    (empty / CORPUS_FILE).write_bytes((data / CORPUS_FILE).read_bytes())
    assert TRAIN_FILE in check_refused(run_clew("train", "reranker", "--data", empty, "--out", out), out)
    done = run_clew("train", "reranker", "--data", data, "--validate", empty, "--out", out)
    assert DEVELOPMENT_FILE in check_refused(done, out)
    assert not out.exists()
    done = run_clew("train", "reranker", "--data", data, "--out", file)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is a file" in done.err
    for where in (("--out", file / "x"), ("--run", file, "--out", out)):
        assert "name a folder" in check_refused(run_clew("train", "reranker", "--data", data, *where), out)
    with pytest.raises(InputError, match="no folder of data"):
        train_reranker([], [], out, BASES, RECIPE, ProgressRecorder())
    assert not out.exists()


@pytest.mark.parametrize(
    ("documents", "gold", "message"),
    [
        ([], ["a"], "corpus.jsonl: empty"),
        ([{"id": "a", "title": "Oslo", "text": "Oslo."}], [], "no question with gold for which bm25 finds a passage"),
        ([{"id": "a", "title": "Oslo", "text": "Oslo."}], ["a"], "no question has both evidence and other passages"),
        (
            [{"id": "a", "title": "Oslo", "text": "Oslo."}],
            ["a", "b"],
            "the gold 'b' of question 'q' is not in the corpus",
        ),
    ],
)
def test_questions_that_teach_nothing(
    tmp_path: Path, documents: list[dict[str, object]], gold: list[str], message: str
) -> None:
    write_lines(tmp_path / CORPUS_FILE, documents)
    write_lines(tmp_path / TRAIN_FILE, [{"id": "q", "question": "Where is Oslo?", "answers": ["x"], "gold": gold}])
    out = tmp_path / "out"
    assert message in check_refused(
        run_clew("train", "reranker", "--data", tmp_path, "--out", out, "--base", "bm25"), out
    )
