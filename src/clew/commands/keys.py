"""`clew keys`: the keys of a server."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.commands.options import JsonFlag
from clew.commands.output import print_json, print_line
from clew.commands.strict_filters import check_strict
from clew.text.counts import format_count

if TYPE_CHECKING:
    from clew.server.keys import StoredKey

KeysOption = Annotated[Path, typer.Option("--keys", help="The file of keys; only hashes of keys stand in it.")]


def add(
    keys: KeysOption,
    label: Annotated[str, typer.Option(help="Label that tells people whose key this is.")] = "",
    index: Annotated[
        list[str] | None, typer.Option(help="Name of an index that it may ask; repeatable; else it may ask all.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="Condition on metadata; of other passages the key learns nothing.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Let it add and remove documents; not with --where.")] = False,
    strict_filters: Annotated[
        bool,
        typer.Option(
            "--strict-filters", help="Give it the order and scores of an index without the passages that --where hides."
        ),
    ] = False,
) -> None:
    """Make a key and print it, this once; give it to who is to use the server."""
    from clew.server.keys import KeyFile

    check_strict(where, strict=strict_filters)
    print_line(KeyFile(keys).add(label, index, where, write=write, strict=strict_filters))


def list_keys(keys: KeysOption, json_: JsonFlag = False) -> None:
    """Print the keys of a file: their ids, and what each allows."""
    from clew.server.keys import KeyFile

    stored = KeyFile(keys).list_keys()
    if json_:
        print_json([_describe_key(key) for key in stored])
        return
    for key in stored:
        names = "all indexes" if key.indexes is None else ", ".join(key.indexes)
        rights = "may write" if key.write else "reads"
        seen = f", where {key.where}" if key.where is not None else ""
        seen += " (strict)" if key.strict else ""
        print_line(f"{key.id}  {key.label or '-'}  {names}, {rights}{seen}")


def _describe_key(key: "StoredKey") -> dict[str, Any]:
    """Return a key without its hash."""
    return {name: value for name, value in asdict(key).items() if name != "hash"}


def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids of keys, as clew keys list prints them.")], keys: KeysOption
) -> None:
    """Remove keys; a server that runs refuses them from the next request on."""
    from clew.server.keys import KeyFile

    file = KeyFile(keys)
    for id_ in ids:
        file.remove(id_)
    print_line(f"removed {format_count(len(ids), 'key')}")
