"""WebQSP and CWQ in their published forms: made files of each go through the commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InputError
from clew.indexing.kg_formats.files import graph_file
from clew_lab.datasets.loaders import load_questions
from clew_lab.datasets.published_kgqa import has_own_graphs, load_own_graphs
from tests.faults.commands import run_clew

GRAPH = [
    ["Ada Lind", "people.person.spouse", "Bo Lind"],
    ["Bo Lind", "people.person.profession", "carpenter"],
    ["Ada Lind", "people.person.place_of_birth", "Vardo"],
]
ROG = [
    {
        "id": f"q{number}",
        "question": f"what does the spouse of {name} do",
        "answer": [answer],
        "q_entity": [name],
        "a_entity": [answer],
        "graph": graph,
        "choices": [],
    }
    for number, (name, answer, graph) in enumerate(
        [
            ("Ada Lind", "carpenter", GRAPH),
            ("Eva Holm", "baker", [["Eva Holm", "people.person.spouse", "Carl"], ["Carl", "works as", "baker"]]),
            ("Nobody", "fisher", [["Dora", "people.person.profession", "fisher"]]),
        ]
    )
]
FRAG = [
    {
        "id": record["id"],
        "question": record["question"],
        "answers": [{"kb_id": "m.01", "text": record["answer"][0]}],
        "entities": record["q_entity"],
        "subgraph": {"tuples": record["graph"], "entities": []},
    }
    for record in ROG
]
WEBQSP = {
    "Version": "1.0",
    "Questions": [
        {
            "QuestionId": "WebQTest-0",
            "RawQuestion": "what does bo do",
            "Parses": [
                {
                    "TopicEntityName": "Bo Lind",
                    "TopicEntityMid": "m.02",
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.03", "EntityName": "carpenter"},
                        {"AnswerType": "Value", "AnswerArgument": "1901", "EntityName": None},
                    ],
                },
                {"TopicEntityName": "Bo Lind", "TopicEntityMid": "m.02", "Answers": []},
            ],
        }
    ],
}
CWQ = [
    {
        "ID": "WebQTrn-1_a",
        "question": "what does the spouse of Ada do",
        "answers": [{"answer_id": "m.03", "answer": "carpenter", "aliases": ["joiner"]}],
        "sparql": "PREFIX ns: <x>\nSELECT ?x WHERE { ns:m.05 ns:people.spouse ?y . FILTER (?x != ns:m.03) }",
    }
]


def write_json(path: Path, content: Any, *, lines: bool = False) -> Path:
    text = "".join(json.dumps(one) + "\n" for one in content) if lines else json.dumps(content, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("records", [ROG, FRAG], ids=["rog", "frag"])
def test_questions_with_their_own_graph_go_through_import_and_evaluation(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    """RoG's records and FRAG's lines were refused by every command."""
    file = write_json(tmp_path / "test.jsonl", records, lines=True)
    (first, *_) = load_questions(file)
    assert (first.id, first.answers, first.topics) == ("q0", ("carpenter",), ("Ada Lind",))
    index = tmp_path / "index"
    done = run_clew("kg", "import", file, "--index", index, "--encoder", "hashing")
    assert done.code == 0, done.err
    assert "6 triples" in done.out
    done = run_clew(
        "eval-graph", "--index", index, "--questions", file, "--retriever", "frag:preset=paper,complexity=simple"
    )
    assert done.code == 0, done.err
    assert "hits@1" in done.out


@pytest.mark.parametrize("records", [ROG, FRAG], ids=["rog", "frag"])
def test_questions_with_their_own_graph_are_compared(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    many = [{**record, "id": f"{record['id']}-{copy}"} for copy in range(4) for record in records]
    for record in many:
        key = "q_entity" if "q_entity" in record else "entities"
        record[key] = [*record[key], record["id"]]  # so that there are groups to split by
    file = write_json(tmp_path / "data.jsonl", many, lines=True)
    done = run_clew(
        *("compare", "--data", file, "--select", "steiner,ego", "--seeds", "1", "--encoder", "hashing", "--json")
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["selections"].keys() == {"steiner", "ego"}
    assert "4 of 12 questions have no topic in their graph" in done.err


@pytest.mark.parametrize("records", [ROG, FRAG], ids=["rog", "frag"])
def test_the_graph_of_a_question_is_its_own(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    file = write_json(tmp_path / "data.jsonl", records, lines=True)
    assert has_own_graphs(file)
    dataset = load_own_graphs(file)
    assert [len(graph.relations) for graph in dataset.graphs] == [3, 2, 1]
    assert dataset.graphs[0].nodes == ("Ada Lind", "Bo Lind", "carpenter", "Vardo")
    assert dataset.graphs[0].edges.tolist() == [[0, 1], [1, 2], [0, 3]]
    assert [question.topics for question in dataset.questions] == [(0,), (0,), ()]
    assert dataset.notes == ("1 of 3 questions have no topic in their graph",)


def test_webqsp_and_cwq_are_read_from_their_own_files(tmp_path: Path) -> None:
    (webqsp,) = load_questions(write_json(tmp_path / "WebQSP.test.json", WEBQSP))
    assert (webqsp.id, webqsp.text) == ("WebQTest-0", "what does bo do")
    assert (webqsp.answers, webqsp.topics) == (("carpenter", "1901"), ("Bo Lind",))
    (cwq,) = load_questions(write_json(tmp_path / "ComplexWebQuestions_test.json", CWQ))
    assert (cwq.id, cwq.answers, cwq.topics) == ("WebQTrn-1_a", ("carpenter",), ("m.05",))


def test_a_graph_that_is_no_list_of_triples_is_refused_by_its_line(tmp_path: Path) -> None:
    file = write_json(tmp_path / "bad.jsonl", [ROG[0], {**ROG[1], "graph": [["a", "b"]]}], lines=True)
    with pytest.raises(InputError, match=r"bad.jsonl: line 2: the graph of a question is no list"):
        load_own_graphs(file)
    broken = tmp_path / "broken.json"
    broken.write_text('{"Questions": [', encoding="utf-8")
    with pytest.raises(InputError, match="invalid JSON"):
        load_questions(broken)


FREEBASE = (
    ("m.01", "people.person.spouse_s", "m.02"),
    ("m.02", "people.person.profession", "m.03"),
    ("m.01", "people.person.place_of_birth", "m.05"),
)
LABELS = (("m.01", "Anna Berg"), ("m.02", "Otto Lund"), ("m.03", "carpenter"), ("m.05", "Bergen"))
WEBQSP_FILE = {
    "Questions": [
        {
            "QuestionId": "WebQTest-1",
            "RawQuestion": "who is the spouse of anna berg?",
            "Parses": [
                {
                    "TopicEntityName": "Anna Berg",
                    "TopicEntityMid": "m.01",
                    "Answers": [{"AnswerArgument": "m.02", "EntityName": None}],
                }
            ],
        }
    ]
}
CWQ_FILE = [
    {
        "ID": "CWQ-1",
        "question": "what is the profession of the spouse of Anna Berg?",
        "sparql": "SELECT ?x WHERE { ns:m.01 ns:people.person.spouse_s ?y . ?y ns:people.person.profession ?x }",
        "answers": [{"answer_id": "m.03", "answer": "carpenter"}],
    }
]


def as_objects(triple: list[str]) -> list[dict[str, str]]:
    """Return a triple in GraftNet's form."""
    head, relation, tail = triple
    return [{"kb_id": "m.1", "text": head}, {"rel_id": "r.1", "text": relation}, {"kb_id": tail, "text": ""}]


def test_objects_of_graftnet_are_read_as_names(tmp_path: Path) -> None:
    records = [{**FRAG[0], "subgraph": {"tuples": [as_objects(triple) for triple in GRAPH]}}]
    named, objects = (
        write_json(tmp_path / "a.jsonl", FRAG[:1], lines=True),
        write_json(tmp_path / "b.jsonl", records, lines=True),
    )
    (wanted,), (found,) = load_own_graphs(named).graphs, load_own_graphs(objects).graphs
    assert (found.nodes, found.relations) == (wanted.nodes, wanted.relations)
    imported = [list(graph_file(file).statements()) for file in (named, objects)]
    assert imported[0] == imported[1] == [tuple(triple) for triple in GRAPH]


def test_numbers_of_nsm_are_refused_and_said_to_be_numbers(tmp_path: Path) -> None:
    """`kg import` took them for names."""
    record = {**FRAG[0], "subgraph": {"tuples": [[3, 1, 4]], "entities": [3, 4]}}
    file = write_json(tmp_path / "nsm.jsonl", [record], lines=True)
    with pytest.raises(InputError, match="is of numbers, as NSM's files number entities and relations; wanted names"):
        load_own_graphs(file)
    done = run_clew("kg", "import", file, "--index", tmp_path / "index")
    assert done.code == 2
    assert "is of numbers, as NSM's files" in done.err
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(("name", "options"), [("rog.json", ()), ("rog", ("--format", "json"))])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_records_is_imported_as_their_lines_are(
    tmp_path: Path, name: str, options: tuple[str, ...], indent: int | None
) -> None:
    file, lines = tmp_path / name, write_json(tmp_path / "lines.jsonl", ROG, lines=True)
    file.write_text(json.dumps(ROG, indent=indent), encoding="utf-8")
    found = list(graph_file(file, options[1] if options else None).statements())
    assert found == list(graph_file(lines).statements())
    assert found == list(graph_file(lines, "json").statements())
    done = run_clew("kg", "import", file, "--index", tmp_path / "index", *options)
    assert done.code == 0, done
    assert (len(load_own_graphs(file).questions), len(load_questions(file))) == (3, 3)


def test_a_list_among_lines_says_how_it_is_imported(tmp_path: Path) -> None:
    file = tmp_path / "rog.jsonl"
    file.write_text(json.dumps(ROG), encoding="utf-8")
    done = run_clew("kg", "import", file, "--index", tmp_path / "index")
    assert (done.code, done.out) == (2, "")
    assert "wanted one object a line, or --format json" in done.err
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(("content", "name"), [(WEBQSP_FILE, "WebQSP"), (CWQ_FILE, "CWQ")])
def test_questions_without_a_graph_say_what_they_lack(tmp_path: Path, content: object, name: str) -> None:
    file = write_json(tmp_path / "test.json", content)
    done = run_clew("kg", "import", file, "--index", tmp_path / "index")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "without a graph; import the triples that it is about" in done.err
    done = run_clew("compare", "--data", file)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"holds questions of {name}, which bring no graph: give it as --questions, with --kg TRIPLES" in done.err


@pytest.mark.parametrize("content", [WEBQSP_FILE, CWQ_FILE], ids=["webqsp", "cwq"])
def test_published_files_go_through_import_and_evaluation(tmp_path: Path, content: object) -> None:
    """Topics by name or identifier, and an answer that is an identifier."""
    questions, kg, names = tmp_path / "test.json", tmp_path / "kg.tsv", tmp_path / "names.tsv"
    index, out = tmp_path / "index", tmp_path / "figures.json"
    questions.write_text(json.dumps(content), encoding="utf-8")
    kg.write_text("".join("\t".join(triple) + "\n" for triple in FREEBASE), encoding="utf-8")
    names.write_text("".join("\t".join(pair) + "\n" for pair in LABELS), encoding="utf-8")
    imported = run_clew("kg", "import", kg, "--names", names, "--index", index)
    assert imported.code == 0, imported
    retrievers = "frag,frag:preset=paper"
    done = run_clew("eval-graph", "--index", index, "--questions", questions, "--retriever", retrievers, "--out", out)
    assert done.code == 0, done
    rows = json.loads(out.read_text(encoding="utf-8"))["retrievers"]
    assert rows["frag"]["hits@1"] == rows["frag"]["hit"] == 1.0
    assert rows["frag:preset=paper"]["coverage@32"] == 1.0


def test_questions_of_cwq_without_a_topic_are_refused_with_what_a_graph_wants(tmp_path: Path) -> None:
    """The message named gold ids alone, which no question on a graph has."""
    index, kg = tmp_path / "index", tmp_path / "kg.tsv"
    kg.write_text("".join("\t".join(triple) + "\n" for triple in FREEBASE), encoding="utf-8")
    assert run_clew("kg", "import", kg, "--index", index).code == 0
    questions = write_json(tmp_path / "cwq.json", [{**CWQ_FILE[0], "sparql": ""}])
    done = run_clew("eval-graph", "--index", index, "--questions", questions, "--retriever", "frag")
    assert done.code == 2
    assert "has no questions with topics and answers: give it to clew eval" in done.err


def test_a_question_whose_answer_is_null_has_no_answers(tmp_path: Path) -> None:
    path = write_json(tmp_path / "rog.jsonl", [{**ROG[0], "answer": None, "a_entity": None}, ROG[1]], lines=True)
    assert [question.answers for question in load_questions(path)] == [(), ("baker",)]
    ran = run_clew("questions", "stats", str(path))
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("answers", [["Bob"], "Bob"])
def test_an_answer_of_webqsp_in_another_form_is_refused_with_its_question(tmp_path: Path, answers: Any) -> None:
    path = tmp_path / "WebQSP.json"
    questions = [{"QuestionId": "WebQTest-7", "RawQuestion": "who", "Parses": [{"Answers": answers}]}]
    path.write_text(json.dumps({"Questions": questions}), encoding="utf-8")
    with pytest.raises(InputError, match=r"WebQSP\.json: question 1: .*Bob.*wanted"):
        load_questions(path)
