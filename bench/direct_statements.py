"""Precision of what `clew ask` asserts of questions of one step: `python bench/direct_statements.py [SET ...]`.

The questions ask who directed and wrote films, who starred in them, and when they were released; the answers are facts
of the graph of MetaQA, which owes nothing to the passages. A film counts where its title is that of one passage of the
set, which says in its opening that it is a film of the year that the graph has; titles with several years in the graph
are left out. An answer is right where the graph has it (dates: where the year is the graph's); "graph differs" counts
the wrong ones whose passage names nothing that the graph has for the question, so that one of the two is at fault. All
is asked once more with the passages of the film taken out, where others may still name it, and few do.

The second table is of the active voice, "Y directed X", which stands in the passages of other titles: each film of the
graph is asked for that some passage names after such a verb, of these passages and one that holds its title alone.

The rule for statements (`answering/direct_statements.py`) was mended on hotpotqa and 2wiki-train; musique-dev is for
evaluation alone.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clew import index as indexes
from clew.answering.extractive import STATEMENT_NOTE
from clew.answering.replies import empty_answer
from clew.evaluation.answer_metrics import exact_match, normalize_answer
from clew.index import Index
from clew.text.normalization import strip_parentheses
from clew.types import Answer, Evidence, Passage, Question, Scored
from clew_lab.training.recipes.answers import FURTHER_PASSAGES, PASSAGES, remove_gold
from workbench import BENCHMARKS, DATA, build_index, describe_machine, load_records, print_table

FORMS = {
    "directed by": ("Who directed {}?", "By whom was {} directed?"),
    "written by": ("Who wrote {}?", "Who was {} written by?"),
    "release year": ("When was {} released?", "In which year was {} released?"),
    "starred actors": ("Who starred in {}?", "Who stars in {}?"),
}
"""Questions for each relation; the films take turns."""
ACTIVE_VERBS = {"directed by": "directed", "written by": "wrote", "starred actors": "starred"}
"""Verbs of the active voice for the relations whose answers are persons."""
RELEASE = "release year"
_OPENING = re.compile(r"\A.{0,150}?(?:\bis an?\s|\()(?P<year>(?:19|20)\d\d)\b[^.]{0,120}?\b(?:film|movie)\b", re.DOTALL)
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_TOGETHER = 32

Facts = Mapping[str, Mapping[str, list[str]]]


@dataclass(frozen=True, slots=True)
class FilmQuestion:
    """A question with the graph's answers and the passages of its film."""

    question: Question  # gold: the passages of the film
    relation: str
    passage: str  # text

    def is_right(self, answer: Answer) -> bool:
        """Return whether the graph has an answer; of a date the year alone counts."""
        if self.relation == RELEASE:
            return set(_YEAR.findall(answer.text)) == set(self.question.answers)
        return bool(exact_match(answer.text, self.question.answers))

    @property
    def graph_differs(self) -> bool:
        """Whether the passage names nothing that the graph has."""
        text = f" {normalize_answer(self.passage)} "
        return not any(f" {normalize_answer(answer)} " in text for answer in self.question.answers)


def main() -> None:
    """Print for each set and relation what is asserted, by the rule for statements and by the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["hotpotqa", "2wiki-train", "musique-dev"])
    parser.add_argument("--show", action="store_true", help="print the wrong assertions")
    arguments = parser.parse_args()
    print(describe_machine())
    facts = load_facts()
    rows, active = [], []
    for name in arguments.sets:
        index = indexes.open(build_index(BENCHMARKS[name]))
        asked = list(ask_films(facts, name))
        answers, without = answer_all(index, asked)
        rows += [row for relation in FORMS for row in summarise(name, relation, asked, answers, without)]
        pairs = list(ask_active(facts, name))
        stated = index.answerer().answer([one.question.text for one, _ in pairs], [evidence for _, evidence in pairs])
        active += [row for relation in ACTIVE_VERBS for row in summarise_active(name, relation, pairs, stated)]
        if arguments.show:
            show_wrong(asked, answers, without)
            some = [one for one, _ in pairs]
            show_wrong(some, stated, [empty_answer(evidence, ()) for _, evidence in pairs])
    print()
    print_table(
        (
            "set",
            "relation",
            "decided by",
            "asked",
            "asserted",
            "right",
            "wrong",
            "graph differs",
            "without passage",
            "of those wrong",
        ),
        rows,
    )
    print()
    print_table(
        ("active voice", "relation", "decided by", "asked", "asserted", "right", "wrong", "graph differs"), active
    )


def load_facts() -> Facts:
    """Return the answers of the graph by relation and title."""
    facts: dict[str, dict[str, list[str]]] = {relation: defaultdict(list) for relation in FORMS}
    with (DATA / "metaqa" / "kg.tsv").open(encoding="utf-8") as lines:
        for line in lines:
            head, relation, tail = line.rstrip("\n").split("\t")
            if relation in FORMS:
                facts[relation][normalize_answer(head)].append(tail)
    return facts


def ask_films(facts: Facts, name: str) -> Iterator[FilmQuestion]:
    """Yield the questions about the films of a set whose year in the graph is that of their passage's opening."""
    found: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for record in load_records(DATA / BENCHMARKS[name].corpus):
        found[normalize_answer(strip_parentheses(record["title"]))].append(record)
    films = 0
    for key, records in found.items():
        opening = _OPENING.match(records[0]["text"])
        if len(records) > 1 or opening is None or facts[RELEASE].get(key) != [opening["year"]]:
            continue
        films += 1
        title = strip_parentheses(records[0]["title"]).strip()
        for relation, forms in FORMS.items():
            if answers := facts[relation].get(key):
                text = forms[films % len(forms)].format(title)
                question = Question(text, text, tuple(answers), (records[0]["id"],))
                yield FilmQuestion(question, relation, records[0]["text"])


def answer_all(index: Index, asked: Sequence[FilmQuestion]) -> tuple[list[Answer], list[Answer]]:
    """Return the answers of `Index.ask` with its defaults, and those without the passages of the films."""
    retriever = index.retriever(index.resolve_retriever(), 1)
    answerer = index.answerer()
    full, without = [], []
    for start in range(0, len(asked), _TOGETHER):
        some = [one.question for one in asked[start : start + _TOGETHER]]
        texts = [question.text for question in some]
        full += answerer.answer(texts, retriever.retrieve(texts, PASSAGES))
        further = retriever.retrieve(texts, FURTHER_PASSAGES)
        cut = [remove_gold(evidence, question, PASSAGES) for question, evidence in zip(some, further, strict=True)]
        without += answerer.answer(texts, cut)
    return full, without


def ask_active(facts: Facts, name: str) -> Iterator[tuple[FilmQuestion, Evidence]]:
    """Yield who directed, wrote or starred in each film that passages of other titles say this of in the active voice.

    The evidence are those passages and one of the film that holds its title alone.
    """
    found: dict[tuple[str, str], tuple[str, list[Passage]]] = {}
    for record in load_records(DATA / BENCHMARKS[name].corpus):
        passage = Passage(record["id"], record["id"], record["title"], record["text"], 0, len(record["text"]))
        for relation, verb in ACTIVE_VERBS.items():
            for title in _titles_after(verb, passage.text, facts[relation]):
                if normalize_answer(title) != normalize_answer(strip_parentheses(passage.title)):
                    some = found.setdefault((relation, normalize_answer(title)), (title, []))[1]
                    some += [passage] if passage not in some else []
    for (relation, key), (title, passages) in sorted(found.items()):
        text = FORMS[relation][0].format(title)
        question = Question(f"{relation} {text}", text, tuple(facts[relation][key]), ())
        stub = Passage("film", "film", title, f"{title}.", 0, len(title) + 1)
        evidence = Evidence(tuple(Scored(passage, 1.0) for passage in (*passages[: PASSAGES - 1], stub)))
        yield FilmQuestion(question, relation, " ".join(passage.text for passage in passages)), evidence


def _titles_after(verb: str, text: str, known: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the longest title of two words or more of the graph that stands after each place of a verb in a text."""
    for match in re.finditer(rf"\b{verb}\s(?:in\s)?(?:the\s)?(?:[a-z]+\s){{0,3}}[\"'“]?(?=[A-Z])", text):
        words = list(re.finditer(r"[^\s\"”]+", text[match.end() : match.end() + 80].partition(".")[0]))
        for count in range(len(words), 1, -1):
            title = text[match.end() : match.end() + words[count - 1].end()].rstrip(",;:'’\"")
            if normalize_answer(title) in known and not set('"”)&').intersection(title):
                yield title
                break


def summarise_active(
    name: str, relation: str, pairs: Sequence[tuple[FilmQuestion, Evidence]], answers: Sequence[Answer]
) -> Iterator[list[str]]:
    """Yield the rows of a relation that other passages state in the active voice."""
    some = [(one, answer) for (one, _), answer in zip(pairs, answers, strict=True) if one.relation == relation]
    for decider, is_statement in (("statement", True), ("others", False)):
        given = [(q, a) for q, a in some if is_asserted(a) and by_statement(a) is is_statement]
        right = sum(q.is_right(a) for q, a in given)
        differs = sum(not q.is_right(a) and q.graph_differs for q, a in given)
        counts = len(some), len(given), right, len(given) - right - differs, differs
        yield [name, relation, decider, *map(str, counts)]


def is_asserted(answer: Answer) -> bool:
    """Return whether an answer is given without a doubt."""
    return bool(answer.text) and not answer.weak


def by_statement(answer: Answer) -> bool:
    """Return whether the rule for statements decided it."""
    return STATEMENT_NOTE in answer.notes


def summarise(
    name: str, relation: str, asked: Sequence[FilmQuestion], answers: Sequence[Answer], without: Sequence[Answer]
) -> Iterator[list[str]]:
    """Yield the rows of a relation: statements, and what decides else."""
    some = [(q, a, w) for q, a, w in zip(asked, answers, without, strict=True) if q.relation == relation]
    deciders: dict[str, Callable[[Answer], bool]] = {
        "statement": by_statement,
        "others": lambda answer: not by_statement(answer),
    }
    for decider, decides in deciders.items():
        given = [(q, a) for q, a, _ in some if is_asserted(a) and decides(a)]
        right = sum(q.is_right(a) for q, a in given)
        differs = sum(q.graph_differs for q, a in given if not q.is_right(a))
        without_passage = [q.is_right(w) for q, _, w in some if is_asserted(w) and decides(w)]
        counts = len(some), len(given), right, len(given) - right - differs, differs, len(without_passage)
        yield [name, relation, decider, *map(str, (*counts, without_passage.count(False)))]


def show_wrong(asked: Sequence[FilmQuestion], answers: Sequence[Answer], without: Sequence[Answer]) -> None:
    """Print each assertion that is not right, with the sentence that is quoted for it."""
    for one, answer, other in zip(asked, answers, without, strict=True):
        for kind, given in (("", answer), ("without its passage ", other)):
            if is_asserted(given) and not one.is_right(given):
                decider = "statement" if by_statement(given) else "others"
                kind += "graph differs " if one.graph_differs else ""
                print(f"\n{kind}{decider}: {one.question.text} {given.text!r}, in the graph {one.question.answers}")
                print(f"  {given.citations[0].passage_id}: {given.citations[0].quote}")


if __name__ == "__main__":
    main()
