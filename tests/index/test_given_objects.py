"""Encoders, extractors, language models and answerers that are given as objects."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
from clew.answering.extractive import ExtractiveAnswerer
from clew.arrays import FloatArray
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.registry import accept_encoder
from clew.settings import Settings
from clew.types import Extraction, Failure, Mention, Prompt, Reply

DOCUMENTS = [clew.Document("a", "Gjøa", "Amundsen sailed the Gjøa."), clew.Document("b", "Cook", "Cook saw the ice.")]


class Letters:
    """Counts letters."""

    name = "letters"
    dimension = 26

    def __init__(self, fingerprint: str = "letters-1") -> None:
        self.fingerprint = fingerprint

    def encode(self, texts: Sequence[str]) -> FloatArray:
        rows = np.array([[text.lower().count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts])
        rows = rows.reshape(len(texts), 26)
        unit: FloatArray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        return self.encode(texts)


class Wrong(Letters):
    """Returns what a function makes of the right rows."""

    def __init__(self, change: Callable[[FloatArray], Any]) -> None:
        super().__init__()
        self.change = change

    def encode(self, texts: Sequence[str]) -> Any:
        return self.change(super().encode(texts))


class Capitals:
    """Takes every word with a capital for a name."""

    def __init__(self, fingerprint: str = "capitals-1") -> None:
        self.fingerprint = fingerprint

    def extract(self, passages: Sequence[clew.Passage]) -> list[Extraction | Failure]:
        return [
            Extraction(
                tuple(Mention(word) for word in passage.text.split() if word[:1].isupper()),
                ((passage.title, "begins with", passage.text.split()[0]),),
            )
            for passage in passages
        ]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """An index made with both objects."""
    index = clew.create(tmp_path / "index", Settings(), encoder=Letters(), extractor=Capitals())
    assert not index.add(DOCUMENTS).failures
    return tmp_path / "index"


def test_an_index_is_made_searched_and_extended_with_objects(made: Path) -> None:
    index = clew.open(made, encoder=Letters(), extractor=Capitals())
    assert list(index.snapshot.relations) == ["begins with"]
    assert [f.item.document_id for f in index.search("ice cook", 2, "dense").passages] == ["b", "a"]
    report = index.add([clew.Document("c", "Byrd", "Byrd flew.")])
    assert (report.added, report.unchanged) == (1, 0)
    assert index.add(DOCUMENTS).unchanged == 2


def test_the_vectors_are_those_of_the_object(made: Path) -> None:
    index = clew.open(made, encoder=Letters())
    vectors = np.asarray(index.snapshot.vectors.rows(np.arange(2)))
    texts = ["Gjøa\nAmundsen sailed the Gjøa.", "Cook\nCook saw the ice."]
    np.testing.assert_array_equal(vectors, Letters().encode(texts))


def test_opening_without_the_encoder_is_one_line_where_vectors_are_needed(made: Path) -> None:
    index = clew.open(made)
    assert index.search("ice", 1, "bm25").passages
    with pytest.raises(clew.InputError, match=r"the encoder 'letters', an object of Python: give it, clew\.open"):
        index.search("ice", 1, "dense")
    with pytest.raises(clew.InputError, match=r"made with an extractor of Python, of fingerprint 'capitals-1'"):
        clew.open(made, encoder=Letters()).add(DOCUMENTS)


def test_another_object_is_refused(made: Path) -> None:
    with pytest.raises(clew.InputError, match="letters of fingerprint letters-1 and dimension 26, and the one given"):
        clew.open(made, encoder=Letters("letters-2"))
    with pytest.raises(clew.InputError, match="the one given, hashing, has hashing-1-256 and 256"):
        clew.open(made, encoder=HashingEncoder())
    with pytest.raises(clew.InputError, match=r"extractor 'python:capitals-1', not with the one given, .*'capitals-2'"):
        clew.open(made, extractor=Capitals("capitals-2"))
    index = clew.open(made, encoder=Letters())
    with pytest.raises(clew.InputError, match="leave it out, or make a new index"):
        index.add(DOCUMENTS, Capitals("capitals-2"))
    with pytest.raises(clew.InputError, match="made with the extractor 'python:capitals-1', not 'rules'"):
        index.add(DOCUMENTS, "rules")
    assert index.add(DOCUMENTS, Capitals()).unchanged == 2


def test_an_object_is_of_one_process(made: Path) -> None:
    index = clew.open(made, encoder=Letters(), extractor=Capitals())
    with pytest.raises(clew.InputError, match="given as an object is of this process alone: leave workers out"):
        index.add([clew.Document("c", "Byrd", "Byrd flew.")], workers=2)
    assert index.table.count_rows() == 2


def test_vectors_are_changed_to_those_of_an_object_and_back(tmp_path: Path) -> None:
    index = clew.create(tmp_path / "index", Settings(encoder="hashing", extractor="rules"))
    index.add(DOCUMENTS)
    assert index.reencode(Letters()).passages == 2
    assert index.search("ice cook", 1, "dense").passages[0].item.document_id == "b"
    with pytest.raises(clew.InputError, match="'letters', an object of Python"):
        clew.open(tmp_path / "index").search("ice", 1, "dense")
    assert clew.open(tmp_path / "index").reencode("hashing").passages == 2
    assert clew.open(tmp_path / "index").search("ice", 1, "dense").passages


def test_an_encoder_of_this_package_needs_no_object_again(tmp_path: Path) -> None:
    index = clew.create(tmp_path / "index", Settings(extractor="rules"), encoder=HashingEncoder(64))
    index.add(DOCUMENTS)
    assert clew.open(tmp_path / "index").search("ice", 1, "dense").passages
    assert index.table.settings["encoder"] == "hashing:64"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:, :5], r"an array of shape \(1, 5\); wanted unit rows \(1, 26\)"),
        (lambda rows: rows * np.float32("nan"), "row 0 of the encoder letters has the length nan"),
        (lambda rows: rows * 2, "row 0 of the encoder letters has the length 2"),
        (lambda rows: ["a"] * len(rows), "the encoder letters returned list"),
        (lambda _: None, "the encoder letters returned"),
    ],
)
def test_wrong_rows_are_refused_and_leave_no_index(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(clew.InputError, match=message):
        clew.create(tmp_path / "index", Settings(), encoder=Wrong(change))
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("given", [3, Letters, object(), "letters"])
def test_what_is_no_encoder_or_extractor_is_refused(given: Any, tmp_path: Path) -> None:
    with pytest.raises(clew.InputError, match=r"the encoder is"):
        clew.create(tmp_path / "index", Settings(), encoder=given)
    with pytest.raises(clew.InputError, match=r"the extractor is"):
        clew.create(tmp_path / "index", Settings(encoder="none"), extractor=given)
    assert not (tmp_path / "index").exists()


def test_an_encoder_without_a_fingerprint_is_refused() -> None:
    with pytest.raises(clew.InputError, match="give a name and a fingerprint"):
        accept_encoder(Letters(""))


class Echo:
    """Answers with the first passage."""

    name = "echo"

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        self.prompts += prompts
        value = {"answerable": True, "answer": "Karlskrona", "quotations": []}
        return [Reply(prompt.reply.model_validate(value)) for prompt in prompts]


def test_a_language_model_is_given_as_an_object(small: clew.Index) -> None:
    model = Echo()
    answer = small.ask("Where was Louis Palander born?", model=model)
    assert answer.text == "Karlskrona"
    assert any("echo" in note for note in answer.notes)
    assert len(model.prompts) == 1


def test_a_function_is_a_language_model(small: clew.Index) -> None:
    quote = "Louis Palander was born in Karlskrona in 1842."
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        number = 1 + [quote in f.item.text for f in small.search("Where was Louis Palander born?").passages].index(True)
        return json.dumps(
            {"answerable": True, "answer": "Karlskrona", "quotations": [{"passage": number, "quote": quote}]}
        )

    answer = small.ask("Where was Louis Palander born?", model=reply)
    assert answer.text == "Karlskrona"
    assert quote in prompts[0]
    assert '"properties"' in prompts[0]


def test_a_reply_that_does_not_fit_is_sent_back_twice_and_then_a_failure(small: clew.Index) -> None:
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        return "I do not know"

    answer = small.ask("Where was Louis Palander born?", model=reply)
    assert answer.failure is not None
    assert "the reply of python:reply cannot be used" in answer.failure.reason
    assert len(prompts) == 3
    assert "Your last reply was:\nI do not know" in prompts[1]


def test_an_answerer_stands_in_the_place_of_a_model(small: clew.Index) -> None:
    assert small.ask("Where was Louis Palander born?", model=ExtractiveAnswerer()).text == "Karlskrona"


@pytest.mark.parametrize("given", [3, None, Echo, ["a"]])
def test_what_is_no_model_is_refused(given: Any, small: clew.Index) -> None:
    with pytest.raises(clew.InputError, match=r"the language model is .*give|give an object of it"):
        small.ask("Where was Louis Palander born?", model=given)
    with pytest.raises(clew.InputError, match="the model python:<lambda> returned int 3; wanted a string"):
        small.ask("Where was Louis Palander born?", model=lambda _: 3)  # type: ignore[arg-type,return-value]
