"""The layout of G-Retriever: published files are read, and written data sets are read back equal."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.g_retriever import load_g_retriever
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion
from lab.tests.datasets.g_retriever_writer import write_g_retriever

NODES = 'node_id,node_attr\n0,name: man\n1,"name: hat, red"\n'
EDGES = "src,edge_attr,dst\n0,wearing,1\n1,on,0\n"
SCENES = (
    "q_id,image_id,question,answer,full_answer\n07,10,Who wears it?,man,A man.\n08,9,Where?,yes,Yes.\n09,10,?,no,No.\n"
)


def write(folder: Path, **files: str) -> Path:
    """Write files, named with `__` for a slash and `_dot_` for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_scenes(folder: Path) -> Path:
    graphs = {
        f"{kind}__{name}_dot_csv": text for name in (9, 10) for kind, text in (("nodes", NODES), ("edges", EDGES))
    }
    return write(folder, questions_dot_csv=SCENES, split__train_indices_dot_txt="2\n0\n", **graphs)


def test_several_questions_on_one_scene_graph(tmp_path: Path) -> None:
    loaded = load_g_retriever(write_scenes(tmp_path))
    assert loaded.questions == (
        GraphQuestion("07", 1, "Who wears it?", ("man",), group="10"),
        GraphQuestion("08", 0, "Where?", ("yes",), group="9"),
        GraphQuestion("09", 1, "?", ("no",), group="10"),
    )
    assert (len(loaded.graphs), loaded.choices) == (2, ())
    assert loaded.graphs[0].nodes == ("name: man", "name: hat, red")
    assert loaded.graphs[0].edges.tolist() == [[0, 1], [1, 0]]
    assert loaded.graphs[0].relations == ("wearing", "on")


def test_a_split_takes_its_questions_in_its_order(tmp_path: Path) -> None:
    loaded = load_g_retriever(write_scenes(tmp_path), "train")
    assert [question.id for question in loaded.questions] == ["09", "07"]
    assert len(loaded.graphs) == 2
    with pytest.raises(InputError, match=r"test_indices\.txt: no such split; wanted one of train"):
        load_g_retriever(tmp_path, "test")


def test_web_questions_have_one_graph_each_and_several_answers(tmp_path: Path) -> None:
    graphs = {f"{kind}__{name}_dot_csv": text for name in (0, 1) for kind, text in (("nodes", NODES), ("edges", EDGES))}
    rows = "id,question,answer,q_entity\nw1,what is it,the hat|Hat | the hat,man\nw2,who,man,\n"
    loaded = load_g_retriever(write(tmp_path, questions_dot_csv=rows, **graphs))
    assert loaded.questions == (
        GraphQuestion("w1", 0, "what is it", ("the hat", "Hat"), group="man"),
        GraphQuestion("w2", 1, "who", ("man",)),
    )
    (tmp_path / "questions.csv").write_text("question,answer\nwhat is it,hat\nwho,man\n", encoding="utf-8")
    assert [question.group for question in load_g_retriever(tmp_path).questions] == ["", ""]
    (tmp_path / "questions.csv").unlink()
    record = {"question": "what is it", "a_entity": ["a|b", "c"], "q_entity": ["man", "hat"]}
    loaded = load_g_retriever(write(tmp_path, questions_dot_jsonl=json.dumps(record)))
    assert loaded.questions == (GraphQuestion("0", 0, "what is it", ("a|b", "c"), group="man | hat"),)


def test_graphs_without_nodes(tmp_path: Path) -> None:
    write(tmp_path, nodes__0_dot_csv="node_id,node_attr\n", edges__0_dot_csv="src,edge_attr,dst\n")
    graph = load_g_retriever(write(tmp_path, questions_dot_csv="question,answer\nq,a\n")).graphs[0]
    assert (graph.nodes, graph.edges.shape, graph.relations) == ((), (0, 2), ())


STANCES = 'arg1\targ2\tlabel\tgraph\nA one.\t"B ""two""."\tcounter\t(Cat; is a; Animal) (animal; at; home)\n'


def test_arguments_with_graphs_in_a_column_or_in_files(tmp_path: Path) -> None:
    loaded = load_g_retriever(write(tmp_path, train_dev_dot_tsv=STANCES))
    question = loaded.questions[0]
    assert (question.id, question.answers, question.group) == ("0", ("counter",), "a one.")
    assert 'B "two".' in question.text
    assert loaded.choices == ("support", "counter")
    assert loaded.graphs[0].nodes == ("cat", "animal", "home")
    assert loaded.graphs[0].edges.tolist() == [[0, 1], [1, 2]]
    assert loaded.graphs[0].relations == ("is a", "at")
    beside = load_g_retriever(write(tmp_path, nodes__0_dot_csv=NODES, edges__0_dot_csv=EDGES))
    assert beside.questions == loaded.questions
    assert beside.graphs[0].relations == ("wearing", "on")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"questions_dot_csv": "question,answer,image_id\nq,a,9\nq,a,8\n"},
            r"questions\.csv: line 3: .* graph '8'; wan",
        ),
        ({"questions_dot_csv": "answer,image_id\na,9\n"}, r"line 1: the columns are answer, image_id; wanted question"),
        ({"questions_dot_csv": "question,image_id\na,9\n"}, r"line 2: the keys are question, image_id; wanted 'a_enti"),
        (
            {"questions_dot_csv": "id,question,answer,image_id\n1,q,a,9\n1,q,a,9\n"},
            "line 3: question id '1' was alread",
        ),
        (
            {"questions_dot_csv": "question,answer,image_id,topics\nq,a,9,[-1]\n"},
            r"line 2: 'topics' holds \[-1\]; wanted",
        ),
        (
            {"questions_dot_csv": "question,answer,image_id,topics\nq,a,9,x\n"},
            "line 2: 'topics' is \"x\"; wanted a JSON",
        ),
        (
            {"questions_dot_csv": "question,answer,image_id,gold\nq,a,9,[1]\n"},
            "line 2: 'gold' holds 1; wanted a list of",
        ),
        ({"questions_dot_csv": "question,answers,image_id\nq,[1],9\n"}, r"line 2: 'answers' is \[1\]; wanted a list"),
        ({"split__train_indices_dot_txt": "1\n3\n"}, r"train_indices\.txt: line 2: \"3\"; wanted .* 0 to 2"),
        ({"split__train_indices_dot_txt": "1.0\n"}, r"train_indices\.txt: line 1: \"1\.0\"; wanted the number"),
        ({"choices_dot_json": "{}"}, r"choices\.json: holds \{\}; wanted a list of texts"),
        ({"choices_dot_json": "["}, r"choices\.json: cannot be read as JSON"),
        ({"nodes__9_dot_csv": "node_id,node_attr\n0,a\n0,b\n"}, r"9\.csv: line 3: node_id '0' was already used"),
        (
            {"nodes__9_dot_csv": "node_id,text\n"},
            r"nodes.9\.csv: line 1: the columns are node_id, text; wanted node_id",
        ),
        (
            {"edges__9_dot_csv": "src,edge_attr,dst\n0,on,1\n0,on,2\n"},
            r"edges.9\.csv: line 3: .* ends at '2'; wanted a n",
        ),
        ({"edges__9_dot_csv": ""}, r"edges.9\.csv: is empty"),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    write(write_scenes(tmp_path), **files)
    with pytest.raises(InputError, match=message):
        list(load_g_retriever(tmp_path, "train").graphs)


@pytest.mark.parametrize(
    ("column", "message"),
    [("cat; is a; animal", r"'graph' is .*; wanted \(head"), ("(a; b; c)(d; e)", "'graph' holds \"d; e\"; wanted")],
)
def test_an_error_in_a_column_of_graphs(tmp_path: Path, column: str, message: str) -> None:
    text = f"arg1\targ2\tlabel\tgraph\na\tb\tsupport\t(a; b; c)\na\tb\tsupport\t{column}\n"
    with pytest.raises(InputError, match=rf"train_dev\.tsv: line 3: {message}"):
        load_g_retriever(write(tmp_path, train_dev_dot_tsv=text))


def test_missing_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"wanted a folder that holds questions\.csv or questions\.jsonl or train_dev"):
        load_g_retriever(tmp_path)
    with pytest.raises(InputError, match=r"nodes: holds no graph; wanted NAME\.csv"):
        load_g_retriever(write(tmp_path, questions_dot_csv=SCENES))


TEXTS = st.text(max_size=6) | st.sampled_from(['a,"b"', "x\r", "\n", "\r\ny", "\0", "[]", "a|b", " | ", " ", "\u2028"])
NOT_BLANK = TEXTS.map(lambda text: f"{text}?")


@st.composite
def sets(draw: st.DrawFn) -> GraphDataset:
    graphs = []
    for nodes in draw(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=12)):
        node = st.integers(0, len(nodes) - 1)
        edges = draw(st.lists(st.tuples(node, TEXTS, node), max_size=4)) if nodes else []
        ends = np.array([(source, target) for source, _, target in edges], dtype=np.int32).reshape(-1, 2)
        graphs.append(TextualGraph(tuple(nodes), ends, tuple(relation for _, relation, _ in edges)))
    positions = st.lists(st.integers(0, 5), max_size=3).map(tuple)
    questions = st.builds(
        GraphQuestion,
        NOT_BLANK,
        st.integers(0, len(graphs) - 1),
        NOT_BLANK,
        st.lists(TEXTS, max_size=3).map(tuple),
        positions,
        st.lists(positions, max_size=2).map(tuple),
        TEXTS,
    )
    records = draw(st.lists(questions, max_size=5, unique_by=lambda question: question.id))
    return GraphDataset(graphs, tuple(records), tuple(draw(st.lists(TEXTS, max_size=2))))


@settings(deadline=None, max_examples=80)
@given(sets())
def test_a_written_data_set_is_read_back_equal(tmp_path_factory: pytest.TempPathFactory, whole: GraphDataset) -> None:
    folder = tmp_path_factory.mktemp("set") / "new"
    write_g_retriever(whole, folder)
    loaded = load_g_retriever(folder)
    assert loaded.questions == whole.questions
    assert loaded.choices == whole.choices
    assert len(loaded.graphs) == len(whole.graphs)
    for one, other in zip(loaded.graphs, whole.graphs, strict=True):
        assert (one.nodes, one.relations) == (other.nodes, other.relations)
        assert one.edges.tolist() == other.edges.tolist()
        assert one.edges.dtype == np.int32
