"""Options of the server."""

from dataclasses import dataclass
from pathlib import Path

from clew.text.counts import MEBIBYTE


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Limits and rights; every one has an option of `clew serve`."""

    max_body: int = MEBIBYTE  # bytes of a request that is no upload
    max_upload: int = 64 * MEBIBYTE  # bytes of an upload
    max_files: int = 100  # files of an upload
    workers: int = 0  # questions answered at once; 0 for one a core
    queue: int | None = None  # questions that wait; None for four for each that is answered at once
    deadline: float = 30.0  # seconds for an answer
    rate: int = 0  # requests a minute of one key, or of one address without keys; 0 for no limit
    max_open: int = 32  # indexes that are open at once
    poll: float = 1.0  # seconds after which a question looks for a newer version of its index
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")  # names under which the server may be asked
    models: tuple[str, ...] = ()  # language models that `ask` may use, `provider:name`
    write: bool = True  # whether documents may be added and removed at all
    state: Path | None = None  # folder of uploads; None for one beside each index
    audit: Path | None = None  # log of who asked which index
