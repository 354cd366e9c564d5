"""The parts of indexing that an index needs, in one module, which it imports when it first adds something.

Of the settings of a new index it says which are stored in it, and hashes all that decides what it would hold.
"""

from hashlib import blake2b
from typing import Any

from clew.indexing.chunking import Chunker as Chunker
from clew.indexing.extraction.registry import accept_extractor as accept_extractor
from clew.indexing.extraction.registry import asks_model, given_extractor_name
from clew.indexing.extraction.registry import check_index_extractor as check_index_extractor
from clew.indexing.extraction.registry import open_extractor as open_extractor
from clew.indexing.imported_graphs import match_mentions as match_mentions
from clew.indexing.kg_formats.files import GraphFile as GraphFile
from clew.indexing.kg_formats.files import graph_file as graph_file
from clew.indexing.kg_import import GraphImporter as GraphImporter
from clew.indexing.kg_import import GraphReport as GraphReport
from clew.indexing.kg_import import clean_graph_name as clean_graph_name
from clew.indexing.merging.workspace import check_merge_memory as check_merge_memory
from clew.indexing.parts import commit_staged as commit_staged
from clew.indexing.parts import parse_part as parse_part
from clew.indexing.parts import stage_part as stage_part
from clew.indexing.pipeline import EXTRACTION_CALLS
from clew.indexing.pipeline import choose_extractor as choose_extractor
from clew.indexing.reencoding import ReencodingReport as ReencodingReport
from clew.indexing.reencoding import reencode as reencode
from clew.indexing.report import IndexingReport as IndexingReport
from clew.indexing.report import IndexStats as IndexStats
from clew.indexing.report import collect_stats as collect_stats
from clew.indexing.resolution.entity_decisions import split_passages as split_passages
from clew.indexing.selected_snapshot import PassageSelection as PassageSelection
from clew.indexing.selected_snapshot import discard_selections as discard_selections
from clew.indexing.selected_snapshot import ensure_selected_snapshot as ensure_selected_snapshot
from clew.indexing.selected_snapshot import select_passages as select_passages
from clew.indexing.selected_snapshot import selected_snapshot_folder as selected_snapshot_folder
from clew.indexing.shredding import drop_unused_vectors as drop_unused_vectors
from clew.indexing.shredding import free_ids as free_ids
from clew.indexing.shredding import note_renamed as note_renamed
from clew.indexing.shredding import settle_sources as settle_sources
from clew.indexing.shredding import shred as shred
from clew.indexing.snapshot_builder import ensure_snapshot as ensure_snapshot
from clew.indexing.sources.folder_state import FolderAbsentError as FolderAbsentError
from clew.indexing.sources.folder_state import FolderReader as FolderReader
from clew.indexing.sources.reader import hash_sources as hash_sources
from clew.indexing.sources.records import RecordColumns as RecordColumns
from clew.indexing.sources.stream import DocumentSource as DocumentSource
from clew.indexing.sources.stream import check_ids as check_ids
from clew.indexing.sources.stream import open_source as open_source
from clew.indexing.writer_settings import WriterTools as WriterTools
from clew.indexing.writer_settings import make_writer as make_writer
from clew.models.encoders.registry import accept_encoder, open_encoder
from clew.models.threads import check_device
from clew.protocols import Encoder, Extractor
from clew.settings import Settings
from clew.store.schema import SENTENCES
from clew.store.staging import StagingFolder as StagingFolder


def choose_settings(settings: Settings, device: str | None, given: object = None) -> tuple[Settings, Encoder]:
    """Return the settings of a new index on a device, and its encoder; errors are those of `create`.

    `given` is an encoder in the place of the one that the settings name, None for that one.
    """
    chosen = settings if device is None else settings.model_copy(update={"device": device})
    check_device(chosen.device)
    if given is None:
        return chosen, open_encoder(chosen.encoder, device=chosen.device)
    encoder = accept_encoder(given)
    return chosen.model_copy(update={"encoder": encoder.name}), encoder


def stored_settings(chosen: Settings, encoder: Encoder, extractor: Extractor | None = None) -> dict[str, Any]:
    """Return the settings that are stored in an index; `extractor` is one that was given as an object."""
    return {
        "encoder": encoder.name,
        "encoder_fingerprint": encoder.fingerprint,
        "extractor": chosen.new_extractor if extractor is None else given_extractor_name(extractor),
        "passage_tokens": chosen.passage_tokens,
        "passage_overlap": chosen.passage_overlap,
        "time_field": chosen.time_field,
        SENTENCES: chosen.sentences,
        EXTRACTION_CALLS: chosen.extraction_calls,
    }


def hash_new_index_settings(settings: Settings, device: str | None = None) -> str:
    """Return a hash of all that decides what a new index holds beside its documents; errors are those of `create`."""
    chosen, encoder = choose_settings(settings, device)
    stored = stored_settings(chosen, encoder)
    content = "" if asks_model(chosen.new_extractor) else open_extractor(chosen.new_extractor).fingerprint
    return blake2b(repr((sorted(stored.items()), content)).encode(), digest_size=6).hexdigest()
