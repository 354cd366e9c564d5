"""Files of DPR, of FiD and with AMR go through `train reranker` and `candidates`."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.rerankers.g_rag.reranker import UNRANKED_NOTE
from clew_lab.amr.reranker import load_any_reranker
from clew_lab.training.recipes import reranker_grid
from lab.tests.datasets.candidate_files import QUESTIONS, pool_records, write_candidates
from tests.faults.commands import Outcome, run_clew
from tests.small_index import DOCUMENTS, make_index

SMALL = ("--width", "8", "--epochs", "2", "--encoder", "hashing", "--seed", "1")
AMR = ("--graph", "amr", "--amr", "candidates", "--whole", "--network", "g-rag", "--no-projection")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLEW_ENCODER", raising=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each layout."""
    folder = tmp_path_factory.mktemp("candidates")
    return {
        "dpr": write_candidates(folder / "dpr.json", pool_records()),
        "fid": write_candidates(folder / "fid.jsonl", pool_records(layout="fid")),
        "amr": write_candidates(folder / "amr.json", pool_records(layout="fid", amr=True)),
    }


def train(file: Path, out: Path, *given: str) -> Outcome:
    small = SMALL[2:] if "--grid" in given else SMALL  # a grid has widths of its own
    return run_clew("train", "reranker", "--candidates", file, "--validate", file, "--out", out, *small, *given)


@pytest.fixture(scope="module")
def weights(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Weights that each layout was learned from."""
    folder = tmp_path_factory.mktemp("weights")
    for layout, file in files.items():
        done = train(file, folder / layout, *(AMR if layout == "amr" else ()))
        assert done.code == 0, done
        assert f"{file.name} recall@5" in done.out
    return {layout: folder / layout for layout in files}


@pytest.mark.parametrize("layout", ["dpr", "fid", "amr"])
def test_a_file_of_each_layout_goes_through_training_eval_and_search(
    files: dict[str, Path], weights: dict[str, Path], tmp_path: Path, layout: str
) -> None:
    trained = load_any_reranker(weights[layout])
    assert trained.kind == ("amr" if layout == "amr" else "index")
    assert trained.about["pools"] == len(QUESTIONS)
    assert trained.about["bases"] == []
    name = f"g-rag-amr:{weights[layout]}"
    given = ("--rerank", name, "--encoder", "hashing")
    figures = tmp_path / "figures.json"
    done = run_clew("candidates", "eval", files[layout], *given, "--positives", "--out", figures)
    assert done.code == 0, done
    report = json.loads(figures.read_text(encoding="utf-8"))
    found, reranked = report["retrievers"]
    assert (found, reranked) == ("candidates", f"candidates:rerank={name}")
    positives = [
        [rank for rank, context in enumerate(record["ctxs"], 1) if context["has_answer"]] for record in pool_records()
    ]
    wanted = sum(sum(1 / rank for rank in ranks) / len(ranks) for ranks in positives) / len(positives)
    assert report["retrievers"][found]["positives_rr"] == pytest.approx(wanted)  # counted by hand from the file
    done = run_clew("candidates", "search", files[layout], QUESTIONS[1][0], *given, "--json", "-k", "20")
    assert done.code == 0, done
    evidence = json.loads(done.out)
    assert evidence["retriever"] == reranked
    assert sorted(one["id"] for one in evidence["passages"]) == sorted(c["id"] for c in pool_records()[1]["ctxs"])
    assert [one["id"] for one in evidence["passages"]] != [c["id"] for c in pool_records()[1]["ctxs"]]
    assert not any(one["metadata"] for one in evidence["passages"])


def test_graphs_of_the_file_join_its_passages(weights: dict[str, Path], files: dict[str, Path]) -> None:
    search = ("candidates", "search", files["dpr"], QUESTIONS[0][0])
    given = ("--rerank", f"g-rag-amr:{weights['amr']}", "--encoder", "hashing")
    done = run_clew(*search, *given)  # of another file, without graphs
    assert done.code == 0, done
    assert "8 of 8 passages have no AMR graph" in done.out + done.err
    assert "brings no 'nodes' and 'edges'" in done.out + done.err
    assert UNRANKED_NOTE in " ".join((done.out + done.err).split())
    assert "reranked the first" not in done.out + done.err
    ids = [
        [passage["id"] for passage in json.loads(run_clew(*search, *some, "--json").out)["passages"]]
        for some in ((), given)
    ]
    assert ids[0] == ids[1]  # it ranked passages without edges
    with_graphs = run_clew("candidates", "search", files["amr"], QUESTIONS[0][0], *given)
    assert "no AMR graph" not in with_graphs.out + with_graphs.err


@pytest.mark.parametrize("layout", ["dpr", "amr"])
def test_a_place_in_a_reranked_pool_is_explained_by_its_edges(
    files: dict[str, Path], weights: dict[str, Path], layout: str
) -> None:
    given = ("--rerank", f"g-rag-amr:{weights[layout]}", "--encoder", "hashing", "--json")
    question = QUESTIONS[1][0]
    ranked = json.loads(run_clew("candidates", "search", files[layout], question, *given, "-k", "20").out)["passages"]
    found = [context["id"] for context in pool_records()[1]["ctxs"]]
    explain = ("candidates", "explain", question, "--file", files[layout])
    done = run_clew(*explain, *given, "--count", "3")
    assert done.code == 0, done
    told = json.loads(done.out)
    assert (told["rank"], told["rank_before"]) == (1, found.index(ranked[0]["id"].partition("#")[0]) + 1)
    assert told["passage"].partition("#")[0] == ranked[0]["id"]
    assert 0 < len(told["edges"]) <= 3
    assert all(edge["between"][0] != edge["between"][1] for edge in told["edges"])
    assert any(edge["parts"] for edge in told["edges"])
    last = json.loads(run_clew(*explain, *given, "--target", ranked[-1]["id"]).out)
    assert last["rank"] == len(ranked)


def test_training_on_files_without_graphs_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    done = train(files["dpr"], tmp_path / "out", *AMR)
    assert (done.code, done.out) == (2, "")
    assert "not one pool is connected" in done.err
    assert not (tmp_path / "out" / "config.json").exists()


def test_an_edge_outside_a_graph_costs_its_passage_alone(tmp_path: Path) -> None:
    records = pool_records(layout="fid", amr=True)
    records[0]["ctxs"][0]["edges"].append([0, "ARG1", 4000])
    file = write_candidates(tmp_path / "odd.json", records)
    done = train(file, tmp_path / "out", *AMR)
    assert done.code == 0, done
    assert "note: 1 of 8 pools lack graphs" in done.err
    assert "wanted [position, relation, position]" in done.err


def test_the_order_of_the_file_needs_no_index_and_no_encoder(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew_lab.evaluation.candidates.create", None)
    done = run_clew("candidates", "search", files["dpr"], QUESTIONS[0][0], "--json", "-k", "3")
    assert done.code == 0, done
    evidence = json.loads(done.out)
    assert [one["id"] for one in evidence["passages"]] == [c["id"] for c in pool_records()[0]["ctxs"][:3]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("candidates", "eval", "FILE", "--depth", "3"), "--depth is given, and no --rerank"),
        (("candidates", "eval", "FILE", "--rerank", "g-rat"), "no reranker is called 'g-rat'"),
        (("candidates", "eval", "MISSING"), "cannot be read"),
        (("candidates", "search", "FILE", "Where was Vega built?"), "did you mean 'Where was the Vega built?'?"),
        (
            ("candidates", "explain", QUESTIONS[0][0], "--file", "FILE", "--rerank", "none"),
            "'none', which has no edges",
        ),
        (("candidates", "explain", "Where?"), "there is neither --file nor --index"),
        (("train", "reranker", "--out", "OUT"), "there is no folder of data to learn from"),
        (("train", "reranker", "--out", "OUT", "--candidates", "MISSING"), "there is no file of candidates"),
        (("train", "reranker", "--out", "OUT", "--candidates", "FILE", "--base", "bm25"), "--base finds the pools"),
        (("train", "reranker", "--out", "OUT", "--candidates", "FILE", "--candidates", "FILE"), "hold one twice"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    files: dict[str, Path], tmp_path: Path, given: tuple[str, ...], message: str
) -> None:
    places: dict[str, Any] = {"FILE": files["dpr"], "MISSING": tmp_path / "missing.json", "OUT": tmp_path / "out"}
    done = run_clew(*(places.get(part, part) for part in given))
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_shared_run_is_never_taken_with_another_encoder(files: dict[str, Path], tmp_path: Path) -> None:
    """Of folders and of files: pools and indexes below --run are those of the encoder that was asked for."""
    run, prints = tmp_path / "run", []
    for number, encoder in enumerate(("hashing:32", "hashing:64", "hashing:32")):
        out = tmp_path / f"out{number}"
        for kind in (AMR, ("--text",)):
            done = train(files["amr"], out, *kind, "--run", str(run), "--encoder", encoder)
            assert done.code == 0, done
            trained = load_any_reranker(out)
            prints.append((trained.encoder, trained.model.settings.text))
    assert [width for _, width in prints] == [32, 32, 64, 64, 32, 32]
    assert prints[:2] == prints[4:]
    assert prints[0][0] != prints[2][0]
    assert len(list((run / "pools" / "candidates").glob("*.npz"))) == 4


def test_a_grid_keeps_the_best_network_and_goes_on_after_a_stop(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranker_grid, "RATES", (0.01, 0.02))
    monkeypatch.setattr(reranker_grid, "WIDTHS", (4, 8))
    monkeypatch.setattr(reranker_grid, "DROPOUTS", (0.1,))
    out = tmp_path / "out"
    done = train(files["amr"], out, *AMR, "--choose-by", "mrr", "--grid")
    assert done.code == 0, done
    rows = {line.partition(": ")[0]: line.partition(": ")[2] for line in done.out.splitlines() if ": " in line}
    points = {
        f"rate {rate}, width {width}, dropout 0.1": load_any_reranker(
            out / "run" / "grid" / f"rate-{rate}-width-{width}-dropout-0.1"
        )
        for rate in ("0.01", "0.02")
        for width in (4, 8)
    }
    figures = {name: trained.about["figures"]["mean"] for name, trained in points.items()}
    assert {name: rows[name] for name in points} == {name: f"{figure:.3f}" for name, figure in figures.items()}
    best = max(figures, key=lambda name: figures[name])
    assert rows["best"] == best
    assert load_any_reranker(out).fingerprint == points[best].fingerprint
    epochs = []
    monkeypatch.setattr("clew.training.loop._EpochRunner.run_epoch", lambda *given: epochs.append(given))
    again = train(files["amr"], out, *AMR, "--choose-by", "mrr", "--grid")
    assert (again.code, epochs) == (0, [])
    assert load_any_reranker(out).fingerprint == points[best].fingerprint
    refused = run_clew("train", "reranker", "--candidates", files["dpr"], "--out", tmp_path / "no", "--grid")
    assert (refused.code, refused.out) == (2, "")
    assert "give --validate, too" in refused.err


def test_eval_counts_the_notes_of_a_reranker(weights: dict[str, Path], files: dict[str, Path], tmp_path: Path) -> None:
    """Nothing told that no passage had a graph, and the network ranked by texts alone."""
    given = ("--rerank", f"g-rag-amr:{weights['amr']}", "--encoder", "hashing")
    done = run_clew("candidates", "eval", files["dpr"], *given, "--positives", "--out", tmp_path / "figures.json")
    assert done.code == 0, done
    count = len(QUESTIONS)
    assert f"{count} of {count} questions: 8 of 8 passages have no AMR graph: the passage " in done.err
    assert f"{count} of {count} questions: {UNRANKED_NOTE}" in done.err
    found, reranked = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["retrievers"].values()
    measures = [name for name in found if "@" in name or name.endswith("_rr")]
    assert {name: found[name] for name in measures} == {name: reranked[name] for name in measures} != {}
    assert "reranked the first" not in done.err


def test_explain_tells_that_passages_have_no_graph(weights: dict[str, Path], tmp_path: Path) -> None:
    make_index(tmp_path / "index", DOCUMENTS)
    reranker = f"g-rag-amr:{weights['amr']}"
    given = (QUESTIONS[0][0], "--index", tmp_path / "index", "--retriever", "bm25", "--rerank", reranker)
    text, figures = (run_clew("candidates", "explain", *given, *more) for more in ((), ("--json",)))
    assert (text.code, figures.code) == (0, 0), (text, figures)
    note, kept = json.loads(figures.out)["notes"]
    assert "passages have no AMR graph" in note
    assert kept == UNRANKED_NOTE
    assert f"note: {note}" in text.out


def test_candidates_without_a_positive_are_refused_in_their_own_words(tmp_path: Path) -> None:
    record = {"question": "Who?", "answers": ["nobody"], "ctxs": [{"title": "t", "text": "x"}]}
    file = write_candidates(tmp_path / "none.json", [record])
    done = run_clew("candidates", "eval", file)
    assert (done.code, done.out) == (2, "")
    assert f"{file}: not one of 1 pool has a positive passage: mark them with has_answer" in done.err


def test_an_empty_pool_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "empty.json"
    file.write_text(json.dumps([{"question": "Who?", "answers": ["Bo"], "ctxs": []}]), encoding="utf-8")
    done = run_clew("candidates", "search", file, "Who?")
    assert done.code == 0, done
    assert "the pool of the question is empty" in done.out + done.err
