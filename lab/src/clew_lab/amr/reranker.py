"""Builds the reranker `g-rag-amr`: G-RAG over graphs of AMR, as published, and its networks that torch runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.inference.document_network import NUMPY_NETWORKS, DocumentInput, DocumentNetwork
from clew.plugins.records import SettingsRecord, setting
from clew.query.context import IndexContext
from clew.rerankers.g_rag.document_graph import DocumentGraphBuilder
from clew.rerankers.g_rag.reranker import CHAIN_INPUTS, DocumentGraphReranker, load_weights, make_index_graphs
from clew.rerankers.g_rag.weights import TrainedDocumentGNN, load_reranker
from clew_lab.amr.amr_document_graph import AMRDocumentGraphBuilder
from clew_lab.amr.amrbart import AMRBARTParser
from clew_lab.amr.candidate_graphs import CandidateAMRParser
from clew_lab.amr.local_parser import LocalAMRParser
from clew_lab.amr.parsers import AmrlibParser, AMRParser, FileAMRParser
from clew_lab.nn.document_gnn import DocumentGNN, parameter_shapes

LOCAL_PARSER, CANDIDATE_PARSER = "local", "candidates"


class GRagAMR(SettingsRecord):
    """Settings of the reranker `g-rag-amr`."""

    label: ClassVar[str] = "g-rag-amr"

    weights: Path | None = setting(None, "weights that `clew train reranker` made", unset="none: give them")
    amr: str | None = setting(
        None,
        "AMR parser: local, candidates, file:PATH, amrbart:MODEL or amrlib:MODEL",
        unset="local, or candidates where the weights learned from these",
    )


@dataclass(frozen=True, slots=True)
class AMRForm:
    """AMR graphs of passages: their parser, and what is read of them."""

    parser: str = LOCAL_PARSER  # `local`, `candidates`, `file:PATH`, `amrbart:MODEL` or `amrlib:MODEL`
    whole: bool = False  # whether concepts that all graphs of a question hold join passages too, as published
    words: bool = True  # whether the words on AMR paths are encoded with a passage, as published


def build_g_rag_amr(context: IndexContext, settings: GRagAMR) -> DocumentGraphReranker:
    """Return the reranker over one index, or over candidates.

    Raises InputError where the folder holds no weights, they read another encoder than the index's or AMR of another
    parser, or an AMR parser is given for weights that read no AMR.
    """
    if settings.weights is None:
        raise InputError("g-rag-amr: no weights are given: give weights=FOLDER, made by `clew train reranker`")
    folder = settings.weights.expanduser()
    trained = load_weights(folder, context.encoder, parameter_shapes)
    if trained.kind != "amr" and settings.amr is not None:
        raise InputError(
            f"g-rag-amr: amr is {settings.amr!r}, and the network in {str(folder)!r} reads no AMR: leave it out"
        )
    trained_parser = str(trained.about.get("parser") or LOCAL_PARSER)
    plain = trained_parser in (LOCAL_PARSER, CANDIDATE_PARSER)
    if trained.kind == "amr" and not plain and settings.amr is None:
        raise InputError(
            f"g-rag-amr: {str(folder)!r} learned from AMR of {trained_parser}; give amr={trained_parser}:... with it"
        )
    text = trained.model.settings.text > 0
    chains = any(name in trained.node_features + trained.edge_features for name in CHAIN_INPUTS)
    parser = settings.amr or (trained_parser if plain else LOCAL_PARSER)
    form = AMRForm(parser, bool(trained.about.get("whole", False)), bool(trained.about.get("words", True)))
    graphs = make_document_graphs(context, trained.kind, form, text=text, chains=chains)
    return DocumentGraphReranker(graphs, trained, open_scorer(trained.model))


def load_any_reranker(folder: Path) -> TrainedDocumentGNN:
    """Read a network of any kind; raises as `load_reranker`."""
    return load_reranker(folder, parameter_shapes)


def open_scorer(network: DocumentNetwork) -> Callable[[DocumentInput], FloatArray]:
    """Return a function from the inputs of a question with n passages to their scores (n,)."""
    if network.settings.network in NUMPY_NETWORKS:
        return network.scores
    return DocumentGNN.from_network(network).scores


def reads_index(settings: GRagAMR) -> bool:
    """Return whether the weights read graphs of an index; InputError where the folder holds no weights."""
    return settings.weights is None or load_any_reranker(settings.weights.expanduser()).kind == "index"


def make_document_graphs(
    context: IndexContext, kind: str, amr: AMRForm | None = None, *, text: bool = False, chains: bool = False
) -> DocumentGraphBuilder:
    """Return the builder of document graphs over an index's passages.

    The form of AMR is for the kind "amr"; passage embeddings (`text`) and chains of sentences are features for the
    kind "index".
    """
    if kind == "index":
        return make_index_graphs(context, text=text, chains=chains)
    form = amr or AMRForm()
    parser = open_amr_parser(form.parser, context.device)
    return AMRDocumentGraphBuilder(parser, context.encoder.encode, whole=form.whole, words=form.words)


def open_amr_parser(name: str, device: str = "auto") -> AMRParser:
    """Return the AMR parser of a name; raises InputError for another name.

    `local` is the project's own, `candidates` reads what passages bring, `file:PATH` a file; `amrlib:MODEL` and
    `amrbart:MODEL` are models, of which the latter runs on a device.
    """
    kind, _, argument = name.partition(":")
    if name == LOCAL_PARSER:
        return LocalAMRParser()
    if name == CANDIDATE_PARSER:
        return CandidateAMRParser()
    if kind == "file" and argument:
        return FileAMRParser(Path(argument).expanduser())
    if kind == "amrlib":
        return AmrlibParser(argument)
    if kind == "amrbart":
        return AMRBARTParser(argument, device)
    raise InputError(
        f"no AMR parser is called {name!r}; choose local, candidates, file:PATH, amrbart:MODEL or amrlib:MODEL"
    )
