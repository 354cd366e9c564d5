"""`clew train router`."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import check_folder
from clew.text.counts import format_count
from clew.training.recipes.router import train_router


def router(
    log: Annotated[list[Path], typer.Option(help="Logs of clew ask --feedback; may be given several times.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights.")],
    start: Annotated[Path | None, typer.Option(help="Weights to begin with; by default the package's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Train the hop predictor of frag on logs of clew ask --feedback."""
    check_folder("--out", out)
    count = train_router(log, out, start, seed)
    print(f"learned from {format_count(count, 'question')}")
    print(f"weights in {out}; use them: --retriever frag:router_weights={out}")
