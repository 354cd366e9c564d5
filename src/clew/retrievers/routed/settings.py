"""Settings of `routed`."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from clew.plugins.records import MAX_AMOUNT, Amount, SettingsRecord, setting


class Routed(SettingsRecord):
    """Settings of `routed`."""

    label: ClassVar[str] = "routed"

    choices: str | None = setting(None, "retrievers to choose among, joined by +", unset="from the weights")
    worth: Amount | None = setting(
        None, "points of recall that one second must buy", unset="from the weights; 0 with a budget"
    )
    budget: Amount | None = setting(None, "seconds a question, at most", unset="no limit")
    scale: Annotated[float, Field(gt=0.0, le=MAX_AMOUNT, allow_inf_nan=False)] = setting(
        1.0, "how many times the seconds of training a question takes here"
    )
    weights: Path | None = setting(
        None, "weights that `clew train routed` made", unset="the index's, else the package's"
    )
