"""The networks of training recipes, from the settings of `gfm_recipe` and `rerank_recipe`: their shapes and inputs.

The settings load no torch, so they import this module in functions; this module names them for their types only.
"""

from typing import TYPE_CHECKING, Any

import torch

from clew.errors import InputError
from clew.inference.document_network import GAT_HEADS, NUMPY_NETWORKS, DocumentGNNSettings
from clew.inference.query_network import QueryGNNSettings
from clew.query.chain_search import CHAIN_FEATURES
from clew.rerankers.g_rag import document_graph
from clew.retrievers.gfm.passage_graphs import FEATURES
from clew_lab.amr import amr_document_graph
from clew_lab.nn.document_gnn import DocumentGNN

if TYPE_CHECKING:
    from clew_lab.training.recipes.gfm_recipe import GFMRecipe
    from clew_lab.training.recipes.rerank_recipe import RerankRecipe

FeatureNames = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of numbers of passages, and of features of edges."""


def query_network_settings(recipe: "GFMRecipe", text_width: int) -> QueryGNNSettings:
    """Return the shape of the network of `gfm` for text vectors of a width."""
    of_passages = recipe.targets == "passages"
    features = len(FEATURES) + (len(CHAIN_FEATURES) if recipe.chains else 0)
    return QueryGNNSettings(
        recipe.width,
        text_width,
        recipe.layers,
        features if of_passages and recipe.features else 0,
        prior=of_passages and recipe.prior,
        learned_inverse=of_passages,
        message=recipe.message,
        aggregate=recipe.aggregate,
        fusion="early-late" if recipe.targets == "documents" else "",
    )


def available_columns(recipe: "RerankRecipe") -> FeatureNames:
    """Return the names of all numbers of passages and features of edges that graphs of the recipe's kind have."""
    if recipe.kind == "amr":
        return (), amr_document_graph.EDGE_FEATURES
    numbers, edges = document_graph.NODE_FEATURES, document_graph.EDGE_FEATURES
    if not recipe.chains:
        return numbers, edges
    return (*numbers, *document_graph.CHAIN_NODE_FEATURES), (*edges, *document_graph.CHAIN_EDGE_FEATURES)


def input_columns(recipe: "RerankRecipe") -> FeatureNames:
    """Return the names of the numbers of passages and of the features of edges that the network reads."""
    numbers, edges = available_columns(recipe)
    return numbers if recipe.numbers else (), recipe.edges or edges


def check_shape(recipe: "RerankRecipe") -> None:
    """Raise InputError for a shape that no network has, and for features that its graphs lack."""
    _document_network_settings(recipe, GAT_HEADS)
    known = available_columns(recipe)[1]
    if unknown := [name for name in recipe.edges if name not in known]:
        raise InputError(f"--edges names {unknown[0]!r}; wanted features of edges of {', '.join(known)}")


def build_document_network(recipe: "RerankRecipe", dimension: int) -> DocumentGNN:
    """Return an untrained network of `g-rag` for vectors of some dimension; equal seeds give equal ones."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.loop.seed)
        return DocumentGNN(_document_network_settings(recipe, dimension))


def _document_network_settings(recipe: "RerankRecipe", dimension: int) -> DocumentGNNSettings:
    numbers, edges = map(len, input_columns(recipe))
    vectors = dimension if recipe.text else 0
    form: dict[str, Any] = {}
    if recipe.network == "g-rag":
        form = {
            "normalization": recipe.normalization,
            "messages": recipe.messages,
            "edge_rule": recipe.edge_rule,
        }
    elif recipe.edge_weights and recipe.network not in NUMPY_NETWORKS:
        form = {"weighted": True, "normalization": recipe.normalization}
    return DocumentGNNSettings(
        vectors,
        numbers,
        edges,
        recipe.network,
        recipe.width,
        recipe.layers,
        recipe.dropout,
        projection=recipe.projection,
        **form,
    )
