"""`clew cache`: the replies of language models that are stored beside an index."""

from dataclasses import asdict
from typing import Annotated

import typer

from clew.commands.opening import open_index
from clew.commands.options import IndexOption, JsonFlag
from clew.commands.output import format_usage, print_json, print_line
from clew.models.llm.reply_cache import ReplyCache
from clew.store.location import reply_cache_path
from clew.text.counts import format_count

_SECONDS_PER_DAY = 86400.0


def list_replies(index: IndexOption, json_: JsonFlag = False) -> None:
    """Print the stored replies by model and prompt, with their usage."""
    entries = _open_reply_cache(index).summarize()
    if json_:
        print_json([asdict(entry) for entry in entries])
        return
    for entry in entries:
        print_line(f"{entry.model}  {entry.prompt}: {format_usage(entry.usage)}")
    if not entries:
        print_line("no replies are stored")


def prune(
    index: IndexOption,
    model: Annotated[str | None, typer.Option(help="Only replies of this model.")] = None,
    days: Annotated[float, typer.Option(min=0.0, help="Only replies older than this.")] = 0.0,
    json_: JsonFlag = False,
) -> None:
    """Drop stored replies; what was extracted from them stays in the index."""
    dropped = _open_reply_cache(index).prune(days * _SECONDS_PER_DAY, model)
    if json_:
        print_json({"dropped_replies": dropped})
    else:
        print(f"dropped {format_count(dropped, 'reply')}")


def _open_reply_cache(location: str) -> ReplyCache:
    return ReplyCache(reply_cache_path(open_index(location).table.location))
