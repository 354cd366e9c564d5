"""Questions on generated graphs that need two edges, and a word-level language model to read them with."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from clew.graph.textual_graph import AskedGraph, EncodedGraph, GraphContext, TextualGraph, context_of, induced
from clew.training.reader_tuning import ReadExample

NAMES = (
    *("Adam", "Alice", "Amos", "Anna", "Bella", "Boris", "Carl", "Clara", "David", "Doris", "Edgar", "Emma", "Felix"),
    *("Fiona", "George", "Grace", "Harry", "Helen", "Igor", "Irene", "Jacob", "Julia", "Karl", "Laura", "Leo", "Linda"),
    *("Martin", "Maria", "Nathan", "Nina", "Oscar", "Olga", "Paul", "Paula", "Quentin", "Rachel", "Robert", "Rosa"),
    *("Simon", "Sarah", "Thomas", "Tina", "Ulrich", "Ursula", "Victor", "Vera", "Walter", "Wanda", "Xavier", "Yvonne"),
)
RELATIONS = ("friend", "teacher", "doctor", "boss", "neighbour", "cousin")
_MARKS = ("<end>", "<unknown>")


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """The shape of the generated graphs.

    Attributes:
        nodes: Of a graph; each has a name of its own.
        degree: Edges that leave a node in the mean; a node has at most one of a relation.
        names: How many of the names occur.
    """

    nodes: int = 30
    degree: float = 2.2
    names: int = 36


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
    asked = AskedGraph(encoded, np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int32))
    return context_of(asked, induced(graph, part))


def prompt(question: str, graph: str) -> str:
    """Return the edges of a graph's two tables with the names of their ends, and the question.

    A model of this size takes far longer to learn to look up ids than to follow edges.
    """
    nodes, _, edges = graph.partition("\n\n")
    names = dict(list(csv.reader(nodes.splitlines()))[1:])
    rows = list(csv.reader(edges.splitlines()))[1:]
    return "\n".join([*(f"{names[source]}'s {kind}: {names[target]}" for source, kind, target in rows), question])


def word_tokenizer() -> Any:
    """Return a tokenizer with one token for a name, for a relation of someone, and for a relation of a name."""
    follows = [f"'s {kind}" for kind in RELATIONS]
    words = [*_MARKS, *NAMES, *follows, *(name + kind for name in NAMES for kind in follows)]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token=_MARKS[1]))
    names, kinds = "|".join(NAMES), "|".join(RELATIONS)
    known = Regex(rf"\b(?:{names})(?:'s (?:{kinds}))?\b|'s (?:{kinds})\b")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(known, "removed", invert=True)
    fast: Any = PreTrainedTokenizerFast  # has no types
    return fast(tokenizer_object=tokenizer, eos_token=_MARKS[0], pad_token=_MARKS[0], unk_token=_MARKS[1])


def write_model(folder: Path, *, width: int, layers: int, heads: int = 4, seed: int = 0) -> Path:
    """Write an untaught Llama with its tokenizer; returns the folder."""
    tokenizer = word_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=1024,
        initializer_range=width**-0.5,  # with the usual 0.02 so narrow a model looks at everything alike for long
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Any = LlamaForCausalLM(config)
    with torch.no_grad():  # what is a name and a relation starts as their sum, as if it were two tokens
        vectors, ids = model.get_input_embeddings().weight, tokenizer.get_vocab()
        for name in NAMES:
            for kind in RELATIONS:
                vectors[ids[f"{name}'s {kind}"]] = vectors[ids[name]] + vectors[ids[f"'s {kind}"]]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@dataclass(frozen=True, slots=True)
class Practice(Sequence[ReadExample]):
    """Questions on connected parts that hold what they ask for and more, made as they are taken.

    Attributes:
        settings: Of the graphs.
        kinds: Drawn from: `again` for the edges once more, each as a question and its answer; `one edge` and `two
            edges` for what takes so many, in any order, so that one part teaches many look-ups; `task` for the
            question of the task alone.
        size: How many there are.
        seed: With the place it decides the example.
        most: Nodes of a part.
    """

    settings: TaskSettings
    kinds: tuple[str, ...]
    size: int
    seed: int
    most: int = 8

    def __len__(self) -> int:
        """Return how many there are."""
        return self.size

    @overload
    def __getitem__(self, place: int) -> ReadExample: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ReadExample]: ...
    def __getitem__(self, place: int | slice) -> ReadExample | Sequence[ReadExample]:
        """Return the example at a place; equal places give equal ones."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(self.size))]
        if not 0 <= place < self.size:
            raise IndexError(place)
        random = np.random.default_rng([self.seed, place])
        one = task(self.settings, random)
        part = connected_part(one.graph, one.chain, int(random.integers(4, self.most + 1)), random)
        context = read_only(one.graph, part)
        kind = self.kinds[int(random.integers(len(self.kinds)))]
        if kind == "task":
            return ReadExample(one.question, context, one.answer)
        said = look_ups(context, 2 if kind == "two edges" else 1)
        if kind != "again":
            said = [said[number] for number in random.permutation(len(said))[:8].tolist()]
        (first, answer), *others = said
        return ReadExample(first, context, " ".join([answer, *(f"{asked} {told}" for asked, told in others)]))


def look_ups(context: GraphContext, edges: int) -> list[tuple[str, str]]:
    """Return what can be asked of a part that takes 1 or 2 edges, as words without an article, and the answers."""
    graph = context.asked.graph.graph
    kept = [(*graph.edges[edge].tolist(), graph.relations[edge]) for edge in context.part.edges.tolist()]
    if edges == 1:
        return [(f"{graph.nodes[source]}'s {kind}", graph.nodes[target]) for source, target, kind in kept]
    return [
        (f"{graph.nodes[source]}'s {first}'s {second}", graph.nodes[target])
        for source, middle, first in kept
        for begin, target, second in kept
        if middle == begin and target != source
    ]
