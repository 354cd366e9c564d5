import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.arrays import FloatArray
from clew.errors import ClewError, IndexFormatError, InputError, ProviderError
from clew.text.bm25 import _ARRAYS, BM25Index, TermCounts, count_terms
from clew.text.normalization import find_terms
from tests.faults.python_process import run_python

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


def ranking_by_scores(scores: FloatArray, k: int) -> list[int]:
    order = np.lexsort((np.arange(len(scores)), -scores))[:k]
    return [int(p) for p in order if scores[p] > 0]


@pytest.fixture(scope="module")
def random_texts() -> list[str]:
    generator = np.random.default_rng(3)
    weights = 1.0 / np.arange(1, 801) ** 0.9
    sizes = generator.integers(0, 50, 4000)
    words = generator.choice(800, size=int(sizes.sum()), p=weights / weights.sum())
    return [" ".join(f"w{w}" for w in row) for row in np.split(words, np.cumsum(sizes)[:-1])]


@pytest.mark.parametrize("k", [1, 7, 100, 5000])
@pytest.mark.parametrize("share", [None, 0.5, 0.01])
@pytest.mark.parametrize("read_by_numpy", [0, 10_000_000])
def test_the_best_passages_are_those_of_all_scores(
    monkeypatch: pytest.MonkeyPatch, random_texts: list[str], k: int, share: float | None, read_by_numpy: int
) -> None:
    monkeypatch.setattr("clew.text.bm25._READ_BY_NUMPY", read_by_numpy)
    index = BM25Index.build(random_texts)
    assert len(index.layered_terms)
    generator = np.random.default_rng(k)
    for length in (1, 2, 5, 12, 40):
        question = " ".join(f"w{w}" for w in (generator.random(length) ** 3 * 800).astype(int))
        allowed = None if share is None else generator.random(len(index)) < share
        scores = index.scores(question)
        wanted = ranking_by_scores(scores if allowed is None else np.where(allowed, scores, np.float32(0.0)), k)
        positions, values = index.top(index.query(question), k, allowed)
        assert positions.tolist() == wanted
        assert values.tobytes() == scores[positions].tobytes()


def test_the_weight_of_a_questions_words_is_that_of_the_words_alone() -> None:
    texts = ["The sign-off of AX-4000-12.", "A signoff of ours.", "Nothing of the kind."]
    index, question = BM25Index.build(texts), "the sign-off of ax-4000-12 zzyzx"
    expected = 0.0
    for word in find_terms(question):
        holders = sum(word in find_terms(text) for text in texts)
        expected += math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
    assert index.weigh_words(question) == pytest.approx(expected)
    assert index.query(question).weights.sum() > expected


def test_a_question_that_is_a_number_is_an_identifier() -> None:
    index = BM25Index.build(["Issue #4521 is open.", "Nothing of 1999."])
    counts = [len(index.query_identifiers(text).terms) for text in ("#4521", "4521", "issue 4521", "open")]
    assert counts == [1, 1, 0, 0]


def test_a_word_that_one_passage_spells_as_an_identifier_is_none() -> None:
    index = BM25Index.build(["The CounTry of Lund.", "A country.", "One country.", "It calls getUserById."])
    assert [len(index.query_identifiers(text).terms) for text in ("a country", "getuserbyid")] == [0, 1]


def test_a_question_of_thousands_of_terms(random_texts: list[str]) -> None:
    index = BM25Index.build([*random_texts, " ".join(f"x{i}" for i in range(9000))])
    question = " ".join([*(f"x{i}" for i in range(9000)), *(f"w{i}" for i in range(800))])
    positions, _ = index.top(index.query(question), 5)
    assert positions.tolist() == ranking_by_scores(index.scores(question), 5)


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, max_size=8), st.lists(st.integers(0, 3), max_size=8), st.randoms(use_true_random=False))
def test_a_merged_index_has_the_bytes_of_one_built_at_once(
    texts: list[list[str]], parts: list[int], generator: random.Random
) -> None:
    joined = [" ".join(words) for words in texts]
    part_of = [parts[i] if i < len(parts) else 0 for i in range(len(texts))]
    rows = [[i for i, part in enumerate(part_of) if part == number] for number in range(4)]
    for row in rows:
        generator.shuffle(row)
    counted = [count_terms(joined[i] for i in row) for row in rows]
    order = list(range(4))
    generator.shuffle(order)
    merged = BM25Index.merge(
        [counted[i] for i in order], [np.array(rows[i], dtype=np.int32) for i in order], len(joined)
    )
    built = BM25Index.build(joined)
    for name in _ARRAYS:
        assert getattr(merged, name).tobytes() == getattr(built, name).tobytes(), name
    assert merged.mean_length == built.mean_length


def test_a_term_of_no_text_is_left_out() -> None:
    counted = count_terms(["fram ship", "ice"])
    more = TermCounts(
        np.append(counted.hashes, np.uint64(2**64 - 1)), counted.indptr, counted.terms, counted.counts, counted.lengths
    )
    rows = [np.arange(2, dtype=np.int32)]
    merged, built = BM25Index.merge([more], rows, 2), BM25Index.merge([counted], rows, 2)
    assert all(getattr(merged, name).tobytes() == getattr(built, name).tobytes() for name in _ARRAYS)


def test_loaded_scores_are_the_same_bits(tmp_path: Path) -> None:
    built = BM25Index.build(VOYAGES)
    built.save(tmp_path / "new" / "folder")
    loaded = BM25Index.load(tmp_path / "new" / "folder")
    assert len(loaded) == len(VOYAGES)
    for question in (*VOYAGES, "who founded Larvik"):
        assert loaded.scores(question).tobytes() == built.scores(question).tobytes()


@pytest.mark.slow
def test_saved_bytes_depend_on_the_texts_only(tmp_path: Path) -> None:
    BM25Index.build(VOYAGES).save(tmp_path / "here")
    code = "import sys, json, pathlib; from clew.text.bm25 import BM25Index; "
    code += "BM25Index.build(json.loads(sys.argv[1])).save(pathlib.Path(sys.argv[2]))"
    run_python(code, json.dumps(VOYAGES), tmp_path / "there", PYTHONHASHSEED="7")
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert len(names) == 12
    for name in names:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name


def truncate_array(folder: Path, name: str) -> None:
    array = np.load(folder / name)
    np.save(folder / name, array[:-1])


def test_damaged_folders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(IndexFormatError, match="delete the folder to rebuild it"):
        BM25Index.load(tmp_path / "absent")
    for name in ("offsets.npy", "passages.npy", "terms.npy", "row_terms.npy"):
        BM25Index.build(VOYAGES).save(tmp_path)
        truncate_array(tmp_path, name)
        with pytest.raises(IndexFormatError, match="lengths of its arrays are inconsistent"):
            BM25Index.load(tmp_path)
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(IndexFormatError, match="delete the folder to rebuild it"):
            BM25Index.load(tmp_path)
        np.save(tmp_path / name, np.zeros((2, 2, 2)))
        with pytest.raises(IndexFormatError, match="wanted 1 dimensions of"):
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
        json.dumps({"fingerprint": BM25Index.fingerprint(), "passages": "1"}).encode(),
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


def test_words_that_passages_have() -> None:
    index, keys = BM25Index.build(VOYAGES), ["ships", "shipz", "the", "larvik", "fridtjof", "東", "西"]
    assert index.has_words(keys) == [True, False, True, True, True, True, False]
    assert index.has_words([]) == BM25Index.build([]).has_words([]) == []
    assert BM25Index.build([]).has_words(["ship", "the"]) == [False, True]


def test_the_first_questions_of_a_process_load_no_compiled_function(tmp_path: Path) -> None:
    BM25Index.build(VOYAGES).save(tmp_path)
    program = (
        "import sys\nfrom pathlib import Path\nfrom clew.text.bm25 import BM25Index\n"
        f"index = BM25Index.load(Path({str(tmp_path)!r}))\n"
        "print(index.top(index.query('ships of Nansen'), 3)[0].tolist(), 'numba' in sys.modules)"
    )
    assert run_python(program) == "[0] False\n"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("мастерской", "мастерская"),
        ("المستشعرات", "مستشعر"),
        ("लॉगरों", "लॉगर"),
        ("파사우", "파사우에서"),
        ("พัสเซา", "โรงงานในเมืองพัสเซา"),
    ],
)
def test_words_are_found_in_other_forms_of_their_language(question: str, text: str) -> None:
    scores = BM25Index.build([text, "Fram", "12"]).scores(question)
    assert scores[0] > 0
    assert not scores[1:].any()
