"""The retriever `none`: it finds nothing, in any index, and says so."""

import pytest

from clew.errors import InputError
from clew.index import Index
from clew.retrievers.registry import finds_nothing, is_path_retriever, parse_retriever
from tests.small_index import make_index


@pytest.mark.parametrize("where", [None, "lang = 'en'"])
def test_nothing_is_found_with_a_note(small: Index, where: str | None) -> None:
    found = small.search("Who built the Vega?", 5, "none", where)
    assert (found.passages, found.paths, found.topics) == ((), (), ())
    assert found.notes == ("the retriever none searches nothing",)
    about = small.search("Who built it?", 5, "none", topics=["Vega"])
    assert not (*about.passages, *about.paths)


def test_bad_arguments_are_refused_as_everywhere(small: Index) -> None:
    with pytest.raises(InputError, match="k is 0"):
        small.search("Who?", 0, "none")
    with pytest.raises(InputError):
        small.search("Who?", 5, "none", "nosuchfield = 1")
    with pytest.raises(InputError, match="none has no setting"):
        parse_retriever("none:k=1")
    with pytest.raises(InputError, match="base is 'none'"):
        small.retriever(parse_retriever("ircot:base=none"))


def test_empty_questions_and_indexes(small: Index) -> None:
    assert any("empty" in note for note in small.search(" ", 5, "none").notes)
    assert finds_nothing("none")
    assert is_path_retriever("none")
    assert not finds_nothing("frag")


def test_an_index_without_passages(tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = make_index(tmp_path_factory.mktemp("empty") / "index", ())
    assert empty.search("Who?", 5, "none").notes == ("the retriever none searches nothing",)


def test_without_a_model_it_is_not_answered(small: Index) -> None:
    with pytest.raises(InputError, match="give a language model"):
        small.answerer("", "none")
