"""The reader of answers: MiniLM-L6 in 8-bit integers with heads for spans and kinds of answers, run by ONNX Runtime."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, final

from clew.errors import ProviderError
from clew.models.hub import check_weights
from clew.models.reader.decoding import ReadSpan, WindowScores, best_spans, none_probability
from clew.models.reader.windows import ReaderText, Window, WindowMaker
from clew.models.threads import PerProcess, worker_count
from clew.models.validation import require_unicode
from clew.plugins.arguments import check_string, check_strings

READER_FOLDER = Path(__file__).parents[2] / "weights" / "reader"
"""Folder of the reader in the package."""
MODEL_FILE, TOKENIZER_FILE, MANIFEST_FILE = "model.onnx", "tokenizer.json", "config.json"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Answers that a reader finds in some texts: probabilities sum to 1 with those of spans that are not listed."""

    spans: tuple[ReadSpan, ...]  # likeliest first; "yes" and "no" have no place
    none: float  # probability that the texts do not say the answer
    shown: tuple[tuple[int, int, int], ...]  # text, start and end of each stretch that was read, in their order


class ReadsAnswers(Protocol):
    """A reader of answers, such as `Reader`."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Content of config.json, with the calibration."""

    def read(self, question: str, texts: Sequence[str | ReaderText]) -> Reading:
        """Return the spans of texts that answer a question, with their probabilities."""


def average_readings(readings: Sequence[Reading], weights: Sequence[float]) -> Reading:
    """Return the weighted mean of readings of one question, each of which saw the first ones of the same texts.

    What was shown is that of the first reading.
    """
    total = sum(weights)
    found: dict[str, ReadSpan] = {}
    for reading, weight in zip(readings, weights, strict=True):
        for span in reading.spans:
            key = span.text.lower()
            known = found.get(key, replace(span, probability=0.0))
            found[key] = replace(known, probability=known.probability + span.probability * weight / total)
    none = sum(reading.none * weight / total for reading, weight in zip(readings, weights, strict=True))
    return Reading(tuple(sorted(found.values(), key=lambda one: -one.probability)), none, readings[0].shown)


@dataclass(frozen=True, slots=True, eq=False)
class _LoadedReader:
    maker: WindowMaker
    session: Any  # onnxruntime.InferenceSession


@final
class Reader:
    """Reads a question and some texts together, and returns the words that answer it; loads its weights on first use.

    It reads up to 448 tokens, the sentences that fit the question best, and English.

    Args:
        folder: Folder with model.onnx, tokenizer.json and config.json, as `clew train reader` writes them; None for the
            package's own.

    Raises:
        ProviderError: The folder's config.json is missing or damaged; the other files are checked at the first reading.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self._folder = READER_FOLDER if folder is None else Path(folder)
        self.manifest = read_manifest(self._folder)
        self._loaded = PerProcess(lambda: _open_reader(self._folder, self.manifest))

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights."""
        return f"reader-{self.manifest['sha256'][MODEL_FILE][:16]}"

    def read(self, question: str, texts: Sequence[str | ReaderText]) -> Reading:
        """Return the spans of texts that answer a question, with their probabilities; none for an empty question.

        Raises:
            InputError: A text holds a lone surrogate, or an argument is of another type.
        """
        check_string(question, "question")
        is_list = isinstance(texts, list | tuple)
        check_strings(
            [one.text if isinstance(one, ReaderText) else one for one in texts] if is_list else texts, "texts"
        )
        given = [ReaderText("", text) if isinstance(text, str) else text for text in texts]
        require_unicode([question, *(part for text in given for part in (text.title, text.text))])
        if not question.strip() or not any(text.text.strip() for text in given):
            return Reading((), 1.0, ())
        loaded = self._loaded.get()
        window = loaded.maker.make(question, given)
        if (window.text < 0).all():  # headings and marks alone
            return Reading((), 1.0, ())
        scores = score_window(loaded.session, window)
        spans = best_spans(scores, window, [text.text for text in given])
        return Reading(tuple(spans), none_probability(scores), window.stretches())


def open_reader(folder: Path) -> Reader:
    """Return the reader of a folder, the same one as long as its files are the same: its weights are loaded once."""
    return _opened_reader(folder, json.dumps(read_manifest(folder), sort_keys=True))


@lru_cache(maxsize=4)
def _opened_reader(folder: Path, manifest: str) -> Reader:
    del manifest  # a part of the key
    return Reader(folder)


def score_window(session: Any, window: Window) -> WindowScores:
    """Return the scores of a window by a session of ONNX Runtime."""
    spans, kinds = session.run(["spans", "kinds"], {"ids": window.ids[None], "types": window.types[None]})
    return WindowScores(spans[0], kinds[0])


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """Return what config.json says of a folder's files, its calibration and how it was made.

    Raises:
        ProviderError: It is missing, or of another form.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(manifest["sha256"][name], str) for name in (MODEL_FILE, TOKENIZER_FILE)):
            raise TypeError("a hash is no text")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ProviderError(
            f"{folder} holds no reader ({path.name}: {error}): give a folder of clew train reader, or reinstall clew"
        ) from error
    found: dict[str, Any] = manifest
    return found


def check_reader(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raise a ProviderError where a file of a reader's folder is missing, damaged, or of another reader."""
    try:
        for name, sha256 in manifest["sha256"].items():
            check_weights(folder / name, sha256)
    except ProviderError as error:
        if folder == READER_FOLDER:
            raise
        raise ProviderError(f"{error}; or train it again, or remove {folder}") from error


def find_reader_problems(folder: Path) -> list[str]:
    """Return what is wrong with a reader's folder, which need not exist."""
    try:
        if folder.is_dir():
            check_reader(folder, read_manifest(folder))
    except ProviderError as error:
        return [str(error)]
    return []


def _open_reader(folder: Path, manifest: Mapping[str, Any]) -> _LoadedReader:
    check_reader(folder, manifest)
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = worker_count()
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it would keep a plan for every length of a window
    # The file is written in the operators that run, as the encoder's.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"])
    return _LoadedReader(WindowMaker(tokenizer), session)
