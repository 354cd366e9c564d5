"""`clew extract`, which shows what an extractor finds in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import JsonFlag, LLMOptions, fill_extractor
from clew.commands.output import print_json, print_line, print_usage
from clew.errors import InputError
from clew.types import Extraction, Failure, Mention, Passage


@dataclass(frozen=True, slots=True)
class ExtractedPassage:
    """A passage and the result of the extractor."""

    passage: Passage
    result: Extraction | Failure


def extract(
    file: Annotated[str, typer.Argument(help="File or folder to read; - reads standard input.")],
    extractor: Annotated[
        str | None, typer.Option(help="rules, auto, learned, llm with --model, or published:FILE.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Language model of --extractor llm, such as openai:NAME.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Server that speaks OpenAI's protocol, for openai:NAME.")] = (
        None
    ),
    as_json: JsonFlag = False,
) -> None:
    """Show the names, marked in the text, and the facts that an extractor finds in a file.

    Replies of a language model are not stored: there is no index to keep them beside.
    """
    from clew.commands.opening import load_settings, make_llm_factory
    from clew.indexing.chunking import Chunker
    from clew.indexing.extraction.registry import open_extractor
    from clew.indexing.sources.reader import check_paths, read_documents

    check_paths([file])
    settings = load_settings()
    factory = make_llm_factory(LLMOptions(base_url=base_url, cache=False))
    name = fill_extractor(extractor, model) or settings.new_extractor
    opened = open_extractor(name, lambda model: factory.open(model, Path()), settings.extraction_calls)
    chunker = Chunker.from_settings(settings.model_dump())
    passages: list[Passage] = []
    for document in read_documents([file]):
        if isinstance(document, Failure):
            raise InputError(f"{document.item}: {document.reason}: give a file that clew index can read")
        passages += chunker.split(document)
    if not passages:
        raise InputError(f"{file} holds no text: give a file with some")
    found = [ExtractedPassage(*pair) for pair in zip(passages, opened.extract(passages), strict=True)]
    if as_json:
        print_json([describe_passage(one) for one in found])
        return
    for one in found:
        print_line(format_passage(one))
    print_usage(factory.budget.spent)


def describe_passage(found: ExtractedPassage) -> dict[str, object]:
    """Return a passage's mentions and triples, or why it has none, for JSON."""
    passage, result = found.passage, found.result
    head = {"id": passage.id, "title": passage.title, "text": passage.text}
    if isinstance(result, Failure):
        return {**head, "failure": result.reason}
    mentions = [{"name": m.name, "kind": m.kind, "start": m.start, "end": m.end} for m in result.mentions]
    triples = [list(triple) for triple in result.triples]
    return {**head, "mentions": mentions, "triples": triples, "aliases": dict(result.aliases)}


def format_passage(found: ExtractedPassage) -> str:
    """Return a passage with its mentions in brackets, and its facts, for people."""
    passage, result = found.passage, found.result
    head = f"{passage.id}  {passage.title}".rstrip()
    if isinstance(result, Failure):
        return f"{head}\nnothing found: {result.reason}\n"
    facts = [f"  {head_} | {relation} | {tail}" for head_, relation, tail in result.triples]
    aliases = [f"  {name} = {full}" for name, full in result.aliases]
    return "\n".join([head, mark_mentions(passage.text, result.mentions), *facts, *aliases, ""])


def mark_mentions(text: str, mentions: tuple[Mention, ...]) -> str:
    """Return a text with `[name]` in the place of each mention, and `[name: kind]` where it is no plain name."""
    pieces: list[str] = []
    end = 0
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if mention.start >= end:
            suffix = "" if mention.kind == "name" else f": {mention.kind}"
            pieces += [text[end : mention.start], f"[{text[mention.start : mention.end]}{suffix}]"]
            end = mention.end
    return "".join([*pieces, text[end:]])
