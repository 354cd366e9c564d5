"""`clew explain` in all its forms."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.types import Triple
from clew_lab.commands.explanation_output import draw_html, draw_svg, explanation_json, format_explanation
from clew_lab.gfm.target_explanations import ExplainedWalk, TargetExplanation, WeightedEdge
from tests.conftest import EXAMPLES
from tests.faults.commands import run_clew
from tests.small_index import make_index

EDGES = (
    WeightedEdge(
        "Fram", "Oslo & <co>", Triple("Fram", "left", "Oslo & <co>", ("p1",)), inverse=False, weight=0.5, layer=1
    ),
    WeightedEdge(
        "Oslo & <co>", "Nansen", Triple("Nansen", "lived in", "Oslo & <co>"), inverse=True, weight=0.25, layer=3
    ),
)
EXPLANATION = TargetExplanation(
    "Who left?",
    "Nansen",
    "p2",
    1.5,
    by_mean=True,
    walks=(ExplainedWalk(0.375, EDGES, has_loop=True), ExplainedWalk(0.1, EDGES[:1], has_loop=False)),
    notes=("a",),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the example corpus with the encoder that gfm reads."""
    folder = tmp_path_factory.mktemp("explain") / "index"
    polar = EXAMPLES / "polar"
    make_index(folder, (), DEFAULT_ENCODER).add([polar / "james-caird.md", polar / "dulwich-college.md"])
    return folder


def test_text_marks_directions_weights_and_loops() -> None:
    lines = format_explanation(EXPLANATION, "text").splitlines()
    assert lines[0] == "Nansen, passage p2: logit 1.500; walks by the mean of their weights"
    assert lines[1] == "1. 0.3750 (loop)  Fram -[left 0.5000]-> Oslo & <co> <-[lived in^-1 0.2500]- Nansen"
    assert lines[2] == "2. 0.1000  Fram -[left 0.5000]-> Oslo & <co>"
    assert lines[3] == "note: a"


def test_json_holds_every_edge() -> None:
    found = json.loads(format_explanation(EXPLANATION, "json"))
    assert found == explanation_json(EXPLANATION)
    assert found["score_by"] == "mean"
    assert found["walks"][0]["loop"] is True
    assert found["walks"][0]["edges"][1] == {
        "from": "Oslo & <co>",
        "to": "Nansen",
        "head": "Nansen",
        "relation": "lived in",
        "tail": "Oslo & <co>",
        "inverse": True,
        "weight": 0.25,
        "layer": 3,
        "passages": [],
    }


def test_drawings_are_well_formed_and_point_along_the_triples() -> None:
    root = ET.fromstring(draw_svg(EXPLANATION))
    space = "{http://www.w3.org/2000/svg}"
    lines = root.findall(f"{space}line")
    assert [("marker-start" in line.attrib, "marker-end" in line.attrib) for line in lines] == [
        (False, True),
        (True, False),
        (False, True),
    ]
    texts = [element.text for element in root.iter(f"{space}text")]
    assert {"Oslo & <co>", "left", "lived in⁻¹", "0.2500"} <= set(texts)
    page = draw_html(EXPLANATION)
    assert "<co>" not in page
    assert page.count("<tr>") == 4
    empty = TargetExplanation("Who?", "Nansen", "", 0.0, by_mean=False, walks=())
    ET.fromstring(draw_svg(empty))
    assert "Nansen: logit 0.000; walks by the sum" in format_explanation(empty, "text")


def test_the_command_writes_text_json_and_files(folder: Path, tmp_path: Path) -> None:
    question = "Who founded the school where the boat James Caird is kept today?"
    common = ("explain", question, "--index", str(folder), "--target", "dulwich-college.md")
    shown = run_clew(*common, "--walks", "2")
    assert shown.code == 0
    assert shown.out.startswith("Dulwich College, passage dulwich-college.md: logit ")
    parsed = json.loads(run_clew(*common, "--format", "json", "--score", "sum", "--no-loops").out)
    assert parsed["score_by"] == "sum"
    assert parsed["walks"]
    target = tmp_path / "drawing.svg"
    assert run_clew(*common, "--format", "svg", "--out", str(target)).code == 0
    ET.fromstring(target.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--score", "best"), "--score is 'best'; wanted one of mean, sum"),
        (("--format", "pdf"), "--format is 'pdf'; wanted one of text, json, svg, html"),
        (("--retriever", "bm25"), "--retriever is 'bm25'; wanted gfm"),
        (("--target", "No such thing at all"), "no passage or entity of the index is called so"),
    ],
)
def test_unusable_options_are_one_line(folder: Path, options: tuple[str, ...], message: str) -> None:
    common = ("explain", "Where is the James Caird?", "--index", str(folder), "--target", "dulwich-college.md")
    done = run_clew(*common, *options)
    assert done.code == 2
    assert message in done.err


BRIDGE = "Who founded the school where the James Caird is kept?"


def test_edges_that_lift_a_passage_are_named_with_what_they_are_made_of(folder: Path) -> None:
    given = ("candidates", "explain", BRIDGE, "--index", folder, "--retriever", "fused", "--rerank", "g-rag")
    done = run_clew(*given, "--json")
    assert done.code == 0, done
    found = json.loads(done.out)
    ranked = run_clew("search", BRIDGE, "--index", folder, "--retriever", "fused", "--rerank", "g-rag", "--json")
    (first, *_) = json.loads(ranked.out)["passages"]
    assert (found["passage"], found["rank"]) == (first["id"], 1)
    assert found["score"] == pytest.approx(first["score"], abs=1e-4)
    (edge,) = found["edges"]  # the only one, between the two documents
    assert {between.partition("#")[0] for between in edge["between"]} <= {"james-caird.md", "dulwich-college.md"}
    assert "Dulwich College" in edge["parts"]["names"]
    assert edge["effect"] == pytest.approx(sum(edge["features"].values()), abs=1e-6)
    text = run_clew(*given)
    assert text.code == 0, text
    assert "names: " in text.out
    other = next(between for between in edge["between"] if between != first["id"])
    moved = run_clew(*given, "--target", other)
    assert moved.code == 0, moved
    assert f"[{other}]: rank " in moved.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--rerank", "none", "--retriever", "fused"), "reranks nothing"),
        (("--rerank", "g-rag", "--retriever", "fused", "--target", "none.md"), "has the id or title 'none.md'"),
        (("--rerank", "g-rag", "--retriever", "fused", "--target", "Dulwich Colege"), "did you mean Dulwich College"),
    ],
)
def test_what_has_no_edges_is_refused(folder: Path, given: tuple[str, ...], message: str) -> None:
    done = run_clew("candidates", "explain", BRIDGE, "--index", folder, *given)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("given", [("explain", "--target", "Fram"), ("candidates", "explain", "--retriever", "fused")])
def test_an_index_of_facts_alone_is_refused_by_what_it_lacks(tmp_path: Path, given: tuple[str, ...]) -> None:
    facts = tmp_path / "facts.tsv"
    facts.write_text("Fram\tbuilt by\tColin Archer\n", encoding="utf-8")
    assert run_clew("kg", "import", facts, "--index", tmp_path / "index", "--encoder", "hashing").code == 0
    done = run_clew(*given, BRIDGE, "--index", tmp_path / "index")
    assert (done.code, done.out) == (2, "")
    assert "this index has no passages" in done.err


def test_a_hidden_document_is_not_explained(folder: Path) -> None:
    question = "Who founded the school where the boat James Caird is kept today?"
    for strict in ((), ("--strict-filters",)):
        where = ("--where", "document_id != 'dulwich-college.md'", *strict)
        hidden = run_clew("explain", question, "--index", str(folder), "--target", "dulwich-college.md", *where)
        assert hidden.code == 2
        assert "the target is 'dulwich-college.md', and no passage or entity of the index is called so" in hidden.err
        shown = run_clew("explain", question, "--index", str(folder), "--target", "james-caird.md", *where)
        assert shown.out.startswith("James Caird (boat), passage james-caird.md: logit ")
