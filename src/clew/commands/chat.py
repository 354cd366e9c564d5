"""`clew chat`: questions one after the other over one open index, with what was said before."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.answers import print_answer, print_evidence
from clew.commands.options import DeviceOption, IndexArgument, LLMOptions, TimeOptions, WhereOption
from clew.commands.output import print_line, print_note
from clew.commands.progress import progress_on_stderr
from clew.errors import ClewError, InputError
from clew.query.conversation import Conversation, find_names
from clew.query.referents import Described
from clew.text.display import has_surrogate
from clew.types import MAX_POSSIBLE, Answer

if TYPE_CHECKING:
    from clew.index import Index
    from clew.query.time_limits import TimeLimits

_PROMPT = "> "
_QUOTES = 2
_MAX_SOURCE = 100  # characters of a title in the list of sources
_HELP = """Ask a question, or one that goes on from the last: "and who was its last owner?"
:why            how the passages of the last answer connect
:sources        the passages that the last answer was read from
:where FILTER   only passages that meet a condition, such as year >= 1990; :where alone lifts it
:retriever NAME another retriever (see clew retrievers); :retriever alone says which one it is
:forget         begin a new conversation
:help, :quit"""


@dataclass(slots=True)
class ChatState:
    """An open index, the options of a conversation, its turns, and its last answer."""

    index: "Index"
    model: str
    retriever: str
    k: int
    where: str | None
    times: "TimeLimits"
    last: tuple[str, Answer] | None = None  # the whole question, and its answer
    notes: set[str] = field(default_factory=set)  # that were printed
    conversation: Conversation = field(init=False)

    def __post_init__(self) -> None:
        """Begin a conversation."""
        self.forget()

    def forget(self) -> None:
        """Begin a new conversation."""
        self.conversation, self.last = Conversation(self._find_names), None

    def answer(self, question: str) -> Answer:
        """Return the answer to a whole question."""
        from clew.commands.opening import parse_retriever

        spec = parse_retriever(str(self.index.resolve_retriever(self.retriever)))
        evidence = self.index.search(question, self.k, spec, self.where, times=self.times)
        answerer = self.index.answerer(self.model, spec, where=self.times.restrict(self.where))
        return answerer.answer([question], [evidence])[0]

    def _find_names(self, question: str) -> list[str]:
        """Return the names in a question; those that the index knows are found in lower case too."""
        if found := find_names(question):
            return found
        linked = self.index.context.scope.linker.link(question)
        return [linked.text[name.start : name.end] for name in linked.names if name.entities]


def chat(
    index: IndexArgument,
    retriever: Annotated[str | None, typer.Option(help="As of clew ask; :retriever changes it.")] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="How many passages.")] = None,
    where: WhereOption = None,
    device: DeviceOption = None,
    *,
    times: TimeOptions,
    llm: LLMOptions,
) -> None:
    """Ask one question after the other; "its", "he" and "the same ship" are taken from what was said before.

    Reads a script of questions from standard input where that is no terminal. Follow-ups are understood in English.
    """
    from clew.commands.opening import load_settings, make_llm_factory, open_index

    settings = load_settings()
    with progress_on_stderr() as progress:
        opened = open_index(index, progress, make_llm_factory(llm), device)
    state = ChatState(
        opened,
        settings.model if llm.model is None else llm.model,
        settings.retriever if retriever is None else retriever,
        settings.k if k is None else k,
        where,
        times.limits,
    )
    _check_retriever(opened, state.retriever)
    opened.context.scope.mask(state.times.restrict(where))
    opened.answerer(state.model)  # a model that cannot be asked is refused before the first question
    for line in _read_lines():
        if line.startswith(":"):
            if not _obey(line, state):
                return
        elif line:
            _answer(line, state)


def _check_retriever(index: "Index", name: str) -> None:
    """Refuse a retriever that there is none of, or that the index lacks something for."""
    from clew.commands.opening import parse_retriever

    index.retriever(parse_retriever(str(index.resolve_retriever(name))))


def _read_lines() -> Iterator[str]:
    """Yield the lines that are typed, or those of standard input, which are printed again before their answers."""
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # bytes that are not UTF-8 must not end the conversation
    if not sys.stdin.isatty():
        for number, line in enumerate(sys.stdin, 1):
            text = " ".join(line.split())
            if has_surrogate(text):
                print_note(f"line {number} of the input is not UTF-8 text and is left out: save it as UTF-8, ask again")
                continue
            if text:
                print_line(f"{_PROMPT}{text}")
            yield text
        return
    with suppress(ImportError):  # there is none on Windows, where lines cannot be edited then
        import_module("readline")
    print_line("Ask a question; :help says what else there is.")
    while True:
        try:
            text = " ".join(input(_PROMPT).split())
        except (EOFError, KeyboardInterrupt):
            print_line("")
            return
        if has_surrogate(text):
            print_note("the question is not UTF-8 text: set the terminal to UTF-8, and ask again")
            continue
        yield text


def _answer(question: str, state: ChatState) -> None:
    """Print the answer to a question as it was meant, which is shown where it is another."""
    whole = state.conversation.resolve(question)
    for note in whole.notes():
        print_note(note)
    if whole.query:
        print_note(whole.query)
        return
    if whole.text != question:
        print_line(f"Understood as: {whole.text}")
    try:
        answer = state.answer(whole.text)
    except KeyboardInterrupt:
        print_note("stopped")
        return
    except ClewError as error:
        print_note(str(error))
        return
    print_answer(_shorten(answer, state.notes))
    print_line("")
    state.last = whole.text, answer
    _remember(whole.text, answer, state.conversation)


def _shorten(answer: Answer, printed: set[str]) -> Answer:
    """Return an answer as a conversation shows it: two quotes, and notes that are new; `:why` shows how it connects."""
    own = answer.notes if answer.evidence else (*answer.notes, *answer.evidence.notes)
    notes = tuple(note for note in dict.fromkeys(own) if note not in printed)
    printed.update(notes)
    evidence = replace(answer.evidence, paths=(), chains=(), notes=()) if not answer.failure else answer.evidence
    return replace(answer, citations=answer.citations[:_QUOTES], evidence=evidence, notes=notes)


def _remember(question: str, answer: Answer, conversation: Conversation) -> None:
    """Add a turn: its answer or, where none is asserted, the likely ones, and what its passages say of the names."""
    asserted = answer.text if answer.text and not answer.weak else ""
    likely = [candidate.item for candidate in answer.candidates[:MAX_POSSIBLE]]
    passages = [Described(scored.item.title, scored.item.text) for scored in answer.evidence]
    conversation.add(question, asserted, passages, likely)


def _obey(line: str, state: ChatState) -> bool:
    """Do what a command says; return whether the conversation goes on."""
    name, _, rest = line[1:].partition(" ")
    if name in ("quit", "exit", "q"):
        return False
    if name == "help":
        print_line(_HELP)
    elif name == "forget":
        state.forget()
    elif name == "where":
        _set_filter(rest, state)
    elif name == "retriever":
        _set_retriever(rest, state)
    elif name in ("why", "sources"):
        _show(name, state)
    else:
        print_note(f"{line!r} is no command: type :help for those there are")
    return True


def _set_filter(where: str, state: ChatState) -> None:
    try:
        if where:
            state.index.context.scope.mask(where)
        state.where = where or None
    except InputError as error:
        print_note(str(error))
    print_line(f"where {state.where}" if state.where else "all passages")


def _set_retriever(name: str, state: ChatState) -> None:
    try:
        if name:
            _check_retriever(state.index, name)
            state.retriever = name
    except ClewError as error:
        print_note(str(error))
    print_line(f"retriever {state.retriever}")


def _show(name: str, state: ChatState) -> None:
    if state.last is None:
        print_note("nothing was asked yet")
        return
    question, answer = state.last
    if name == "why":
        print_evidence(answer.evidence, question)
        return
    for number, scored in enumerate(answer.evidence, 1):
        passage = scored.item
        title = (passage.title or passage.document_id)[:_MAX_SOURCE]
        place = passage.place_at(0)
        where = f"from {place}" if place is not None and str(place) else f"characters {passage.start}-{passage.end}"
        print_line(f"{number}. {title}  [{passage.id}]  {where}")
