"""A language model whose replies a test defines; it records its prompts."""

from collections.abc import Callable, Sequence
from typing import Any

from clew.types import Failure, Prompt, Reply, Usage

COST = Usage(0.5, 1, 100, 10, 0.01)


class ScriptedModel:
    """Answers each prompt by a function of the test.

    Args:
        script: Given a prompt, the value of its reply as JSON has it, or the failure.
    """

    name = "scripted:model"

    def __init__(self, script: Callable[[Prompt], dict[str, Any] | Failure]) -> None:
        self.prompts: list[Prompt] = []
        self.batch_sizes: list[int] = []
        self._script = script

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        self.batch_sizes.append(len(prompts))
        self.prompts += prompts
        results: list[Reply | Failure] = []
        for prompt in prompts:
            output = self._script(prompt)
            if isinstance(output, Failure):
                results.append(output)
                continue
            reply = Reply(prompt.reply.model_validate(output), COST)
            if on_text is not None:
                text = reply.value.model_dump_json()
                for end in range(0, len(text) + 1, 3):
                    on_text(text[:end])
                on_text(text)
            results.append(reply)
        return results
