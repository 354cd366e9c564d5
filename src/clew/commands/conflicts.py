"""`clew conflicts`: statements that replaced or contradict one another."""

from clew.commands.opening import make_llm_factory, open_index
from clew.commands.options import IndexArgument, JsonFlag, LLMOptions, TimeOptions, WhereOption
from clew.commands.output import print_json, print_line
from clew.commands.progress import progress_on_stderr
from clew.query.conflicts import Conflict, find_conflicts
from clew.rendering.markup import plain_line


def conflicts(index: IndexArgument, where: WhereOption = None, json_: JsonFlag = False, *, times: TimeOptions) -> None:
    """List what documents say differently: what replaced what and since when, and contradictions; nothing is changed.

    It reads the sentences of all passages, by rules for English; see the chapter on times.
    """
    with progress_on_stderr() as progress, open_index(index, progress, make_llm_factory(LLMOptions())) as opened:
        found = find_conflicts(opened.context.scope, times.limits.restrict(where), times.limits.day)
    if json_:
        print_json({"conflicts": [conflict.to_dict() for conflict in found]})
        return
    for conflict in found:
        _print(conflict)
    print_line(
        f"{len(found)} found" if found else "no two statements of the documents replace or contradict each other"
    )


def _print(conflict: Conflict) -> None:
    print_line(f"{conflict.subject}: {conflict.relation}")
    for at, value in enumerate(conflict.values):
        since = f"since {value.first}" if value.first else "at no stated time"
        state = f"until {value.until}" if value.until else "contradicts the first" if at else since
        quote = value.quotes[-1]
        print_line(f"  {value.value}  ({state})")
        print_line(f"    [{quote.passage_id}] \u201c{plain_line(quote.quote)}\u201d")
    print_line("")
