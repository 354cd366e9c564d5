"""Description of a recipe of `gfm` as its run stores it, and the hash that names the run."""

from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from clew.query.entity_linker import LinkerSettings
from clew.retrievers.gfm.weights import load_weights
from clew_lab.training.recipes.gfm_recipe import GFMRecipe


def reads_chains(recipe: GFMRecipe) -> bool:
    """Return whether the network has numbers from chains of sentences: only one whose targets are passages."""
    return recipe.targets == "passages" and recipe.chains


def describe_recipe(recipe: GFMRecipe) -> dict[str, Any]:
    """Return the settings of a recipe that change its weights, with the key of those it starts from."""
    start = None if recipe.start is None else load_weights(recipe.start).key
    of_passages = recipe.targets == "passages"  # entities have neither features nor a prior
    features, prior = of_passages and recipe.features, of_passages and recipe.prior
    chains = reads_chains(recipe)
    described = {**asdict(recipe), "start": start, "features": features, "prior": prior, "chains": chains}
    if recipe.dtype == "float32":
        del described["dtype"]  # as in runs of before, which go on
    if recipe.linker_floor == LinkerSettings().floor:
        del described["linker_floor"]  # the same
    if recipe.synonyms == "comparable":
        del described["synonyms"]  # the same
    return described


def describe_training(recipe: GFMRecipe) -> dict[str, Any]:
    """Return what weights tell of their training: of `describe_recipe`, the settings that the stage read."""
    described = describe_recipe(recipe)
    facts = recipe.stage == "pretrain"
    completion, loss = dict(described["completion"]), dict(described["loss"])
    unread = {"fraction"} if recipe.stage != "finetune" else set()
    if recipe.stage != "paths":
        unread.add("questions")
    if not facts:
        unread.add("completion")
    if recipe.whole_graph:
        unread.add("nodes")
        del completion["nodes"]
    if facts:
        del loss["augment"]
    if facts or not recipe.loss.augment:
        del loss["forms"]
    if recipe.loss.ranking != "code":
        del loss["temperature"]
    described |= {"completion": completion, "loss": loss}
    return {name: value for name, value in described.items() if name not in unread}


def run_key(recipe: GFMRecipe, *contents: list[str], loop: bool = False) -> str:
    """Return a hash of recipe and data, which names a run in a folder; the loop checks its own recipe otherwise."""
    described = {name: value for name, value in describe_recipe(recipe).items() if loop or name != "loop"}
    return blake2b(repr((described, contents)).encode(), digest_size=6).hexdigest()
