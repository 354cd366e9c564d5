"""The parts of indexing that an index needs, in one module, which it imports when it first adds something."""

from clew.indexing.chunking import Chunker as Chunker
from clew.indexing.cluster import ClusterRun as ClusterRun
from clew.indexing.extraction.registry import open_extractor as open_extractor
from clew.indexing.index_stats import IndexStats as IndexStats
from clew.indexing.index_stats import collect_stats as collect_stats
from clew.indexing.kg_formats.files import GraphFile as GraphFile
from clew.indexing.kg_formats.files import graph_file as graph_file
from clew.indexing.kg_import import GraphImporter as GraphImporter
from clew.indexing.kg_import import GraphReport as GraphReport
from clew.indexing.kg_import import clean_graph_name as clean_graph_name
from clew.indexing.parts import commit_staged as commit_staged
from clew.indexing.parts import parse_part as parse_part
from clew.indexing.parts import stage_part as stage_part
from clew.indexing.pipeline import EXTRACTION_CALLS as EXTRACTION_CALLS
from clew.indexing.pipeline import choose_extractor as choose_extractor
from clew.indexing.reencoding import ReencodingReport as ReencodingReport
from clew.indexing.reencoding import reencode as reencode
from clew.indexing.report import IndexingReport as IndexingReport
from clew.indexing.snapshot_builder import ensure_snapshot as ensure_snapshot
from clew.indexing.sources.folder_state import FolderReader as FolderReader
from clew.indexing.sources.stream import DocumentSource as DocumentSource
from clew.indexing.sources.stream import open_source as open_source
from clew.indexing.writer_settings import WriterTools as WriterTools
from clew.indexing.writer_settings import make_writer as make_writer
from clew.indexing.writer_settings import writer_settings as writer_settings
from clew.store.staging import StagingFolder as StagingFolder
