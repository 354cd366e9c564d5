import sys
from pathlib import Path

import pytest

from clew.errors import InputError, MissingPackageError, ProviderError
from clew.types import Failure, Passage
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.parsers import AmrlibParser, FileAMRParser, pair_text
from clew_lab.amr.penman_files import amr_entry, read_amr, write_amr
from lab.tests.amr.amrlib_package import provide_amrlib, write_scripted_model

QUESTION = "Who built the ship?"
SHIP = Passage("p1", "d", "Fram", "Colin Archer built\nthe Fram.", 0, 28)
TOWN = Passage("p2", "d", "Larvik", "Larvik is a town.", 0, 17)
BUILT, LIES = AMRGraph(("build-01",)), AMRGraph(("town",))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a scripted model, with a fake package amrlib that opens it."""
    provide_amrlib(tmp_path, monkeypatch)
    notations = {"question:Who built the ship?Colin Archer built\nthe Fram.": "(b / build-01)", "question:x": "(a / "}
    return write_scripted_model(notations, tmp_path / "model_stog")


def test_the_text_that_is_parsed() -> None:
    assert pair_text(QUESTION, SHIP) == "question:Who built the ship?Colin Archer built\nthe Fram."


@pytest.mark.parametrize(
    "metadata",
    [
        "# ::question Who built the ship?\n# ::passage p1\n",
        "# ::question Who  built the ship?\n# ::passage Colin Archer built the Fram.\n",
        "# ::snt question:Who built the ship?Colin Archer built the Fram.\n",
    ],
)
def test_a_pair_is_found_by_id_by_text_and_by_the_parsed_text(metadata: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    path.write_text(metadata + "(b / build-01)\n", encoding="utf-8")
    parser = FileAMRParser(path)
    assert parser.parse([QUESTION, QUESTION], [SHIP, SHIP]) == [BUILT, BUILT]
    other, town = parser.parse(["Who sank it?", QUESTION], [SHIP, TOWN])
    assert isinstance(other, Failure)
    assert isinstance(town, Failure)
    assert (other.item, town.item) == ("p1", "p2")
    assert "holds no graph of the question 'Who sank it?' and the passage p1: add one" in other.reason


def test_an_id_of_several_spaces_is_found(tmp_path: Path) -> None:
    spaced = Passage("my  file.md", "d", "", "Something else.", 0, 15)
    entry = amr_entry("(b / build-01)", [("question", QUESTION), ("passage", spaced.id)])
    write_amr(tmp_path / "pairs", [entry])
    assert FileAMRParser(tmp_path / "pairs").parse([QUESTION], [spaced]) == [BUILT]


def test_a_malformed_graph_fails_its_own_pair_and_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    pair = "# ::question Who built the ship?\n# ::passage {}\n{}\n\n"
    path.write_text(pair.format("p1", "(b / build-01") + pair.format("p2", "(t / town)"), encoding="utf-8")
    parser = FileAMRParser(path)
    assert [failure.item for failure in parser.malformed] == [f"{path}:3"]
    failed, parsed = parser.parse([QUESTION, QUESTION], [SHIP, TOWN])
    assert parsed == LIES
    assert failed == Failure("p1", f"{path}: {parser.malformed[0].reason}")


def test_two_graphs_of_one_pair_are_refused_where_they_differ(tmp_path: Path) -> None:
    pair = [("question", QUESTION), ("passage", "p1")]
    write_amr(tmp_path / "same", [amr_entry("(b / build-01)", pair)] * 2)
    assert FileAMRParser(tmp_path / "same").parse([QUESTION], [SHIP]) == [BUILT]
    write_amr(tmp_path / "other", [amr_entry("(b / build-01)", pair), amr_entry("(t / town)", pair)])
    with pytest.raises(InputError, match=r"lines 1 and 5 hold different graphs of one pair"):
        FileAMRParser(tmp_path / "other")


def test_the_fingerprint_of_a_file_depends_on_its_entries(tmp_path: Path) -> None:
    for name, notation in {"a": "(a / alpha)", "b": "\n\n(a / alpha)\n", "c": "(a / beta)"}.items():
        (tmp_path / name).write_text(notation, encoding="utf-8")
    a, b, c = (FileAMRParser(tmp_path / name).fingerprint for name in "abc")
    assert a == b != c
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no AMR graph"):
        FileAMRParser(tmp_path / "empty")


@pytest.mark.parametrize("given", [True, False])
def test_a_model_of_amrlib_parses_pairs(model: Path, given: bool) -> None:
    parser = AmrlibParser(model) if given else AmrlibParser()
    none = Passage("p3", "d", "", "x", 0, 1)
    built, town, malformed = parser.parse([QUESTION, QUESTION, ""], [SHIP, TOWN, none])
    assert built == BUILT
    assert isinstance(town, Failure)
    assert isinstance(malformed, Failure)
    assert town.reason.startswith("the amrlib model returned no readable graph")
    assert (malformed.item, malformed.reason.split(":")[0]) == (
        "p3",
        "the amrlib model returned a malformed graph",
    )
    assert parser.parse([], []) == []


def test_notations_of_a_model_can_be_written_to_a_file(model: Path, tmp_path: Path) -> None:
    parser = AmrlibParser(model)
    (notation,) = parser.parse_notations([QUESTION], [SHIP])
    assert isinstance(notation, str)
    write_amr(tmp_path / "graphs", [amr_entry(notation, [("question", QUESTION), ("passage", SHIP.id)])])
    assert len(read_amr(tmp_path / "graphs")) == 1
    assert FileAMRParser(tmp_path / "graphs").parse([QUESTION], [SHIP]) == parser.parse([QUESTION], [SHIP])


def test_the_fingerprint_of_a_model_is_that_of_its_files(model: Path) -> None:
    before = AmrlibParser(model).fingerprint
    assert before.startswith("amrlib-0.8.1:")
    assert AmrlibParser().fingerprint == before
    (model / "weights").write_bytes(b"1")
    first = AmrlibParser(model).fingerprint
    (model / "weights").write_bytes(b"2")
    assert len({before, first, AmrlibParser(model).fingerprint}) == 3
    with pytest.raises(ProviderError, match="give the folder of a model of amrlib"):
        _ = AmrlibParser(model / "none").fingerprint


def test_models_that_cannot_be_used_are_named(model: Path) -> None:
    with pytest.raises(ProviderError, match=r"none cannot be opened \(.*No such file"):
        AmrlibParser(model / "none").parse([QUESTION], [SHIP])
    with pytest.raises(ProviderError, match=r"failed at 1 texts \(out of memory\)"):
        AmrlibParser(model).parse(["fails"], [SHIP])
    (model / "notations.json").write_text('{"device": "cuda:0"}', encoding="utf-8")
    with pytest.raises(ProviderError, match="no such device: cpu"):
        AmrlibParser(model, "cpu").parse([QUESTION], [SHIP])
    failed = AmrlibParser(model, "cuda:0").parse([QUESTION], [SHIP])
    assert isinstance(failed[0], Failure)


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amrlib", None)
    with pytest.raises(
        MissingPackageError, match=r"package amrlib, .* run pip install amrlib unidecode, or give a file"
    ):
        AmrlibParser("folder").parse([QUESTION], [SHIP])
