"""`clew doctor`: whether this installation can do what it is to do, and what to do where it cannot."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.options import JsonFlag, find_default_index
from clew.commands.output import print_json, print_line
from clew.text.display import hide_users

if TYPE_CHECKING:
    from clew.commands.health import Finding

OptionalPlace = Annotated[
    str | None, typer.Option("--index", help="Also check an index; else CLEW_INDEX, or index in clew.toml.")
]


def doctor(index: OptionalPlace = None, json_: JsonFlag = False) -> None:
    """Check this installation: packages, folders, settings, and an index if there is one; exit 1 for a fault."""
    from clew.commands.health import FAULT, check_index, check_machine, check_packages, check_settings

    findings = [*check_machine(), *check_packages(), *check_settings()]
    if not any(finding.name == "settings" and finding.state == FAULT for finding in findings):
        index = find_default_index() if index is None else index
    if index is not None:
        findings += check_index(index)
    findings = [replace(one, detail=hide_users(one.detail), step=hide_users(one.step)) for one in findings]
    if json_:
        print_json([asdict(finding) for finding in findings])
    else:
        _print_findings(findings)
    if any(finding.state == FAULT for finding in findings):
        raise typer.Exit(1)


def _print_findings(findings: "list[Finding]") -> None:
    widest = max(len(finding.name) for finding in findings)
    for finding in findings:
        print_line(f"{finding.state:5} {finding.name:{widest}}  {finding.detail}")
        if finding.step:
            print_line(f"{'':5} {'':{widest}}  -> {finding.step}")
    counts = {state: sum(finding.state == state for finding in findings) for state in ("warn", "fault")}
    summary = [f"{count} {state if count == 1 else state + 's'}" for state, count in counts.items() if count]
    print_line(f"\n{', '.join(summary) if summary else 'nothing is wrong'}")
