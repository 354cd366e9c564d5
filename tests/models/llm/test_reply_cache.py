"""The reply cache: keys, concurrent processes, damaged files, summaries and pruning."""

import multiprocessing
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from pydantic import BaseModel

from clew.errors import ProviderError
from clew.models.llm.reply_cache import CachedReplies, ReplyCache, call_key
from clew.types import Prompt, Reply, Usage
from tests.models.llm.model_calls import Names, prompt

COST = Usage(0.5, 2, 100, 10, 0.25)


class Places(BaseModel):
    places: list[str]


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "folder" / "calls.sqlite")


def reply(*names: str) -> Reply:
    return Reply(Names(names=list(names)), COST)


def test_stored_replies_are_found_and_cost_nothing(cache: ReplyCache) -> None:
    assert cache.get("k", prompt()) is None
    cache.put("k", "openai:m", prompt(), reply("Oslo", "Tromsø", "\0", '"'))
    assert cache.get("k", prompt()) == Reply(Names(names=["Oslo", "Tromsø", "\0", '"']), Usage(), cached=True)
    assert cache.get("other", prompt()) is None
    cache.put("k", "openai:m", prompt(), reply("Bergen"))
    replies = cache.get_many({"k": prompt(), "other": prompt()})
    assert list(replies) == ["k"]
    assert replies["k"].value == Names(names=["Bergen"])
    assert cache.get_many({}) == {}


def test_reading_creates_no_file(cache: ReplyCache, tmp_path: Path) -> None:
    assert cache.get("k", prompt()) is None
    assert cache.summarize() == []
    assert cache.prune() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_reply_that_does_not_fit_the_schema_is_not_found(cache: ReplyCache) -> None:
    cache.put("k", "openai:m", prompt(), reply("Oslo"))
    assert cache.get("k", Prompt("p", "", "", Places)) is None


def test_the_key_changes_with_all_that_changes_a_reply() -> None:
    plain = call_key("openai:m", prompt(), {"temperature": 0.0})
    assert plain == call_key("openai:m", prompt(), {"temperature": 0.0})
    others = [
        call_key("openai:n", prompt(), {"temperature": 0.0}),
        call_key("openai:m", prompt("other"), {"temperature": 0.0}),
        call_key("openai:m", prompt(instructions="other"), {"temperature": 0.0}),
        call_key("openai:m", Prompt("names@2", prompt().instructions, prompt().content, Names), {"temperature": 0.0}),
        call_key("openai:m", Prompt("names@1", prompt().instructions, prompt().content, Places), {"temperature": 0.0}),
        call_key("openai:m", prompt(), {"temperature": 0.5}),
        call_key("openai:m", prompt("half \ud800"), {"temperature": 0.0}),
    ]
    assert len({plain, *others}) == 8


def test_replies_are_summarized_by_model_and_prompt(cache: ReplyCache) -> None:
    for number in range(3):
        cache.put(f"a{number}", "openai:b", prompt(), reply("Oslo"))
    cache.put("b", "openai:a", prompt(), reply("Oslo"))
    once = Usage(0.5, 1, 100, 10, 0.25)
    thrice = Usage(1.5, 3, 300, 30, 0.75)
    assert cache.summarize() == [
        CachedReplies("openai:a", "names@1", once),
        CachedReplies("openai:b", "names@1", thrice),
    ]


def test_pruning_deletes_by_age_or_model(cache: ReplyCache, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr("clew.models.llm.reply_cache.time.time", lambda: now - 100)
    cache.put("old", "openai:a", prompt(), reply("Oslo"))
    monkeypatch.setattr("clew.models.llm.reply_cache.time.time", lambda: now)
    cache.put("new", "openai:a", prompt(), reply("Oslo"))
    cache.put("other", "openai:b", prompt(), reply("Oslo"))
    assert cache.prune(older_than=50.0) == 1
    assert cache.get("old", prompt()) is None
    assert cache.prune(model="openai:b") == 1
    assert cache.get("new", prompt()) is not None
    assert cache.prune() == 1
    assert cache.summarize() == []


def test_a_flipped_bit_in_a_stored_reply_is_no_answer(
    cache: ReplyCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """17 of 400 flips gave another reply: valid JSON with other words."""
    prompts = {f"k{number}": prompt() for number in range(8)}
    for number, key in enumerate(prompts):
        cache.put(key, "openai:m", prompt(), reply(f"Port {number} of the quick brown fox"))
    stored = cache.get_many(prompts)
    file = tmp_path / "folder" / "calls.sqlite"
    content = file.read_bytes()
    random = np.random.default_rng(5)
    places = [content.find(b"quick") * 8 + 4, *random.integers(0, 8 * len(content), 150).tolist()]
    outcomes = {"whole": 0, "missing": 0, "error": 0}
    for place in places:
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        file.write_bytes(flipped)
        try:
            found = cache.get_many(prompts)
        except ProviderError:
            outcomes["error"] += 1
            continue
        assert found.items() <= stored.items(), place
        outcomes["whole" if found == stored else "missing"] += 1
    assert min(outcomes.values()) > 0, outcomes
    assert "1 stored replies in" in caplog.text
    assert "asked again" in caplog.text


def test_replies_without_checksums_are_taken_over(cache: ReplyCache, tmp_path: Path) -> None:
    cache.put("k", "openai:m", prompt(), reply("Oslo"))
    with sqlite3.connect(tmp_path / "folder" / "calls.sqlite") as connection:
        connection.execute("CREATE TABLE calls AS SELECT * FROM replies")
        connection.execute("ALTER TABLE calls DROP COLUMN checksum")
        connection.execute("DROP TABLE replies")
    connection.close()
    found = cache.get("k", prompt())
    assert found is not None
    assert found.value == Names(names=["Oslo"])
    assert len(cache.summarize()) == 1


def test_cleared_replies_leave_no_byte(cache: ReplyCache, tmp_path: Path) -> None:
    assert cache.clear() == 0
    for number in range(9):
        cache.put(f"k{number}", "openai:m", prompt(), reply(f"Zyzzyva {number}"))
    with closing(sqlite3.connect(tmp_path / "folder" / "calls.sqlite")) as other:  # a server's, which keeps the log
        assert other.execute("SELECT COUNT(*) FROM replies").fetchone() == (9,)
        assert cache.clear() == 9
        assert other.execute("SELECT COUNT(*) FROM replies").fetchone() == (0,)
        assert [file for file in (tmp_path / "folder").iterdir() if b"Zyzzyva" in file.read_bytes()] == []
    assert [file for file in (tmp_path / "folder").iterdir() if b"Zyzzyva" in file.read_bytes()] == []
    assert cache.summarize() == []


def _write_replies(file: Path, first: int) -> None:
    cache = ReplyCache(file)
    for number in range(first, first + 60):
        cache.put(f"k{number % 100}", "openai:m", prompt(), reply(str(number % 100)))


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    file = tmp_path / "calls.sqlite"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write_replies, args=(file, first)) for first in (0, 50)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    replies = ReplyCache(file).get_many({f"k{number}": prompt() for number in range(100)})
    assert [replies[f"k{number}"].value for number in range(100)] == [Names(names=[str(n)]) for n in range(100)]


def test_a_reply_is_stored_while_another_process_creates_the_file(
    cache: ReplyCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that began at once: one of them ended with `database is locked`, which SQLite says at once."""
    (tmp_path / "folder").mkdir()
    with closing(sqlite3.connect(tmp_path / "folder" / "calls.sqlite", isolation_level=None)) as other:
        other.execute("CREATE TABLE others (name TEXT)")
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("clew.models.llm.reply_cache.time.sleep", lambda _: other.execute("COMMIT"))
        cache.put("k", "openai:m", prompt(), reply("Oslo"))
        with pytest.raises(sqlite3.OperationalError, match="no transaction"):
            other.execute("COMMIT")  # so there was one wait
    assert list(cache.get_many({"k": prompt()})) == ["k"]


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be taken for one" * 10, b"SQLite format 3\0junk"]
)
def test_a_damaged_file_is_a_one_line_error_with_advice(cache: ReplyCache, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "folder" / "calls.sqlite"
    file.parent.mkdir()
    file.write_bytes(content)
    actions = (
        lambda: cache.get("k", prompt()),
        lambda: cache.put("k", "m", prompt(), reply("Oslo")),
        cache.summarize,
        cache.prune,
    )
    for act in actions:
        with pytest.raises(ProviderError, match="remove the file if it is damaged, or run with --no-cache") as caught:
            act()
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_file_with_another_schema_is_refused(cache: ReplyCache, tmp_path: Path) -> None:
    file = tmp_path / "folder" / "calls.sqlite"
    file.parent.mkdir()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE calls (other TEXT)")
    connection.close()
    with pytest.raises(ProviderError, match="cannot be used"):
        cache.get("k", prompt())


def test_an_unwritable_path_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ProviderError, match="allow writing there"):
        ReplyCache(tmp_path / "file" / "calls.sqlite").put("k", "m", prompt(), reply("Oslo"))
