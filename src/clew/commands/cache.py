"""The commands over kept replies of language models: `clew cache`."""

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from clew.commands.options import IndexOption, JsonFlag

if TYPE_CHECKING:
    from clew.models.llm.reply_cache import ReplyCache

cache = typer.Typer(help="List and drop the replies of language models that are kept beside an index.")

SECONDS_PER_DAY = 86400.0


@cache.command(name="list")
def list_(index: IndexOption, json_: JsonFlag = False) -> None:
    """Print what is kept, by model and prompt, and what it cost when it was made."""
    import json
    from dataclasses import asdict

    from clew.commands.output import print_cached_replies

    kept = _open_reply_cache(index).summarize()
    if json_:
        print(json.dumps([asdict(entry) for entry in kept], ensure_ascii=False, indent=2))
    else:
        print_cached_replies(kept)


@cache.command()
def prune(
    index: IndexOption,
    model: Annotated[Optional[str], typer.Option(help="Only those of one model.")] = None,  # noqa: UP045
    days: Annotated[float, typer.Option(min=0.0, help="Only those that are older.")] = 0.0,
) -> None:
    """Drop kept replies; what was made of them stays in the index."""
    print(f"dropped {_open_reply_cache(index).prune(days * SECONDS_PER_DAY, model)} replies")


def _open_reply_cache(location: str) -> "ReplyCache":
    from clew import index as indexes
    from clew.models.llm.reply_cache import ReplyCache
    from clew.store.location import reply_cache_path

    return ReplyCache(reply_cache_path(indexes.open(location).table.location))
