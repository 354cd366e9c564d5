"""AMR by a tiny BART that has learned its graphs by heart, and by one that has learned nothing."""

from pathlib import Path

import pytest

from clew.errors import InputError, ProviderError
from clew.types import Failure, Passage
from clew_lab.amr.amrbart import AMRBARTParser
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.parsers import pair_text
from clew_lab.amr.penman_notation import parse_penman
from clew_lab.amr.reranker import open_amr_parser
from lab.tests.amr.tiny_bart import write_tiny_bart

pytestmark = pytest.mark.slow  # importing transformers takes seconds

QUESTION = "who built it? "
PASSAGES = [Passage(id_, id_, "", text, 0, len(text)) for id_, text in (("a", "he built ships ."), ("b", "it sank ."))]
FORMS = {
    "a": "( <pointer:0> question :ARG1 ( <pointer:1> build-01 :ARG0 ( <pointer:2> he ) :ARG1 ( <pointer:3> ship ) ) )",
    "b": "( <pointer:0> question :ARG1 ( <pointer:1> sink-01 :ARG1 ( <pointer:2> name :op1 <lit> Vega </lit> ) )",
}
NOTATIONS = {
    "a": "(q / question :ARG1 (b / build-01 :ARG0 (h / he) :ARG1 (s / ship)))",
    "b": '(q / question :ARG1 (s / sink-01 :ARG1 (n / name :op1 "Vega")))',  # its last bracket was missing
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that knows both pairs."""
    forms = {pair_text(QUESTION, passage): FORMS[passage.id] for passage in PASSAGES}
    return write_tiny_bart(tmp_path_factory.mktemp("bart") / "model", forms)


def test_the_graphs_are_those_that_the_model_writes(folder: Path) -> None:
    parser = open_amr_parser(f"amrbart:{folder}", "cpu")
    graphs = parser.parse([QUESTION] * 2, PASSAGES)
    assert graphs == [parse_penman(NOTATIONS[passage.id]) for passage in PASSAGES]
    assert parser.parse([QUESTION], PASSAGES[1:]) == graphs[1:]  # a graph does not depend on the others
    assert parser.fingerprint == AMRBARTParser(str(folder)).fingerprint


def test_a_model_that_writes_no_graph_is_a_failure_of_each_passage(tmp_path: Path) -> None:
    model = write_tiny_bart(tmp_path / "untaught", {"who built it": "nothing at all"}, steps=20)
    results = AMRBARTParser(str(model)).parse([QUESTION] * 2, PASSAGES)
    assert [one.item for one in results if isinstance(one, Failure)] == ["a", "b"]
    assert not any(isinstance(one, AMRGraph) for one in results)
    assert AMRBARTParser(str(model)).parse([], []) == []


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="amrbart wants a model"):
        open_amr_parser("amrbart:")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProviderError, match="cannot open the model"):
        AMRBARTParser(str(tmp_path / "empty")).parse([QUESTION], PASSAGES[:1])
