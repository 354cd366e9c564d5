"""Documents that are sent: accepted, indexed, failed, tried again, cancelled, and never lost by a kill."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

import clew
from clew.index import Index
from clew.server.records import NewDocument
from clew.server.uploads.spool import ReceivedFile, Spool, clean_name, read_job
from clew.store.writer_lock import writer_lock
from clew.types import Document
from tests.server.serving import make_key, server_process, serving, state_of, wait_for_job, with_options
from tests.small_index import DOCUMENTS, make_index


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An index that tests may write to."""
    make_index(tmp_path / "index", DOCUMENTS[:4])
    return tmp_path / "index"


@pytest.fixture
def writing(folder: Path) -> Iterator[TestClient]:
    """A client of a server of that index."""
    with serving({"own": folder}) as client:
        yield client


def send(client: TestClient | httpx.Client, *documents: dict[str, Any]) -> dict[str, Any]:
    response = client.post("/v1/own/documents", json={"documents": list(documents)})
    assert response.status_code == 202, response.text
    job: dict[str, Any] = response.json()
    return job


def search_ids(client: TestClient, question: str) -> list[str]:
    """Return the ids that are found by the first question: who has waited for a job reads what it wrote."""
    reply = client.post("/v1/own/search", json={"question": question}).json()
    return [p["document_id"] for p in reply["results"][0]["passages"]]


def test_a_text_is_accepted_indexed_found_and_removed(writing: TestClient, folder: Path) -> None:
    text = "Zorg was launched by Ada Quux."
    job = send(writing, {"id": "zorg", "title": "Zorg", "text": text, "metadata": {"year": 1901}})
    done = wait_for_job(writing, "own", job)
    assert {name: done[name] for name in ("documents", "done", "attempts")} == {
        "documents": 1,
        "done": 1,
        "attempts": 1,
    }
    assert (done["status"], done["failures"]) == ("done", [])
    assert search_ids(writing, "Who launched the Zorg?")[0] == "zorg"
    opened = clew.open(folder)
    assert opened.snapshot.passage(opened.snapshot.position("zorg")).metadata == {"year": 1901}
    assert done["version"] == opened.table.version
    removal = writing.delete("/v1/own/documents/zorg")
    assert removal.status_code == 202
    assert wait_for_job(writing, "own", removal.json())["status"] == "done"
    assert "zorg" not in search_ids(writing, "Who launched the Zorg?")
    assert writing.delete("/v1/own/documents/zorg").status_code == 404


def test_texts_without_ids_get_different_ones(writing: TestClient) -> None:
    job = send(writing, {"text": "One."}, {"text": "Two."})
    assert wait_for_job(writing, "own", job)["status"] == "done"
    ids = [d["id"] for d in writing.get("/v1/own/documents", params={"q": job["id"]}).json()["documents"]]
    assert ids == [f"text-{job['id']}-0", f"text-{job['id']}-1"]


def test_files_are_read_as_the_command_reads_them(writing: TestClient, folder: Path, tmp_path: Path) -> None:
    contents = {
        "my-notes.md": "# Zorg\n\nZorg was a ship.",
        "plain_text.txt": "Ada Quux.",
        "rows.csv": "id,text\nr1,A row.",
    }
    files = [("files", (name, text.encode())) for name, text in contents.items()]
    job = writing.post("/v1/own/documents", files=files).json()
    assert wait_for_job(writing, "own", job)["status"] == "done"
    given = tmp_path / "given"
    given.mkdir()
    for name, text in contents.items():
        (given / name).write_text(text)
    expected = make_index(tmp_path / "other", [])
    expected.add([given])
    opened = clew.open(folder)
    for passage in map(expected.snapshot.passage, range(len(expected.snapshot.passage_ids))):
        # A file that was sent has no time but that of its arrival.
        metadata = {name: value for name, value in passage.metadata.items() if name != "modified"}
        own = opened.snapshot.passage(opened.snapshot.position(passage.id))
        assert own == replace(passage, metadata=metadata)
    assert not list((folder / "uploads" / job["id"]).glob("file-*"))  # what is indexed is not kept twice


@pytest.mark.parametrize(
    "name",
    [
        *("../../../evil.md", "/etc/passwd.md", "..\\..\\evil.md", "C:\\evil.md"),
        *("a\0b.md", "\n.md", "a/../.md", "é" * 300 + ".md"),
    ],
)
def test_a_file_s_name_never_becomes_a_path(folder: Path, name: str, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if "uploads" not in path.parts}
    spool = Spool(folder / "uploads", "own")
    try:
        job = spool.accept_files("", [ReceivedFile(name, BytesIO(b"text"))])
    except clew.ClewError:
        assert not clean_name(name).endswith(".md") or clean_name(name) == ".md"
        return
    assert [path.name for path in (folder / "uploads" / job.id).iterdir() if path.suffix == ".md"] == ["file-0000.md"]
    assert {path for path in tmp_path.rglob("*") if "uploads" not in path.parts} == before
    (document,) = spool.documents(job)
    assert isinstance(document, Document)
    assert "/" not in document.id
    assert "\\" not in document.id
    assert len(document.id) <= 255


def test_a_file_of_another_kind_is_refused_and_nothing_stays(writing: TestClient, folder: Path) -> None:
    response = writing.post("/v1/own/documents", files=[("files", ("a.md", b"a")), ("files", ("a.exe", b"b"))])
    assert (response.status_code, response.json()["type"]) == (415, "urn:clew:kind")
    assert writing.get("/v1/own/jobs").json() == {"jobs": []}


@pytest.mark.parametrize("documents", [[], [{"text": ""}], [{"text": "a", "where": 1}], [{"metadata": {}}], 3])
def test_other_texts_are_refused(writing: TestClient, documents: Any) -> None:
    assert writing.post("/v1/own/documents", json={"documents": documents}).status_code == 422
    assert writing.get("/v1/own/jobs").json() == {"jobs": []}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "-1e400"])
def test_numbers_that_are_none_are_refused(writing: TestClient, number: str) -> None:
    body = f'{{"documents": [{{"text": "a", "metadata": {{"year": {number}}}}}]}}'
    response = writing.post("/v1/own/documents", content=body, headers={"content-type": "application/json"})
    assert (response.status_code, "metadata.year" in response.json()["detail"]) == (422, True)
    assert writing.get("/v1/own/jobs").json() == {"jobs": []}


def test_a_text_that_cannot_be_stored_fails_alone(folder: Path) -> None:
    """As one that an earlier server took, and that would fail the others of its job for ever."""
    spool = Spool(folder / "uploads", "own")
    good, bad = NewDocument(id="good", text="One."), NewDocument(id="bad", text="Two.")
    job = spool.accept_texts("", [bad.model_copy(update={"metadata": {"year": float("nan")}}), good])
    with serving({"own": folder}) as client:
        ended = wait_for_job(client, "own", {"id": job.id})
    assert (ended["status"], [failure["item"] for failure in ended["failures"]]) == ("done", ["bad"])
    stored = clew.open(folder).table.stored_documents()
    assert ("good" in stored, "bad" in stored) == (True, False)


def test_a_body_of_another_kind_is_refused(writing: TestClient) -> None:
    assert writing.post("/v1/own/documents", content=b"a").status_code == 415
    assert writing.post("/v1/own/documents", data={"a": "b"}, files={"other": b"c"}).status_code == 422


def test_what_cannot_be_read_is_listed_with_the_reason_and_can_be_tried_again(
    writing: TestClient, folder: Path
) -> None:
    files = [("files", ("good.txt", b"Good text.")), ("files", ("bad.txt", b"\xff\xfe\xff"))]
    job = wait_for_job(writing, "own", writing.post("/v1/own/documents", files=files).json())
    assert job["status"] == "done"
    assert [failure["item"] for failure in job["failures"]] == ["bad.txt"]
    page = writing.get("/v1/own/documents", params={"status": "failed"}).json()
    assert [(d["id"], d["job"], bool(d["reason"])) for d in page["documents"]] == [("bad.txt", job["id"], True)]
    again = writing.post(f"/v1/own/jobs/{job['id']}/retry")
    assert again.status_code == 202
    assert wait_for_job(writing, "own", again.json())["attempts"] == 2
    fine = wait_for_job(
        writing, "own", writing.post("/v1/own/documents", files=[("files", ("bad.txt", b"Fine now."))]).json()
    )
    assert fine["status"] == "done"
    assert writing.get("/v1/own/documents", params={"status": "failed"}).json()["documents"] == []


def test_a_job_that_is_over_has_nothing_to_cancel_or_try_again(writing: TestClient) -> None:
    job = wait_for_job(writing, "own", send(writing, {"text": "One."}))
    assert writing.delete(f"/v1/own/jobs/{job['id']}").status_code == 409
    assert writing.post(f"/v1/own/jobs/{job['id']}/retry").status_code == 409


def test_a_writer_is_waited_for_and_a_waiting_job_can_be_cancelled(writing: TestClient, folder: Path) -> None:
    with writer_lock(folder):
        first, second = send(writing, {"id": "a", "text": "One."}), send(writing, {"id": "b", "text": "Two."})
        cancelled = writing.delete(f"/v1/own/jobs/{second['id']}")
        assert cancelled.json()["status"] == "cancelled"
        assert writing.get(f"/v1/own/jobs/{first['id']}").json()["status"] in ("queued", "running")
    assert wait_for_job(writing, "own", first)["status"] == "done"
    stored = clew.open(folder).table.stored_documents()
    assert ("a" in stored, "b" in stored) == (True, False)
    assert wait_for_job(writing, "own", writing.post(f"/v1/own/jobs/{second['id']}/retry").json())["status"] == "done"
    assert "b" in clew.open(folder).table.stored_documents()


def test_a_cancelled_job_that_is_tried_again_at_once_runs(writing: TestClient, folder: Path) -> None:
    """The run that was cancelled still waits for its turn when the retry is queued behind it."""
    with writer_lock(folder):
        first, second = send(writing, {"id": "a", "text": "One."}), send(writing, {"id": "b", "text": "Two."})
        for job in (second, first):  # one that waits, and the one that runs
            for _ in range(2):
                assert writing.delete(f"/v1/own/jobs/{job['id']}").status_code == 200
                assert writing.post(f"/v1/own/jobs/{job['id']}/retry").status_code == 202
    for job in (first, second):
        ended = wait_for_job(writing, "own", job)
        assert (ended["status"], ended["done"], ended["failures"]) == ("done", 1, [])
    stored = clew.open(folder).table.stored_documents()
    assert ("a" in stored, "b" in stored) == (True, True)


def test_a_fault_of_the_server_fails_the_job(writing: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret words")

    monkeypatch.setattr(Index, "add", broken)
    job = wait_for_job(writing, "own", send(writing, {"text": "One."}))
    assert (job["status"], job["reason"]) == ("failed", "the server failed; its log says why")


def test_keys_see_their_own_jobs_alone(folder: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    writer, reader = make_key(keys, write=True), make_key(keys)
    with serving({"own": folder}, keys=keys, key=writer) as client:
        job = wait_for_job(client, "own", send(client, {"text": "One."}))
        other = {"Authorization": f"Bearer {reader}"}
        assert client.get(f"/v1/own/jobs/{job['id']}", headers=other).status_code == 404
        assert client.get("/v1/own/jobs", headers=other).json() == {"jobs": []}


def test_uploads_may_lie_in_a_folder_of_the_server(folder: Path, tmp_path: Path) -> None:
    with serving({"own": folder}, with_options(state=tmp_path / "state")) as client:
        job = wait_for_job(client, "own", send(client, {"text": "One."}))
    assert read_job(tmp_path / "state" / "uploads" / "own" / job["id"]) is not None
    assert not (folder / "uploads").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_uploads_are_their_owner_s(folder: Path) -> None:
    spool = Spool(folder / "uploads", "own")
    jobs = [
        spool.accept_texts("", [NewDocument(text="One.")]),
        spool.accept_files("", [ReceivedFile("a.md", BytesIO(b"Two."))]),
        spool.accept_removal("", ["a"]),
    ]
    for job in jobs:
        spool.update(job.id, status="running")
    paths = [folder / "uploads", *(folder / "uploads").rglob("*")]
    assert len(paths) == 9
    assert {(path.is_dir(), oct(path.stat().st_mode & 0o777)) for path in paths} == {(True, "0o700"), (False, "0o600")}


def test_jobs_that_a_server_left_are_taken_up(folder: Path) -> None:
    spool = Spool(folder / "uploads", "own")
    queued = spool.accept_texts("", [NewDocument(id="a", text="One.")])
    running = spool.accept_texts("", [NewDocument(id="b", text="Two.")])
    spool.update(running.id, status="running")
    with serving({"own": folder}) as client:
        assert [wait_for_job(client, "own", {"id": job.id})["status"] for job in (queued, running)] == ["done", "done"]
    stored = clew.open(folder).table.stored_documents()
    assert "a" in stored
    assert "b" in stored


def test_a_server_that_only_reads_leaves_jobs_and_uploads_as_they_are(folder: Path) -> None:
    spool = Spool(folder / "uploads", "own")
    queued = spool.accept_texts("", [NewDocument(id="a", text="One.")])
    partial_upload = folder / "uploads" / f".x.00000000.{2**22 + 1}.00000000.tmp"
    partial_upload.mkdir()
    os.utime(partial_upload, (0, 0))
    version = clew.open(folder).table.version
    with serving({"own": folder}, with_options(write=False)) as client:
        state_of(client).jobs.close()  # what were queued would be done by now, or be running
        assert client.get(f"/v1/own/jobs/{queued.id}").json()["status"] == "queued"
    assert partial_upload.exists()
    assert clew.open(folder).table.version == version
    with serving({"own": folder}) as client:
        assert wait_for_job(client, "own", {"id": queued.id})["status"] == "done"
        assert not partial_upload.exists()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3])
def test_a_kill_at_any_moment_loses_nothing_that_was_answered_for(folder: Path, seconds: float) -> None:
    answered: list[str] = []
    with server_process(f"own={folder}") as (process, client):

        def send_many() -> None:
            for number in range(1_000):
                document = {
                    "id": f"new-{number}",
                    "title": f"Ship {number}",
                    "text": f"Ship {number} sank off Cape {number}.",
                }
                try:
                    response = client.post("/v1/own/documents", json={"documents": [document]})
                except httpx.TransportError:
                    return
                if response.status_code == 202:
                    answered.append(document["id"])

        thread = threading.Thread(target=send_many)
        thread.start()
        while not answered:
            threading.Event().wait(0.001)
        threading.Event().wait(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        thread.join()
    with serving({"own": folder}) as next_client:
        for job in next_client.get("/v1/own/jobs").json()["jobs"]:
            assert wait_for_job(next_client, "own", job)["status"] == "done"
    stored = clew.open(folder).table.stored_documents()
    assert not [id_ for id_ in answered if id_ not in stored]
    assert not [path for path in (folder / "uploads").iterdir() if path.name.startswith(".")]


def test_a_job_file_that_is_damaged_is_no_job(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps({"id": 1}))
    assert read_job(tmp_path) is None
