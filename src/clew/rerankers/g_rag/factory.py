"""Builds the reranker `g-rag` over one index: weights, AMR parser and document graphs."""

from dataclasses import dataclass
from pathlib import Path

from clew.errors import InputError
from clew.models.encoders.compatibility import reads_vectors_of
from clew.query.context import IndexContext
from clew.rerankers.amr.amrbart import AMRBARTParser
from clew.rerankers.amr.candidate_graphs import CandidateAMRParser
from clew.rerankers.amr.local_parser import LocalAMRParser
from clew.rerankers.amr.parsers import AmrlibParser, AMRParser, FileAMRParser
from clew.rerankers.g_rag.amr_document_graph import AMRDocumentGraphBuilder
from clew.rerankers.g_rag.document_graph import (
    CHAIN_EDGE_FEATURES,
    CHAIN_NODE_FEATURES,
    DocumentGraphBuilder,
    IndexDocumentGraphBuilder,
)
from clew.rerankers.g_rag.reranker import DocumentGraphReranker
from clew.rerankers.g_rag.settings import GRag
from clew.rerankers.g_rag.weights import load_reranker
from clew.store.pretrained import CONFIG_FILE, PRETRAINED_FOLDER

LOCAL_PARSER, CANDIDATE_PARSER = "local", "candidates"
CHAIN_INPUTS = (*CHAIN_NODE_FEATURES, *CHAIN_EDGE_FEATURES)
"""Features for which the chains of sentences of a question are searched."""


@dataclass(frozen=True, slots=True)
class AMRForm:
    """AMR graphs of passages: their parser, and what is read of them."""

    parser: str = LOCAL_PARSER  # `local`, `candidates`, `file:PATH`, `amrbart:MODEL` or `amrlib:MODEL`
    whole: bool = False  # whether concepts that all graphs of a question hold join passages too, as published
    words: bool = True  # whether the words on AMR paths are encoded with a passage, as published


def build_g_rag(context: IndexContext, settings: GRag) -> DocumentGraphReranker:
    """Return the reranker over one index.

    Raises InputError where the folder holds no weights, they read another encoder than the index's or AMR of another
    parser, or an AMR parser is given for weights that read no AMR.
    """
    folder = _weights_folder(settings)
    trained = load_reranker(folder)
    if trained.model.settings.text and not reads_vectors_of(trained.encoder, context.encoder.fingerprint):
        raise InputError(
            f"g-rag: the passages have the encoder {context.encoder.name}, and the network reads another's vectors: "
            "give weights of this encoder (clew train reranker), or the network's encoder to a new index, or by "
            "--encoder to --candidates"
        )
    if trained.kind != "amr" and settings.amr is not None:
        raise InputError(
            f"g-rag: amr is {settings.amr!r}, and the network in {str(folder)!r} reads no AMR: leave it out"
        )
    trained_parser = str(trained.about.get("parser") or LOCAL_PARSER)
    plain = trained_parser in (LOCAL_PARSER, CANDIDATE_PARSER)
    if trained.kind == "amr" and not plain and settings.amr is None:
        raise InputError(
            f"g-rag: {str(folder)!r} learned from AMR of {trained_parser}; give amr={trained_parser}:... with it"
        )
    text = trained.model.settings.text > 0
    chains = any(name in trained.node_features + trained.edge_features for name in CHAIN_INPUTS)
    parser = settings.amr or (trained_parser if plain else LOCAL_PARSER)
    form = AMRForm(parser, bool(trained.about.get("whole", False)), bool(trained.about.get("words", True)))
    graphs = make_document_graphs(context, trained.kind, form, text=text, chains=chains)
    return DocumentGraphReranker(graphs, trained)


def reads_index(settings: GRag) -> bool:
    """Return whether the weights read graphs of an index; InputError where the folder holds no weights."""
    return load_reranker(_weights_folder(settings)).kind == "index"


def _weights_folder(settings: GRag) -> Path:
    folder = PRETRAINED_FOLDER / "g-rag" if settings.weights is None else settings.weights.expanduser()
    if not (folder / CONFIG_FILE).is_file():
        raise InputError(
            f"g-rag: {str(folder)!r} holds no {CONFIG_FILE}; give a folder that `clew train reranker` made"
        )
    return folder


def make_document_graphs(
    context: IndexContext, kind: str, amr: AMRForm | None = None, *, text: bool = False, chains: bool = False
) -> DocumentGraphBuilder:
    """Return the builder of document graphs over an index's passages.

    The form of AMR is for the kind "amr"; passage embeddings (`text`) and chains of sentences are features for the
    kind "index".
    """
    if kind == "amr":
        form = amr or AMRForm()
        parser = open_amr_parser(form.parser, context.device)
        return AMRDocumentGraphBuilder(parser, context.encoder.encode, whole=form.whole, words=form.words)
    relations = context.text_vectors.relation_vectors
    return IndexDocumentGraphBuilder(
        context.scope.snapshot,
        context.lexical,
        context.encode_questions,
        relations,
        vectors=text,
        linker=context.scope.linker,
        chains=context.chain_search() if chains else None,
    )


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
