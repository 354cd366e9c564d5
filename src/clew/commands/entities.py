"""`clew entities`: the entities of an index, and the decisions of people on them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from clew.commands.opening import open_index
from clew.commands.options import IndexOption, JsonFlag, WhereOption
from clew.commands.output import print_json, print_line, print_note
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.index import Index
from clew.query.entity_candidates import AmbiguousEntity, DuplicateEntities
from clew.query.graph_browsing import EntityMatch, GraphBrowser
from clew.store.entity_decisions import EntityDecision
from clew.text.display import format_count
from clew.types import Citation

NameArgument = Annotated[str, typer.Argument(help="Name of the entity.")]
_QUOTE = 100  # characters


def list_entities(
    index: IndexOption,
    duplicates: Annotated[bool, typer.Option("--duplicates", help="Pairs that may be one entity.")] = False,
    ambiguous: Annotated[bool, typer.Option("--ambiguous", help="Entities that may be several.")] = False,
    name: Annotated[str, typer.Option(help="Only those whose names contain this.")] = "",
    where: WhereOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Entries, at most.")] = 20,
    log: Annotated[bool, typer.Option("--log", help="All decisions, also those that were undone.")] = False,
    json_: JsonFlag = False,
) -> None:
    """List entities by name, those that may be duplicates or several, or the decisions on them.

    With --where they are those of an index of the allowed passages alone.
    """
    if log:
        _print_log(index, json_=json_)
        return
    if duplicates and ambiguous:
        raise InputError("--duplicates and --ambiguous are two lists: give one of them")
    with progress_on_stderr() as progress:
        opened = open_index(index, progress)
        looked_at = opened if where is None else opened.restrict(where)
        found: Sequence[DuplicateEntities | AmbiguousEntity | EntityMatch]
        if duplicates:
            found = looked_at.duplicate_entities(limit, name)
        elif ambiguous:
            found = looked_at.ambiguous_entities(limit, name)
        else:
            found = GraphBrowser(looked_at.context.scope).search(name, limit)[0]
    if json_:
        print_json([asdict(entry) for entry in found])
        return
    for entry in found:
        _print_entry(entry)
    if not found:
        print_line("none")


def _print_log(index: str, *, json_: bool) -> None:
    """Print all decisions, also those that were undone, and those without an effect."""
    states = open_index(index).entity_decisions
    if json_:
        print_json([{**state.decision.to_json(), "note": state.note} for state in states])
        return
    for state in states:
        note = f" ({state.note})" if state.note else ""
        print_line(f"{state.decision.number:>5}  {state.decision.time}  {state.decision.describe()}{note}")
    if not states:
        print_line("nothing was decided")


def merge(
    names: Annotated[list[str], typer.Argument(help="Names of two or more entities.")],
    index: IndexOption,
    into: Annotated[str | None, typer.Option(help="Name of what they become; by default the first.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Make several entities one, which is found by all of their names."""
    change(index, lambda opened: [opened.merge_entities(names, into)], json_=json_)


@dataclass(frozen=True, slots=True)
class MentionOptions:
    """Options that name the mentions of an entity; one of them is given."""

    document: Annotated[list[str] | None, typer.Option(help="Id of a document; may be given several times.")] = None
    passage: Annotated[list[str] | None, typer.Option(help="Id of a passage; may be given several times.")] = None
    where: Annotated[str | None, typer.Option(help="The passages that a filter allows now.")] = None
    written: Annotated[str, typer.Option(help="The name as passages write it, also those that come later.")] = ""
    by_context: Annotated[
        bool, typer.Option("--by-context", help="Each group of documents that shares nothing with the others.")
    ] = False


def split(
    name: NameArgument,
    index: IndexOption,
    as_: Annotated[str | None, typer.Option("--as", help="Name of what is split off.")] = None,
    json_: JsonFlag = False,
    *,
    mentions: MentionOptions,
) -> None:
    """Make the mentions of an entity in some passages another entity.

    Name the mentions by --document, --passage, --where or --written, and the new entity by --as; or leave both to
    --by-context.
    """
    if mentions.by_context:
        if as_ is not None or mentions != MentionOptions(by_context=True):
            raise InputError("--by-context says by itself what it splits, and names it: leave --as and the others out")
        change(index, lambda opened: opened.split_entity_by_context(name), json_=json_)
        return
    if as_ is None:
        raise InputError("give the name of what is split off by --as")
    parts: dict[str, Any] = {"documents": mentions.document or (), "passages": mentions.passage or ()}
    parts |= {"where": mentions.where, "form": mentions.written}
    change(index, lambda opened: [opened.split_entity(name, as_, **parts)], json_=json_)


def rename(
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(help="Its new name.")],
    index: IndexOption,
    json_: JsonFlag = False,
) -> None:
    """Give an entity another name; it is found by the old one, too."""
    change(index, lambda opened: [opened.rename_entity(name, new_name)], json_=json_)


def forget(name: NameArgument, index: IndexOption, json_: JsonFlag = False) -> None:
    """Take an entity out of the graph: its mentions link nothing any more."""
    change(index, lambda opened: [opened.forget_entity(name)], json_=json_)


def undo(
    index: IndexOption,
    number: Annotated[int | None, typer.Argument(min=1, help="Number of the decision; by default the last.")] = None,
    json_: JsonFlag = False,
) -> None:
    """Undo a decision, by default the last that is in force; it stays in the log."""
    change(index, lambda opened: [opened.undo_entity_decision(number)], json_=json_)


def change(location: str, work: Callable[[Index], list[EntityDecision]], *, json_: bool) -> list[EntityDecision]:
    """Print and return the decisions that some work on an index made, with notes on those without a whole effect."""
    with progress_on_stderr() as progress:
        opened: Index = open_index(location, progress)
        made: list[EntityDecision] = work(opened)
        numbers = {decision.number for decision in made}
        notes = [s for s in opened.entity_decisions if s.decision.number in numbers and s.note] if made else []
    for state in notes:
        print_note(f"decision {state.decision.number}: {state.note}")
    if json_:
        print_json([decision.to_json() for decision in made])
    else:
        for decision in made:
            print_line(f"decision {decision.number}: {decision.describe()}")
    return made


def _print_entry(entry: DuplicateEntities | AmbiguousEntity | EntityMatch) -> None:
    if isinstance(entry, EntityMatch):
        print_line(f"{entry.passages:>8,}  {entry.name}")
    elif isinstance(entry, DuplicateEntities):
        shared = f"; beside both: {', '.join(entry.shared)}" if entry.shared else ""
        print_line(f"{entry.score:.2f}  {entry.names[0]} = {entry.names[1]} ({entry.reason}{shared})")
        for citation in entry.citations:
            print_line(f"      {_format_quote(citation)}")
    else:
        print_line(f"{entry.score:.2f}  {entry.name} ({entry.reason})")
        for group in entry.groups:
            written = f", written {group.form!r}" if group.form else ""
            beside = f", beside {', '.join(group.neighbours)}" if group.neighbours else ""
            count = len(group.documents)
            documents = format_count(count, "document") if count > 1 else f"document {group.documents[0]}"
            print_line(f"      {documents}{written}{beside}: {_format_quote(group.citation)}")


def _format_quote(citation: Citation) -> str:
    text = " ".join(citation.quote.split())
    return f'"{text[:_QUOTE]}{"..." if len(text) > _QUOTE else ""}" [{citation.passage_id}]'
