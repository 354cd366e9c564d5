"""Options that commands of this package share."""

from typing import Annotated

import typer

DtypeOption = Annotated[str, typer.Option(help="Type of a language model's weights: float32, bfloat16 or float16.")]
