"""Scene graphs and questions of GQA as published, and the data set that G-Retriever makes of them.

    NAMEsceneGraphs.json   {image: {objects: {object: {name, attributes, relations: [{name, object}], x, y, w, h}}}}
    questions.csv          q_id, image_id, question, answer, full_answer: the questions of G-Retriever
    split/PART_indices.txt numbers of these questions from 0, one per line; or
    PART_..questions.json  {id: {imageId, question, answer, annotations}}: GQA's own, for example train_balanced

A node is the text of an object, an edge a relation between two. The question's group is its image. Without `split/` the
questions of `questions.csv` are split by image, 60, 20 and 20 of 100 images, at random as the published code does.

Source: Hudson and Manning, "GQA: A New Dataset for Real-World Visual Reasoning and Compositional Question Answering"
(2019); He et al., "G-Retriever" (2024), and the layout read and written by its published code.
Differs from the source: objects that GQA annotates in a question or its answer are its gold evidence, which the
published code does not read; graphs without an object are kept.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from clew.datasets.questions import Record, check_unique, preview
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.g_retriever import read_split, split_names
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew_lab.datasets.object_entries import read_entries
from clew_lab.datasets.tables import read_table

SCENE_GRAPHS = "*sceneGraphs.json"
_QUESTIONS_TABLE, _QUESTION_FILES = "questions.csv", "*questions.json"
_COLUMNS = ("image_id", "question", "answer")
_QUESTION_FIELDS = ("question", "answer", "annotations")
_PARTS = ("train", "val", "test")
_SEED, _REST, _TEST = 42, 0.4, 0.5
"""Seed and shares of the published split: 0.4 of the images are not trained on, and half of these are tested on."""


def has_scene_graphs(folder: Path) -> bool:
    """Return whether a folder holds scene graphs in GQA's own form."""
    return any(folder.glob(SCENE_GRAPHS))


def scene_graph_splits(folder: Path) -> tuple[str, ...]:
    """Return the names of the splits of a folder of scene graphs, sorted."""
    if (folder / _QUESTIONS_TABLE).is_file():
        return split_names(folder) or tuple(sorted(_PARTS))
    return tuple(sorted({name for path in folder.glob(_QUESTION_FILES) if (name := _part_of(path))}))


def load_scene_graphs(folder: str | Path, split: str | None = None) -> GraphDataset:
    """Load questions on scene graphs, all or those of a split, with the graphs of their images.

    Raises InputError if a file is missing, cannot be read or is malformed, a question is on an image without a graph,
    or there is no such split.
    """
    source = Path(folder)
    records = list(_read_questions(source, split))
    if not records:
        raise InputError(f"{source}: the split {split!r} has no question; wanted at least one. Check the split's file")
    graphs = _read_graphs(source, {image for _, image, _ in records})
    position = {image: place for place, image in enumerate(graphs)}
    questions = []
    for name, image, record in records:
        if image not in graphs:
            raise record.error(f"the question is on the image {image!r}", "one that has a scene graph in this folder")
        gold = _annotated_objects(record, graphs[image].objects)
        texts = record.text("question"), (record.text("answer"),)
        questions.append((record.location, GraphQuestion(name, position[image], *texts, (), gold, image)))
    textual = [graph.textual for graph in graphs.values()]
    return GraphDataset(textual, tuple(check_unique(questions)), accuracy="inside")


class _SceneGraph:
    """A scene graph as text, and the node of each object."""

    __slots__ = ("objects", "textual")

    def __init__(self, record: Record) -> None:
        objects = record.nested_record(record.value("objects"), "'objects'")
        self.objects = {name: node for node, name in enumerate(objects.fields)}
        nodes, ends, relations = [], [], []
        for name, node in self.objects.items():
            one = objects.nested_record(objects.fields[name], f"object {name!r}")
            nodes.append(_describe(one))
            for value in one.items("relations"):
                relation = one.nested_record(value, "a relation")
                target = relation.identifier("object")
                if target not in self.objects:
                    raise relation.error(f"'object' is {target!r}", "an object of the same image")
                ends.append((node, self.objects[target]))
                relations.append(sys.intern(relation.text("name")))
        self.textual = TextualGraph(tuple(nodes), np.array(ends, dtype=np.int32).reshape(-1, 2), tuple(relations))


def _describe(record: Record) -> str:
    """Return the text of an object, worded as in the published code."""
    attributes = record.texts("attributes")
    described = f"; attribute: {', '.join(attributes)}" if attributes else ""
    box = tuple(record.value(key) for key in ("x", "y", "w", "h"))
    return f"name: {record.text('name')}{described}; (x,y,w,h): {box}"


def _read_graphs(folder: Path, images: set[str]) -> dict[str, _SceneGraph]:
    """Return the scene graphs of some images, in the order of the files; those of other images are not kept."""
    found: dict[str, _SceneGraph] = {}
    for path in sorted(folder.glob(SCENE_GRAPHS)):
        for image, record in read_entries(path):
            if image in images:
                if image in found:
                    raise record.error("the image has a graph already", "each image once in all files")
                found[image] = _SceneGraph(record)
    return found


def _read_questions(folder: Path, split: str | None) -> Iterator[tuple[str, str, Record]]:
    """Yield the id, the image and the record of each question."""
    table = folder / _QUESTIONS_TABLE
    if table.is_file():
        records = list(read_table(table, _COLUMNS).records())
        for row in _rows_of_split(folder, split, [record.identifier("image_id") for record in records]):
            record = records[row]
            name = record.identifier("q_id") if "q_id" in record.fields else str(row)
            yield name, record.identifier("image_id"), record
        return
    paths = sorted(folder.glob(_QUESTION_FILES))
    if not paths:
        raise InputError(
            f"{folder}: holds scene graphs but no questions; wanted {_QUESTIONS_TABLE}, or GQA's "
            "train_balanced_questions.json and the like. Put them beside the scene graphs"
        )
    chosen = [path for path in paths if split in (None, _part_of(path))]
    if not chosen:
        names = ", ".join(scene_graph_splits(folder)) or "none"
        raise InputError(f"{folder}: has no questions of the split {split!r}; wanted one of {names}")
    for path in chosen:
        for name, record in read_entries(path):
            # GQA has a million questions, of which most is how each was made
            fields = {key: record.fields[key] for key in _QUESTION_FIELDS if key in record.fields}
            yield name, record.identifier("imageId"), Record(record.location, fields)


def _part_of(path: Path) -> str:
    """Return the split of a file of GQA's questions, for example `train` of `train_balanced_questions.json`."""
    return path.name.partition("_")[0] if "_" in path.name else ""


def _rows_of_split(folder: Path, split: str | None, images: list[str]) -> Iterable[int]:
    if split is None:
        return range(len(images))
    if split_names(folder):
        return read_split(folder, split, len(images))
    parts = split_images(list(dict.fromkeys(images)))
    if split not in parts:
        raise InputError(f"{folder}: has no split {split!r}; wanted one of {', '.join(parts)}")
    return [row for row, image in enumerate(images) if image in parts[split]]


def split_images(images: list[str]) -> dict[str, set[str]]:
    """Return the images of the parts train, val and test, by the random numbers of the published code.

    `images` are distinct, in the order of the questions. The numbers are those of NumPy's generator of before 1.17,
    which the code's libraries use: a permutation of the images, then two splits, each by a permutation of its own whose
    first numbers are the smaller part.
    """
    shuffled = [images[place] for place in _permutation(len(images))]
    train, rest = _divide(shuffled, _REST)
    validation, tested = _divide(rest, _TEST)
    return {"train": set(train), "val": set(validation), "test": set(tested)}


def _divide(images: list[str], share: float) -> tuple[list[str], list[str]]:
    """Return the images of the larger first part and of the second, which has a share of them, rounded up."""
    places = _permutation(len(images))
    count = int(np.ceil(share * len(images)))
    return [images[place] for place in places[count:]], [images[place] for place in places[:count]]


def _permutation(count: int) -> list[int]:
    order: list[int] = np.random.RandomState(_SEED).permutation(count).tolist()
    return order


def _annotated_objects(record: Record, objects: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
    """Return one chain of evidence: the nodes that GQA points to in the question and its answers, if any."""
    annotations = record.fields.get("annotations") or {}
    if not isinstance(annotations, dict) or not all(isinstance(part, dict) for part in annotations.values()):
        raise record.error(f"'annotations' is {preview(annotations)}", "an object of objects")
    names = [name for part in annotations.values() for name in part.values()]
    nodes: set[int] = {objects[name] for name in names if isinstance(name, str) and name in objects}
    return (tuple(sorted(nodes)),) if nodes else ()
