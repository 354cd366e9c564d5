"""Made corpora with the names and the layout of the real ones, so small that every table is done in seconds.

With `--quick` a script of this folder runs itself again on them: `run_on_made_data`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

FILES = {
    "2wiki": ("questions.jsonl",),
    "2wiki-train": ("train.jsonl",),
    "hotpotqa": ("train.jsonl", "dev.jsonl"),
    "musique": ("train.jsonl",),
    "musique-dev": ("dev.jsonl",),
}
"""For each corpus the files of questions that the tables read."""
GRAPH_FILES = {"metaqa": "dev.jsonl", "pathquestion-2h": "questions.jsonl", "pathquestion-3h": "questions.jsonl"}
"""For each graph its file of questions."""
_GRAPH_QUESTIONS = 120
_PEOPLE, _TOWNS, _QUESTIONS = 8, 6, 6
_ON_MADE_DATA = "BENCH_ON_MADE_DATA"
_STARTS = ("Al", "Bor", "Cal", "Dor", "Em", "Fal", "Gor", "Hal", "Is", "Jor")
_ENDS = ("vin", "mar", "dan", "rik", "stad", "holm", "vik", "berg")


def write_made_data(folder: Path) -> None:
    """Write all corpora below a folder; the same ones every time."""
    for number, (corpus, files) in enumerate(FILES.items()):
        random = Random(number)
        names = [start + end for start in _STARTS for end in _ENDS]
        random.shuffle(names)
        towns, regions = names[:_TOWNS], names[_TOWNS : 2 * _TOWNS]
        people = [f"{first} {last}" for first, last in zip(names[-_PEOPLE:], names[20:], strict=False)]
        homes = [random.randrange(_TOWNS) for _ in people]
        passages = [
            (town, f"{town} is a town in {region}. {town} has a harbour.")
            for town, region in zip(towns, regions, strict=True)
        ]
        passages += [
            (person, f"{person} was born in {towns[home]}. {person} wrote books.")
            for person, home in zip(people, homes, strict=True)
        ]
        rows = [{"id": f"p{i}", "title": title, "text": text} for i, (title, text) in enumerate(passages)]
        _write(folder / corpus / "corpus.jsonl", rows)
        questions = [
            {
                "id": f"q{i}",
                "question": f"In which region is the town where {person} was born?",
                "answers": [regions[home]],
                "gold": [f"p{_TOWNS + i}", f"p{home}"],
                "hops": 2,
            }
            for i, (person, home) in enumerate(zip(people, homes, strict=True))
        ]
        for file in files:
            _write(folder / corpus / file, questions[:_QUESTIONS])


def write_made_graphs(folder: Path) -> None:
    """Write graphs of families with questions of 1 to 3 hops below a folder; the same ones every time."""
    for number, (name, file) in enumerate(GRAPH_FILES.items()):
        random = Random(number)
        firsts = [start + end for start in _STARTS for end in _ENDS]
        random.shuffle(firsts)
        people = [f"{first} {last}" for first, last in pairwise(firsts)]
        values = {"profession": ("teacher", "fisher", "painter"), "place of birth": firsts[-4:]}
        facts = {
            (person, relation): people[random.randrange(len(people))]
            for person in people
            for relation in ("father", "spouse")
        }
        facts |= {(person, relation): random.choice(ends) for person in people for relation, ends in values.items()}
        triples = [[head, relation, tail] for (head, relation), tail in facts.items()]
        questions = []
        for i in range(_GRAPH_QUESTIONS):
            hops = {"pathquestion-2h": 2, "pathquestion-3h": 3}.get(name, 1 + i % 3)
            relations = [random.choice(("father", "spouse")) for _ in range(hops - 1)] + [random.choice(list(values))]
            place, path = people[i % len(people)], []
            for relation in relations:
                path.append([place, relation, facts[place, relation]])
                place = facts[place, relation]
            text = f"what is the {' of the '.join(reversed(relations))} of {path[0][0]}"
            known = {"topic": [path[0][0]], "answers": [place], "hops": hops, "paths": [path]}
            questions.append({"id": f"q{i}", "question": text, **known})
        _write(folder / name / file, questions)
        lines = "".join("\t".join(triple) + "\n" for triple in triples)
        (folder / name / "kg.tsv").write_text(lines, encoding="utf-8")


def write_made_stances(folder: Path) -> None:
    """Write claims with replies and graphs below a folder, for training and for testing; the same ones every time."""
    things = [(start + end).casefold() for start in _STARTS for end in _ENDS]
    for part, some in (("train", things[:24]), ("dev", things[24:36])):
        rows = []
        for i, thing in enumerate(some):
            label, relation = (("support", "causes"), ("counter", "prevents"))[i % 2]
            triples = [[thing, relation, "harm"], ["harm", "is a", "problem"], [thing, "is a", "place"]]
            texts = {"arg1": f"{thing} should be closed", "arg2": f"{thing} {relation} harm", "label": label}
            rows.append({"id": f"{part}{i}", **texts, "triples": triples})
        _write(folder / "explagraphs" / f"{part}.jsonl", rows)


def run_on_made_data(script: str, arguments: Sequence[str]) -> bool:
    """Run a script again on made data, unless this is that run; return whether that was done.

    Raises SystemExit with the exit status of the run if it failed.
    """
    if _ON_MADE_DATA in os.environ:
        return False
    with TemporaryDirectory() as folder:
        write_made_data(Path(folder) / "data")
        write_made_graphs(Path(folder) / "data")
        write_made_stances(Path(folder) / "data")
        environment = {**os.environ, **made_environment(Path(folder))}
        done = subprocess.run([sys.executable, script, *arguments], check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.returncode)
    return True


def made_environment(folder: Path) -> dict[str, str]:
    """Return the variables by which scripts find made data and its indexes in a folder."""
    return {"CLEW_DATA": str(folder / "data"), "CLEW_BENCH": str(folder / "work"), _ON_MADE_DATA: "1"}


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
