"""A memory: what is remembered is found by the next question, users are hidden from each other, forgetting is exact."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import clew
from clew.errors import IndexFormatError, IndexLockedError, InputError
from clew.memory import Memory
from clew.memory.log import LOG_FILE
from clew.memory.recalling import RecallRequest, search_version
from clew.memory.state import Removal
from clew.memory.turns import exclude, format_time, make_turn
from clew.settings import Settings
from clew.store.writer_lock import writer_lock
from clew.types import Document, Evidence
from tests.faults.commands import snapshot_hash

SETTINGS = Settings(encoder="hashing", extractor="rules")
NEVER = 10**9
TURNS = (
    make_turn("I moved to Gent in March.", "ilse", "s1", time="2024-04-02", id="move"),
    make_turn("My boat lies in Karlskrona.", "ilse", "s2", time="2024-04-03T10:00:00+02:00", id="boat"),
    make_turn("I moved to Oslo with my dog Rex.", "arne", "s3", time="2024-05-01", id="dog"),
    make_turn("Rex bit the postman of Oslo.", "arne", "s3", time="2024-06-01", id="postman"),
)


def open_memory(folder: Path) -> Memory:
    return Memory(folder, SETTINGS, merge_turns=NEVER, merge_seconds=NEVER)


def tell(memory: Memory, *turns: Document) -> None:
    for turn in turns:
        given = turn.metadata
        memory.remember(turn.text, user=given["user"], session=given["session"], time=given["time"], id=turn.id)


def ids(found: Evidence) -> list[str]:
    return [scored.item.document_id for scored in found]


def texts(found: Evidence) -> str:
    return repr(found.to_dict())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture(params=["waiting", "merged", "both"])
def memory(folder: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A memory of all turns, which wait, or are merged, or of which some wait."""
    with open_memory(folder) as memory:
        tell(memory, *TURNS[::2])
        if request.param == "both":
            memory.merge()
        tell(memory, *TURNS[1::2])
        if request.param == "merged":
            memory.merge()
        yield memory


def test_the_next_question_finds_it(memory: Memory) -> None:
    assert ids(memory.recall("Where does the boat lie?", k=1)) == ["boat"]
    assert ids(memory.recall("Who bit the postman?", k=1)) == ["postman"]
    new = memory.remember("The cat is called Mia.", user="ilse")
    assert ids(memory.recall("What is the cat called?", k=1)) == [new]
    assert memory.answer("What is the cat called?", user="ilse").citations[0].quote == "The cat is called Mia."


def test_passages_of_a_user_a_session_and_a_time(memory: Memory) -> None:
    question = "Who moved to Gent or Oslo with Rex?"
    assert set(ids(memory.recall(question, user="ilse"))) <= {"move", "boat"}
    assert ids(memory.recall(question, user="ilse", session="s1")) == ["move"]
    assert set(ids(memory.recall(question, as_of="2024-05-01"))) == {"move", "boat", "dog"}
    assert set(ids(memory.recall(question, as_of=datetime(2024, 4, 3, 9, tzinfo=UTC)))) == {"move", "boat"}
    assert ids(memory.recall(question, as_of=date(2024, 4, 2))) == ["move"]
    assert set(ids(memory.recall(question, as_of="April 2024"))) == {"move", "boat"}
    with pytest.raises(InputError, match="no date"):
        memory.recall(question, as_of="soon")
    assert ids(memory.recall(question, user="nobody")) == []
    assert ids(memory.recall(question, user="ilse' OR 'a' = 'a")) == []
    with pytest.raises(InputError, match="tenant"):
        memory.recall(question, where="tenant = 'a'")
    with pytest.raises(InputError, match="cannot be read"):
        memory.recall(question, where="user = 'arne') OR (user = 'ilse'", user="ilse")


def test_users_are_hidden_from_each_other(memory: Memory) -> None:
    found = texts(memory.recall("Who has a dog, and who bit the postman?", user="ilse", k=10))
    assert not [word for word in ("arne", "Rex", "Oslo", "s3") if word in found]


@pytest.mark.parametrize("shred", [False, True])
def test_what_is_forgotten_is_in_no_result_and_no_file(memory: Memory, folder: Path, *, shred: bool) -> None:
    assert memory.forget(user="arne", shred=shred) == 2
    assert memory.forget(user="arne") == 0
    found = texts(memory.recall("Who has a dog, and who bit the postman?", k=10))
    assert not [word for word in ("arne", "Rex", "Oslo", "s3") if word in found]
    assert "Rex" not in (folder / LOG_FILE).read_text(encoding="utf-8")
    assert memory.forget(id="move") == 1
    assert memory.forget(session="s2", user="nobody") == 0
    assert ids(memory.recall("Where does the boat lie?", k=10)) == ["boat"]
    if shred:
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert not [file for file in files if b"postman" in file.read_bytes()]
    with pytest.raises(InputError, match="nothing is named"):
        memory.forget()
    tell(memory, TURNS[2])
    assert ids(memory.recall("Who has a dog?", user="arne")) == ["dog"]


@pytest.mark.parametrize("text", [" ", "word " * 20_001])
def test_an_empty_and_an_endless_text_are_refused(memory: Memory, text: str) -> None:
    waiting = memory.waiting
    with pytest.raises(InputError, match="the text of a turn"):
        memory.remember(text)
    assert memory.waiting == waiting


def test_an_id_is_stored_once(memory: Memory) -> None:
    tell(memory, *TURNS)
    assert memory.remember(TURNS[0].text, user="ilse", session="s1", id="move") == "move"
    with pytest.raises(InputError, match="another turn or document has the id 'move'"):
        memory.remember("Something else.", user="ilse", session="s1", id="move")
    assert sorted(ids(memory.recall("Who moved the boat and the dog of the postman?", k=10))) == sorted(
        turn.id for turn in TURNS
    )


def test_after_merges_the_index_is_one_that_was_made_at_once(folder: Path, tmp_path: Path) -> None:
    long = make_turn("Harbour of Tromsø. " * 400, "ilse", "s4", time="2024-07-01", id="long")
    with open_memory(folder) as memory:
        tell(memory, *TURNS[:1])
        memory.merge()
        tell(memory, *TURNS[1:], long)
        before = memory.recall("What harbour is it?", k=2)
        assert memory.merge() == len(TURNS)
        assert [one.item for one in memory.recall("What harbour is it?", k=2)] == [one.item for one in before]
    with clew.create(tmp_path / "other", SETTINGS) as other:
        other.add([*TURNS, long])
    assert snapshot_hash(folder) == snapshot_hash(tmp_path / "other")


def test_waiting_turns_outlive_the_process_and_a_torn_line_is_dropped(folder: Path) -> None:
    memory = open_memory(folder)
    tell(memory, *TURNS[:2])
    memory.close(merge=False)
    log = folder / LOG_FILE
    whole = log.read_bytes()
    for torn in (whole[:-5], whole[:-1], whole[:-4] + b"xx]\n"):
        log.write_bytes(torn)
        with open_memory(folder) as memory:
            assert ids(memory.recall("Who moved to Gent?")) == ["move"]
            tell(memory, TURNS[1])
            assert ids(memory.recall("Where does the boat lie?", k=1)) == ["boat"]
            memory.forget(id="boat")
    log.write_bytes(whole.replace(b"Gent", b"Gand"))
    with pytest.raises(IndexFormatError, match=r"line 1 of .* is damaged"):
        open_memory(folder)


def test_a_kill_after_the_commit_adds_nothing_twice(folder: Path) -> None:
    with open_memory(folder) as memory:
        tell(memory, *TURNS)
        log = (folder / LOG_FILE).read_bytes()
        memory.merge()
    before = snapshot_hash(folder)
    (folder / LOG_FILE).write_bytes(log)
    with open_memory(folder) as memory:
        assert memory.waiting == len(TURNS)
        assert len(ids(memory.recall("Who moved the boat and the dog of the postman?", k=10))) == len(TURNS)
        memory.merge()
        assert memory.waiting == 0
    assert snapshot_hash(folder) == before


def test_a_removal_that_was_begun_is_finished_before_anything_is_recalled(folder: Path) -> None:
    with open_memory(folder) as memory:
        tell(memory, *TURNS)
        memory.merge()
        with writer_lock(folder), pytest.MonkeyPatch.context() as patched:
            patched.setattr("clew.memory.merging.PATIENCE_SECONDS", 0.0)
            with pytest.raises(IndexLockedError):
                memory.forget(user="arne")
            assert not set(ids(memory.recall("Who bit the postman of Oslo?", k=10))) & {"dog", "postman"}
            with pytest.raises(InputError, match="is being forgotten"):
                tell(memory, TURNS[2])
        memory.close(merge=False)
    with open_memory(folder) as memory:
        assert set(clew.open(folder).table.document_hashes()) == {"move", "boat"}
        assert set(ids(memory.recall("Who bit the postman of Oslo?", k=10))) == {"move", "boat"}


def test_one_memory_at_a_time_and_none_after_it_is_closed(folder: Path) -> None:
    with open_memory(folder) as memory:
        with pytest.raises(IndexLockedError, match="open as a memory already"):
            open_memory(folder)
        tell(memory, TURNS[0])
    memory.close()
    with pytest.raises(InputError, match="is closed"):
        memory.recall("Who moved?")
    with clew.open(folder) as index:
        assert ids(index.search("Who moved to Gent?", where="user = 'ilse'")) == ["move"]


def test_threads_that_remember_while_others_recall_and_one_merges(folder: Path) -> None:
    with Memory(folder, SETTINGS, merge_turns=8, merge_seconds=NEVER) as memory, ThreadPoolExecutor(4) as pool:

        def remember_and_recall(number: int) -> bool:
            made = memory.remember(f"The lamp number{number} burns.", user=f"user{number % 3}")
            found = ids(memory.recall(f"Does the lamp number{number} burn?", k=40))
            return found.count(made) == 1 and len(set(found)) == len(found)

        assert all(pool.map(remember_and_recall, range(32)))
    with clew.open(folder) as index:
        assert len(index) == 32


def test_commits_of_others_are_followed(folder: Path) -> None:
    with open_memory(folder) as memory:
        with clew.open(folder) as other:
            other.add([Document("note", "A note", "The lighthouse of Vardø is red.")])
        memory._merger.follow()
        assert ids(memory.recall("What colour has the lighthouse?")) == ["note"]
        tell(memory, TURNS[0])
        assert ids(memory.recall("Who moved to Gent?", user="ilse")) == ["move"]


def test_times_sort_as_they_were() -> None:
    times = ["2024-04-02", "2024-04-02T00:30:00+02:00", "2024-04-02T10:00", "2024-04-02T10:00:00.5Z", "2024-04-03"]
    stored = [format_time(time) for time in times]
    assert stored == [
        *("2024-04-02", "2024-04-01T22:30:00.000Z", "2024-04-02T10:00:00.000Z", "2024-04-02T10:00:00.500Z"),
        "2024-04-03",
    ]
    assert format_time(date(2024, 4, 2)) == "2024-04-02"
    for wrong in ("yesterday", "2024-13-01", "", 5):
        with pytest.raises(InputError, match="time is"):
            format_time(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"text": " "}, {"user": "a\nb"}, {"session": "x" * 201}, {"id": "a#1"}, {"id": ""}])
def test_what_cannot_be_a_turn_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InputError):
        make_turn(**{"text": "a", **given})


def test_what_is_said_after_forgetting_is_found_while_shredding_waits(folder: Path) -> None:
    with open_memory(folder) as memory:
        tell(memory, *TURNS)
        memory.merge()
        removal = Removal(("said-before",), exclude(user="ilse"), shred=True)  # the index has it no longer
        request = RecallRequest.select("Where did I move?", "ilse")
        with memory._versions.lease() as index:
            assert "move" in ids(search_version(index, (removal,), request))
            still = Removal(("move",), exclude(user="ilse"), shred=True)
            assert not search_version(index, (still,), request).passages
