"""`clew open`: what an index holds, and questions that it can answer."""

from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.options import IndexArgument, JsonFlag
from clew.commands.output import print_heading, print_json, print_line, print_warning
from clew.commands.progress import progress_on_stderr
from clew.text.display import format_count

if TYPE_CHECKING:
    from clew.query.overview import FieldOverview, IndexOverview

_QUESTIONS = 5
_MAX_FIELDS = 20


def open_(
    index: IndexArgument,
    questions: Annotated[int, typer.Option(min=0, max=50, help="Questions that it could answer; each is tried.")] = (
        _QUESTIONS
    ),
    json_: JsonFlag = False,
) -> None:
    """Say what an index holds: counts, languages, fields for --where, names, and questions that it can answer."""
    from clew.commands.opening import open_index

    with progress_on_stderr() as progress:
        opened = open_index(index, progress)
        overview = opened.overview()
        note = opened.encoder_note()
        examples = [example.text for example in opened.example_questions(questions)]
    if json_:
        print_json({**overview.to_dict(), "questions": examples, "notes": [note] if note else []})
        return
    _print_overview(index, overview)
    if note:
        print_warning(note)
    if examples:
        print_heading("\nIt could answer")
        for text in examples:
            print_line(f"  {text}")
        print_line(f'\nclew ask "{examples[0]}" --index {index}')


def _print_overview(location: str, overview: "IndexOverview") -> None:
    sizes = overview.documents, overview.passages, overview.entities, overview.facts
    print_heading(f"{location}, version {overview.version}")
    print_line(", ".join(map(format_count, sizes, ("document", "passage", "entity", "fact"))))
    print_line(f"encoder {overview.encoder}, extractor {overview.extractor}")
    if overview.languages:
        print_line(f"languages (guessed): {', '.join(overview.languages)}")
    if overview.graphs:
        print_line(f"imported graphs: {', '.join(overview.graphs)}")
    if overview.largest:
        print_heading("\nMentioned most")
        for entity in overview.largest:
            print_line(
                f"  {entity.name}  ({format_count(entity.passages, 'passage')}, {format_count(entity.facts, 'fact')})"
            )
    if overview.fields:
        print_heading("\nFields for --where")
        for one in overview.fields[:_MAX_FIELDS]:
            print_line(f"  {_describe_field(one)}")
        if len(overview.fields) > _MAX_FIELDS:
            print_line(f"  ... and {len(overview.fields) - _MAX_FIELDS} more (--json has them all)")


def _describe_field(one: "FieldOverview") -> str:
    values, passages = format_count(one.values, "value"), format_count(one.passages, "passage")
    return f"{one.name}: {' and '.join(one.kinds)}, {values} in {passages}, such as {one.examples[0]}"
