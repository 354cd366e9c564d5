"""The default encoder: near the fp32 model, and a row depends on its own text only."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from clew.errors import ProviderError
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.registry import open_encoder
from tests.faults.python_process import run_python
from tests.models.fp32_weights import FOLDER, needs_fp32_weights

TEXTS = [
    "",
    " ",
    "a",
    "Who is the paternal grandmother of Lothair II?",
    "Lothair II",
    "LOTHAIR ii",
    "Teutberga (died 11 November 875) was a queen of Lotharingia by marriage to Lothair II.",
    "東京タワーは日本の電波塔です。",
    "Кто написал «Войну и мир»?",
    "من هو مؤلف ألف ليلة وليلة؟",
    "😀 👩‍👩‍👧 flags 🇫🇷",
    "naïve café Ångström e\u0301",
    "tab\tand\nnewline\r\n",
    "\u0000 \u200b zero width",
    "[CLS] [SEP] [MASK]",
    "x" * 300,
    *("word " * count for count in (3, 7, 11, 20, 40, 60, 90, 120, 150, 180, 210, 250, 254, 255, 256, 1000)),
]


@pytest.fixture(scope="module")
def encoder() -> Int8MiniLM:
    return Int8MiniLM()


@pytest.mark.slow  # importing sentence-transformers takes six to ten seconds
@needs_fp32_weights
def test_rows_are_near_those_of_the_fp32_model(encoder: Int8MiniLM) -> None:
    cosines = (encoder.encode(TEXTS) * open_encoder(str(FOLDER)).encode(TEXTS)).sum(1)
    assert cosines.min() > 0.975
    assert cosines.mean() > 0.993


def test_rows_do_not_depend_on_the_batch(encoder: Int8MiniLM) -> None:
    texts = [*TEXTS, *(f"Name number {number} of many" for number in range(70))]
    whole = encoder.encode(texts)
    order = np.random.default_rng(1).permutation(len(texts))
    np.testing.assert_array_equal(encoder.encode([texts[place] for place in order]), whole[order])
    np.testing.assert_array_equal(encoder.encode_queries(texts[3:4]), whole[3:4])


def test_rows_do_not_depend_on_the_number_of_threads() -> None:
    program = (
        "from clew.models.encoders.int8_minilm import Int8MiniLM;"
        "rows = Int8MiniLM().encode([f'Ship {n} left port ' * (n % 9) for n in range(80)]);"
        "print(rows.tobytes().hex())"
    )
    assert len({run_python(program, OMP_NUM_THREADS=threads) for threads in ("1", "2", "5")}) == 1


def test_spans_are_means_of_the_states_of_their_tokens(encoder: Int8MiniLM) -> None:
    texts = ["Fram\nThe Fram sailed north. Nansen led it.", "a b " * 400, "🚢 the ship", ""]
    spans = [[(0, 4), (5, 27), (28, 43)], [(0, 3), (400, 403), (1590, 1600)], [(0, 1), (2, 10)], []]
    found = encoder.encode_spans(texts, spans)
    np.testing.assert_array_equal(found.rows, encoder.encode(texts))
    assert found.read[0] == len(texts[0])
    assert found.read[1] == 2 * 254 - 1
    model = encoder._load()
    for text, own, vectors in zip(texts, spans, found.spans, strict=True):
        encoding = model.tokenizer.encode(text)
        states = model.session.run(["states"], {"ids": np.array([encoding.ids], dtype=np.int64)})[0][0]
        for (start, end), vector in zip(own, vectors, strict=True):
            chosen = [row for row, (a, b) in enumerate(encoding.offsets) if a < b and start <= a < end]
            mean = states[chosen].mean(0) if chosen else np.zeros(384)
            np.testing.assert_allclose(vector, mean / max(float(np.linalg.norm(mean)), 1e-9), atol=1e-6)
    many = encoder.encode_spans(texts * 9, spans * 9)
    np.testing.assert_array_equal(np.concatenate(many.spans[:4]), np.concatenate(found.spans))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    shipped = Path(sys.modules["clew"].__path__[0]) / "weights" / "encoder"
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(shipped / name, tmp_path)
    assert Int8MiniLM(tmp_path).encode(["a"]).shape == (1, 384)
    for damaged in ("{", (shipped / "tokenizer.json").read_text(encoding="utf-8").replace("##s", "##z", 1)):
        (tmp_path / "tokenizer.json").write_text(damaged, encoding="utf-8")
        with pytest.raises(ProviderError, match=r"tokenizer\.json has SHA-256 .*; wanted [0-9a-f]{64}; .*reinstall"):
            Int8MiniLM(tmp_path).encode(["a"])
    (tmp_path / "model.onnx").write_bytes(b"other")
    with pytest.raises(ProviderError, match="SHA-256"):
        Int8MiniLM(tmp_path).encode(["a"])
