"""Questions on generated graphs that need two edges, and a word-level language model to read them with."""

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

from clew.graph.subgraphs.textual_graph import (
    EncodedGraph,
    GraphContext,
    GraphQuery,
    TextualGraph,
    build_context,
    induced_subgraph,
)
from clew.training.objectives.reader_tuning import ReaderExample

NAMES = (
    *("Adam", "Alice", "Amos", "Anna", "Bella", "Boris", "Carl", "Clara", "David", "Doris", "Edgar", "Emma", "Felix"),
    *("Fiona", "George", "Grace", "Harry", "Helen", "Igor", "Irene", "Jacob", "Julia", "Karl", "Laura", "Leo", "Linda"),
    *("Martin", "Maria", "Nathan", "Nina", "Oscar", "Olga", "Paul", "Paula", "Quentin", "Rachel", "Robert", "Rosa"),
    *("Simon", "Sarah", "Thomas", "Tina", "Ulrich", "Ursula", "Victor", "Vera", "Walter", "Wanda", "Xavier", "Yvonne"),
)
RELATIONS = ("friend", "teacher", "doctor", "boss")
_MARKS = ("<end>", "<unknown>")
_PLANES, _LENGTH = 6, 8.0


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The shape of the generated graphs.

    Attributes:
        nodes: Of a graph; each has a name of its own.
        degree: Edges that leave a node in the mean; a node has at most one of a relation.
        names: How many of the names occur.
    """

    nodes: int = 20
    degree: float = 2.0
    names: int = 24


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A question that takes two edges.

    Attributes:
        graph: It is on.
        chain: (3,) nodes: the one that is named, the one between, the answer.
        relations: (2,) numbers of the first and the second edge's relation.
    """

    graph: TextualGraph
    chain: tuple[int, int, int]
    relations: tuple[int, int]

    @property
    def question(self) -> str:
        """Its words."""
        first, second = (RELATIONS[number] for number in self.relations)
        return f"Who is {self.graph.nodes[self.chain[0]]}'s {first}'s {second}?"

    @property
    def answer(self) -> str:
        """A name."""
        return self.graph.nodes[self.chain[2]]


def task(settings: TaskSettings, random: np.random.Generator) -> Task:
    """Return a question on a graph of its own, so that no graph is met twice."""
    count, kinds = settings.nodes, len(RELATIONS)
    names = [NAMES[place] for place in random.permutation(settings.names)[:count].tolist()]
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


def connected_part(graph: TextualGraph, kept: Sequence[int], size: int, random: np.random.Generator) -> list[int]:
    """Return nodes that hang together with those kept, up to a size, taken one by one by chance."""
    around: list[list[int]] = [[] for _ in graph.nodes]
    for source, target in graph.edges.tolist():
        around[source].append(target)
        around[target].append(source)
    chosen = list(dict.fromkeys(kept))
    border = [other for node in chosen for other in around[node]]
    while border and len(chosen) < size:
        node = border.pop(int(random.integers(len(border))))
        if node not in chosen:
            chosen.append(node)
            border += around[node]
    return chosen


def read_only(graph: TextualGraph, part: Sequence[int]) -> GraphContext:
    """Return a part of a graph for a reader of its text, without vectors."""
    none = np.zeros((0, 0), dtype=np.float32)
    encoded = EncodedGraph(graph, none, none, np.zeros(len(graph.edges), dtype=np.int32))
    asked = GraphQuery(encoded, np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int32))
    return build_context(asked, induced_subgraph(graph, part))


def prompt(question: str, graph: str) -> str:
    """Return the edges of a graph's two tables as sentences, such as `Boris is Anna's friend`, and the question.

    A model of this size takes far longer to learn to look up ids than to follow edges. What is found comes first, so
    that the place of the relation has all of an edge close behind it, as the place that asks for it has the name.
    """
    nodes, _, edges = graph.partition("\n\n")
    names = dict(list(csv.reader(nodes.splitlines()))[1:])
    rows = list(csv.reader(edges.splitlines()))[1:]
    return "\n".join([*(f"{names[target]} is {names[source]}'s {kind}" for source, kind, target in rows), question])


def word_tokenizer() -> Any:
    """Return a tokenizer with one token for each name and each relation, which passes over all else."""
    words = [*_MARKS, *NAMES, *RELATIONS]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token=_MARKS[1]))
    known = Regex(rf"\b(?:{'|'.join(NAMES + RELATIONS)})\b")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(known, "removed", invert=True)
    fast: Any = PreTrainedTokenizerFast  # has no types
    return fast(tokenizer_object=tokenizer, eos_token=_MARKS[0], pad_token=_MARKS[0], unk_token=_MARKS[1])


def write_model(folder: Path, *, width: int, layers: int, heads: int = 2, seed: int = 0) -> Path:
    """Write an untaught Llama with its tokenizer; returns the folder."""
    tokenizer = word_tokenizer()
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


def write_doubled(source: Path, folder: Path) -> Path:
    """Write a model with its layers twice, one after the other; returns the folder.

    A model that has learned to follow one edge starts so to learn two: the second half looks up what the first found.
    """
    taught: Any = LlamaForCausalLM.from_pretrained(source)
    layers = taught.config.num_hidden_layers
    doubled: Any = LlamaForCausalLM(LlamaConfig.from_dict({**taught.config.to_dict(), "num_hidden_layers": 2 * layers}))
    doubled.model.layers = torch.nn.ModuleList([*taught.model.layers, *deepcopy(taught.model.layers)])
    doubled.model.norm, doubled.model.embed_tokens = taught.model.norm, taught.model.embed_tokens
    doubled.tie_weights()
    doubled.save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    return folder


@torch.no_grad()
def start_attention(attention: Any, width: int, frequencies: torch.Tensor, *, look_back: bool) -> None:
    """Give attention a start from which little is left to find by chance; all of it goes on learning.

    Keys start with the weights of queries, so that a token first looks at its like. Where `look_back`, head 0 starts
    out looking one token back and head 1 two: with the biases q and k, both of length a in the first of the planes
    that positions turn, the score of a token d back is the sum of a^2 cos((d - back) f) over their frequencies f,
    greatest where d = back. Left to chance, this step of every look-up is what a small model is stuck before.

    Args:
        attention: Of a Llama, with biases.
        width: Of a head.
        frequencies: (width / 2,) of its positions, in radians a token, falling.
        look_back: As above.
    """
    attention.k_proj.weight.copy_(attention.q_proj.weight)
    half, planes = width // 2, min(_PLANES, width // 2)
    for head, back in enumerate((1, 2) if look_back else ()):
        first, turned = head * width, back * frequencies[:planes]
        attention.q_proj.bias[first : first + planes] = _LENGTH * torch.cos(turned)
        attention.q_proj.bias[first + half : first + half + planes] = -_LENGTH * torch.sin(turned)
        attention.k_proj.bias[first : first + planes] = _LENGTH


@dataclass(frozen=True, slots=True)
class Practice(Sequence[ReaderExample]):
    """Questions of the task on connected parts that hold what they take and more, made as they are taken.

    Attributes:
        settings: Of the graphs.
        size: How many there are.
        seed: With the place it decides the example.
        most: Nodes of a part.
    """

    settings: TaskSettings
    size: int
    seed: int
    most: int

    def __len__(self) -> int:
        """Return how many there are."""
        return self.size

    @overload
    def __getitem__(self, place: int) -> ReaderExample: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ReaderExample]: ...
    def __getitem__(self, place: int | slice) -> ReaderExample | Sequence[ReaderExample]:
        """Return the example at a place; equal places give equal ones."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(self.size))]
        if not 0 <= place < self.size:
            raise IndexError(place)
        random = np.random.default_rng([self.seed, place])
        one = task(self.settings, random)
        part = connected_part(one.graph, one.chain, int(random.integers(4, self.most + 1)), random)
        return ReaderExample(one.question, read_only(one.graph, part), one.answer)
