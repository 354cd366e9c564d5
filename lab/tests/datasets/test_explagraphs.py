"""ExplaGraphs as questions on small graphs."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew_lab.datasets.explagraphs import load_explagraphs

ONE = {
    "id": "e1",
    "arg1": "Cats should  be free.",
    "arg2": "Cats hurt birds.",
    "label": "counter",
    "triples": [
        ["cats", "capable of", "hurt"],
        ["hurt", "at", "birds"],
        ["cats", "at", "cats"],
        ["hurt", "at", "birds"],
    ],
}


def write_records(folder: Path, *records: Any) -> Path:
    path = folder / "dev.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_one_graph_per_question_with_nodes_in_order_of_occurrence(tmp_path: Path) -> None:
    other = ONE | {"id": 2, "label": "support", "triples": [], "arg1": "cats should be FREE."}
    loaded = load_explagraphs(write_records(tmp_path, ONE, other))
    assert loaded.choices == ("support", "counter")
    first, second = loaded.questions
    assert (first.id, first.graph, first.answers) == ("e1", 0, ("counter",))
    assert (second.id, second.graph, second.answers) == ("2", 1, ("support",))
    assert first.group == second.group == "cats should be free."
    assert "Cats should  be free." in first.text
    assert "Cats hurt birds." in first.text
    graph = loaded.graphs[0]
    assert graph.nodes == ("cats", "hurt", "birds")
    assert graph.edges.tolist() == [[0, 1], [1, 2], [0, 0], [1, 2]]
    assert graph.relations == ("capable of", "at", "at", "at")
    assert (loaded.graphs[1].nodes, loaded.graphs[1].edges.shape) == ((), (0, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "neutral"}, "line 2: 'label' is \"neutral\"; wanted support or counter"),
        ({"triples": [["a", "b"]]}, r"line 2: 'triples' holds \[\"a\", \"b\"\]; wanted lists of \[head"),
        ({"triples": [["a", "b", 3]]}, "line 2: 'triples' holds"),
        ({"triples": "a"}, "line 2: 'triples' is \"a\"; wanted a list"),
        ({"arg2": None}, "line 2: 'arg2' is null; wanted a string"),
        ({"id": "e1"}, "line 2: question id 'e1' was already used at .*line 1"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_explagraphs(write_records(tmp_path, ONE, ONE | {"id": "e2"} | change))
