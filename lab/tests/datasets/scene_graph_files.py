"""Made scene graphs and questions in the published forms of GQA and of G-Retriever's data set."""

import csv
import json
from pathlib import Path
from typing import Any

COLOURS = ("red", "blue", "green")


def made_object(name: str, attributes: list[str], relations: list[tuple[str, str]], x: int = 1) -> dict[str, Any]:
    """Return an object of a scene graph."""
    named = [{"name": relation, "object": target} for relation, target in relations]
    return {"name": name, "attributes": attributes, "relations": named, "x": x, "y": 2, "w": 30, "h": 40}


def made_scene(number: int) -> dict[str, Any]:
    """Return a scene of a cup on a table beside a lamp; the cup's colour and place depend on the number."""
    cup, table, lamp = (f"{number}{letter}" for letter in "123")
    objects = {
        cup: made_object("cup", [COLOURS[number % 3]], [("on", table)], number),
        table: made_object("table", ["wooden", "brown"], []),
        lamp: made_object("lamp", [], [("to the left of", cup), ("on", table)]),
    }
    return {"width": 640, "height": 480, "location": "indoors", "objects": objects}


def write_scene_graphs(folder: Path, count: int, name: str = "train_sceneGraphs.json", first: int = 0) -> Path:
    """Write the scenes of some images as one JSON object; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    scenes = {str(1000 + number): made_scene(number) for number in range(first, first + count)}
    (folder / name).write_text(json.dumps(scenes), encoding="utf-8")
    return folder


def write_question_table(folder: Path, count: int) -> Path:
    """Write two questions on each image in the layout of G-Retriever's questions.csv; return the folder."""
    with (folder / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("q_id", "image_id", "question", "answer", "full_answer"))
        for number in range(count):
            colour, image = COLOURS[number % 3], 1000 + number
            writer.writerow((2 * number, image, "What color is the cup?", colour, f"The cup is {colour}."))
            writer.writerow((2 * number + 1, image, "What is on the left?", "lamp", "The lamp is on the left."))
    return folder


def write_gqa_questions(folder: Path, part: str, first: int, count: int) -> Path:
    """Write one question on each image in GQA's own form, with its annotated objects; return the folder."""
    questions = {
        f"q{number}": {
            "imageId": str(1000 + number),
            "question": "Which color is the cup on the table?",
            "answer": COLOURS[number % 3],
            "fullAnswer": f"The cup is {COLOURS[number % 3]}.",
            "isBalanced": True,
            "semantic": [{"operation": "select", "dependencies": [], "argument": f"cup ({number}1)"}],
            "annotations": {"question": {"4": f"{number}1", "7": f"{number}2"}, "answer": {}, "fullAnswer": {}},
        }
        for number in range(first, first + count)
    }
    (folder / f"{part}_balanced_questions.json").write_text(json.dumps(questions, indent=1), encoding="utf-8")
    return folder
