"""The file of keys, and the commands on it."""

import json
import stat
import sys
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.server.access import Access
from clew.server.keys import KeyFile
from tests.commands.refusals import check_refused
from tests.faults.commands import run_clew

HUGE_TIME = json.dumps(
    {"keys": [{"id": "a", "hash": "", "label": "", "indexes": None, "where": None, "write": True, "created": 10**400}]}
)


def test_a_key_gives_what_it_was_made_with(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    plain, narrow = file.add("everything", write=True), file.add("a part", ["a"], "tenant = 'x'")
    id_ = plain.split("_")[1]
    assert file.verify(plain) == Access(id_, None, None, write=True)
    assert file.verify(narrow) == Access(narrow.split("_")[1], frozenset({"a"}), "tenant = 'x'", write=False)
    assert file.verify(f"clew_{id_}_{narrow.split('_', 2)[2]}") is None


def test_the_file_holds_hashes_alone_and_is_its_owner_s(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    key = KeyFile(path).add()
    text = path.read_text()
    assert key not in text
    assert key.split("_", 2)[2] not in text
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_keys_are_random(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    secrets = {file.add().split("_", 2)[2] for _ in range(20)}
    assert len(secrets) == 20
    assert {len(secret) for secret in secrets} == {43}


def test_a_key_with_a_filter_may_not_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="may not write"):
        KeyFile(tmp_path / "keys.json").add(where="a = 1", write=True)
    with pytest.raises(InputError, match="filter"):
        KeyFile(tmp_path / "keys.json").add(where="a = 1) OR (1 = 1")
    assert not (tmp_path / "keys.json").exists()


@pytest.mark.parametrize("options", [("--strict-filters",), ()])
def test_a_strict_key_needs_a_filter_and_is_listed_as_one(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = tmp_path / "keys.json"
    if options:
        refused = run_clew("keys", path, "--add", "a key", *options)
        assert (refused.code, path.exists()) == (2, False)
        assert "a strict key needs a filter" in refused.err
    made = run_clew("keys", path, "--add", "a key", "--where", "year > 1990", *options)
    access = KeyFile(path).verify(made.out.strip())
    assert access is not None
    assert access.strict is bool(options)
    assert ("(strict)" in run_clew("keys", path).out) is bool(options)


def test_a_file_of_keys_from_before_strict_filters_is_read(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    key = KeyFile(path).add(where="a = 1")
    record = json.loads(path.read_text(encoding="utf-8"))
    del record["keys"][0]["strict"]
    path.write_text(json.dumps(record), encoding="utf-8")
    access = KeyFile(path).verify(key)
    assert access is not None
    assert not access.strict


@pytest.mark.parametrize("text", ["", "[]", '{"keys": 3}', '{"keys": [{"id": 1}]}', "\0", HUGE_TIME])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not a file of keys"):
        KeyFile(path).list_keys()


def test_the_commands_make_list_and_remove(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.json")
    made = run_clew("keys", path, "--add", "Phone", "--index", "wiki", "--where", "year > 1990")
    assert made.code == 0, made.err
    id_ = made.out.split("_")[1]
    listed = run_clew("keys", path)
    assert listed.out == f"{id_}  Phone  wiki, reads, where year > 1990\n"
    entries = json.loads(run_clew("keys", path, "--json").out)
    assert [(entry["id"], entry["label"], entry["indexes"], entry["where"], entry["write"]) for entry in entries] == [
        (id_, "Phone", ["wiki"], "year > 1990", False)
    ]
    assert "hash" not in entries[0]
    assert run_clew("keys", path, "--remove", "none").code == 2
    assert run_clew("keys", path, "--remove", id_).code == 0
    assert json.loads(Path(path).read_text())["keys"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a=b", "--host", "0.0.0.0"], "no --keys are given"),
        (["a=b", "--host", "example.org"], "no --keys are given"),
        (["a=b", "--keys", "absent.json"], "holds no key"),
        (["a"], "names no index"),
        (["a/b=c"], "names no index"),
        (["models=c"], "names no index"),
        (["a=b", "a=c"], "two indexes"),
    ],
)
def test_a_server_that_is_not_safe_does_not_start(arguments: list[str], words: str) -> None:
    check_refused(run_clew("serve", *arguments), words)
