"""The extractor that this package adds to Clew, as its entry point of the group `clew.extractors` names it."""

from pathlib import Path

from clew.errors import InputError
from clew.indexing.extraction.registry import ExtractionTools, ExtractorEntry
from clew.protocols import Extractor


def _build_published(argument: str, _: ExtractionTools) -> Extractor:
    from clew_lab.extraction.published import PublishedExtractor

    if not argument:
        raise InputError("extractor 'published': give the file of triples: published:FILE")
    return PublishedExtractor(Path(argument))


PUBLISHED = ExtractorEntry("triples that were extracted elsewhere", _build_published, "published:FILE")
