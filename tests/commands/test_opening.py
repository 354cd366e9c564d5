"""Options that become settings of retrievers."""

import pytest

from clew.commands.opening import add_options
from clew.errors import InputError


def test_options_go_to_every_retriever_that_takes_them() -> None:
    given: dict[str, str | int | None] = {"rerank": "llm:openai:x", "rerank_depth": 7, "steps": 2, "base": None}
    named = add_options(["bm25", "gear:base=fused"], given)
    assert named == [
        "bm25:rerank=llm:openai:x,rerank_depth=7",
        "gear:base=fused,rerank=llm:openai:x,rerank_depth=7,steps=2",
    ]
    assert add_options(["bm25"], {"rerank": None, "rerank_depth": None}) == ["bm25"]
    with pytest.raises(InputError, match="--steps is for"):
        add_options(["bm25"], given)
    with pytest.raises(InputError, match=r"--rerank is 'cross-encoder:a,b', and a comma"):
        add_options(["bm25"], {"rerank": "cross-encoder:a,b"})
