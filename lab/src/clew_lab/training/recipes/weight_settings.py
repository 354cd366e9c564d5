"""The settings of a recipe that its weights determine."""

from pathlib import Path
from typing import Any

from clew.retrievers.gfm.weights import load_weights


def settings_of_weights(folder: Path) -> dict[str, Any]:
    """Return the fields of a `GFMRecipe` that weights determine: targets, nodes if known, and the network's shape."""
    trained = load_weights(folder)
    shape = trained.model.settings
    nodes = {"whole_graph": True} if trained.nodes is None else {"nodes": trained.nodes}
    form: dict[str, str] = {}
    if trained.targets != "passages":
        form = {"seeds": trained.form.seeds, "ranker": trained.form.ranker}
    if trained.form.linker != "exact":
        form["linker"] = trained.form.linker
    return (
        nodes
        | form
        | {
            "targets": trained.targets,
            "width": shape.width,
            "layers": shape.layers,
            "features": bool(shape.features),
            "chains": trained.chains,
            "prior": shape.prior,
            "message": shape.message,
            "aggregate": shape.aggregate,
        }
    )
