"""Flipped bits anywhere in an index: the right answer or a clear error, never a wrong answer, and repair works."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import LOCAL_FILES, snapshot_folder
from tests.faults.commands import Outcome, folder_hash, make_voyage, run_clew, run_process, write_lines

QUESTION = "Which captain took Voyage 12 to Hobart?"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(
        tmp_path_factory.mktemp("corpus") / "voyages.jsonl", [make_voyage(number) for number in range(40)]
    )


@pytest.fixture(scope="module")
def sound_index(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """Return an index of two commits with vectors and all derived files."""
    index = tmp_path_factory.mktemp("sound") / "index"
    assert run_clew("index", corpus, "--index", index, "--encoder", "hashing:16").code == 0
    more = write_lines(corpus.parent / "more.jsonl", [make_voyage(number) for number in range(40, 50)])
    assert run_clew("index", more, "--index", index).code == 0
    assert run_clew("search", QUESTION, "--index", index, "--retriever", "hipporag2").code == 0
    return index


def search_index(index: Path, retriever: str = "pagerank") -> Outcome:
    return run_process("search", QUESTION, "--index", index, "--json", "--retriever", retriever)


def parse_answer(outcome: Outcome) -> object:
    result = json.loads(outcome.out)
    return {name: result[name] for name in ("passages", "paths", "notes")}


def damage(file: Path, rng: random.Random) -> None:
    """Flip one bit in each of a few bytes."""
    data = bytearray(file.read_bytes())
    for _ in range(1 + len(data) // 2000):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(bytes(data))


def find_files(index: Path, *patterns: str) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in sorted(index.glob(pattern)) if path.is_file() and path.stat().st_size)


def is_clear(outcome: Outcome) -> bool:
    """Return whether the last line of stderr is Clew's; Lance prints lines before it when a damaged version makes it
    panic.
    """
    own = [line for line in outcome.err.splitlines() if line.startswith("clew: ")]
    return outcome.code in (1, 2) and own == outcome.err.splitlines()[-1:] and "Traceback" not in outcome.err


@pytest.mark.slow
def test_a_flipped_bit_in_a_file_of_the_snapshot_is_an_error_and_repaired(sound_index: Path, tmp_path: Path) -> None:
    rng = random.Random(1)
    index = tmp_path / "index"
    shutil.copytree(sound_index, index)
    expected = parse_answer(search_index(index))
    table_hash = folder_hash(index / "passages.lance")
    current = snapshot_folder(PassageTable.open(index))
    for file in [*find_files(index, "derived/snapshots/*/*", "derived/snapshots/*/lexical/*")]:
        original = file.read_bytes()
        damage(file, rng)
        outcome = run_clew("search", QUESTION, "--index", index, "--retriever", "pagerank", "--json")
        if file.name in LOCAL_FILES and outcome.code == 0:
            assert parse_answer(outcome) == expected, file  # it was made again from the table
        elif current in file.parents:
            assert outcome.code == 2, file
            assert is_clear(outcome)
            assert "clew repair" in outcome.err
        else:
            assert parse_answer(outcome) == expected
        file.write_bytes(original)
    damage(current / "triples.npy", rng)
    verification = run_clew("verify", "--index", index)
    assert (verification.code, verification.out) == (
        1,
        f"{current.name}/triples.npy is not as it was written: run `clew repair`\n",
    )
    repair = run_clew("repair", "--index", index)
    assert repair.code == 0
    removed = [line.split(",")[0] for line in repair.out.splitlines() if line.startswith("removed")]
    assert removed == [f"removed derived/snapshots/{current.name}"]
    assert run_clew("verify", "--index", index).code == 0
    assert parse_answer(search_index(index)) == expected
    assert folder_hash(index / "passages.lance") == table_hash


def test_repair_removes_of_what_is_derived_the_damaged_files_alone(sound_index: Path, tmp_path: Path) -> None:
    for pattern in ("derived/segments/*", "derived/vectors.lance/data/*"):
        index = tmp_path / "index"
        shutil.copytree(sound_index, index)
        # The greatest one: a flipped bit in the key of a vector is no damage, the vector is only computed again.
        file = max(find_files(index, pattern), key=lambda path: path.stat().st_size)
        name = file.relative_to(index).as_posix()
        damage(file, random.Random(2))
        kept = {path: path.read_bytes() for path in find_files(index, "derived/*/*", "derived/*/*/*") if path != file}
        out = run_clew("repair", "--index", index).out
        assert out.endswith("done: nothing was lost\n")
        assert f"removed {name}," in out or f"removed {'/'.join(name.split('/')[:2])}," in out
        gone = {path.relative_to(index).parts[1] for path in kept if not path.exists()}
        assert gone <= {"snapshots" if "segments" in pattern else name.split("/")[1]}
        assert all(path.read_bytes() == content for path, content in kept.items() if path.exists())
        assert any(path.exists() for path in kept)
        assert run_clew("search", QUESTION, "--index", index).code == 0
        shutil.rmtree(index)


@pytest.mark.slow
def test_damaged_vectors_are_made_again(sound_index: Path, tmp_path: Path) -> None:
    last = write_lines(tmp_path / "last.jsonl", [make_voyage(number) for number in range(50, 56)])
    shutil.copytree(sound_index, tmp_path / "whole")
    assert run_clew("index", last, "--index", tmp_path / "whole").code == 0
    expected = parse_answer(search_index(tmp_path / "whole", "hipporag2"))
    for file in find_files(sound_index, "derived/vectors.lance/**/*"):
        index = tmp_path / "index"
        shutil.copytree(sound_index, index)
        damage(index / file.relative_to(sound_index), random.Random(4))
        assert run_clew("index", last, "--index", index).code == 0, file
        assert parse_answer(search_index(index, "hipporag2")) == expected, file
        shutil.rmtree(index)


def test_verify_reads_the_weights_adapted_to_an_index(sound_index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(sound_index, folder)
    (folder / "weights" / "gfm").mkdir(parents=True)
    assert run_clew("verify", "--index", folder).code == 0
    (folder / "weights" / "gfm" / "config.json").write_text("{}", encoding="utf-8")
    outcome = run_clew("verify", "--index", folder)
    assert outcome.code == 1
    assert "is not of format" in outcome.out
