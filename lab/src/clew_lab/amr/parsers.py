"""Parsers of question-passage pairs into AMR graphs: a lookup in a file, or a model of `amrlib`.

Source: Dong et al., "Don't Forget to Connect!" (2024), section 3.1, for one graph of question and passage together, and
for the text that is parsed. Differs from the source: any model of `amrlib`, or a file in its place.
"""

from collections.abc import Sequence
from hashlib import blake2b, file_digest
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, final

from clew.errors import InputError, ProviderError
from clew.plugins.extras import import_package
from clew.types import Failure, Passage
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.penman_files import AMREntry, read_amr
from clew_lab.amr.penman_notation import parse_penman


class AMRParser(Protocol):
    """Parses pairs of a question and a passage into one AMR graph each."""

    @property
    def fingerprint(self) -> str:
        """Changes if the graph of some pair would change."""

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        """Return one graph per pair, in order, or a failure in its place, with the passage's id as its item.

        Raises InputError where the lengths differ; ProviderError where the parser cannot be used at all.
        """


def pair_text(question: str, passage: Passage) -> str:
    """Return the text that an AMR model parses: the word that paths start from, the question and the passage."""
    return f"question:{question}{passage.text}"


def check_pairs(questions: Sequence[str], passages: Sequence[Passage]) -> None:
    """Raise InputError unless there is one question per passage."""
    if len(questions) != len(passages):
        raise InputError(
            f"{len(questions)} questions for {len(passages)} passages: wanted pairs; repeat a question for each passage"
        )


@final
class FileAMRParser:
    """Looks the graphs of pairs up in a file of `penman_files`, by question and passage or by the parsed text.

    Raises InputError where the file cannot be read, holds no graph, or holds two different graphs of one pair;
    MissingPackageError where the package `penman` is not installed.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._graphs: dict[tuple[str, str], AMREntry] = {}
        entries = read_amr(self._path)
        if not entries:
            raise InputError(f"{self._path}: holds no AMR graph; give a file of graphs in PENMAN notation")
        self.malformed = tuple(entry.graph for entry in entries if isinstance(entry.graph, Failure))
        if len(self.malformed) == len(entries):
            raise InputError(f"{self.malformed[0].item}: {self.malformed[0].reason}; no graph of the file can be read")
        digest = blake2b(digest_size=16)
        for entry in entries:
            digest.update(repr((entry.metadata, entry.notation)).encode("utf-8", "surrogatepass"))
            for key in _lookup_keys(entry):
                first = self._graphs.setdefault(key, entry)
                if first.notation != entry.notation:
                    raise InputError(
                        f"{self._path}: lines {first.line} and {entry.line} hold different graphs of one pair "
                        f"({key[1][:60]}): remove one"
                    )
        self._fingerprint = f"amr-file:{digest.hexdigest()}"

    @property
    def fingerprint(self) -> str:
        """Hash of the file's entries."""
        return self._fingerprint

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        """Return the graph of each pair; a missing or malformed graph is a failure."""
        check_pairs(questions, passages)
        return [self._find_graph(question, passage) for question, passage in zip(questions, passages, strict=True)]

    def _find_graph(self, question: str, passage: Passage) -> AMRGraph | Failure:
        text, parsed = _collapse_spaces(question), _collapse_spaces(pair_text(question, passage))
        for key in ((text, _collapse_spaces(passage.id)), (text, _collapse_spaces(passage.text)), ("", parsed)):
            if key in self._graphs:
                graph = self._graphs[key].graph
                return Failure(passage.id, f"{self._path}: {graph.reason}") if isinstance(graph, Failure) else graph
        wanted = f"the question {question[:60]!r} and the passage {passage.id}"
        return Failure(passage.id, f"{self._path} holds no graph of {wanted}: add one with ::question and ::passage")


def _lookup_keys(entry: AMREntry) -> list[tuple[str, str]]:
    values = {key: _collapse_spaces(entry.value(key)) for key in dict(entry.metadata)}
    keys = [(values.get("question", ""), values["passage"])] if "passage" in values else []
    return [*keys, ("", values["snt"])] if "snt" in values else keys


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


@final
class AmrlibParser:
    """Parses with a model of `amrlib`, loaded on first use; "" for its installed model, or its default device."""

    def __init__(self, model: str | Path = "", device: str = "") -> None:
        self._model = str(model)
        self._label = self._model or "model_stog"
        self._device = device
        self._loaded: Any = None
        self._fingerprint = ""
        self._lock = Lock()

    @property
    def fingerprint(self) -> str:
        """Version of `amrlib` and hash of the model's files, computed once.

        Raises MissingPackageError where `amrlib` is not installed, ProviderError where the folder cannot be read.
        """
        if not self._fingerprint:
            amrlib = _import_amrlib()
            digest = _hash_folder(Path(self._model or Path(amrlib.defaults.data_dir) / "model_stog"))
            self._fingerprint = f"amrlib-{amrlib.__version__}:{digest}"
        return self._fingerprint

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        """Return the graph of each pair; a missing or malformed graph is a failure."""
        results: list[AMRGraph | Failure] = []
        for passage, notation in zip(passages, self.parse_notations(questions, passages), strict=True):
            try:
                results.append(notation if isinstance(notation, Failure) else parse_penman(notation))
            except InputError as error:
                results.append(Failure(passage.id, f"the amrlib model returned a malformed graph: {error}"))
        return results

    def parse_notations(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[str | Failure]:
        """Return the graph of each pair in PENMAN notation, for `amr_entry`.

        Raises InputError where the lengths of `questions` and `passages` differ; ProviderError where the model cannot
        be opened, or fails.
        """
        check_pairs(questions, passages)
        if not questions:
            return []
        texts = [pair_text(question, passage) for question, passage in zip(questions, passages, strict=True)]
        with self._lock:
            model = self._loaded = self._loaded or self._open()
            try:
                notations = model.parse_sents(texts, add_metadata=False)
            except (RuntimeError, ValueError, IndexError, KeyError, TypeError) as error:
                raise _model_error(f"{self._label} failed at {len(texts)} texts", error) from error
        reason = "the amrlib model returned no readable graph; use another model"
        return [notation or Failure(passage.id, reason) for notation, passage in zip(notations, passages, strict=True)]

    def _open(self) -> Any:
        amrlib = _import_amrlib()
        options = {"device": self._device} if self._device else {}
        try:
            return amrlib.load_stog_model(self._model or None, **options)
        except (OSError, ImportError, RuntimeError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise _model_error(f"{self._label} cannot be opened", error) from error


def _model_error(what: str, error: Exception) -> ProviderError:
    reason = (str(error).strip() or repr(error)).splitlines()[0]
    return ProviderError(f"the AMR model {what} ({reason}): give the folder of a parsing model of amrlib")


def _hash_folder(folder: Path) -> str:
    digest = blake2b(digest_size=16)
    try:
        for path in sorted(path for path in folder.iterdir() if path.is_file()):
            with path.open("rb") as stream:
                content = file_digest(stream, lambda: blake2b(digest_size=16)).hexdigest()
            digest.update(f"{path.name} {content}\n".encode())
    except OSError as error:
        raise ProviderError(f"{folder}: {error.strerror}; give the folder of a model of amrlib") from error
    return digest.hexdigest()


def _import_amrlib() -> Any:
    # amrlib imports unidecode without declaring it as a dependency.
    return import_package("amrlib", "amrlib unidecode", "parsing AMR", "give a file of AMR graphs")
