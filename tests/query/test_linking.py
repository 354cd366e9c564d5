"""Entity linking of questions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.index import Index
from clew.query.linking import MAX_CHARACTERS, link_question
from clew.text.normalization import key_hash, name_key
from clew.types import Document
from tests.small_index import make_index


def linked_names(index: Index, question: str) -> list[tuple[str, list[str]]]:
    """Return each known name as written, and the entities it stands for."""
    linked = link_question(index.snapshot, question)
    return [(question[n.start : n.end], [index.snapshot.entities[e] for e in n.entities]) for n in linked.linked_names]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where was Louis Palander born?", [("Louis Palander", ["Louis Palander"])]),
        ("where was louis palander born?", [("louis palander", ["Louis Palander"])]),
        ("WHERE WAS LOUIS PALANDER BORN", [("LOUIS PALANDER", ["Louis Palander"])]),
        ("Who built the Vega?", [("Vega", ["Vega (star)", "Vega (ship)"])]),
        ("Who built Vega (ship)?", [("Vega (ship", ["Vega (ship)"])]),
        ("who built the vega", [("vega", ["Vega (star)", "Vega (ship)"])]),
        ("Is Karlskrona in Blekinge?", [("Karlskrona", ["Karlskrona"]), ("Blekinge", ["Blekinge"])]),
        ("is karlskrona old", [("karlskrona", ["Karlskrona"])]),
        ("Что такое Карлскруна?", [("Карлскруна", ["Карлскруна"])]),
        ("卡尔斯克鲁纳在哪里？", [("卡尔斯克鲁纳", ["卡尔斯克鲁纳"])]),
        ("من بنى سفينة فيغا؟", [("سفينة فيغا", ["سفينة فيغا"])]),
        ("Who was Zebulon Quux?", []),
        ("what is it", []),
        ("", []),
        ("🚢", []),
        ("\ud800 Karlskrona", [("Karlskrona", ["Karlskrona"])]),
    ],
)
def test_known_names(small: Index, question: str, expected: list[tuple[str, list[str]]]) -> None:
    assert linked_names(small, question) == expected


def test_lower_case_words_in_a_question_with_capitals_are_no_names(small: Index) -> None:
    # "twin" is a title, and an ordinary word in a question that writes its names with capitals.
    assert linked_names(small, "Which twin lives in Karlskrona?") == [("Karlskrona", ["Karlskrona"])]
    assert linked_names(small, "which Twin is it?") == [("Twin", ["Twin"])]


def test_unknown_names_and_the_remainder(small: Index) -> None:
    linked = link_question(small.snapshot, "Did Zebulon Quux of NASA sail the Vega to Karlskrona in 1066?")
    assert linked.unlinked_names == ("Zebulon Quux of NASA",)
    assert linked.remainder.split() == ["Did", "sail", "the", "to", "in", "1066?"]
    assert link_question(small.snapshot, "").remainder == ""
    assert link_question(small.snapshot, "what now").remainder == "what now"


def test_the_longest_name_wins(small: Index) -> None:
    assert [name for name, _ in linked_names(small, "Is the Karlskrona Naval Shipyard in Karlskrona?")] == [
        "Karlskrona Naval Shipyard",
        "Karlskrona",
    ]


def test_a_question_is_read_up_to_a_limit(small: Index) -> None:
    assert linked_names(small, "x " * (MAX_CHARACTERS // 2) + " Karlskrona") == []
    assert len(linked_names(small, "Karlskrona. " * 5000)) == MAX_CHARACTERS // len("Karlskrona. ")


PIECES = st.sampled_from(
    ["Vega", "vega", "Louis", "Palander", "Quux", "the", " ", ", ", "(", ")", "ship", "🚢", "卡尔斯", "克鲁纳"]
)


@settings(deadline=None)
@given(st.one_of(st.text(st.characters()), st.lists(PIECES, max_size=20).map("".join)))
def test_names_do_not_overlap_and_the_remainder_is_the_rest(question: str) -> None:
    linked = link_question(_small.snapshot, question)
    position, rest = 0, []
    for name in linked.names:
        assert position <= name.start < name.end <= len(question)
        rest.append(question[position : name.start])
        position = name.end
        assert list(name.entities) == sorted(set(name.entities))
    assert linked.remainder == " ".join([*rest, question[position:]])


@pytest.fixture(autouse=True, scope="module")
def _keep_small(small: Index) -> None:
    global _small  # hypothesis asks for no fixtures inside its examples
    _small = small


_small: Index


def test_names_are_looked_up_with_the_salt_of_the_snapshot(small: Index) -> None:
    s = small.snapshot
    hashes = np.array([key_hash(name_key(name), 3) for name in s.entities], dtype=np.uint64)
    order = np.argsort(hashes)
    salted = replace(s, name_hashes=hashes[order], name_entities=order.astype(np.int32), salt=3)
    question = "Is Karlskrona in Blekinge?"
    plain, other = link_question(s, question), link_question(salted, question)
    assert [name.entities for name in other.linked_names] == [name.entities for name in plain.linked_names] != []
    assert salted.entities_with_name("Karlskrona").tolist() == s.entities_with_name("Karlskrona").tolist() != []
    assert not link_question(replace(salted, salt=4), question).linked_names


def test_no_name_is_a_part_of_an_identifier(tmp_path: Path) -> None:
    documents = [Document("a", "", "The crew of Jetty Winch lost widget-317 in 2021."), Document("b", "", "It rained.")]
    snapshot = make_index(tmp_path, documents).snapshot
    assert link_question(snapshot, "Who saw Jetty Winch in 2021?").linked_names
    assert link_question(snapshot, "Who lost widget-317?").linked_names
    for question in ("Who is U.Jetty@Winch.ORG?", "Who found CVE-2021-6543?"):
        assert not link_question(snapshot, question).linked_names
