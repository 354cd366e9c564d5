"""Extraction by a small network on the states of the bundled encoder's tokens: names in any case.

The encoder reads a passage once, for its vector, those of its sentences and for the names in it; it ignores case, and
so do the names. Every name is linked to the title by the words before it, as by the rules.

Source: own; trained by `clew train extractor` (docs/models/extractor.md). Differs from the source: nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.indexing.extraction.mention_spans import mention_kind
from clew.indexing.extraction.rule_based import RuleExtractor, relate_mentions
from clew.indexing.sentence_vectors import EncodedPassages, PassageReading, read_states
from clew.inference.span_tagger import NEIGHBOURS, SpanTagger, group_words, pool_words
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.protocols import StateEncoder
from clew.store.weights_io import PRETRAINED_FOLDER, read_weights, write_weights
from clew.text.casing import COMMON_WORDS, is_uninformative
from clew.text.identifiers import find_undivided
from clew.text.mentions import find_mentions
from clew.text.normalization import name_key, tokens
from clew.text.places import title_with_headings
from clew.text.rows import row_cells
from clew.text.sentences import sentence_spans
from clew.types import Extraction, Failure, Mention, Passage

EXTRACTOR_WEIGHTS = PRETRAINED_FOLDER / "extractor"
LEARNED_VERSION = "learned-2"
_ARRAYS = ("hidden", "hidden_bias", "output", "output_bias")


@dataclass(frozen=True, slots=True, eq=False)
class ExtractorWeights:
    """A trained tagger, and what it was trained on."""

    tagger: SpanTagger
    encoder: str  # fingerprint of the encoder whose states it reads
    about: Mapping[str, Any]  # training recipe and results

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights and of the code that reads them."""
        digest = blake2b(self.encoder.encode(), digest_size=8)
        for name in _ARRAYS:
            digest.update(np.ascontiguousarray(getattr(self.tagger, name)).tobytes())
        return f"{LEARNED_VERSION}-{digest.hexdigest()}"


@final
class LearnedExtractor:
    """Finds names by trained weights, each passage on its own.

    Args:
        folder: Folder of the weights; None for the package's own.
        encoder: The encoder whose states are read; None for the bundled one, which is loaded on first use.
        rules: Read the passages whose capitals tell something; None where the weights read all.

    Raises:
        InputError: The weights were trained on another encoder.
        ProviderError: The weights cannot be read.
    """

    def __init__(
        self, folder: Path | None = None, encoder: StateEncoder | None = None, rules: RuleExtractor | None = None
    ) -> None:
        self._rules = rules
        self._weights = load_extractor(folder or EXTRACTOR_WEIGHTS)
        self._encoder = encoder or Int8MiniLM()
        if encoder is None and self._weights.encoder != Int8MiniLM.fingerprint:
            raise InputError(
                f"the extractor in {folder} reads the encoder {self._weights.encoder}; the bundled one is "
                f"{Int8MiniLM.fingerprint}: train it again by clew train extractor"
            )

    @property
    def fingerprint(self) -> str:
        """The weights, the encoder and the code; and the rules."""
        own = self._weights.fingerprint
        return own if self._rules is None else f"auto:{self._rules.fingerprint}:{own}"

    @property
    def encoder_fingerprint(self) -> str:
        """Fingerprint of the encoder whose states are read."""
        return self._weights.encoder

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return for each passage the mentions, in order and without overlaps, and the triples.

        The encoder reads no passage that the rules read.
        """
        wanted = self._choose(passages)
        found = self._extract([passages[place] for place in wanted], range(len(wanted)))[0] if wanted else {}
        return self._fill(passages, {place: found[number] for number, place in enumerate(wanted)})

    def extract_and_encode(self, passages: Sequence[Passage]) -> tuple[list[Extraction | Failure], EncodedPassages]:
        """Return the results of `extract`, and the vectors of the passages and their sentences from the same runs."""
        learned, encoded = self._extract(passages, self._choose(passages))
        return self._fill(passages, learned), encoded

    def _choose(self, passages: Sequence[Passage]) -> list[int]:
        """Return the positions of the passages that are for the weights."""
        return [at for at, passage in enumerate(passages) if self._rules is None or is_uninformative(passage.text)]

    def _extract(
        self, passages: Sequence[Passage], wanted: Collection[int]
    ) -> tuple[dict[int, Extraction], EncodedPassages]:
        """Return the results of the passages at `wanted` by position, and the vectors of all from the same runs."""
        read: dict[int, list[tuple[int, list[tuple[int, int]]]]] = {place: [] for place in wanted}

        def find(reading: PassageReading) -> None:
            if reading.passage in read:
                read[reading.passage].append((reading.begin, find_spans(self._weights.tagger, reading)))

        titled = [
            (title_with_headings(passage.title, passage.text, passage.places), passage.text) for passage in passages
        ]
        encoded = read_states(self._encoder, titled, find)
        return {place: _make_extraction(passages[place], join_readings(own)) for place, own in read.items()}, encoded

    def _fill(self, passages: Sequence[Passage], learned: Mapping[int, Extraction]) -> list[Extraction | Failure]:
        """Return what was learned by position, and what the rules find elsewhere."""
        rest = [passage for place, passage in enumerate(passages) if place not in learned]
        others = iter(() if self._rules is None else self._rules.extract(rest))
        return [learned[place] if place in learned else next(others) for place in range(len(passages))]


def find_spans(tagger: SpanTagger, reading: PassageReading) -> list[tuple[int, int]]:
    """Return the spans found in one reading, in characters of the passage's text; none of the title."""
    groups = group_words(reading.text, reading.offsets)
    spans = [
        (int(groups.starts[first]) - reading.shift, int(groups.ends[last - 1]) - reading.shift)
        for first, last in tagger.find_spans(pool_words(reading.states, groups))
    ]
    return [span for span in spans if span[0] >= reading.begin]


def join_readings(readings: Sequence[tuple[int, list[tuple[int, int]]]]) -> list[tuple[int, int]]:
    """Return the spans of a passage, given where each reading begins and its spans: of each up to the next one."""
    ordered = sorted(readings)
    spans: list[tuple[int, int]] = []
    for place, (_, own) in enumerate(ordered):
        limits = [begin for begin, _ in ordered[place + 1 : place + 2]]
        spans += [span for span in own if not limits or span[1] <= limits[0]]
    return sorted(spans)


def _make_extraction(passage: Passage, spans: Sequence[tuple[int, int]]) -> Extraction:
    names = [(passage.text[start:end], start, end) for start, end in use_whole_identifiers(passage.text, spans)]
    mentions = [Mention(n, mention_kind(n), start, end) for n, start, end in names if name_key(n) not in COMMON_WORDS]
    triples: list[tuple[str, str, str]] = []
    for start, end in sentence_spans(passage.text):
        own = [m for m in mentions if start <= m.start and m.end <= end]
        if row_cells(passage.text, start, end):  # names are its cells, which prose taught nothing of
            own = find_mentions(passage.text, start, end)
            mentions = [*(m for m in mentions if m.end <= start or end <= m.start), *own]
        triples += relate_mentions(passage.text, (start, end), own, passage.title)
    return Extraction(tuple(sorted(mentions, key=lambda m: m.start)), tuple(dict.fromkeys(triples)))


def use_whole_identifiers(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans, in order, of which those that cut an identifier hold all of it."""
    words = tokens(text)
    whole = [(words[first].start, words[last - 1].end) for first, last in find_undivided(text, words)]
    found: list[tuple[int, int]] = []
    for start, end in spans:
        cut = [span for span in whole if span[0] < end and start < span[1]]
        start, end = min([start, *(first for first, _ in cut)]), max([end, *(last for _, last in cut)])
        found.append((found.pop()[0] if found and start < found[-1][1] else start, end))
    return found


def save_extractor(folder: Path, weights: ExtractorWeights) -> None:
    """Write weights into a folder, which is made if absent."""
    config = {"encoder": {"fingerprint": weights.encoder}, "about": dict(weights.about)}
    write_weights(folder, config, {name: getattr(weights.tagger, name) for name in _ARRAYS})


def load_extractor(folder: Path) -> ExtractorWeights:
    """Read a folder of `save_extractor`; raises ProviderError where a file is missing, damaged or of another form."""
    return read_weights(folder, "the extractor", _parse_weights)


def _parse_weights(config: dict[str, Any], arrays: dict[str, FloatArray]) -> ExtractorWeights:
    if set(arrays) != set(_ARRAYS):
        raise ValueError(f"the arrays are {sorted(arrays)}; wanted {sorted(_ARRAYS)}")
    width, hidden = arrays["hidden"].shape
    wanted = {"hidden_bias": (hidden,), "output": (hidden, 3), "output_bias": (3,)}
    if wrong := [name for name, shape in wanted.items() if arrays[name].shape != shape]:
        raise ValueError(f"{wrong[0]} has shape {arrays[wrong[0]].shape}; wanted {wanted[wrong[0]]}")
    if not width or width % NEIGHBOURS:
        raise ValueError(f"hidden has {width} rows; wanted a multiple of {NEIGHBOURS}")
    return ExtractorWeights(SpanTagger(**arrays), str(config["encoder"]["fingerprint"]), dict(config["about"]))
