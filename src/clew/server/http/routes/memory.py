"""`POST /v1/{index}/remember`, `recall` and `forget`: a memory of conversations."""

from fastapi import APIRouter

from clew.server import questions, records
from clew.server.http.problems import POSING, WRITING
from clew.server.http.state import RequestOfIndex

router = APIRouter(prefix="/v1/{index}", tags=["memory"])
_STORING = POSING | WRITING


@router.post("/remember", summary="Store a turn of a conversation", responses=_STORING)
async def remember(call: RequestOfIndex, body: records.RememberRequest) -> records.Remembered:
    """Store a turn; the answer comes when it is on disk and the next question finds it, in milliseconds."""
    call.check_writing()
    stored = await call.run_in_pool(lambda: call.state.memories.remember(call.index, call.access, body))
    return records.Remembered(index=call.index, id=stored)


@router.post("/recall", summary="Find what was said", responses=POSING)
async def recall(call: RequestOfIndex, body: records.RecallRequest) -> records.Recalled:
    """Return the turns that bear on a question, of those that the key may see."""
    call.check()

    def work() -> records.Recalled:
        found = call.state.memories.recall(call.index, call.access, body)
        return records.Recalled(index=call.index, question=body.question, **questions.view_found(found))

    return await call.run_in_pool(work)


@router.post("/forget", summary="Remove turns", responses=_STORING)
async def forget(call: RequestOfIndex, body: records.ForgetRequest) -> records.Forgotten:
    """Remove all turns of a user, a session or an id; the answer comes when the index is without them, in seconds."""
    call.check_writing()
    turns = await call.run_in_pool(lambda: call.state.memories.forget(call.index, call.access, body))
    return records.Forgotten(index=call.index, turns=turns)
