"""Settings of the training that learns to select subgraphs, from which options of `clew train subgraph` are made.

Fields with a description are options of the command line. Loading this module loads no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import InputError
from clew.retrievers.subgraph.settings import ScorerSettings
from clew.training.hyperparameters import Recipe, check_fields
from clew_lab.training.hyperparameters import FeedbackRecipe, option_values


@dataclass(frozen=True, slots=True)
class SelectionRecipe:
    """Training of the network that selects subgraphs, by the answers of a reader.

    `published_selection_recipe` is that of GCN-Retriever.
    """

    network: ScorerSettings = field(default_factory=ScorerSettings)
    feedback: FeedbackRecipe = field(default_factory=FeedbackRecipe)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=3, warmup=10, average=0.9))
    preset: Annotated[
        Literal["ours", "paper"],
        Field(description="ours, or all of GCN-Retriever's; other options still override it."),
    ] = "ours"

    def __post_init__(self) -> None:
        check_fields(self)
        check_fields(self.network)
        self.feedback.check_stops(stops=self.network.stops)

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the published values of the options that are not given, under the preset `paper`."""
        return option_values(published_selection_recipe()) if given.get("preset") == "paper" else {}

    def check_given(self, given: Mapping[str, Any]) -> None:
        """Raise InputError for an option that is given and that the objective would not read."""
        if "draws" in given and self.feedback.objective != "policy":
            raise InputError(
                f"--draws is for --objective policy, and the objective is {self.feedback.objective}: leave it out"
            )


def published_selection_recipe() -> SelectionRecipe:
    """Return the recipe of GCN-Retriever: its network and inputs, its loss, plain Adam, and the model by equation 5.

    Source: Engel and Park (2024), sections 3.2 to 3.4, equations 1 to 5. AdamW without decay is Adam. The paper states
    no rate, width, budget or number of epochs: those are ours.
    """
    return SelectionRecipe(
        ScorerSettings(inputs="text", combination="product"),
        FeedbackRecipe(objective="paper", choose_by="published"),
        Recipe(epochs=3, schedule="constant", decay=0.0, warmup=0, clip=0.0, average=0.0),
        "paper",
    )
