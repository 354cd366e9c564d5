"""`clew keys`: the keys of a server."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.options import JsonFlag
from clew.commands.output import print_json, print_line
from clew.errors import InputError
from clew.text.display import format_count

if TYPE_CHECKING:
    from clew.server.keys import StoredKey


def keys(
    file: Annotated[Path, typer.Argument(help="The file of keys; only hashes of keys stand in it.")],
    add: Annotated[
        str | None, typer.Option(help="Make a key with this label, which tells people whose it is, and print it.")
    ] = None,
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
    remove: Annotated[list[str] | None, typer.Option(help="Remove the key of this id; repeatable.")] = None,
    json_: JsonFlag = False,
) -> None:
    """List the keys of a server with what each allows; or make one, which is printed this once, or remove some.

    A server that runs knows a new key, and refuses a removed one, from the next request on.
    """
    from clew.server.keys import KeyFile

    stored = KeyFile(file)
    if add is None and (index or where is not None or write or strict_filters):
        raise InputError("what a key allows is given with --add LABEL: give it, too")
    if add is not None:
        print_line(stored.add(add, index, where, write=write, strict=strict_filters))
    for id_ in remove or ():
        stored.remove(id_)
    if remove:
        print_line(f"removed {format_count(len(remove), 'key')}")
    if add is None and not remove:
        _list_keys(stored.list_keys(), json_=json_)


def _list_keys(stored: "Sequence[StoredKey]", *, json_: bool) -> None:
    if json_:
        print_json([{name: value for name, value in asdict(key).items() if name != "hash"} for key in stored])
        return
    for key in stored:
        names = "all indexes" if key.indexes is None else ", ".join(key.indexes)
        rights = "may write" if key.write else "reads"
        seen = f", where {key.where}" if key.where is not None else ""
        seen += " (strict)" if key.strict else ""
        print_line(f"{key.id}  {key.label or '-'}  {names}, {rights}{seen}")
