"""Faults that are put into the source on purpose, each with the test that has to find it.

    python -m tests.faults.mutations [--only NAME ...]

Each is a change of one place in a copy of the source. The tests named are first run on the copy as it is, where all
have to pass, then each with its fault, where it has to fail. `test_mutations.py` checks that places and tests exist.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "clew"
_FAILED = 1  # of pytest: tests ran, and some failed


@dataclass(frozen=True, slots=True)
class Mutation:
    """A fault: the text in a file of the package that is replaced, and the test that fails then."""

    name: str
    file: str  # below `src/clew`
    old: str  # occurs once
    new: str
    test: str  # file below `tests`, and name


MUTATIONS = (
    Mutation(
        "an update is a commit that removes, then one that adds",
        "store/passage_table.py",
        "        committed = commit_change(self._dataset, change, removal.rest + added, location)\n",
        "        if new and removal.removed.rows:\n"
        "            gone = TableChange((), removal.change.changed, removal.change.removed)\n"
        "            self._dataset = commit_change(self._dataset, gone, removal.rest, location)\n"
        "            self.version, change = self.version + 1, TableChange(new)\n"
        "        committed = commit_change(self._dataset, change, removal.rest + added, location)\n",
        "store/test_passage_table.py::test_one_commit_adds_replaces_and_removes_documents",
    ),
    Mutation(
        "checksums of rows are not checked",
        "store/integrity.py",
        "    if damaged := find_damaged_rows(rows):\n",
        "    if damaged := []:\n",
        "store/test_passage_table.py::test_damage_that_lance_reads_without_an_error_is_noticed",
    ),
    Mutation(
        "what hidden documents alone say of two names is believed",
        "graph/snapshot/spellings.py",
        "    if one == other or allowed is None or allowed.all():\n",
        "    if allowed is None or isinstance(one, int):\n",
        "contracts/test_filters_hide.py::test_two_names_that_a_hidden_document_calls_one_are_never_shown_as_one"
        "[aliases of a third-frag]",
    ),
    Mutation(
        "a child by fork takes over the models of its parent",
        "models/threads.py",
        "        if self._state.owner != os.getpid():\n",
        "        if not self._state:\n",
        "test_long_life.py::test_each_process_opens_the_encoder_for_itself",
    ),
    Mutation(
        "links below the first folders of an index are followed",
        "store/location.py",
        "        yield from _links_below(below)\n",
        "        del below\n",
        "store/test_location.py::test_a_link_at_any_depth_of_an_index_is_not_followed",
    ),
    Mutation(
        "a note has the titles of hidden documents",
        "index/__init__.py",
        "        return evidence\n",
        '        return replace(evidence, notes=tuple(self.table.read(["title"])["title"].to_pylist()))\n',
        "contracts/test_filters_hide.py::test_nothing_of_hidden_documents_is_in_evidence_or_answers[bm25]",
    ),
    Mutation(
        "names of hidden documents are linked",
        "query/visible_names.py",
        "        self._allowed = allowed\n",
        "        allowed = self._allowed = np.ones_like(allowed)\n",
        "contracts/test_filters_hide.py::test_nothing_of_hidden_documents_is_in_evidence_or_answers[pagerank]",
    ),
    Mutation(
        "triples of hidden passages are walked",
        "query/scope.py",
        "        if where is None or self.mask(where) is self._every:\n            return None\n",
        "        return None\n",
        "contracts/test_retrievers.py::test_a_filtered_passage_appears_neither_itself_nor_through_its_triples[frag]",
    ),
    Mutation(
        "a misspelt filter lists the fields that there are",
        "query/scope.py",
        "{', '.join(OWN_FIELDS)}, and the fields",
        "{ {key for p in range(len(self)) for key in self.snapshot.passage(p).metadata} }, and the fields",
        "contracts/test_filters_hide.py::test_a_misspelt_field_lists_no_other",
    ),
    Mutation(
        "nothing is flushed",
        "store/atomic.py",
        "        os.fsync(descriptor)\n",
        "        pass\n",
        "store/test_read_back.py::test_files_and_versions_are_flushed_to_disk",
    ),
    Mutation(
        "data files are not read back",
        "store/commits.py",
        "            _check_data_file(path, file.file_size_bytes, fragment.physical_rows, location)\n",
        "            pass\n",
        "store/test_read_back.py::test_a_data_file_that_was_not_written_whole_is_not_committed",
    ),
    Mutation(
        "files of deleted rows are not read back",
        "store/deletion_files.py",
        "        if fault := _find_fault(path, data, fragment):\n",
        "        if fault := '':\n",
        "store/test_read_back.py::test_a_file_of_deleted_rows_that_was_not_written_whole_is_not_committed",
    ),
    Mutation(
        "checksums of files of deleted rows are not compared",
        "store/deletion_files.py",
        """        fault = "" if _checksum(data) == checksums[path.name] else "its checksum differs"\n""",
        """        fault = "" if data else "its checksum differs"\n""",
        "store/test_read_back.py::test_any_flipped_bit_in_a_file_of_deleted_rows_is_found_before_lance_reads_it",
    ),
    Mutation(
        "a version that does not read back stays",
        "store/commits.py",
        "        set_aside(manifest, location)\n        raise",
        "        raise",
        "store/test_read_back.py::test_a_version_that_does_not_read_back_is_taken_back",
    ),
    Mutation(
        "pins are ignored",
        "store/passage_table.py",
        "            in_use = pinned_versions(self.location.derived) | {self.version}\n",
        "            in_use = {self.version}\n",
        "store/test_passage_table.py::test_compaction_keeps_the_content_and_the_versions_being_read",
    ),
    Mutation(
        "the seal of the rows is not compared",
        "store/row_seal.py",
        "    if seal is not None and found != seal:\n",
        "    if False:\n",
        "store/test_row_seal.py::test_a_flipped_bit_in_a_file_of_deleted_rows_never_gives_other_documents",
    ),
    Mutation(
        "a newest version that is gone is not missed",
        "store/dataset.py",
        "    if dataset.version < hint and _has_transaction(location, hint):  # as of `lost_version`\n",
        "    if False:\n",
        "store/test_row_seal.py::test_a_lost_newest_version_is_noticed",
    ),
    Mutation(
        "a file that may not be read counts as damage",
        "store/error_mapping.py",
        "    if any(sign in text for sign in _FORBIDDEN_SIGNS):\n",
        "    if False:\n",
        "store/test_error_mapping.py::test_each_foreign_error_has_a_clew_error",
    ),
    Mutation(
        "a version is restored without a look at its rows",
        "store/passage_table.py",
        "        if problems := inspect(older, location):\n",
        "        if problems := []:\n",
        "store/test_repair.py::test_a_version_with_a_changed_letter_is_not_restored",
    ),
    Mutation(
        "repair loses passages unasked",
        "store/repair.py",
        "        if plan.losses and confirm is not None and not confirm(plan.losses):\n",
        "        if False:\n",
        "store/test_repair.py::test_nothing_is_lost_unasked",
    ),
    Mutation(
        "repair never goes back to an older version",
        "store/repair.py",
        "        if damaged_files.isdisjoint(_file_names(dataset)) and not inspect(dataset, location):\n",
        "        if False:\n",
        "store/test_repair.py::test_a_whole_older_version_is_gone_back_to_before_rows_are_dropped",
    ),
    Mutation(
        "files of a snapshot are not hashed",
        "store/snapshot_files.py",
        '    return [f"{folder.name}/{name} is not as it was written: run `clew repair`" for name in wrong]\n'
        "\n\ndef _has_segments",
        "    return []\n\n\ndef _has_segments",
        "store/test_snapshot_files.py::test_of_much_data_only_the_sizes_are_checked",
    ),
    Mutation(
        "the writer's lock is not taken",
        "store/writer_lock.py",
        "        if not try_lock(descriptor):\n",
        "        if False:\n",
        "store/test_writer_lock.py::test_the_lock_is_not_taken_twice_in_one_process",
    ),
    Mutation(
        "an import that breaks off is committed",
        "indexing/kg_import.py",
        "        if pending_triples >= FILE_TRIPLES or self._pending_characters >= FILE_CHARACTERS:\n"
        "            self._write()\n",
        "        if pending_triples >= FILE_TRIPLES or self._pending_characters >= FILE_CHARACTERS:\n"
        "            self._write()\n"
        "            self.table.commit_fragments(self._fragments, pa.array(self._written, type=pa.string()))\n"
        "            self._fragments = []\n",
        "indexing/test_kg_import.py::test_a_file_that_breaks_off_changes_nothing",
    ),
    Mutation(
        "vectors are stored without the key of their encoder",
        "store/vector_cache.py",
        '    digests += blake2b(f"{fingerprint}\\0{text}".encode()',
        '    digests += blake2b(f"{text}".encode()',
        "store/test_vector_cache.py::test_encoders_do_not_share_vectors",
    ),
    Mutation(
        "replies are stored without the settings of their call",
        "models/llm/reply_cache.py",
        "prompt.reply.model_json_schema(), dict(settings)]\n",
        "prompt.reply.model_json_schema()]\n",
        "models/llm/test_reply_cache.py::test_the_key_changes_with_all_that_changes_a_reply",
    ),
    Mutation(
        "a budget forgets the calls in progress",
        "models/llm/budget.py",
        "            if self._fits(self.spent + self._reserved + maximum):\n",
        "            if self._fits(self.spent + maximum):\n",
        "models/llm/test_budget.py::test_a_call_waits_for_those_in_progress_and_fits_if_they_used_less",
    ),
    Mutation(
        "equal scores are in no order",
        "arrays/__init__.py",
        "    tied = np.flatnonzero(scores == lowest)[: k - len(above)]\n",
        "    tied = np.flatnonzero(scores == lowest)[::-1][: k - len(above)]\n",
        "arrays/test_order.py::test_a_tie_at_the_last_place_keeps_the_first_positions",
    ),
    Mutation(
        "a failed write leaves half a folder",
        "store/atomic.py",
        "    finally:\n        _remove(temporary)\n",
        "    finally:\n",
        "store/test_atomic.py::test_an_error_leaves_the_older_folder_and_nothing_else",
    ),
)


def name_tests(mutations: Sequence[Mutation]) -> list[str]:
    """Return the tests of mutations as arguments of pytest, each once."""
    return list(dict.fromkeys(f"tests/{mutation.test}" for mutation in mutations))


def run_tests(source: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run tests on a copy of the folder `src`."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(source.parent / "tmp")]
    return subprocess.run([*command, *tests], check=False, capture_output=True, text=True, env=environment, cwd=ROOT)


def copy_source(folder: Path) -> Path:
    """Copy the package into a folder, with a link to its weights, which no mutation changes; return its `src`."""
    source = folder / "src"
    shutil.copytree(PACKAGE, source / "clew", ignore=shutil.ignore_patterns("weights", "__pycache__"))
    (source / "clew" / "weights").symlink_to(PACKAGE / "weights", target_is_directory=True)
    return source


def apply_mutation(mutation: Mutation, source: Path) -> str:
    """Put a fault into a copy of the package; return the text of its file as it was."""
    file = source / "clew" / mutation.file
    before = file.read_text(encoding="utf-8")
    assert before.count(mutation.old) == 1, f"{mutation.name}: {mutation.file} has the text {mutation.old!r} not once"
    file.write_text(before.replace(mutation.old, mutation.new), encoding="utf-8")
    return before


def main() -> None:
    """Print for each mutation whether its test failed; exit 1 where one passed, or a test fails without a fault."""
    parser = argparse.ArgumentParser(
        description="Put faults into a copy of the source, and run the tests that find them."
    )
    parser.add_argument("--only", nargs="+", default=[], help="mutations whose names contain one of these words")
    words = parser.parse_args().only
    chosen = [one for one in MUTATIONS if not words or any(word in one.name for word in words)]
    with tempfile.TemporaryDirectory() as name:
        source = copy_source(Path(name))
        plain = run_tests(source, name_tests(chosen))
        if plain.returncode:
            sys.exit(f"mutations: tests fail without a fault\n{plain.stdout[-4000:]}{plain.stderr[-2000:]}")
        missed = 0
        for mutation in chosen:
            before = apply_mutation(mutation, source)
            done = run_tests(source, name_tests([mutation]))
            (source / "clew" / mutation.file).write_text(before, encoding="utf-8")
            is_caught = done.returncode == _FAILED and " failed" in done.stdout
            missed += not is_caught
            print(f"{'caught' if is_caught else 'MISSED':7} {mutation.name}: {mutation.test}", flush=True)
            if not is_caught:
                print(done.stdout[-2000:] + done.stderr[-2000:], flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
