import errno
from collections.abc import Iterator

import pyarrow as pa
import pytest

from clew.errors import ClewError, IndexFormatError, IndexLockedError, InputError, ProviderError
from clew.store.error_mapping import map_errors


class PanicException(BaseException):
    """A stand-in for the exception that Lance's binding raises for a Rust panic."""


CASES: list[tuple[BaseException, type[ClewError], str]] = [
    (OSError(errno.ENOSPC, "No space left on device"), ProviderError, "disk is full"),
    (OSError("LanceError(IO): ... No space left on device (os error 28), /home/x/y.rs:1:2"), ProviderError, "disk is"),
    (OSError(errno.EDQUOT, "over quota"), ProviderError, "disk is full"),
    (OSError(errno.EACCES, "Permission denied"), ProviderError, "not possible here"),
    (OSError(errno.EROFS, "Read-only file system"), ProviderError, "not possible here"),
    (OSError("... Permission denied (os error 13)"), ProviderError, "not possible here"),
    (OSError(errno.EIO, "Input/output error"), ProviderError, "check the disk"),
    (OSError("LanceError(IO): File too large (os error 27), /home/x/y.rs:1:2"), ProviderError, "check the disk"),
    (OSError(errno.EMFILE, "Too many open files"), ProviderError, "ulimit -n"),
    (ValueError("LanceError(IO): Too many open files (os error 24), /home/x/y.rs:1:2"), ProviderError, "ulimit -n"),
    (ValueError("x" * 400 + " Input/output error (os error 5)"), ProviderError, "check the disk"),
    (FileExistsError(errno.EEXIST, "File exists"), InputError, "choose another place"),
    (NotADirectoryError(errno.ENOTDIR, "Not a directory"), InputError, "choose another place"),
    (OSError("Too many concurrent writers. Attempted 0 retries."), IndexLockedError, "another machine"),
    (OSError("Retryable commit conflict for version 5"), IndexLockedError, "another machine"),
    (OSError("Generic S3 error: Error performing GET"), ProviderError, "object store"),
    (ValueError("Not found: x/data/1.lance"), IndexFormatError, "missing"),
    (ValueError("failed to decode Protobuf message"), IndexFormatError, "looks damaged"),
    (RuntimeError("Task was aborted"), IndexFormatError, "looks damaged"),
    (PanicException("range end index 9 out of range"), IndexFormatError, "looks damaged"),
]


@pytest.mark.parametrize(("error", "kind", "message"), CASES)
def test_each_foreign_error_has_a_clew_error(error: BaseException, kind: type[ClewError], message: str) -> None:
    with pytest.raises(kind, match=message) as caught, map_errors("the-index", "reading"):
        raise error
    assert type(caught.value) is kind
    assert caught.value.__cause__ is error
    assert "the-index" in str(caught.value)
    assert ".rs:" not in str(caught.value)


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), InputError("x"), KeyboardInterrupt()])
def test_other_errors_pass(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, map_errors("the-index", "reading"):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("kind", [pa.ArrowInvalid, OSError])
def test_ctrl_c_during_a_scan_is_no_damage(kind: type[Exception]) -> None:
    with pytest.raises(KeyboardInterrupt), map_errors("the-index", "reading"):
        raise kind("External error: KeyboardInterrupt: ")


def test_a_scan_that_ctrl_c_stops_says_so() -> None:
    # A reader in Python stands for the callback through which Lance hears of Ctrl-C.
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": [1]})
        raise KeyboardInterrupt

    reader = pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), batches())
    with pytest.raises(KeyboardInterrupt), map_errors("the-index", "reading"):
        reader.read_all()


def test_a_long_message_is_cut_to_one_line() -> None:
    with pytest.raises(IndexFormatError) as caught, map_errors("the-index", "reading"):
        raise ValueError("line\n" * 500)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
