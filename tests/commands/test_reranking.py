"""`--rerank` of search, ask and eval: by a server on this machine, and by a tiny cross-encoder."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clew.commands.opening import retriever_names
from clew.commands.options import RetrieverOptions
from clew.errors import InputError
from clew.index import Index
from tests.commands.refusals import check_refused
from tests.faults.commands import run_clew
from tests.faults.model_server import Request, ServerReply, model_server
from tests.models.test_text_scorers import write_cross_encoder
from tests.small_index import DOCUMENTS, make_index

QUESTION = "Where was the commander of the Vega born?"
TITLES = {document.id: document.title for document in DOCUMENTS}
SCORES = {"Karlskrona": 90, "Louis Palander": 90, "Vega (star)": 5}


def score_by_title(request: Request, _: int) -> ServerReply:
    """Score by the title, 20 for most."""
    content = str(request["messages"][-1]["content"])
    title = content.partition("<title>\n")[2].partition("\n")[0]
    return ServerReply(json.dumps({"score": SCORES.get(title, 20)}))


def search_json(*arguments: str | Path) -> Any:
    done = run_clew("search", QUESTION, "--json", *arguments)
    assert done.code == 0, done
    return json.loads(done.out)


def ids_of(evidence: Any) -> list[str]:
    return [passage["id"] for passage in evidence["passages"]]


def test_a_model_reranks_what_any_retriever_finds(plain_folder: Path) -> None:
    given = (
        "--index",
        plain_folder,
        "--retriever",
        "fused:rerank_depth=6",
        "--rerank",
        "llm:openai:test",
        "--no-cache",
    )
    before = ids_of(search_json("--index", plain_folder, "--retriever", "fused", "-k", "8"))
    pool = sorted(before[:6], key=lambda id_: -SCORES.get(TITLES[id_], 20))
    assert pool != before[:6]
    with model_server(score_by_title) as server:
        after = search_json(*given, "--base-url", server.url, "-k", "8")
        few = search_json(*given, "--base-url", server.url, "-k", "2")
    assert ids_of(after) == pool + before[6:]
    assert few["passages"] == after["passages"][:2]
    assert after["retriever"] == "fused:rerank_depth=6,rerank=llm:openai:test"
    assert (after["usage"]["calls"], len(server.requests)) == (6, 12)
    assert "llm:openai:test reranked the first 6 passages" in after["notes"]


def test_kept_replies_cost_nothing(plain_folder: Path, tmp_path: Path) -> None:
    place = shutil.copytree(plain_folder, tmp_path / "index")
    with model_server(score_by_title) as server:
        given = ("--index", place, "--retriever", "bm25", "--rerank", "llm:openai:test", "--base-url", server.url)
        first, again = search_json(*given), search_json(*given)
    assert first["usage"]["calls"] == len(server.requests) > 0
    assert again["usage"]["calls"] == 0
    assert again["passages"] == first["passages"]


def test_the_end_of_the_budget_is_told(plain_folder: Path) -> None:
    given = ("--retriever", "bm25", "--rerank", "llm:openai:test", "--no-cache", "--max-tokens", "10")
    with model_server(score_by_title) as server:
        after = search_json("--index", plain_folder, *given, "--base-url", server.url)
    assert ids_of(after) == ids_of(search_json("--index", plain_folder, "--retriever", "bm25"))
    assert any("have no score and keep their places: the budget of 10 tokens" in note for note in after["notes"])
    assert not server.requests


def test_eval_names_the_reranked_side_by_side(plain_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(
        json.dumps({"id": "1", "question": QUESTION, "gold": ["palander", "vega"]}) + "\n", encoding="utf-8"
    )
    names = "bm25,bm25:rerank=none,fused"
    with model_server(score_by_title) as server:
        given = ("--rerank", "llm:openai:test", "--base-url", server.url, "--no-cache")
        done = run_clew("eval", "--index", plain_folder, "--questions", file, "--retriever", "bm25,fused", *given)
        assert done.code == 0, done
        assert "fused:rerank=llm:openai:test" in done.out
        both = run_clew("eval", "--index", plain_folder, "--questions", file, "--retriever", names, *given)
    assert (both.code, both.out) == (2, "")  # one of them says for itself that it is not reranked
    assert "bm25:rerank=none has a setting 'rerank' of its own" in both.err


@pytest.mark.slow  # importing sentence-transformers takes six to ten seconds
def test_a_cross_encoder_of_a_folder(plain_folder: Path, tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model")
    rerank = ("--index", plain_folder, "--retriever", "fused", "--rerank", f"cross-encoder:{folder}")
    before = ids_of(search_json("--index", plain_folder, "--retriever", "fused", "-k", "100"))
    after = search_json(*rerank, "-k", "100")
    assert sorted(ids_of(after)) == sorted(before)
    assert ids_of(after) != before
    assert run_clew("ask", QUESTION, *rerank).code == 0
    check_refused(
        run_clew("search", QUESTION, *rerank[:-1], f"cross-encoder:{tmp_path / 'none'}"), "there is no folder"
    )


def test_an_index_without_vectors_is_told_which_rerankers_need_none(tmp_path: Path) -> None:
    make_index(tmp_path / "index", DOCUMENTS[:3], encoder="none")
    check_refused(
        run_clew("search", QUESTION, "--index", tmp_path / "index", "--retriever", "bm25", "--rerank", "g-rag"),
        "the reranker cross-encoder or llm, or make a new index",
    )


def test_a_reranker_goes_to_every_retriever_that_is_named(small: Index) -> None:
    options = RetrieverOptions("bm25,gear:base=fused", "llm:openai:x")
    named = retriever_names(options, small, several=True)
    assert named == ["bm25:rerank=llm:openai:x", "gear:base=fused,rerank=llm:openai:x"]
    assert retriever_names(RetrieverOptions("bm25"), small, several=False) == ["bm25"]


@pytest.mark.parametrize(
    ("retriever", "rerank", "message"),
    [("bm25", "cross-encoder:a,b", "without a comma"), ("bm25:rerank=none", "g-rag", "of its own, and --rerank")],
)
def test_what_does_not_go_together_is_refused(small: Index, retriever: str, rerank: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        retriever_names(RetrieverOptions(retriever, rerank), small, several=False)
