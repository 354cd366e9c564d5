"""Options of the server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from clew.text.display import MEBIBYTE


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Limits, places and rights; those with a description are options of `clew serve`."""

    workers: Annotated[int, Field(ge=0, le=1024, description="Questions answered at once; 0 for one a core.")] = 0
    queue: Annotated[
        int | None, Field(ge=0, description="Questions that wait, 4 a worker by default; one more gets 429.")
    ] = None
    deadline: Annotated[float, Field(ge=0.1, le=86_400, description="Seconds for an answer.")] = 30.0
    rate: Annotated[int, Field(ge=0, description="Requests a minute of one key; 0 for no limit.")] = 0
    max_upload: Annotated[int, Field(ge=1, le=1_048_576, description="Maximum size of an upload, in MiB.")] = 64
    max_open: Annotated[
        int, Field(ge=1, le=10_000, description="Indexes that are open at once; the others open when asked.")
    ] = 32
    state: Annotated[Path | None, Field(description="Folder of uploads; else one beside each index.")] = None
    audit: Annotated[
        Path | None, Field(alias="audit_log", description="Log of who asked which index, without texts.")
    ] = None

    max_body: int = MEBIBYTE  # bytes of a request that is no upload
    max_files: int = 100  # files of an upload
    poll: float = 1.0  # seconds after which a question looks for a newer version of its index
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")  # names under which the server may be asked
    models: tuple[str, ...] = ()  # language models that `ask` may use, `provider:name`
    write: bool = True  # whether documents may be added and removed at all
