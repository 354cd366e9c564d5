"""A script that remembers, merges and forgets, and prints each thing that is done when it is acknowledged."""

import sys

from clew.memory import Memory

NEVER = 10**9
TEXTS = {
    name: f"{name.capitalize()} bought a {thing}."
    for name, thing in (("anna", "lamp"), ("bert", "boat"), ("cora", "rope"), ("dora", "sail"), ("emil", "oar"))
}


def remember(memory: Memory, name: str) -> None:
    """Store the turn of a user."""
    memory.remember(TEXTS[name], user=name, time="2024-04-02", id=name)
    print(f"remembered {name}", flush=True)


def main() -> None:
    """Hold the conversation with the memory in the folder that is the last argument."""
    memory = Memory(sys.argv[-1], merge_turns=NEVER, merge_seconds=NEVER)
    remember(memory, "bert")
    remember(memory, "cora")
    memory.forget(user="anna")  # is merged already
    print("forgot anna", flush=True)
    memory.merge()
    remember(memory, "dora")
    remember(memory, "emil")
    memory.forget(id="emil")  # waits
    print("forgot emil", flush=True)
    memory.forget(id="bert", shred=True)
    print("forgot bert", flush=True)
    memory.close()


if __name__ == "__main__":
    main()
