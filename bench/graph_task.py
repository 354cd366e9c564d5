"""Two-edge questions on generated graphs, and a word-level language model that reads them."""

import csv
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph, induced_subgraph
from clew_lab.graph.reader_context import GraphContext, build_context
from clew_lab.training.objectives.reader_tuning import ReaderExample

NAMES = (
    *("Adam", "Alice", "Amos", "Anna", "Bella", "Boris", "Carl", "Clara", "David", "Doris", "Edgar", "Emma", "Felix"),
    *("Fiona", "George", "Grace", "Harry", "Helen", "Igor", "Irene", "Jacob", "Julia", "Karl", "Laura", "Leo", "Linda"),
    *("Martin", "Maria", "Nathan", "Nina", "Oscar", "Olga", "Paul", "Paula", "Quentin", "Rachel", "Robert", "Rosa"),
    *("Simon", "Sarah", "Thomas", "Tina", "Ulrich", "Ursula", "Victor", "Vera", "Walter", "Wanda", "Xavier", "Yvonne"),
)
RELATIONS = ("friend", "teacher", "doctor", "boss")
_SPECIAL_TOKENS = ("<end>", "<unknown>")
_MAX_PLANES, _BIAS_LENGTH = 6, 8.0


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Settings of the generated graphs.

    Attributes:
        nodes: Nodes per graph, each with a distinct name.
        degree: Mean number of outgoing edges per node, at most one of each relation.
        names: Number of names in use.
    """

    nodes: int = 20
    degree: float = 2.0
    names: int = 24


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A question that takes two edges.

    Attributes:
        graph: Graph of the question.
        chain: (3,) nodes: the named one, the one in between, the answer.
        relations: (2,) numbers of the relations of the first and the second edge.
    """

    graph: TextualGraph
    chain: tuple[int, int, int]
    relations: tuple[int, int]

    @property
    def question(self) -> str:
        """Text of the question."""
        first, second = (RELATIONS[number] for number in self.relations)
        return f"Who is {self.graph.nodes[self.chain[0]]}'s {first}'s {second}?"

    @property
    def answer(self) -> str:
        """Name of the answer."""
        return self.graph.nodes[self.chain[2]]


def make_task(settings: TaskSettings, random: np.random.Generator) -> Task:
    """Return a question on a new graph."""
    count, kinds = settings.nodes, len(RELATIONS)
    names = [NAMES[i] for i in random.permutation(settings.names)[:count].tolist()]
    while True:
        leaves = random.random((count, kinds)) < settings.degree / kinds
        sources, relations = np.nonzero(leaves)
        targets = (sources + random.integers(1, count, len(sources))) % count
        order = random.permutation(len(sources))
        edges = np.column_stack([sources, targets])[order].astype(np.int32)
        kind = relations[order]
        first, second = np.nonzero(edges[:, 1][:, None] == edges[:, 0][None, :])
        proper = edges[first, 0] != edges[second, 1]
        if proper.any():
            break
    pick = int(random.integers(int(proper.sum())))
    one, two = int(first[proper][pick]), int(second[proper][pick])
    graph = TextualGraph(names, edges, [RELATIONS[number] for number in kind.tolist()])
    chain = (int(edges[one, 0]), int(edges[one, 1]), int(edges[two, 1]))
    return Task(graph, chain, (int(kind[one]), int(kind[two])))


def sample_connected(graph: TextualGraph, required: Sequence[int], size: int, random: np.random.Generator) -> list[int]:
    """Return the required nodes, extended up to a size by random neighbours."""
    neighbours: list[list[int]] = [[] for _ in graph.nodes]
    for source, target in graph.edges.tolist():
        neighbours[source].append(target)
        neighbours[target].append(source)
    chosen = list(dict.fromkeys(required))
    border = [other for node in chosen for other in neighbours[node]]
    while border and len(chosen) < size:
        node = border.pop(int(random.integers(len(border))))
        if node not in chosen:
            chosen.append(node)
            border += neighbours[node]
    return chosen


def text_context(graph: TextualGraph, part: Sequence[int]) -> GraphContext:
    """Return the context of a subgraph for a reader of its text, without vectors."""
    none = np.zeros((0, 0), dtype=np.float32)
    encoded = EncodedGraph(graph, none, none, np.zeros(len(graph.edges), dtype=np.int32))
    query = GraphQuery(encoded, np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int32))
    return build_context(query, induced_subgraph(graph, part))


def build_prompt(question: str, graph: str) -> str:
    """Return the edges of a graph's two tables as sentences, such as `Boris is Anna's friend`, and the question.

    A model of this size takes far longer to learn to look up ids than to follow edges. The target comes first, so that
    the position of the relation has the whole edge closely before it, as the position that predicts the answer has the
    name.
    """
    nodes, _, edges = graph.partition("\n\n")
    names = dict(list(csv.reader(nodes.splitlines()))[1:])
    rows = list(csv.reader(edges.splitlines()))[1:]
    return "\n".join([*(f"{names[target]} is {names[source]}'s {kind}" for source, kind, target in rows), question])


def make_tokenizer() -> Any:
    """Return a tokenizer with one token for each name and each relation, which skips everything else."""
    words = [*_SPECIAL_TOKENS, *NAMES, *RELATIONS]
    tokenizer = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate(words)}, unk_token=_SPECIAL_TOKENS[1])
    )
    vocabulary = Regex(rf"\b(?:{'|'.join(NAMES + RELATIONS)})\b")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(vocabulary, "removed", invert=True)
    fast: Any = PreTrainedTokenizerFast  # has no types
    return fast(
        tokenizer_object=tokenizer,
        eos_token=_SPECIAL_TOKENS[0],
        pad_token=_SPECIAL_TOKENS[0],
        unk_token=_SPECIAL_TOKENS[1],
    )


def write_model(folder: Path, *, width: int, layers: int, heads: int = 2, seed: int = 0) -> Path:
    """Write an untrained Llama with its tokenizer; returns the folder."""
    tokenizer = make_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        attention_bias=True,
        max_position_embeddings=1024,
        initializer_range=0.05,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = LlamaForCausalLM(config)
    for number, layer in enumerate(model.model.layers):
        start_attention(layer.self_attn, width // heads, model.model.rotary_emb.inv_freq, look_back=number % 2 == 0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_doubled_model(source: Path, folder: Path) -> Path:
    """Write a model with its stack of layers repeated; returns the folder.

    For a model that follows one edge this is a start for two: the second half looks up the result of the first.
    """
    source_model: Any = LlamaForCausalLM.from_pretrained(source)
    layers = source_model.config.num_hidden_layers
    doubled: Any = LlamaForCausalLM(
        LlamaConfig.from_dict({**source_model.config.to_dict(), "num_hidden_layers": 2 * layers})
    )
    doubled.model.layers = torch.nn.ModuleList([*source_model.model.layers, *deepcopy(source_model.model.layers)])
    doubled.model.norm, doubled.model.embed_tokens = source_model.model.norm, source_model.model.embed_tokens
    doubled.tie_weights()
    doubled.save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return folder


@torch.no_grad()
def start_attention(attention: Any, width: int, frequencies: torch.Tensor, *, look_back: bool) -> None:
    """Initialise attention close to a look-up; all weights remain trainable.

    Keys start with the weights of queries, so that a token first attends to equal tokens. With `look_back`, head 0
    starts by attending one token back and head 1 two: with biases q and k, both of length a in the first of the planes
    that the rotary positions turn, the score of a token d back is the sum of a^2 cos((d - back) f) over their
    frequencies f, greatest at d = back. Without this, a small model does not get past this step of a look-up.

    Args:
        attention: Attention of a Llama, with biases.
        width: Width of a head.
        frequencies: (width / 2,) rotary frequencies in radians per token, descending.
        look_back: Whether heads start with an offset.
    """
    attention.k_proj.weight.copy_(attention.q_proj.weight)
    half, planes = width // 2, min(_MAX_PLANES, width // 2)
    for head, back in enumerate((1, 2) if look_back else ()):
        first, turned = head * width, back * frequencies[:planes]
        attention.q_proj.bias[first : first + planes] = _BIAS_LENGTH * torch.cos(turned)
        attention.q_proj.bias[first + half : first + half + planes] = -_BIAS_LENGTH * torch.sin(turned)
        attention.k_proj.bias[first : first + planes] = _BIAS_LENGTH


@dataclass(frozen=True, slots=True)
class Practice(Sequence[ReaderExample]):
    """Questions of the task on connected subgraphs that contain the needed edges and more, made on access.

    Attributes:
        settings: Settings of the graphs.
        size: Number of examples.
        seed: Random seed; together with the position it determines an example.
        max_nodes: Maximum number of nodes in a subgraph.
    """

    settings: TaskSettings
    size: int
    seed: int
    max_nodes: int

    def __len__(self) -> int:
        """Return the number of examples."""
        return self.size

    @overload
    def __getitem__(self, position: int) -> ReaderExample: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[ReaderExample]: ...
    def __getitem__(self, position: int | slice) -> ReaderExample | Sequence[ReaderExample]:
        """Return the example at a position, always the same, or those of a slice."""
        if isinstance(position, slice):
            return [self[one] for one in range(*position.indices(self.size))]
        if not 0 <= position < self.size:
            raise IndexError(position)
        random = np.random.default_rng([self.seed, position])
        one = make_task(self.settings, random)
        part = sample_connected(one.graph, one.chain, int(random.integers(4, self.max_nodes + 1)), random)
        return ReaderExample(one.question, text_context(one.graph, part), one.answer)
