"""The commands that inspect, check and repair an index."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from clew.commands.opening import open_index
from clew.commands.options import DeviceOption, IndexOption, JsonFlag, MemoryOption, SentencesOption, parse_merge_memory
from clew.commands.output import print_json, print_line, print_note, print_result
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import print_stats
from clew.errors import InputError
from clew.indexing.reencoding import ReencodingReport
from clew.store.array_file import array_problems
from clew.store.inspection import verify as find_problems
from clew.store.passage_table import PassageTable
from clew.store.repair import ADD_AGAIN, REMOVE_AGAIN, found_damage
from clew.store.repair import repair as repair_index
from clew.store.segment_files import list_problems
from clew.store.snapshot_files import snapshot_folder, snapshot_problems
from clew.store.weights_io import adapted_weights_folder
from clew.text.display import format_count

ShredFlag = Annotated[
    bool,
    typer.Option(
        "--shred", help="Leave nothing of what was removed on the disk: older versions, vectors, stored replies."
    ),
]


def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids of documents, names of imported graphs.")],
    index: IndexOption,
    shred: ShredFlag = False,
    memory: MemoryOption = None,
    json_: JsonFlag = False,
) -> None:
    """Remove documents and imported graphs, and all that was extracted from them."""
    budget = parse_merge_memory(memory)
    report = open_index(index).remove(list(ids), budget, shred=shred)
    graphs = format_count(report.removed_graphs, "graph") if report.removed_graphs else ""
    documents = format_count(report.removed, "document") if report.removed or not graphs else ""
    counts = {"removed": report.removed, "removed_graphs": report.removed_graphs}
    print_result(counts, f"removed {' and '.join(filter(None, (documents, graphs)))}", json_=json_)


def stats(index: IndexOption, json_: JsonFlag = False) -> None:
    """Print what an index holds and the settings it was made with."""
    figures = open_index(index).stats()
    if json_:
        print_json({**asdict(figures), "graphs": [graph.to_json() for graph in figures.graphs]})
    else:
        print_stats(figures)


def verify(index: IndexOption, json_: JsonFlag = False) -> None:
    """Read every row and every derived file that a search uses, and check them; exit 1 when damage is found."""
    from clew.models.reader.reader import find_reader_problems
    from clew.retrievers.gfm.weights import find_weights_problems

    problems = find_problems(index)
    if not problems:
        table = PassageTable.open(index)
        derived, snapshot = table.location.derived, snapshot_folder(table)
        problems = snapshot_problems(snapshot) + array_problems(derived / "arrays" / snapshot.name)
        problems += list_problems(derived) + find_weights_problems(derived)
        problems += find_reader_problems(adapted_weights_folder(derived, "reader"))
    text = "\n".join(problems or ["clean: every passage reads back as it was written"])
    print_result({"clean": not problems, "problems": problems}, text, json_=json_)
    if problems:
        raise typer.Exit(1)


def repair(
    index: IndexOption,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before dropping what cannot be read.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Repair a damaged index with the least loss, by an older version or without what is damaged; it asks first."""

    def confirm(losses: Sequence[str]) -> bool:
        for loss in losses:
            print_note(f"a repair loses this: {loss}")
        return sys.stdin.isatty() and typer.confirm("Repair?", err=True)

    actions = repair_index(index, None if yes else confirm)
    lost = bool({ADD_AGAIN, REMOVE_AGAIN} & set(actions))
    if json_:
        print_json({"damaged": found_damage(actions), "actions": list(actions), "lost": lost})
        return
    if not found_damage(actions):
        print("nothing is damaged")
    for action in actions:
        print_line(action)
    if found_damage(actions):
        print("done" if lost else "done: nothing was lost")


def restore(
    index: IndexOption,
    version: Annotated[int | None, typer.Argument(min=1, help="The version to go back to.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the versions that are there, the newest first.")] = False,
    json_: JsonFlag = False,
    memory: MemoryOption = None,
) -> None:
    """Make an older version the newest one, or list the versions that are there.

    Nothing is lost by it: the version before stays one of those that can be gone back to, until clew compact.
    """
    budget = parse_merge_memory(memory)
    opened = open_index(index)
    if (version is None) != list_:
        raise InputError("give the number of a version, or --list")
    if version is not None:
        opened.restore(version, budget)
        newest = opened.table.version
        text = f"version {newest} has what version {version} had"
        print_result({"version": newest, "restored": version}, text, json_=json_)
    elif json_:
        print_json([asdict(found) | {"time": found.time.isoformat()} for found in opened.versions()])
    else:
        for found in opened.versions():
            time = f"{found.time:%Y-%m-%d %H:%M:%S}"
            print(f"{found.version:>8}  {time}  passages and shards of graphs: {found.rows:>10,}")


def compact(index: IndexOption, shred: ShredFlag = False, memory: MemoryOption = None, json_: JsonFlag = False) -> None:
    """Rewrite many small files as few, and drop older versions."""
    budget = parse_merge_memory(memory)
    dropped = open_index(index).compact(budget, shred=shred)
    text = f"dropped {format_count(dropped, 'older version')}"
    print_result({"dropped_versions": dropped}, text, json_=json_)


def reencode(
    index: IndexOption,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="all-MiniLM-L6-v2-int8, hashing, none, or a sentence-transformers name; by default the index's own."
        ),
    ] = None,
    sentences: SentencesOption = None,
    device: DeviceOption = None,
    memory: MemoryOption = None,
    json_: JsonFlag = False,
) -> None:
    """Give all passages the vectors of another encoder, in one new version; nothing is extracted again."""
    budget = parse_merge_memory(memory)
    with progress_on_stderr() as progress:
        if encoder is None and sentences is None:
            raise InputError("nothing is to change: give --encoder, --sentences, or both")
        opened = open_index(index, progress, device=device)
        name = opened.table.settings["encoder"] if encoder is None else encoder
        report = opened.reencode(name, sentences, budget)
    name = opened.table.settings["encoder"]
    if json_:
        figures = asdict(report) | {"encoder": name, "unfitting_weights": list(map(str, report.unfitting_weights))}
        print_json(figures)
    else:
        _print_reencoding(report, "vectors of " + name if opened.table.dimension else "")
    for folder in report.unfitting_weights:
        print_note(f"the weights in {folder} were adapted to other vectors: run clew adapt again, or remove them")


def _print_reencoding(report: ReencodingReport, vectors: str) -> None:
    """Print how many passages have other vectors now; `vectors` is empty where they have none."""
    seen = format_count(report.passages, "passage has", "passages have")
    if report.is_unchanged:
        print(f"nothing to do: {seen} {vectors or 'no vectors'} already")
        return
    staged = f", {report.staged} of them staged by an earlier run" if report.staged else ""
    print(f"{seen} {vectors or 'no vectors now'}{staged}, in {report.seconds:.1f} s")
