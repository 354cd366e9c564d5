"""`clew cache`: the replies of language models that are stored beside an index."""

from dataclasses import asdict
from typing import Annotated

import typer

from clew.commands.opening import open_index
from clew.commands.options import IndexOption, JsonFlag
from clew.commands.output import format_usage, print_json, print_line, print_result
from clew.errors import InputError
from clew.models.llm.reply_cache import ReplyCache
from clew.store.location import reply_cache_path
from clew.text.display import format_count

_SECONDS_PER_DAY = 86400.0


def cache(
    index: IndexOption,
    prune: Annotated[bool, typer.Option("--prune", help="Drop them; what was extracted stays in the index.")] = False,
    model: Annotated[str | None, typer.Option(help="With --prune: only replies of this model.")] = None,
    days: Annotated[float, typer.Option(min=0.0, help="With --prune: only replies older than this.")] = 0.0,
    json_: JsonFlag = False,
) -> None:
    """List the replies of language models that are stored beside an index, by model and prompt; or drop them."""
    replies = ReplyCache(reply_cache_path(open_index(index).table.location))
    if prune:
        dropped = replies.prune(days * _SECONDS_PER_DAY, model)
        print_result({"dropped_replies": dropped}, f"dropped {format_count(dropped, 'reply')}", json_=json_)
        return
    if model is not None or days:
        raise InputError("--model and --days say what is dropped: give --prune, too")
    entries = replies.summarize()
    if json_:
        print_json([asdict(entry) for entry in entries])
        return
    for entry in entries:
        print_line(f"{entry.model}  {entry.prompt}: {format_usage(entry.usage)}")
    if not entries:
        print_line("no replies are stored")
