"""GQA's own scene graphs and questions: texts, splits, and bad files."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew_lab.datasets import object_entries
from clew_lab.datasets.gqa import has_scene_graphs, load_scene_graphs, scene_graph_splits, split_images
from clew_lab.datasets.object_entries import read_entries
from lab.tests.datasets.scene_graph_files import write_gqa_questions, write_question_table, write_scene_graphs


def test_objects_become_nodes_and_relations_edges(tmp_path: Path) -> None:
    dataset = load_scene_graphs(write_question_table(write_scene_graphs(tmp_path, 5), 5))
    assert (len(dataset.graphs), len(dataset.questions), dataset.accuracy) == (5, 10, "inside")
    graph = dataset.graphs[1]
    assert graph.nodes == (
        "name: cup; attribute: blue; (x,y,w,h): (1, 2, 30, 40)",
        "name: table; attribute: wooden, brown; (x,y,w,h): (1, 2, 30, 40)",
        "name: lamp; (x,y,w,h): (1, 2, 30, 40)",
    )
    assert graph.edges.tolist() == [[0, 1], [2, 0], [2, 1]]
    assert graph.relations == ("on", "to the left of", "on")
    question = dataset.questions[2]
    assert (question.id, question.graph, question.text) == ("2", 1, "What color is the cup?")
    assert (question.answers, question.group, question.gold) == (("blue",), "1001", ())


def test_images_without_a_question_are_left_out(tmp_path: Path) -> None:
    write_scene_graphs(tmp_path, 3)
    write_scene_graphs(tmp_path, 4, "val_sceneGraphs.json", first=3)
    dataset = load_scene_graphs(write_question_table(tmp_path, 5))
    assert len(dataset.graphs) == 5
    assert [question.graph for question in dataset.questions] == [place for place in range(5) for _ in range(2)]


def test_the_published_split_is_by_image_and_by_its_random_numbers() -> None:
    """The parts are those of `train_test_split` of scikit-learn 1.x with the seeds of the published code."""
    parts = split_images([str(number) for number in range(20)])
    assert {name: sorted(map(int, images)) for name, images in parts.items()} == PUBLISHED_PARTS


PUBLISHED_PARTS = {"train": [3, 4, 6, 7, 8, 9, 11, 13, 14, 15, 16, 19], "val": [2, 12, 17, 18], "test": [0, 1, 5, 10]}


def test_questions_of_a_part_are_those_of_its_images(tmp_path: Path) -> None:
    write_question_table(write_scene_graphs(tmp_path, 20), 20)
    assert scene_graph_splits(tmp_path) == ("test", "train", "val")
    seen: list[str] = []
    for part, images in PUBLISHED_PARTS.items():
        dataset = load_scene_graphs(tmp_path, part)
        assert {question.group for question in dataset.questions} == {str(1000 + image) for image in images}
        assert len(dataset.graphs) == len(images)
        seen += [question.id for question in dataset.questions]
    assert sorted(map(int, seen)) == list(range(40))


def test_a_given_split_is_taken(tmp_path: Path) -> None:
    write_question_table(write_scene_graphs(tmp_path, 4), 4)
    (tmp_path / "split").mkdir()
    for part, rows in (("train", (0, 1, 4)), ("test", (7, 2))):
        (tmp_path / "split" / f"{part}_indices.txt").write_text("".join(f"{row}\n" for row in rows))
    assert scene_graph_splits(tmp_path) == ("test", "train")
    dataset = load_scene_graphs(tmp_path, "test")
    assert [question.id for question in dataset.questions] == ["7", "2"]
    assert [question.group for question in dataset.questions] == ["1003", "1001"]
    with pytest.raises(InputError, match="wanted one of test, train"):
        load_scene_graphs(tmp_path, "val")


def test_gqas_own_questions_bring_their_evidence(tmp_path: Path) -> None:
    write_gqa_questions(write_scene_graphs(tmp_path, 6), "train", 0, 4)
    write_gqa_questions(tmp_path, "val", 4, 2)
    assert scene_graph_splits(tmp_path) == ("train", "val")
    assert len(load_scene_graphs(tmp_path).questions) == 6
    dataset = load_scene_graphs(tmp_path, "val")
    assert [(q.id, q.answers, q.gold) for q in dataset.questions] == [
        ("q4", ("blue",), ((0, 1),)),
        ("q5", ("green",), ((0, 1),)),
    ]


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_entries_are_read_whatever_the_size_of_a_block(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_entries, "_BLOCK_CHARACTERS", size)
    content = {"a": {"x": [1, 2.5, "}{"]}, "é": {}, "b": {"y": {"z": None}}}
    path = tmp_path / "entries.json"
    for text in (json.dumps(content), json.dumps(content, indent=2, ensure_ascii=False) + "\n\n"):
        path.write_text(text, encoding="utf-8")
        assert {key: record.fields for key, record in read_entries(path)} == content
    path.write_text(" { } ", encoding="utf-8")
    assert list(read_entries(path)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no '{' follows"),
        ("[1]", "'\\[' stands where '{' was wanted"),
        ('{"a": {}', "no '}' follows"),
        ('{"a": {} "b": {}}', "stands where '}' was wanted"),
        ('{"a": {},}', "Illegal trailing comma|Expecting value|Expecting property"),
        ('{"a": {}} {}', "more follows the object"),
        ('{"a": {},', "Expecting value"),
        ('{"a": {"x": ' + "9" * 5000 + "}}", "Exceeds the limit"),
        ('{"a" {}}', "'{' stands where ':' was wanted"),
        ('{"a": {"x": }}', "Expecting value"),
        ('{"a": 3}', 'the value of "a" is 3; wanted objects by name'),
        ('{"a": ' + '{"a":' * 100_000, "invalid JSON|nested too deeply"),
    ],
)
def test_a_file_that_is_no_object_of_objects_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "entries.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        list(read_entries(path))


def write_scene(folder: Path, **changes: Any) -> Path:
    """Write a folder whose only image has one object, changed."""
    cup = {"name": "cup", "attributes": [], "relations": [], "x": 1, "y": 2, "w": 3, "h": 4} | changes
    cup = {name: value for name, value in cup.items() if value is not None}
    (folder / "sceneGraphs.json").write_text(json.dumps({"1000": {"objects": {"1": cup}}}), encoding="utf-8")
    return write_question_table(folder, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relations": [{"name": "on", "object": "9"}]}, "'object' is '9'; wanted an object of the same image"),
        ({"relations": ["on"]}, 'a relation is "on"; wanted a JSON object'),
        ({"name": 3}, "'name' is 3; wanted a string"),
        ({"attributes": None}, "wanted 'attributes'"),
        ({"x": None}, "wanted 'x'"),
    ],
)
def test_an_object_in_another_form_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_scene_graphs(write_scene(tmp_path, **changes))


def test_graphs_without_an_object_are_kept(tmp_path: Path) -> None:
    (tmp_path / "sceneGraphs.json").write_text('{"1000": {"objects": {}}}')
    dataset = load_scene_graphs(write_question_table(tmp_path, 1))
    assert dataset.graphs[0].nodes == ()
    assert dataset.graphs[0].edges.shape == (0, 2)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    assert not has_scene_graphs(tmp_path)
    write_scene_graphs(tmp_path, 2)
    assert has_scene_graphs(tmp_path)
    with pytest.raises(InputError, match="holds scene graphs but no questions; wanted"):
        load_scene_graphs(tmp_path)
    write_gqa_questions(tmp_path, "val", 0, 1)
    with pytest.raises(InputError, match="no questions of the split 'test'; wanted one of val"):
        load_scene_graphs(tmp_path, "test")
    write_gqa_questions(tmp_path, "val", 2, 1)
    with pytest.raises(InputError, match="the question is on the image '1002'; wanted one that has a scene graph"):
        load_scene_graphs(tmp_path)
    for name in ("val_sceneGraphs.json", "test_sceneGraphs.json"):
        write_scene_graphs(tmp_path, 3, name)
    with pytest.raises(InputError, match="the image has a graph already"):
        load_scene_graphs(tmp_path)
