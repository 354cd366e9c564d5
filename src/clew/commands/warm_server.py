"""A running `clew serve` of the same index, asked in place of opening the index: the same output, sooner.

Only a server of this user on this machine, with the same settings and the same Clew, is asked, and only what it honours
in full; whatever goes wrong, the command goes on by itself.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

from clew.commands.output import print_note
from clew.server.local_questions import (
    PROOF_PATH,
    QUESTIONS_PATH,
    TOKEN_HEADER,
    LocalQuestion,
    LocalResult,
    decode_record,
)
from clew.server.local_server import LocalServer, find_server, forget_server, prove

if TYPE_CHECKING:
    from clew.settings import Settings

_GREETING_SECONDS, _ANSWER_SECONDS = 2.0, 120.0
_OK = 200


class WarmServer:
    """A server that has proved that it knows the token, over a connection that stays open for the questions."""

    def __init__(self, server: LocalServer, connection: HTTPConnection) -> None:
        self._server = server
        self._connection = connection
        self._noted = False

    def ask(self, question: LocalQuestion) -> LocalResult | None:
        """Return the result of a question, None where the server cannot answer it: the command then does.

        The first result is noted on standard error.
        """
        for may_retry in (True, False):
            try:
                result = self._send(question)
            except (OSError, HTTPException):
                if may_retry and self._connect_again():
                    continue
                return None
            except (ValueError, KeyError, TypeError):
                return None
            if result is not None and not self._noted:
                self._noted = True
                print_note(f"asked clew serve, process {self._server.process}; --no-server opens the index here")
            return result
        return None

    def _send(self, question: LocalQuestion) -> LocalResult | None:
        headers = {TOKEN_HEADER: self._server.token, "Content-Type": "application/json"}
        path = f"{QUESTIONS_PATH}?index={self._server.index}"
        self._connection.request("POST", path, json.dumps(asdict(question)), headers)
        reply = self._connection.getresponse()
        body = reply.read()
        if reply.status != _OK:
            return None
        result: LocalResult = decode_record(LocalResult, json.loads(body))
        return result

    def _connect_again(self) -> bool:
        """Connect again where the server has closed a connection that was idle; it proves the token again."""
        self._connection.close()
        try:
            return _connect(self._server, self._connection)
        except (OSError, HTTPException, ValueError):
            return False


@contextmanager
def open_warm_server(location: str, settings: "Settings") -> Iterator[WarmServer | None]:
    """Yield the server of an index that commands may use, None where there is none."""
    server = None
    if settings.server == "on" and settings.question_names == "rules":
        server = find_server(location, hash_search_settings(settings))
    if server is None:
        yield None
        return
    with closing(HTTPConnection(server.host, server.port, timeout=_GREETING_SECONDS)) as connection:
        try:
            is_proved = _connect(server, connection)
        except ConnectionRefusedError:
            forget_server(location, server)
            is_proved = False
        except (OSError, HTTPException, ValueError):
            is_proved = False
        yield WarmServer(server, connection) if is_proved else None


def _connect(server: LocalServer, connection: HTTPConnection) -> bool:
    """Connect, and return whether who listens knows the token; the connection then waits longer, for answers."""
    connection.auto_open = 0  # no question goes over a connection without a proof
    connection.timeout = _GREETING_SECONDS
    connection.connect()
    nonce = secrets.token_hex(16)
    connection.request("GET", f"{PROOF_PATH}?nonce={nonce}")
    reply = connection.getresponse()
    proof = json.loads(reply.read(1_000))
    if not isinstance(proof, dict):
        return False
    if connection.sock is not None:
        connection.sock.settimeout(_ANSWER_SECONDS)
    return secrets.compare_digest(str(proof.get("proof")).encode(), prove(server.token, nonce).encode())


def hash_search_settings(settings: "Settings") -> str:
    """Return a hash of the settings that may change what is found and that a question does not bring along."""
    from hashlib import blake2b

    text = settings.model_dump_json(exclude={"index", "k", "model", "retriever", "server"})
    return blake2b(text.encode(), digest_size=16).hexdigest()
