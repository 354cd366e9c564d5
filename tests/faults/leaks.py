"""Ask everything that answers questions under a filter, and look for what the filter hides.

    python -m tests.faults.leaks [--questions N] [--seed N] [--only TEXT]

Corpora are generated: documents that are seen, and hidden ones whose titles, aliases, headings, spellings and facts are
near those of the others, or that say of two names of the others that they are one. Each made-up word of a hidden
document has a mark in it, so that one that is shown, or sent to a language model, is found whatever it is in. Names
that visible documents write in small letters stand in the hidden ones in capitals, which is a leak, too.

Everything that is registered is asked: each retriever, reranker and agent, with readers without and with a language
model, each kind of answerer, readers of subgraphs, and explanations. What is new and has no place here is an error.
"""

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, pairwise
from pathlib import Path
from time import process_time
from typing import Any, Literal

import clew
from clew.answering.selection import JSON, PASSAGES, PATHS, TEXT, select_answerer
from clew.commands.answers import answer_json, evidence_json
from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.models.llm.access import LLMClientFactory
from clew.models.reader.reader import Reader
from clew.protocols import Answerer, Retriever
from clew.query.entity_linker import LinkerSettings
from clew.rerankers.registry import RERANKERS
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.retrievers.registry import RETRIEVERS, finds_nothing, is_path_retriever, open_retriever, parse_retriever
from clew.retrievers.reranked import RerankedRetriever
from clew.types import Document, Evidence, Failure, Prompt
from clew_lab.candidates.edge_explanations import explain_reranking
from clew_lab.gfm.target_explanations import explain_target
from clew_lab.graph.reader_context import GraphContext
from clew_lab.graph_readers.path_reader import PathGraphReader
from clew_lab.graph_readers.selected_subgraph import ask_subgraph
from clew_lab.models.graph_answer import build_prompt
from tests.models.llm.scripted_model import ScriptedModel
from tests.small_index import make_index

MARK = "zq"  # of words of hidden documents; in no other word
WHERE = "tenant = 'a'"
TRAINED = ("gfm", "g-rag", "routed")
"""What reads the vectors of the default encoder; all else is asked over one that costs nothing."""
MODEL = "scripted:model"
MODEL_SETTINGS = {
    "frag": "ranker=llm:scripted:model",
    "gear": "reader=scripted:model",
    "hipporag2": "filter=scripted:model",
    "ircot": "reader=scripted:model",
    "sync-ge": "reader=scripted:model",
    "tog": "ranker=llm:scripted:model",
}
"""Settings by which retrievers ask a language model."""
QUESTIONS_OF_A_CORPUS = 25
_SYLLABLES = ("bor", "dal", "fen", "gri", "hol", "kar", "lun", "mar", "nes", "ost", "ryd", "sol", "tor", "bik", "wes")


@dataclass(frozen=True, slots=True)
class Case:
    """A corpus, what of it is hidden, and questions."""

    visible: tuple[Document, ...]
    hidden: tuple[Document, ...]
    questions: tuple[str, ...]
    names: tuple[str, ...]  # that visible documents write


def make_case(seed: int, questions: int = QUESTIONS_OF_A_CORPUS) -> Case:
    """Return a corpus and questions, of a seed."""
    rng = random.Random(seed)
    people = [f"{_word(rng)} {_word(rng)}" for _ in range(5)]
    places, ships, regions = ([_word(rng, 3) for _ in range(count)] for count in (5, 4, 3))
    visible = [
        *(_seen(f"p{n}", name, f"{name} was born in {rng.choice(places)}.") for n, name in enumerate(people)),
        *(_seen(f"t{n}", name, f"{name} is a town in {rng.choice(regions)}.") for n, name in enumerate(places)),
        *(
            _seen(
                f"s{n}",
                f"{name} (ship)",
                f"{name} was built in {rng.choice(places)} and commanded by {rng.choice(people)}.",
            )
            for n, name in enumerate(ships)
        ),
        _seen("u", "", f"{people[0]} later left {places[0]} for {regions[0]}. The yard of {places[1]} is old."),
    ]
    names = [*people, *places, *ships, *regions]
    secret = [_marked(rng) for _ in range(6)]
    hidden = [_hidden(rng, number, names, secret) for number in range(6)]
    asked = [_ask(rng, people, places, ships, names, secret) for _ in range(questions)]
    return Case(tuple(visible), tuple(hidden), tuple(asked), tuple(names))


def _word(rng: random.Random, syllables: int = 2) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(syllables)).capitalize()


def _marked(rng: random.Random) -> str:
    """Return a word that hidden documents alone have."""
    return (rng.choice(_SYLLABLES) + MARK + rng.choice(_SYLLABLES)).capitalize()


def _near(rng: random.Random, name: str) -> str:
    """Return a name that is spelt nearly as another one, and has the mark."""
    at = rng.randrange(1, len(name))
    return name[:at] + MARK + name[at:]


def _seen(id_: str, title: str, text: str) -> Document:
    return Document(id_, title, text, {"tenant": "a"})


def _hidden(rng: random.Random, number: int, names: Sequence[str], secret: Sequence[str]) -> Document:
    """Return a hidden document about, near, under or beside the names of others."""
    name, other, own = rng.choice(names), rng.choice(names), secret[number]
    title, aliases, text = rng.choice(
        [
            (f"{own} {rng.choice(secret)}", (name, other), f"{own} commanded {name} and was seized in {other}."),
            (
                own,
                (),
                f"{own} is a file.\n## {name}\n\nIt {MARK}ushed {other} to {rng.choice(secret)}.\n\n## {other}\n\nNo.",
            ),
            (_near(rng, name), (), f"{_near(rng, name)} was born in {own}. {name} sold {other} to {own}."),
            (name, (own, rng.choice(secret)), f"{name} was born in {own}. " * 3),
            ("", (), " ".join([f"{name.upper()} is watched from {own}."] * 12)),
            (f"{name} ({own})", (name,), f"{name} ({own}) is also {other}. {other} {MARK}ed {own}."),
            (name, (other,), f"{name}, also called {other}, was seen in {own}."),
        ]
    )
    return Document(f"{MARK}-{number}", title, text, {"tenant": "b", f"{MARK}field": own}, aliases=aliases)


def _ask(
    rng: random.Random,
    people: Sequence[str],
    places: Sequence[str],
    ships: Sequence[str],
    names: Sequence[str],
    secret: Sequence[str],
) -> str:
    name = rng.choice(names)
    return rng.choice(
        [
            f"Where was {rng.choice(people)} born?",
            f"Where was the commander of the {rng.choice(ships)} born?",
            f"In which region is the town where {rng.choice(people)} was born?",
            f"Who commanded the ship that was built in {rng.choice(places)}?",
            f"Which ship left [{name}]?",
            f"Who knew [{name}] and {rng.choice(secret)}?",
            f"What is {name[:-1]}?",
            f"Who was {rng.choice(people).split()[1]} of {rng.choice(places)}?",
            f"Where is {_near(rng, name)}?",
            name.lower(),
        ]
    )


def leaked(text: str, question: str, case: Case) -> list[str]:
    """Return what a text shows of hidden documents, and the question does not say."""
    asked = question.casefold()
    marked = {word for word in re.findall(rf"[\w()-]*{MARK}[\w()-]*", text.casefold()) if word not in asked}
    capitals = {name.upper() for name in case.names if name.upper() in text}
    return sorted(marked | capitals)


def find_ties(evidence: Evidence, case: Case) -> list[str]:
    """Return a marked word for each two names that evidence shows as one entity, and that hidden documents tie."""
    tied = {frozenset(pair) for d in case.hidden for pair in combinations({d.title, *d.aliases} & {*case.names}, 2)}
    shown: list[tuple[str, str]] = []
    for path in evidence.paths:
        for triple in path.item:
            shown += [(triple.head, triple.head_name), (triple.tail, triple.tail_name)]
        for one, other in pairwise(path.item):
            pairs = [(a, b) for a in (one.head, one.tail) for b in (other.head, other.tail)]
            shown += pairs if all(a != b for a, b in pairs) else []
    written = [note for note in evidence.notes if note.startswith("starts from")]
    shown += [pair for note in written for pair in re.findall(r"(\w[\w ]*) \[([^]]+)\]", note)]
    return [f"{MARK}tie({one}={other})" for one, other in shown if frozenset((one, other)) in tied]


class RecordingFactory(LLMClientFactory):
    """Opens one model for every name, which replies at random, and well-formed, from names that it may know."""

    def __init__(self, case: Case, seed: int) -> None:
        super().__init__()
        self._rng = random.Random(seed)
        self._names = case.names
        self.model = ScriptedModel(self._reply)

    def open(self, name: str, kept: Path | None = None) -> ScriptedModel:
        """Return the model."""
        del name, kept
        return self.model

    def take_prompts(self) -> str:
        """Return the texts of all prompts since the last call."""
        sent = "\n".join(f"{prompt.instructions}\n{prompt.content}" for prompt in self.model.prompts)
        self.model.prompts.clear()
        return sent

    def _reply(self, prompt: Prompt) -> dict[str, Any] | Failure:
        schema = prompt.reply.model_json_schema()
        reply: dict[str, Any] = self._fill(schema, schema.get("$defs", {}))
        try:
            prompt.reply.model_validate(reply)
        except ValueError:
            return Failure(prompt.name, "it was: nonsense")
        return reply

    def _fill(self, schema: Mapping[str, Any], types: Mapping[str, Any]) -> Any:
        if "$ref" in schema:
            return self._fill(types[schema["$ref"].rpartition("/")[2]], types)
        if "anyOf" in schema:
            return self._fill(schema["anyOf"][0], types)
        if "enum" in schema:
            return self._rng.choice(schema["enum"])
        kind = schema.get("type", "string")
        if kind == "object":
            return {name: self._fill(part, types) for name, part in schema.get("properties", {}).items()}
        if kind == "array":
            return [self._fill(schema.get("items", {}), types) for _ in range(max(2, schema.get("minItems", 0)))]
        if kind == "boolean":
            return self._rng.random() < 0.2
        if kind in ("integer", "number"):
            return self._rng.randint(int(schema.get("minimum", 0)), int(schema.get("maximum", 3)))
        return self._rng.choice(self._names)


class RecordingReader:
    """A graph reader that keeps the prompts that a causal language model would get."""

    name = "recording"
    fingerprint = "recording"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def generate(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        """Return the first selected name for each question."""
        self.prompts += [build_prompt(q, context.text) for q, context in zip(questions, contexts, strict=True)]
        return [context.query.graph.graph.nodes[int(context.subgraph.nodes[0])] for context in contexts]

    def loss(self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]) -> Any:
        """Return nothing of use: it is not trained."""
        raise AssertionError


class Asked:
    """The whole index of a case, opened with each encoder, and its recording model."""

    def __init__(self, case: Case, folder: Path, seed: int, cross_encoder: Path | None = None) -> None:
        self.case, self._folder = case, folder
        self.factory = RecordingFactory(case, seed)
        self.cross_encoder = cross_encoder
        self._answerers: dict[tuple[str, ...], Answerer] = {}
        self._linked: dict[str, list[Retriever]] = {}

    def index(self, spec: str) -> Index:
        """Return the index that a retriever is asked over."""
        return self._trained if spec.startswith(TRAINED) or "g-rag" in spec else self._plain

    def answerer(self, spec: str, model: str = "", prompts: str = JSON) -> Answerer:
        """Return the answerer for what a retriever finds."""
        key = spec, model, prompts
        if key not in self._answerers:
            kind = PATHS if is_path_retriever(parse_retriever(spec)) else PASSAGES
            self._answerers[key] = select_answerer(model, self.factory.open, Reader, kind, prompts)
        return self._answerers[key]

    def linked(self, method: Literal["exact", "exact+embedding"]) -> list[Retriever]:
        """Return retrievers that start from the names which a language model lists, linked by a method."""
        if method not in self._linked:
            context = self._plain.context.with_linker(LinkerSettings(method, -1.0, MODEL, is_chosen=True))
            self._linked[method] = [open_retriever(name, context) for name in ("pagerank", "frag")]
        return self._linked[method]

    @cached_property
    def _plain(self) -> Index:
        return self._open("hashing")

    @cached_property
    def _trained(self) -> Index:
        return self._open(DEFAULT_ENCODER)

    def _open(self, encoder: str) -> Index:
        make_index(self._folder / encoder, (*self.case.visible, *self.case.hidden), encoder)
        return clew.open(self._folder / encoder, llm_factory=self.factory)


Subject = Callable[[Asked, str], Iterator[str]]
"""A function of an index and a question that yields all that is shown for it."""


def subjects(cross_encoder: Path | None = None) -> dict[str, Subject]:
    """Return all that is asked, by name; a cross-encoder is asked where there is the folder of one."""
    made: dict[str, Subject] = {}
    for name in RETRIEVERS:
        if finds_nothing(name) or name in WITHOUT_WEIGHTS:
            continue
        made[name] = partial(_search, name)
        if name in MODEL_SETTINGS:
            made[f"{name} with a model"] = partial(_search, f"{name}:{MODEL_SETTINGS[name]}")
    for name in RERANKERS:
        if (spec := _reranking(name, cross_encoder)) is not None:
            made[f"reranker {name}"] = partial(_search, spec)
    made["answers of a model from passages"] = partial(_answer_by_model, "pagerank", JSON)
    made["answers of a model from paths"] = partial(_answer_by_model, "frag", JSON)
    made["answers of a model from paths, as text"] = partial(_answer_by_model, "frag", TEXT)
    made["names that a model lists"] = _link_by_model
    for name in ("gcn-subgraph", "steiner"):
        made[f"reader of {name}"] = partial(_read_subgraph, name)
    made["explain gfm"] = _explain_target
    made["explain gfm, all nodes"] = partial(_explain_target, spec="gfm:nodes=all")
    made["explain g-rag"] = _explain_reranking
    made["errors"] = _ask_wrongly
    return made


WITHOUT_WEIGHTS = frozenset({"gfm-paper"})
"""Retrievers that search only with weights that the user names."""


def _reranking(name: str, cross_encoder: Path | None) -> str | None:
    """Return a retriever with a reranker; None where it cannot be asked here. A new reranker is a KeyError."""
    specs = {
        "cross-encoder": None if cross_encoder is None else f"bm25:rerank=cross-encoder:{cross_encoder}",
        "g-rag": "gfm:rerank=g-rag",
        "g-rag-amr": None,  # without weights that the user names
        "llm": f"bm25:rerank=llm:{MODEL}",
        "words": "bm25:rerank=words",  # of the tests of contracts
    }
    return specs[name]


def _search(spec: str, asked: Asked, question: str) -> Iterator[str]:
    """Search, answer without a language model, and return both, and what a model was sent."""
    index = asked.index(spec)
    evidence = index.search(question, 10, parse_retriever(spec), WHERE)
    # The folder of a model is in a note, and its random letters may be those of a hidden name.
    yield _show(evidence_json("", "", evidence)).replace(str(asked.cross_encoder), "")
    yield " ".join(find_ties(evidence, asked.case))
    yield asked.factory.take_prompts()
    answer = asked.answerer(spec).answer([question], [evidence])[0]
    yield _show(answer_json("", "", answer)).replace(str(asked.cross_encoder), "")


def _answer_by_model(spec: str, prompts: str, asked: Asked, question: str) -> Iterator[str]:
    index = asked.index(spec)
    evidence = index.search(question, 10, parse_retriever(spec), WHERE)
    yield _show(answer_json("", "", asked.answerer(spec, MODEL, prompts).answer([question], [evidence])[0]))
    yield asked.factory.take_prompts()


def _link_by_model(asked: Asked, question: str) -> Iterator[str]:
    index = asked.index("pagerank")
    for retriever in (*asked.linked("exact"), *asked.linked("exact+embedding")):
        (evidence,) = retriever.retrieve([question], 10, WHERE)
        yield _show(evidence_json("", "", index.finish(evidence, WHERE)))
    yield asked.factory.take_prompts()


def _read_subgraph(name: str, asked: Asked, question: str) -> Iterator[str]:
    index = asked.index(name)
    reader = RecordingReader()
    answer = ask_subgraph(index, question, reader, name, 10, WHERE)
    yield _show(answer_json("", "", answer))
    yield from reader.prompts
    local = PathGraphReader(lambda texts: index.context.encode_texts(list(texts)))
    yield _show(answer_json("", "", ask_subgraph(index, question, local, name, 10, WHERE)))


def _explain_target(asked: Asked, question: str, spec: str = "gfm") -> Iterator[str]:
    retriever = asked.index("gfm").retriever(parse_retriever(spec), 0)
    assert isinstance(retriever, GFMRetriever)
    rng = random.Random(question)
    hidden = rng.choice(asked.case.hidden)
    # The last names are those of no document; others are nearly those of hidden ones, and hints would tell them.
    for target in (rng.choice(asked.case.names), *asked.case.names[-3:], hidden.id, hidden.id[:-1], hidden.title[:-1]):
        try:
            yield repr(explain_target(retriever, question, target, 3, where=WHERE))
        except InputError as error:
            yield str(error).replace(repr(target), "")


def _explain_reranking(asked: Asked, question: str) -> Iterator[str]:
    index = asked.index("gfm")
    ranked = index.retriever(parse_retriever("gfm:rerank=g-rag"), 0)
    assert isinstance(ranked, RerankedRetriever)
    try:
        yield repr(explain_reranking(index.context, ranked.base, ranked.reranker, 10, question, None, 5, WHERE))
    except InputError as error:
        yield str(error)


def _ask_wrongly(asked: Asked, question: str) -> Iterator[str]:
    index = asked.index("bm25")
    wrong: tuple[Callable[[], Evidence], ...] = (
        lambda: index.search(question, where=f"({WHERE}) AND tenent = 'a'"),
        lambda: index.search(question, where=f"({WHERE}) AND field = 'a'"),
        lambda: index.search(question, 5, "bm52", WHERE),
        lambda: index.search(question, 5, "frag", WHERE, topics=["Nobody at all"]),
    )
    for search in wrong:
        try:
            yield _show(evidence_json("", "", search()))
        except InputError as error:
            yield str(error)


def _show(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def count_leaks(
    names: Sequence[str],
    questions: int,
    seed: int,
    cross_encoder: Path | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[str, int, list[str]]]:
    """Yield for each subject its name, the number of questions, and a line for each that it leaks at."""
    asking = subjects(cross_encoder)
    faults: dict[str, list[str]] = {name: [] for name in names}
    done: Counter[str] = Counter()
    for number in range(-(-questions // QUESTIONS_OF_A_CORPUS)):
        case = make_case(seed + number, min(QUESTIONS_OF_A_CORPUS, questions - number * QUESTIONS_OF_A_CORPUS))
        with tempfile.TemporaryDirectory(prefix="clew-leaks-") as folder:
            asked = Asked(case, Path(folder), seed + number, cross_encoder)
            for name in names:
                started = process_time()
                for question in case.questions:
                    done[name] += 1
                    if words := leaked("\n".join(asking[name](asked, question)), question, case):
                        faults[name].append(f"{name}: corpus {seed + number}, {question!r}: {', '.join(words)}")
                        on_progress(faults[name][-1])
                on_progress(f"{name}: {process_time() - started:.1f} s")
        on_progress(f"corpus {seed + number}: {sum(map(len, faults.values()))} leaks so far")
    for name in names:
        yield name, done[name], faults[name]


def main() -> int:
    """Print how many questions each leaked at; return 1 where any did."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="part of the names of what is asked")
    parser.add_argument("--cross-encoder", type=Path, help="folder of a model; else that reranker is not asked")
    options = parser.parse_args()
    names = [name for name in subjects(options.cross_encoder) if options.only in name]
    total = leaks = 0
    given = names, options.questions, options.seed, options.cross_encoder
    for name, asked, faults in count_leaks(*given, lambda line: print(line, file=sys.stderr, flush=True)):
        print(f"{name:45}{len(faults):5} of {asked}")
        print("".join(f"  {fault}\n" for fault in faults[:3]), end="")
        total, leaks = total + asked, leaks + len(faults)
    print(f"{len(names)} subjects: {leaks} leaks of {total}")
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main())
