"""`/local/...`: questions of commands of the same user on the same machine, which know the server's token."""

import hmac
import json
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from clew.server.access import note_index
from clew.server.http.state import CallerAccess, State, run_unless_left
from clew.server.local_questions import (
    PROOF_PATH,
    QUESTIONS_PATH,
    TOKEN_HEADER,
    LocalQuestion,
    answer_question,
    decode_record,
    encode_result,
)
from clew.server.local_server import prove
from clew.server.refusals import Refusal


def make_router(token: str) -> APIRouter:
    """Return the routes for commands that know a token; they are no part of the described interface."""
    router = APIRouter(include_in_schema=False)

    @router.get(PROOF_PATH)
    async def show_proof(nonce: Annotated[str, Query(min_length=16, max_length=128)]) -> dict[str, str]:
        return {"proof": prove(token, nonce)}

    @router.post(QUESTIONS_PATH)
    async def answer(
        request: Request,
        index: str,
        state: State,
        access: CallerAccess,
        given: Annotated[str, Header(alias=TOKEN_HEADER, max_length=200)] = "",
    ) -> Response:
        if not hmac.compare_digest(given.encode(), token.encode()):
            raise Refusal(403, "this address is for commands of the user who runs the server", "token")
        note_index(request.scope, index)
        try:
            asked: LocalQuestion = decode_record(LocalQuestion, json.loads(await request.body()))
        except (ValueError, KeyError, TypeError) as error:
            raise Refusal(400, "the question has another form than this version of Clew reads", "input") from error
        access.check_index(index)
        state.indexes.check(index)

        def work() -> bytes:
            state.indexes.refresh(index)  # a command by itself would open the newest version
            with state.indexes.lease(index) as version:
                if not version.index.table.is_newest:  # gone, or another one stands there
                    raise Refusal(503, f"the newest version of {index} cannot be opened", "unreadable")
                return json.dumps(encode_result(answer_question(version, asked))).encode()

        return Response(await run_unless_left(request, state.pool, work), media_type="application/json")

    return router
