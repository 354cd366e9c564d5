"""What parts of installed packages lack, raise or return wrongly is one line that names the package."""

import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import clew
from clew.answering.selection import ANSWERERS
from clew.indexing.extraction.registry import EXTRACTORS, open_extractor
from clew.models.encoders.registry import ENCODERS, open_encoder
from clew.models.llm.providers import MODELS
from clew.plugins.registry import Registry
from clew.rerankers.registry import RERANKERS
from clew.retrievers.registry import RETRIEVERS
from tests.faults.commands import run_clew

QUESTION = "Where was Louis Palander born?"
NO_TEXT: Any = None
PASSAGE = clew.Passage("p", "d", "Fram", "The Fram.", 0, 9)
Install = Callable[[Registry[Any], object], None]


class TheirSettings(clew.SettingsRecord):
    """Settings of the retriever and the reranker `theirs`."""

    label: ClassVar[str] = "theirs"


class Part:
    """Every method returns what a function of its first argument and `k` returns."""

    name, fingerprint, dimension = "theirs", "theirs-1", 2

    def __init__(self, give: Callable[..., Any]) -> None:
        self.give = give

    def __getattr__(self, name: str) -> Any:
        if name in ("answer", "complete", "extract", "retrieve", "rerank", "encode", "encode_queries"):
            return lambda *arguments: self.give(*arguments)
        raise AttributeError(name)


def fail(*_: object) -> Any:
    return ()[0]  # type: ignore[misc]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Adds an entry `theirs`, of the entry point `their_package:ENTRY`, to a registry."""

    def add(registry: Registry[Any], entry: object) -> None:
        module = ModuleType("their_package")
        vars(module)["ENTRY"] = entry
        monkeypatch.setitem(sys.modules, "their_package", module)
        point = EntryPoint("theirs", "their_package:ENTRY", registry.group)
        monkeypatch.setitem(vars(registry), "_plugins", {"theirs": point})

    return add


@pytest.fixture
def index(small_folder: Path) -> clew.Index:
    """The small index, without the retrievers that other tests opened."""
    return clew.open(small_folder)


def refusal(run: Callable[[], object]) -> str:
    """Return the message of the InputError of a call, which names the package."""
    with pytest.raises(clew.InputError) as caught:
        run()
    message = str(caught.value)
    assert "theirs of their_package:ENTRY" in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (fail, "raised IndexError: tuple index out of range; it is a fault of that package"),
        (lambda *_: None, "answer of the answerer theirs of .* returned None; wanted a list of 1, each Answer"),
        (lambda *_: [], "returned 0 results; wanted a list of 1"),
        (lambda *_: ["Oslo"], "result 0 is str 'Oslo'; wanted Answer"),
        (
            lambda _, found, *__: [clew.Answer(NO_TEXT, (), (), found[0])],
            "the text of an answer is None; wanted str",
        ),
    ],
)
def test_an_answerer(index: clew.Index, install: Install, give: Callable[..., Any], said: str) -> None:
    install(ANSWERERS, clew.AnswererEntry("theirs", lambda _: Part(give)))
    assert_matches(refusal(lambda: index.ask(QUESTION, 1, "bm25", model="theirs")), said)


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (fail, "the language model theirs of .* raised IndexError"),
        (lambda *_: ["Oslo"], "result 0 is str 'Oslo'; wanted Reply or Failure"),
        (lambda *_: [clew.Reply({"answer": "Oslo"})], "the value of a reply is dict .*; wanted CitedAnswer"),  # type: ignore[arg-type]
    ],
)
def test_a_language_model(index: clew.Index, install: Install, give: Callable[..., Any], said: str) -> None:
    install(MODELS, clew.ModelEntry("theirs", lambda _: Part(give)))
    assert_matches(refusal(lambda: index.ask(QUESTION, 1, "bm25", model="theirs")), said)


def evidence(*scored: Any) -> Callable[..., Any]:
    return lambda questions, *_: [clew.Evidence(scored) for _ in questions]


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (fail, "the retriever theirs of .* raised IndexError"),
        (lambda *_: [], "retrieve of the retriever theirs of .* returned 0 results; wanted a list of 1, each Evidence"),
        (evidence(PASSAGE), "a passage of the evidence is Passage .*; wanted Scored"),
        (evidence(clew.Scored("p", 1.0)), "the item of a passage of the evidence is str 'p'; wanted Passage"),
        (evidence(clew.Scored(PASSAGE, float("nan"))), "the score of a passage is nan; wanted a finite number"),
        (evidence(clew.Scored(PASSAGE, 1.0), clew.Scored(PASSAGE, 1.0)), "a passage is 'p', twice; wanted each once"),
        (evidence(clew.Scored(PASSAGE, 1.0), clew.Scored(PASSAGE, 2.0)), "the order of passages is scores .*the best"),
    ],
)
def test_a_retriever(index: clew.Index, install: Install, give: Callable[..., Any], said: str) -> None:
    install(RETRIEVERS, clew.RetrieverEntry("theirs", TheirSettings, lambda *_: Part(give)))
    assert_matches(refusal(lambda: index.search(QUESTION, 2, TheirSettings())), said)


def test_a_retriever_that_breaks_a_filter_or_finds_too_much(index: clew.Index, install: Install) -> None:
    found = index.search(QUESTION, 3, "bm25").passages
    install(RETRIEVERS, clew.RetrieverEntry("theirs", TheirSettings, lambda *_: Part(evidence(*found))))
    assert [one.item.id for one in index.search(QUESTION, 3, TheirSettings())] == [one.item.id for one in found]
    assert_matches(refusal(lambda: index.search(QUESTION, 2, TheirSettings())), "is 3 passages; wanted at most k = 2")
    hidden = refusal(lambda: index.search(QUESTION, 3, TheirSettings(), "lang = 'ru'"))
    assert_matches(hidden, "does not keep the filter \"lang = 'ru'\": the retriever cites a passage")


@pytest.mark.parametrize(
    ("record", "build", "said"),
    [
        (TheirSettings, lambda *_: object(), "the retriever theirs of .* is object .*, which has no retrieve"),
        (TheirSettings, None, "the retriever theirs of .* raised TypeError: 'NoneType' object is not callable"),
        (dict, fail, "the settings of the retriever theirs of .* are <class 'dict'>; wanted a clew.SettingsRecord"),
        (clew.BM25, fail, "the settings of the retriever theirs of .* have the label 'bm25'; .* name it 'theirs'"),
        ("their_package:NONE", fail, "the retriever theirs of .* raised AttributeError"),
    ],
)
def test_an_entry_of_a_retriever(index: clew.Index, install: Install, record: Any, build: Any, said: str) -> None:
    install(RETRIEVERS, clew.RetrieverEntry("theirs", record, build))
    assert_matches(refusal(lambda: index.search(QUESTION, 2, "theirs")), said)


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (fail, "the reranker theirs of .* raised IndexError"),
        (lambda *_: [], "rerank of the reranker theirs of .* returned 0 results; wanted a list of 1, each Evidence"),
        (evidence(clew.Scored(PASSAGE, 1.0)), r"the passages is \['p'\]; wanted those given"),
    ],
)
def test_a_reranker(index: clew.Index, install: Install, give: Callable[..., Any], said: str) -> None:
    install(RERANKERS, clew.RerankerEntry("theirs", TheirSettings, lambda *_: Part(give)))
    reranked = clew.Reranked(base="bm25", rerank="theirs")
    assert_matches(refusal(lambda: index.search(QUESTION, 2, reranked)), said)


def extraction(*mentions: Any, triples: tuple[Any, ...] = ()) -> Callable[..., Any]:
    return lambda passages: [clew.Extraction(mentions, triples) for _ in passages]


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (fail, "the extractor theirs of .* raised IndexError"),
        (lambda _: [None], "result 0 is None; wanted Extraction or Failure"),
        (extraction("Fram"), "a mention of 'p' is str 'Fram'; wanted Mention"),
        (
            extraction(clew.Mention("Fram", start=4, end=99)),
            r"span of a mention of 'p' is \(4, 99\); .* of 9 characters",
        ),
        (extraction(clew.Mention("")), r"the name and kind of a mention of 'p' is \('', 'name'\); wanted 2 strings"),
        (extraction(triples=(("Fram", "left"),)), r"a triple of 'p' is \('Fram', 'left'\); wanted 3 strings"),
    ],
)
def test_an_extractor(install: Install, give: Callable[..., Any], said: str) -> None:
    install(EXTRACTORS, clew.ExtractorEntry("theirs", lambda *_: Part(give)))
    extractor = open_extractor("theirs")
    assert_matches(refusal(lambda: extractor.extract([PASSAGE])), said)


def test_an_encoder(install: Install) -> None:
    install(ENCODERS, clew.EncoderEntry("theirs", lambda _: Part(fail)))
    refusal(lambda: open_encoder("theirs").encode(["a"]))
    install(ENCODERS, clew.EncoderEntry("theirs", lambda _: object()))  # type: ignore[arg-type,return-value]
    assert_matches(refusal(lambda: open_encoder("theirs")), "which has no name; give all of")
    install(ENCODERS, clew.EncoderEntry("theirs", lambda _: Part(lambda texts: np.ones((len(texts), 2)))))
    with pytest.raises(clew.InputError, match=r"row 0 of the encoder theirs has the length 1\.414"):
        open_encoder("theirs").encode(["a"])


def test_an_entry_that_lacks_a_member_is_told_when_it_is_opened(index: clew.Index, install: Install) -> None:
    install(MODELS, clew.ModelEntry("theirs", lambda _: object()))  # type: ignore[arg-type,return-value]
    refusal(lambda: index.answerer("theirs"))
    install(ANSWERERS, clew.AnswererEntry("theirs", lambda _: object()))  # type: ignore[arg-type,return-value]
    assert_matches(refusal(lambda: index.answerer("theirs")), "which has no answer; give all of")
    install(EXTRACTORS, clew.ExtractorEntry("theirs", lambda *_: object()))  # type: ignore[arg-type]
    assert_matches(refusal(lambda: open_extractor("theirs")), "which has no fingerprint")


def test_what_an_object_of_a_program_raises_is_not_touched(index: clew.Index) -> None:
    with pytest.raises(IndexError):
        index.search(QUESTION, 2, Part(fail))
    with pytest.raises(clew.InputError, match=r"retrieve of the retriever Part returned 0 results; wanted a list of 1"):
        index.search(QUESTION, 2, Part(lambda *_: []))


def test_a_misspelt_extractor_is_told_though_a_package_is_broken(install: Install) -> None:
    install(EXTRACTORS, object())
    with pytest.raises(clew.InputError, match=r"no extractor is called 'ruels'; did you mean rules.* or theirs"):
        open_extractor("ruels")


def assert_matches(message: str, said: str) -> None:
    assert re.search(said, message), message


def test_a_listing_has_all_that_can_be_loaded_and_names_the_package_of_the_rest(
    monkeypatch: pytest.MonkeyPatch, small_folder: Path
) -> None:
    for registry in (RETRIEVERS, RERANKERS):
        broken = {
            "absent": EntryPoint("absent", "no_such_package.parts:ENTRY", registry.group),
            "wrong": EntryPoint("wrong", "builtins:dict", registry.group),
        }
        monkeypatch.setitem(vars(registry), "_plugins", broken)
        monkeypatch.setattr(registry, "_reported", set())
    done = run_clew("retrievers")
    assert done.code == 0
    assert all(name in done.out for name in ("bm25", "gfm", "cross-encoder", "llm:MODEL"))
    assert "absent" not in done.out
    warnings = done.err.splitlines()
    assert len(warnings) == 4
    assert warnings[0].endswith("'no_such_package'; install no_such_package again")
    assert warnings[1].endswith("is a type; wanted a clew.RetrieverEntry: use another version of builtins")
    assert run_clew("retrievers").err == ""  # once
    refused = run_clew("search", "?", "--index", small_folder, "--retriever", "gear:base=bm52")
    assert "gear: base is 'bm52'; did you mean bm25? wanted one of bm25, " in refused.err
