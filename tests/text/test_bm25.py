import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError, IndexFormatError, InputError, ProviderError
from clew.text.bm25 import STOP_WORDS, BM25Index

VOYAGES = [
    "Fram\nThe Fram was a ship built by Colin Archer for the voyages of Fridtjof Nansen.",
    "Colin Archer\nColin Archer was a naval architect, born in Larvik.",
    "Larvik\nLarvik is a town in Norway, founded in 1671.",
    "",
    "東京大学\n東京大学は東京都文京区にある。",
    "the of and",
]


def bm25_scores(texts: Sequence[Sequence[str]], question: Sequence[str], k1: float, b: float) -> list[float]:
    """Compute the formula word by word, without arrays or an index."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for word in question:
            holders = sum(word in other for other in texts)
            if text.count(word):
                rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
                times = text.count(word)
                score += rarity * times / (times + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


WORDS = st.lists(st.sampled_from(["fram", "ship", "pole", "nansen", "ice", "1893"]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WORDS, min_size=1, max_size=6), WORDS, st.sampled_from([0.0, 0.9, 1.5]), st.sampled_from([0.0, 0.75, 1.0])
)
def test_scores_follow_the_formula(texts: list[list[str]], question: list[str], k1: float, b: float) -> None:
    index = BM25Index.build([" ".join(text) for text in texts], k1=k1, b=b)
    expected = bm25_scores(texts, question, k1, b) if any(texts) else [0.0] * len(texts)
    scores = index.scores(" ".join(question))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-7)


def test_scores_equal_those_of_the_library() -> None:
    from bm25s import BM25

    texts = ["fram ship pole fram", "ship ice", "pole ice nansen", "nansen"]
    engine = BM25(method="lucene", k1=1.5, b=0.75)
    engine.index([text.split() for text in texts], show_progress=False)
    index = BM25Index.build(texts)
    for question in ("fram ice", "nansen pole ship", "ice ice"):
        np.testing.assert_allclose(index.scores(question), engine.get_scores(question.split()), rtol=1e-6)


@pytest.mark.parametrize("question", ["", " ?! ", "the of and", "zeppelin", "\ud800", "What is it?", "氷"])
def test_scores_are_zero_without_a_common_term(question: str) -> None:
    scores = BM25Index.build(VOYAGES).scores(question)
    assert scores.tolist() == [0.0] * len(VOYAGES)
    assert scores.dtype == np.float32


@pytest.mark.parametrize("texts", [[], [""], ["the", ""]])
def test_an_index_without_terms(texts: list[str], tmp_path: Path) -> None:
    index = BM25Index.build(texts)
    index.save(tmp_path)
    for one in (index, BM25Index.load(tmp_path)):
        assert len(one) == len(texts)
        assert one.scores("Fram").tolist() == [0.0] * len(texts)


def test_words_match_folded_and_stemmed() -> None:
    index = BM25Index.build(["Émile founded CAFÉS", "two ships"])
    assert (index.scores("EMILE") > 0).tolist() == [True, False]
    assert (index.scores("founding a café") > 0).tolist() == [True, False]
    assert (index.scores("ship") > 0).tolist() == [False, True]


def test_pairs_of_neighbouring_letters_in_unspaced_scripts_are_terms() -> None:
    index = BM25Index.build(["東京 都", "京 東"])
    scores = index.scores("東京")
    assert scores[0] > scores[1] > 0
    assert (BM25Index.build(VOYAGES).scores("東京大学はどこ") > 0).tolist() == [False] * 4 + [True, False]


def test_scores_do_not_depend_on_the_word_order() -> None:
    index = BM25Index.build(VOYAGES)
    words = ["ship", "Colin", "Archer", "Larvik", "Norway", "Fram", "Nansen", "voyages"]
    assert index.scores(" ".join(words)).tobytes() == index.scores(" ".join(reversed(words))).tobytes()


def test_texts_are_read_once() -> None:
    index = BM25Index.build(text for text in VOYAGES)
    np.testing.assert_array_equal(index.scores("Colin Archer"), BM25Index.build(VOYAGES).scores("Colin Archer"))


def test_stop_words_are_folded() -> None:
    assert all(word == word.casefold() for word in STOP_WORDS)


def test_loaded_scores_are_the_same_bits(tmp_path: Path) -> None:
    built = BM25Index.build(VOYAGES)
    built.save(tmp_path / "new" / "folder")
    loaded = BM25Index.load(tmp_path / "new" / "folder")
    assert len(loaded) == len(VOYAGES)
    for question in (*VOYAGES, "who founded Larvik"):
        assert loaded.scores(question).tobytes() == built.scores(question).tobytes()


def test_saved_bytes_depend_on_the_texts_only(tmp_path: Path) -> None:
    BM25Index.build(VOYAGES).save(tmp_path / "here")
    code = "import sys, json, pathlib; from clew.text.bm25 import BM25Index; "
    code += "BM25Index.build(json.loads(sys.argv[1])).save(pathlib.Path(sys.argv[2]))"
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": paths}
    command = [sys.executable, "-c", code, json.dumps(VOYAGES), str(tmp_path / "there")]
    subprocess.run(command, check=True, env=environment)
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert names == ["offsets.npy", "passages.npy", "settings.json", "terms.npy", "weights.npy"]
    for name in names:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name


def test_loading_does_not_import_bm25s(tmp_path: Path) -> None:
    BM25Index.build(VOYAGES).save(tmp_path)
    code = "import sys, pathlib; from clew.text.bm25 import BM25Index; "
    code += "assert BM25Index.load(pathlib.Path(sys.argv[1])).scores('Larvik').any(); assert 'bm25s' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=environment)


def truncate_array(folder: Path, name: str) -> None:
    array = np.load(folder / name)
    np.save(folder / name, array[:-1])


def test_damaged_folders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(IndexFormatError, match="delete the folder to rebuild it"):
        BM25Index.load(tmp_path / "absent")
    for name in ("offsets.npy", "passages.npy", "terms.npy", "weights.npy"):
        BM25Index.build(VOYAGES).save(tmp_path)
        truncate_array(tmp_path, name)
        with pytest.raises(IndexFormatError, match="lengths of its arrays are inconsistent"):
            BM25Index.load(tmp_path)
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(IndexFormatError, match="delete the folder to rebuild it"):
            BM25Index.load(tmp_path)
        np.save(tmp_path / name, np.zeros((2, 2)))
        with pytest.raises(IndexFormatError, match="wanted one dimension of"):
            BM25Index.load(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"format": 1}',
        b'{"fingerprint": "bm25-0", "passages": 1, "stem": false}',
        b'{"fingerprint": "bm25-1", "passages": 1, "stem": false}',
        b'{"fingerprint": "bm25-1", "passages": "1", "stem": true}',
    ],
)
def test_other_settings_are_rejected(tmp_path: Path, content: bytes) -> None:
    BM25Index.build(VOYAGES).save(tmp_path)
    (tmp_path / "settings.json").write_bytes(content)
    with pytest.raises(IndexFormatError, match="delete the folder to rebuild it"):
        BM25Index.load(tmp_path)


@pytest.mark.parametrize(("k1", "b"), [(-1.0, 0.5), (math.nan, 0.5), (1.5, 1.5), (1.5, -0.1)])
def test_constants_out_of_range(k1: float, b: float) -> None:
    with pytest.raises(InputError, match="k1"):
        BM25Index.build(["a"], k1=k1, b=b)


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProviderError) as raised:
        BM25Index.build(["Fram"]).save(tmp_path / "file")
    assert isinstance(raised.value, ClewError)
