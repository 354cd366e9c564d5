"""Pools of files of candidates as examples of reranking, and the place below a run in which all pools are stored.

Graphs of AMR and vectors of passages need no index. Graphs of an index are of one over all passages of the file, which
is made below the run once.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from clew.errors import InputError
from clew.protocols import fingerprint_of
from clew.query.context import IndexContext
from clew.settings import Settings
from clew.store.atomic import atomic_file
from clew.training.data import corpora
from clew.training.data.corpora import CORPUS_FILE, hash_file
from clew.types import Progress
from clew_lab.amr.reranker import AMRForm, make_document_graphs
from clew_lab.candidates.candidate_pools import index_pools
from clew_lab.datasets.candidates import CandidatePool, candidate_documents, load_candidates
from clew_lab.training.data.reranking_pools import (
    PoolExample,
    check_connected,
    load_pools,
    make_pool_examples,
    save_pools,
)
from clew_lab.training.recipes.rerank_recipe import RerankRecipe

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class PoolPlace:
    """Where indexes and pools of a run are stored, and how indexes are made."""

    run: Path
    progress: Progress
    device: str
    settings: Settings | None = None  # None for the user's

    def open_index(self, folder: Path) -> IndexContext:
        """Return the index of a folder's corpus (see `clew.training.data.corpora.open_corpus_index`)."""
        return corpora.open_corpus_index(folder, self.run, self.progress, self.device, self.settings)

    def open_candidates(self, file: Path, kind: str) -> IndexContext:
        """Return the index of all passages of a file of candidates; an empty one for graphs of the kind "amr"."""
        if kind == "amr":
            return corpora.open_empty_index(self.run, self.progress, self.device, self.settings)
        folder = self.run / "candidates" / f"{file.stem}-{hash_file(file)}"
        folder.mkdir(parents=True, exist_ok=True)
        corpus = folder / CORPUS_FILE
        if not corpus.is_file():
            _write_corpus(corpus, load_candidates(file))
        return self.open_index(folder)

    def folder(self, name: str) -> Path:
        """Return the folder of the pools of one name, which is made."""
        folder = self.run / "pools" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def find_candidate_pools(file: Path, recipe: RerankRecipe, place: PoolPlace) -> list[PoolExample]:
    """Return the pools of a file of candidates whose questions have a positive passage, as examples.

    Raises InputError where the file cannot be read, or no question has one.
    """
    context = place.open_candidates(file, recipe.kind)
    graphs = make_document_graphs(
        context,
        recipe.kind,
        AMRForm(recipe.parser, recipe.whole, recipe.words),
        text=recipe.text,
        chains=recipe.chains,
    )
    built = fingerprint_of(graphs), graphs.node_features, graphs.edge_features
    asked = (_FORMAT, hash_file(file), recipe.kind, recipe.pool, recipe.text)
    stored_in = place.folder("candidates") / f"{hash_parts(asked, built, context.encoder.fingerprint)}.npz"
    stored = load_pools(stored_in)
    if stored is not None:
        return stored
    pools = load_candidates(file)
    place.progress(f"building document graphs of {file.name}", 0, 0)
    evidence = [pool.evidence(recipe.pool) for pool in pools]
    if recipe.kind != "amr":
        evidence = index_pools(context.scope.snapshot, evidence)
    examples = make_pool_examples([pool.question for pool in pools], evidence, graphs)
    if not any(example.relevant.any() for example in examples):
        raise InputError(
            f"{file}: no question has a positive passage among its first {recipe.pool}: give 'has_answer', or "
            "'answers' that stand in the passages"
        )
    check_connected(examples, str(file))
    save_pools(stored_in, examples)
    return examples


def hash_parts(*parts: object) -> str:
    """Return a hash of the representations of some values, for names of files."""
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _write_corpus(path: Path, pools: Sequence[CandidatePool]) -> None:
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        for document in candidate_documents(pools):
            record = {"id": document.id, "title": document.title, "text": document.text}
            out.write(json.dumps(record, ensure_ascii=True) + "\n")
