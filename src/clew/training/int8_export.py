"""Models of the shape of BERT in 8-bit integers, as one ONNX file that ONNX Runtime alone runs.

Weights are rounded symmetrically per output channel, activations per token while the model runs, so nothing has to be
calibrated on texts and no token's rounding depends on another. Weights use 7 of the 8 bits (-63 to 63): a sum of two
products then fits the 16 bits in which processors without VNNI add them, and every machine computes the same integers.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

WEIGHT_LEVELS = 63
EMBEDDING_LEVELS = 127
STATES = "states"
LEVELS, SCALE, QKV = ".levels", ".scale", ".attention.self.qkv"
CONTRIB = "com.microsoft"  # operators of ONNX Runtime beyond the standard

Array = NDArray[np.float32]


class GraphWriter:
    """Nodes and constants of an ONNX graph under construction; every value has a name."""

    def __init__(self, *, is_named: bool) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._is_named = is_named

    def constant(self, value: object, name: str = "") -> str:
        """Add a constant and return its name: the one given where constants are named, else the next number."""
        name = name if name and self._is_named else f"c{len(self.constants)}"
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
    """Layers of the model with 8-bit products, written into one graph.

    `is_named` names the constants after their parameters, so that `read_parameters` finds them again.
    """

    def __init__(self, weights: Mapping[str, Array], epsilon: float, *, is_named: bool = False) -> None:
        self.graph = GraphWriter(is_named=is_named)
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

    def project(self, x: tuple[str, str], weight: Array, bias: Array, name: str) -> str:
        """Multiply quantised rows by weight (out, in) rounded per output, and add bias (out,)."""
        rows, row_scale = x
        scale, levels = round_rows(weight, WEIGHT_LEVELS)
        product = self.graph.node(
            "MatMulIntegerToFloat",
            rows,
            self.graph.constant(levels.T, f"{name}{LEVELS}"),
            self.one,
            self.graph.constant(scale, f"{name}{SCALE}"),
            self.zero_point,
            domain=CONTRIB,
        )
        scaled = self.graph.node("Mul", product, row_scale)
        return self.graph.node("Add", scaled, self.graph.constant(bias, f"{name}.bias"))

    def linear(self, x: tuple[str, str], name: str) -> str:
        """Multiply quantised rows by the weight of a layer, and add its bias."""
        return self.project(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], name)

    def normalise(self, x: str, name: str) -> str:
        """Normalise rows by a layer's gain and shift."""
        gain, shift = (
            self.graph.constant(self.weights[f"{name}.{part}"], f"{name}.{part}") for part in ("weight", "bias")
        )
        return self.graph.node("LayerNormalization", x, gain, shift, axis=-1, epsilon=self.epsilon)

    def embed(self, max_tokens: int, types: str = "") -> str:
        """Rows (1, L, d) of the input `ids` (1, L) with their positions, and with those of an input of types (1, L)."""
        graph = self.graph
        name = "embeddings.word_embeddings"
        scale, levels = round_rows(self.weights[f"{name}.weight"], EMBEDDING_LEVELS)
        words = graph.node("Gather", graph.constant(levels, f"{name}{LEVELS}"), "ids")
        words = graph.node("Cast", words, to=TensorProto.FLOAT)
        scales = graph.node("Gather", graph.constant(scale[:, None], f"{name}{SCALE}"), "ids")
        words = graph.node("Mul", words, scales)
        positions = self.weights["embeddings.position_embeddings.weight"][:max_tokens]
        kinds = self.weights["embeddings.token_type_embeddings.weight"]
        if types:
            rows = graph.constant(kinds, "embeddings.token_type_embeddings.weight")
            words = graph.node("Add", words, graph.node("Gather", rows, types))
        else:
            positions = positions + kinds[0]
        zero, one = (graph.constant(np.array([value], np.int64)) for value in (0, 1))
        length = graph.node("Gather", graph.node("Shape", "ids"), one, axis=0)
        places = graph.constant(positions, "embeddings.position_embeddings.weight")
        places = graph.node("Slice", places, zero, length, zero)
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
        stacked = self.project(self.quantise_rows(x), weight, bias, f"{name}{QKV}")
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


def encoder_model(weights: Mapping[str, Array], config: Mapping[str, Any], max_tokens: int) -> ModelProto:
    """Return the encoder of the weights of a BERT model.

    `ids` int64 (1, L), 1 <= L <= max_tokens, to `rows` float32 (1, d), the unit row of a text, and `states` float32
    (1, L, d), those of its tokens, whose mean it is before it is divided by its length.
    """
    quantiser = Quantiser(weights, config["layer_norm_eps"], is_named=False)
    x = quantiser.embed(max_tokens)
    for number in range(config["num_hidden_layers"]):
        x = quantiser.block(x, f"encoder.layer.{number}", config["num_attention_heads"])
    quantiser.graph.nodes[-1].output[0] = STATES
    quantiser.pool(STATES)
    width = config["hidden_size"]
    outputs = {"rows": [1, width], STATES: [1, "length", width]}
    return _make_model(quantiser.graph, "all-MiniLM-L6-v2-int8", ("ids",), outputs)


def reader_model(weights: Mapping[str, Array], config: Mapping[str, Any]) -> ModelProto:
    """Return the reader of the weights of a `SpanReader`.

    `ids` and `types` int64 (1, L) to `spans` float32 (1, L, 2), scores of begins and ends, and `kinds` float32 (1, 4).
    """
    body = {name.removeprefix("bert."): value for name, value in weights.items()}
    quantiser = Quantiser(body, config["layer_norm_eps"], is_named=True)
    graph = quantiser.graph
    x = quantiser.embed(config["max_position_embeddings"], "types")
    for number in range(config["num_hidden_layers"]):
        x = quantiser.block(x, f"encoder.layer.{number}", config["num_attention_heads"])
    axis = graph.constant(np.array([1], np.int64))
    first = graph.node("Squeeze", graph.node("Gather", x, graph.constant(np.array([0], np.int64)), axis=1), axis)
    for head, states, output in (("spans", x, "spans"), ("kinds", first, "kinds")):
        weight, bias = (graph.constant(body[f"{head}.{part}"], f"{head}.{part}") for part in ("weight", "bias"))
        turned = graph.node("Transpose", weight, perm=[1, 0])
        scores = graph.node("MatMul", states, turned)
        graph.nodes.append(helper.make_node("Add", [scores, bias], [output]))
    kinds = len(body["kinds.bias"])
    return _make_model(graph, "clew-reader-int8", ("ids", "types"), {"spans": [1, "length", 2], "kinds": [1, kinds]})


def read_parameters(model: ModelProto, heads: int) -> dict[str, Array]:
    """Return the weights of a reader's file as those of a `SpanReader`; those in 8 bits stay rounded."""
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    found: dict[str, Array] = {}
    for name, value in constants.items():
        if name.endswith(LEVELS):
            base = name.removesuffix(LEVELS)
            scale = constants[f"{base}{SCALE}"].reshape(-1)
            is_embedding = value.shape[0] == len(scale) and "embeddings" in base
            weight = value * scale[:, None] if is_embedding else value.T * scale[:, None]
            found[f"{base}.weight"] = weight.astype(np.float32)
        elif not name.endswith(SCALE) and not name.startswith("c") and "." in name:
            found[name] = value
    for name in [name for name in found if f"{QKV}." in name]:
        base, part = name.split(f"{QKV}.")
        value = found.pop(name)
        width = value.shape[0] // 3
        for at, own in enumerate(("query", "key", "value")):
            found[f"{base}.attention.self.{own}.{part}"] = value[at * width : (at + 1) * width]
        query = f"{base}.attention.self.query.{part}"
        found[query] = found[query] / np.float32((width // heads) ** -0.5)
    own_heads = ("spans.", "kinds.")
    return {name if name.startswith(own_heads) else f"bert.{name}": value for name, value in found.items()}


def _make_model(
    graph: GraphWriter, name: str, inputs: tuple[str, ...], outputs: Mapping[str, list[int | str]]
) -> ModelProto:
    made = helper.make_graph(
        graph.nodes,
        name,
        [helper.make_tensor_value_info(one, TensorProto.INT64, [1, "length"]) for one in inputs],
        [helper.make_tensor_value_info(one, TensorProto.FLOAT, shape) for one, shape in outputs.items()],
        graph.constants,
    )
    versions = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(made, opset_imports=versions, ir_version=9, producer_name="clew")
