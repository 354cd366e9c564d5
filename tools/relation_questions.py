"""Write questions of one and two steps over relations: `python tools/relation_questions.py OUT.jsonl [--count N]`.

"Where was the director of film X born?" needs two passages and asks for one of a few dozen relations. The sets of
questions have a few hundred of these, too few to learn from; passages that state such relations are many. Facts come
from the annotated documents of `names/redocred`, and from the passages of `2wiki-train`, where biographies and films
state them in a few forms. Two facts make a question of two steps where the first one's value is a person whom the
second is about; where no passage is about that person, another's name takes its place in the first passage. Passages
of the questions that are held back for measuring state no fact here.
"""

import argparse
import calendar
import gzip
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clew.datasets.questions import load_questions
from clew.store.atomic import atomic_file
from clew.training.data.reader_examples import is_held_out_of_index

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
from workbench import DATA

DATE = r"(?:\d{1,2} [A-Z][a-z]+ \d{3,4}|[A-Z][a-z]+ \d{1,2}, \d{3,4})"
NAME = r"(?:[A-Z][\w.'’-]+(?: (?:de |van |von |of |the |al-|del )?[A-Z][\w.'’-]*(?<!\.)){0,4})"
TITLED = (
    rf"{NAME}(?:, (?:\d+\w\w )?(?:Duke|Count|Prince|Earl|King|Lord|Baron|Margrave|Viscount|Elector|Landgrave|Marquess|"
    r"Emperor|Duchess|Countess|Princess|Queen)(?: of [A-Z][\w'’-]+)?(?: [A-Z][\w'’-]+)*)?"
)
PLACE = r"(?:[A-Z][\w'’-]+(?:(?:, | |-)(?:of |de |upon )?[A-Z][\w'’-]+){0,4})"
MONTHS = frozenset(calendar.month_name[1:])
STATED = {
    "birth date": rf"^[^()]{{0,80}}\((?:[^()–-]{{0,60}}?[ ;(])??(?:born )?(?:on )?({DATE})",
    "death date": rf"^[^()]{{0,80}}\([^()]{{4,90}}[–-] ?({DATE})",
    "birthplace": rf"\bborn (?:{DATE},? |on {DATE},? |\d{{4}} )?(?:in|at) ({PLACE})",
    "place of death": rf"\b(?:died|passed away)\b[^.]{{0,30}}? (?:in|at) ({PLACE})",
    "nationality": r"^[^.]{0,160}?\)? (?:was|is) an? (?:former )?([A-Z][a-z]+(?:[- ][A-Z][a-z]+)?)\b(?= [a-z])",
    "father": rf"\b(?:son|daughter|child) of (?:[a-z]+ ){{0,3}}({TITLED})",
    "mother": rf"\b(?:son|daughter|child) of (?:[a-z]+ )?{NAME},? and (?:his [a-z ]{{0,20}}wife,? )?({TITLED})",
    "spouse": rf"\b(?:(?:wife|husband|widow|consort) of|married(?: to)?) (?:[a-z]+ ){{0,3}}({TITLED})",
    "school": rf"\b(?:graduated from|educated at|studied at|attended) (?:the )?({PLACE}(?: of [A-Z]\w+)?)",
    "award": r"\b(?:won|received|awarded|recipient of) (?:the|a|an) ((?:[A-Z][\w'’]+ ){1,4}"
    r"(?:Award|Prize|Medal|Order)s?(?: for (?:[A-Z]\w+ ?){1,4})?)",
    "cause of death": r"\bdied (?:of|from) (?:an? |the )?((?:[a-z]+ ){0,2}?[a-z]+)"
    r"(?= (?:in|at|on|when|while|and|after|aged)\b|[,.])",
    "burial place": rf"\b(?:buried|interred) (?:in|at) (?:the )?({PLACE})",
    "director": rf"\b(?:film|movie|comedy|drama)\b[^.]{{0,80}}? directed by ({NAME})",
    "producer": rf"\bproduced by ({NAME})",
    "screenwriter": rf"\b(?:written|screenplay) by ({NAME})",
    "composer": rf"\b(?:music|composed|score)(?: was| is)?(?: composed)? by ({NAME})",
    "performer": rf"\b(?:song|single|album|track)\b[^.]{{0,60}}? by (?:[A-Za-z-]+ ){{0,4}}?"
    rf"(?:singer |artist |band |group |rapper |musician )({NAME})",
    "founder": rf"\b(?:founded|established|created)(?: in \d{{4}})? by (?:[a-z]+ ){{0,3}}({NAME})",
}
"""Relations with the forms in which passages state them."""
WIKIDATA = {
    "P569": "birth date", "P570": "death date", "P19": "birthplace", "P20": "place of death", "P22": "father",
    "P25": "mother", "P26": "spouse", "P69": "school", "P166": "award", "P57": "director", "P162": "producer",
    "P58": "screenwriter", "P86": "composer", "P175": "performer", "P112": "founder", "P27": "citizenship",
    "P50": "author", "P170": "creator", "P123": "publisher", "P264": "record label", "P176": "manufacturer",
    "P178": "developer", "P159": "headquarters", "P36": "capital", "P17": "country", "P571": "inception",
    "P577": "publication", "P54": "team", "P102": "party", "P140": "religion", "P241": "branch", "P127": "owner",
    "P749": "parent company", "P403": "mouth", "P449": "network", "P272": "production company", "P118": "league",
    "P108": "employer", "P364": "language", "P495": "country of origin", "P276": "location", "P131": "region",
    "P3373": "sibling", "P40": "child", "P6": "head of government", "P35": "head of state", "P488": "chair",
    "P400": "platform", "P607": "war", "P1441": "work", "P30": "continent",
}  # fmt: skip
ASKED = {
    "birth date": "When was {} born?|What is the date of birth of {}?|"
    "When is the birthday of {}?|On what date was {} born?",
    "death date": "When did {} die?|What is the date of death of {}?|On which date did {} die?",
    "birthplace": "Where was {} born?|What is the place of birth of {}?|"
    "Which city was {} born in?|In which place was {} born?",
    "place of death": "Where did {} die?|Where was the place of death of {}?|What is the place of death of {}?",
    "nationality": "What nationality is {}?|Which country {} is from?|"
    "What is the nationality of {}?|Which country is {} from?",
    "father": "Who is the father of {}?|Who was the father of {}?",
    "mother": "Who is the mother of {}?|Who was the mother of {}?",
    "spouse": "Who is the spouse of {}?|Who was {} married to?|Who did {} marry?",
    "school": "Where did {} graduate from?|Where did {} study?|Which school did {} attend?|Where was {} educated?",
    "award": "What is the award that {} received?|Which award did {} get?|Which award did {} win?",
    "cause of death": "What is the cause of death of {}?|What did {} die of?|Why did {} die?",
    "burial place": "Where was the place of burial of {}?|Where was {} buried?|Where is {} buried?",
    "director": "Who directed {}?|Who is the director of {}?",
    "performer": "Who performed {}?|Who is the singer of {}?",
    "founder": "Who founded {}?|Who is the founder of {}?",
    "citizenship": "Which country is {} a citizen of?|What is the country of citizenship of {}?",
    "employer": "Where does {} work?|Who did {} work for?|Where did {} work at?",
    "inception": "When was {} founded?|In what year was {} created?|When did {} begin?",
    "publication": "When was {} released?|When was {} published?|When did {} come out?",
    "team": "Which team did {} play for?|What club did {} play for?",
    "party": "Which political party is {} a member of?|What party did {} belong to?",
    "religion": "What is the religion of {}?|What religion did {} follow?",
    "mouth": "What does {} flow into?|Where is the mouth of {}?",
    "location": "Where did {} take place?|Where is {} located?",
    "region": "In which administrative territory is {} located?|Where is {}?|What state or county is {} in?",
    "war": "Which war did {} fight in?|In what conflict did {} take part?",
    "headquarters": "Where are the headquarters of {}?|Where is {} based?|In which city is {} based?",
    "country": "In which country is {}?|What country is {} in?",
    "owner": "Who owns {}?|Which company owns {}?",
    "developer": "Who developed {}?|Which company developed {}?",
    "author": "Who wrote {}?|Who is the author of {}?",
    "creator": "Who created {}?|Who is the creator of {}?",
    "branch": "In which branch of the military did {} serve?",
    "work": "In which work does {} appear?",
    "record label": "What record label released {}?|Which record label is {} signed to?",
}  # fmt: skip
"""Questions for a relation, separated by "|"; one that is not here is asked for by "What is the ... of"."""
PERSONS = (
    "director", "producer", "screenwriter", "composer", "performer", "founder", "father", "mother", "spouse", "author",
    "creator", "sibling", "child", "chair", "head of government", "head of state",
)  # fmt: skip
"""Relations whose value is a person, for a first step."""
KIND = {"director": "film ", "producer": "film ", "screenwriter": "film ", "composer": "film ", "performer": "song "}
KIN = {
    ("father", "father"): "paternal grandfather", ("mother", "father"): "maternal grandfather",
    ("father", "mother"): "paternal grandmother", ("mother", "mother"): "maternal grandmother",
    ("spouse", "father"): "father-in-law", ("spouse", "mother"): "mother-in-law",
}  # fmt: skip
_SHARES = (0.62, 0.12, 0.13, 0.13)  # questions of two steps, then of one, each of stated and of annotated facts
_MARKS = ((r" ([,.;:!?)\]%])", r"\1"), (r"([(\[]) ", r"\1"), (r" ('s|n't)\b", r"\1"), (r"(\w) - (\w)", r"\1-\2"))


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation that a passage states of the thing in its title, with its value."""

    relation: str
    title: str
    text: str
    values: tuple[str, ...]  # forms of the value in the text

    @property
    def name(self) -> str:
        """The title without what stands in brackets."""
        return re.sub(r" \(.*\)$", "", self.title)


class Facts:
    """Facts of one source, to be drawn from."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.all = list(facts)
        self.by_relation: dict[str, list[Fact]] = {}
        self.by_name: dict[str, list[Fact]] = {}
        for fact in self.all:
            self.by_relation.setdefault(fact.relation, []).append(fact)
            if fact.relation not in KIND:
                self.by_name.setdefault(fact.name, []).append(fact)

    def draw(self, chooser: random.Random, is_wanted: Callable[[str], bool] = bool) -> Fact:
        """Return a fact of a wanted relation, rare relations more often than their share."""
        groups = [own for relation, own in self.by_relation.items() if is_wanted(relation)]
        return chooser.choice(chooser.choices(groups, [len(own) ** 0.5 for own in groups])[0])


def main() -> None:
    """Write the questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write_questions(arguments.out, arguments.count, arguments.seed)


def write_questions(path: Path, count: int, seed: int) -> None:
    """Write so many distinct questions, the same ones for a seed."""
    chooser = random.Random(seed)
    stated = Facts(read_passages(DATA / "2wiki-train"))
    annotated = Facts(read_annotated(DATA / "names/redocred.jsonl.gz"))
    makers = [(two_steps, stated), (two_steps, annotated), (one_step, stated), (one_step, annotated)]
    seen: set[str] = set()
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        while len(seen) < count:
            maker, facts = chooser.choices(makers, _SHARES)[0]
            record = maker(facts, chooser)
            if record is not None and record["question"] not in seen:
                seen.add(record["question"])
                out.write(json.dumps({"id": f"relation-{len(seen)}", **record}, ensure_ascii=False) + "\n")
    print(f"{path}: {len(seen):,} questions from {len(stated.all):,} stated and {len(annotated.all):,} annotated facts")


def read_passages(folder: Path) -> Iterator[Fact]:
    """Yield the facts that passages state in the forms of `STATED`."""
    held = {g for q in load_questions(folder / "train.jsonl") if is_held_out_of_index(q.text) for g in q.gold}
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if str(record["id"]) in held:
                continue
            title, text = record["title"], re.sub(r"(?<=\w)\( ?", " (", record["text"])
            for relation, pattern in STATED.items():
                match = re.search(pattern, text)
                value = match.group(1).rstrip(" .,'’-") if match else ""
                if is_whole(relation, value) and value not in title:
                    yield Fact(relation, title, text, (value,))


def is_whole(relation: str, value: str) -> bool:
    """Return whether the words of a form can be a value, not a part of one or another word with a capital."""
    words = value.split()
    if not words or relation.endswith("date"):
        return bool(words)
    is_cut = (
        words[0] in MONTHS or "- " in value or words[-1] == "St" or re.fullmatch("[A-HJ-UW-Z]", words[-1]) is not None
    )
    return not is_cut and (relation not in PERSONS or len(words) > 1)


def read_annotated(path: Path) -> Iterator[Fact]:
    """Yield the facts about the subjects of annotated documents, where a relation has one value."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            text = tidy(" ".join(word for sentence in record["sents"] for word in sentence))
            names = {one["name"]: [tidy(a) for a in one["aliases"]] for one in record["entities"]}
            about = [n for n, aliases in names.items() if tidy(record["title"]) in aliases]
            values: dict[str, list[str]] = {}
            for head, relation, tail in record["triples"]:
                if head in about[:1] and relation in WIKIDATA and tail not in about:
                    values.setdefault(WIKIDATA[relation], []).append(tail)
            for relation, found in values.items():
                if len(found) == 1:
                    forms = dict.fromkeys([tidy(found[0]), *names.get(found[0], [])])
                    yield Fact(relation, record["title"], text, tuple(forms))


def tidy(text: str) -> str:
    """Return words that were separated by spaces as they are printed."""
    for pattern, form in _MARKS:
        text = re.sub(pattern, form, text)
    return text


def one_step(facts: Facts, chooser: random.Random) -> dict[str, Any] | None:
    """Return a question of one fact."""
    fact = facts.draw(chooser)
    kind = KIND.get(fact.relation, "") if chooser.random() < 0.3 else ""
    return finish(ask(fact.relation, kind + print_title(fact.title, chooser), chooser), fact, [fact], facts, chooser)


def two_steps(facts: Facts, chooser: random.Random) -> dict[str, Any] | None:
    """Return a question whose first step leads to the person of the second; None where the two do not fit."""
    first = facts.draw(chooser, lambda relation: relation in PERSONS)
    if about := facts.by_name.get(first.values[0]):
        second = chooser.choice(about)
    else:
        second = facts.draw(chooser, lambda relation: relation not in KIND)
        if not is_person(second) or len(second.name.split()) < 2 or first.values[0] in first.title:
            return None
        first = exchange_person(first, second.name)
    wanted = {"father": " he ", "mother": " she "}.get(first.relation, "")
    if second.title == first.title or wanted not in f" {second.text.lower()} " or second.values[0] in first.text:
        return None
    question = phrase_two_steps(first, second, print_title(first.title, chooser), chooser)
    return finish(question, second, [first, second], facts, chooser)


def exchange_person(fact: Fact, name: str) -> Fact:
    """Return a fact whose passage has another name in the place of its value, and another surname for that alone."""
    text = fact.text
    for old, new in ((fact.values[0], name), (fact.values[0].split()[-1], name.split()[-1])):
        text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _, new=new: new, text)  # type: ignore[misc]
    return replace(fact, text=text, values=(name,))


def phrase_two_steps(first: Fact, second: Fact, thing: str, chooser: random.Random) -> str:
    """Return a question for a relation of the person whom another relation of a thing leads to."""
    if (kin := KIN.get((first.relation, second.relation))) and chooser.random() < 0.8:
        return chooser.choice([f"Who is the {kin} of {thing}?", f"Who is {thing}'s {kin}?"])
    if first.relation in ("father", "mother", "spouse"):
        word = first.relation
        if word == "spouse":
            word = "wife" if " she " in second.text.lower() else "husband"
        return ask(second.relation, chooser.choice([f"{thing}'s {word}", f"the {word} of {thing}"]), chooser)
    kind = chooser.choice(["", "the "]) + KIND[first.relation] if first.relation in KIND else ""
    if "album" in first.text[:150]:
        kind = kind.replace("song", "album")
    return ask(second.relation, f"the {first.relation} of {kind}{thing}", chooser)


def ask(relation: str, thing: str, chooser: random.Random) -> str:
    """Return a question for a relation of a thing."""
    word = "Who" if relation in PERSONS else "What"
    return chooser.choice(ASKED.get(relation, f"{word} is the {relation} of {{}}?").split("|")).format(thing)


def print_title(title: str, chooser: random.Random) -> str:
    """Return a title as questions print it: as it is, without brackets, or with capitals."""
    form = chooser.random()
    plain = re.sub(r" \(.*\)$", "", title) if chooser.random() < 0.7 else title
    return plain.title() if form < 0.4 else plain


def is_person(fact: Fact) -> bool:
    """Return whether a passage is about a person, by what it says first."""
    has_life_dates = re.search(r"^[^()]{0,80}\([^()]*\d{4}", fact.text) is not None
    return has_life_dates and re.search(r"\b(?:he|she|his|her)\b", fact.text, re.I) is not None


def finish(question: str, fact: Fact, gold: Sequence[Fact], facts: Facts, chooser: random.Random) -> dict[str, Any]:
    """Return the record of a question, with passages of the same relations beside its own."""
    titles = {one.title for one in gold}
    others: list[Fact] = []
    for one in gold:
        like = facts.by_relation[one.relation]
        like = [f for f in chooser.sample(like, min(8, len(like))) if f.title not in titles]
        others += [f for f in like if not set(f.values) & set(fact.values)][:2]
    passages = [{"title": one.title, "text": one.text} for one in (*gold, *others)]
    return {"question": question, "answers": list(fact.values), "passages": passages, "gold": list(range(len(gold)))}


if __name__ == "__main__":
    main()
