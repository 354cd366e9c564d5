"""Questions of one and two relations: what is asked for stands in the passages, over the person who joins them."""

import gzip
import json
import random
from pathlib import Path
from types import ModuleType

import pytest

from clew.training.data.reader_examples import is_held_out_of_index
from tests.tools.loading import TOOLS, load_script

PASSAGES = {
    "The Quiet Pier": "The Quiet Pier is a 1931 drama film directed by Ada Holm. Holm wrote it in a week.",
    "Ada Holm": "Ada Holm (3 May 1890 - 4 June 1960) was a Danish director. She was the daughter of Per Holm.",
    "Per Holm": "Per Holm (1 May 1850 - 2 June 1920) was a Danish baker. He was born in Ribe.",
    "The Long Ebb": "The Long Ebb is a 1940 comedy film directed by Jon Berg. Berg lives in Oslo.",
    "Eva Lind": "Eva Lind (7 July 1901 - 8 March 1980) was a Swedish singer. She was born in Lund.",
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_script(TOOLS / "relation_questions.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [json.dumps({"id": title, "title": title, "text": text}) for title, text in PASSAGES.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    held = next(text for text in map("Is it {}?".format, range(100)) if is_held_out_of_index(text))
    question = {"id": "q", "question": held, "answers": ["Ribe"], "gold": ["Per Holm"]}
    (tmp_path / "train.jsonl").write_text(json.dumps(question), encoding="utf-8")
    return tmp_path


def test_facts_are_those_that_passages_state_but_for_passages_held_back(tool: ModuleType, folder: Path) -> None:
    facts = {(fact.title, fact.relation): fact.values[0] for fact in tool.read_passages(folder)}
    assert facts["The Quiet Pier", "director"] == "Ada Holm"
    assert facts["Ada Holm", "birth date"] == "3 May 1890"
    assert facts["Ada Holm", "death date"] == "4 June 1960"
    assert facts["Ada Holm", "nationality"] == "Danish"
    assert facts["Ada Holm", "father"] == "Per Holm"
    assert facts["Eva Lind", "birthplace"] == "Lund"
    assert not any(title == "Per Holm" for title, _ in facts)


def test_two_steps_lead_over_a_person_to_an_answer_of_the_second_passage_alone(tool: ModuleType, folder: Path) -> None:
    facts = tool.Facts(tool.read_passages(folder))
    seen = set()
    for seed in range(300):
        if (record := tool.two_steps(facts, random.Random(seed))) is None:
            continue
        first, second = (record["passages"][at] for at in record["gold"])
        assert second["title"] in first["text"]
        assert record["answers"][0] in second["text"]
        assert record["answers"][0] not in first["text"]
        assert second["title"] not in record["question"]
        seen.add((first["title"], second["title"]))
    assert ("The Quiet Pier", "Ada Holm") in seen  # whose passage is there
    assert ("The Long Ebb", "Eva Lind") in seen  # who took the place of one without a passage


def test_annotated_documents_give_relations_of_one_value(tool: ModuleType, tmp_path: Path) -> None:
    record = {
        "title": "Ada Holm",
        "sents": [["Ada", "Holm", "(", "born", "1890", ")", "directed", "The", "Pier", "in", "Ribe", "."]],
        "entities": [{"name": n, "aliases": [n]} for n in ("Ada Holm", "1890", "Ribe", "The Pier")],
        "triples": [["Ada Holm", "P569", "1890"], ["Ada Holm", "P19", "Ribe"], ["Ada Holm", "P40", "Ribe"],
                    ["Ada Holm", "P40", "The Pier"], ["The Pier", "P57", "Ada Holm"]],
    }  # fmt: skip
    path = tmp_path / "documents.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(record).encode()))
    facts = list(tool.read_annotated(path))
    assert [(fact.relation, fact.values) for fact in facts] == [("birth date", ("1890",)), ("birthplace", ("Ribe",))]
    assert facts[0].text == "Ada Holm (born 1890) directed The Pier in Ribe."
