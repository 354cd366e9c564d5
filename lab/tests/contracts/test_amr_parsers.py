"""Contract of every AMR parser; a new one is added to `MAKERS`."""

from pathlib import Path

import pytest

from clew.errors import InputError
from clew.types import Failure, Passage
from clew_lab.amr.candidate_graphs import CandidateAMRParser
from clew_lab.amr.graph import AMRGraph, count_common_parts, path_words
from clew_lab.amr.local_parser import LocalAMRParser
from clew_lab.amr.parsers import AmrlibParser, AMRParser, FileAMRParser, pair_text
from clew_lab.amr.penman_files import amr_entry, write_amr
from lab.tests.amr.amrlib_package import provide_amrlib, write_scripted_model

TEXTS = {
    "a": "The Fram left Oslo in 1893.",
    "b": "卡尔斯克鲁纳是瑞典的港口城市。",
    "c": "",
    "d": "🚢 \0 \ufffe",
    "missing": "In no file of graphs, and a model gives none.",
}
GRAPHS = {id_: {"nodes": ["question", id_], "edges": [[0, "ARG1", 1]]} for id_ in TEXTS if id_ != "missing"}
PASSAGES = [Passage(id_, "d", "Title", text, 5, 5 + len(text), GRAPHS.get(id_, {})) for id_, text in TEXTS.items()]
ASKED = ["Who left Oslo?", "港口城市在哪里？", "", "question: \0?"]
PAIRS = [(question, passage) for question in ASKED for passage in PASSAGES]
QUESTIONS, GIVEN = [question for question, _ in PAIRS], [passage for _, passage in PAIRS]
KNOWN = [(question, passage) for question, passage in PAIRS if passage.id != "missing"]


def notation(question: str, passage: Passage) -> str:
    return f'(q / question :ARG0 (s / notations-01 :ARG1 "{question.strip()}" :ARG2 "{passage.id}"))'


def read_from_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AMRParser:
    path = folder / "pairs"
    entries = [amr_entry(notation(q, p), [("question", q), ("passage", p.id)]) for q, p in KNOWN]
    if not path.exists():
        write_amr(path, entries)
    return FileAMRParser(path)


def amrlib_parser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AMRParser:
    provide_amrlib(folder, monkeypatch)
    notations = {pair_text(question, passage): notation(question, passage) for question, passage in KNOWN}
    return AmrlibParser(write_scripted_model(notations, folder / "model"))


def local_parser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AMRParser:
    return LocalAMRParser()


def candidate_parser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AMRParser:
    return CandidateAMRParser()


MAKERS = {"file": read_from_file, "amrlib": amrlib_parser, "local": local_parser, "candidates": candidate_parser}


@pytest.fixture(params=list(MAKERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def parser(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AMRParser:
    return MAKERS[name](tmp_path, monkeypatch)


def test_each_pair_has_a_result_in_its_place(parser: AMRParser, name: str) -> None:
    graphs_or_failures = parser.parse(QUESTIONS, GIVEN)
    assert len(graphs_or_failures) == len(PAIRS)
    for (_, passage), graph in zip(PAIRS, graphs_or_failures, strict=True):
        assert isinstance(graph, Failure) == (name != "local" and passage.id == "missing")
        if isinstance(graph, Failure):
            assert graph.item == passage.id
            assert graph.reason
        else:
            assert path_words(graph)[0] == "question"


def test_a_result_depends_on_its_own_pair_only(parser: AMRParser) -> None:
    together = parser.parse(QUESTIONS, GIVEN)
    assert [parser.parse([question], [passage])[0] for question, passage in PAIRS] == together
    assert parser.parse(QUESTIONS[::-1], GIVEN[::-1]) == together[::-1]
    assert parser.parse([], []) == []


def test_a_second_parser_is_the_same(
    parser: AMRParser, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = MAKERS[name](tmp_path, monkeypatch)
    assert again.fingerprint == parser.fingerprint
    assert again.parse(QUESTIONS, GIVEN) == parser.parse(QUESTIONS, GIVEN)


def test_questions_count(parser: AMRParser, name: str) -> None:
    if name == "candidates":
        pytest.skip("a passage of a pool brings the graph of itself and the pool's question")
    first, second = parser.parse(ASKED[:2], PASSAGES[:1] * 2)
    assert first != second


def test_graphs_can_be_compared(parser: AMRParser) -> None:
    graphs = [graph for graph in parser.parse(QUESTIONS, GIVEN) if isinstance(graph, AMRGraph)]
    shared = count_common_parts(graphs)
    # All of them hold the node `question`.
    assert shared[0, 1:, 0].min() >= 1


@pytest.mark.parametrize(("questions", "passages"), [(["x"], []), ([], PASSAGES[:1]), (["x"] * 3, PASSAGES[:2])])
def test_lengths_that_do_not_match_are_refused(
    parser: AMRParser, questions: list[str], passages: list[Passage]
) -> None:
    wanted = f"{len(questions)} questions for {len(passages)} passages: wanted pairs"
    with pytest.raises(InputError, match=wanted):
        parser.parse(questions, passages)


def test_fingerprints_tell_parsers_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({make(tmp_path, monkeypatch).fingerprint for make in MAKERS.values()}) == len(MAKERS)
