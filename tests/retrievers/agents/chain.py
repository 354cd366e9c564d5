"""A question over the example corpus that needs four articles, with the facts and queries of a good reader."""

from itertools import pairwise

from clew.index import Index
from clew.protocols import AgentReader
from clew.retrievers.agents.gear import GearAgent, GearSettings
from clew.retrievers.agents.settings import build_expansion
from clew.retrievers.registry import open_retriever
from clew.types import Fact
from clew_lab.retrievers.graph_expansion import NaiveGE

QUESTION = "Who gave a whaling museum to the town where the ship was built on which Perce Blackborow stowed away?"
GOLD = ("perce-blackborow.md", "endurance.md", "framnaes-shipyard.md", "sandefjord.md")
QUERIES = (QUESTION, "Where was the Endurance built?", "Framnæs shipyard town", "whaling museum of Sandefjord")
FACTS = {
    QUERIES[0]: (Fact("Perce Blackborow", "stowed away on", "Endurance"),),
    QUERIES[1]: (Fact("Endurance", "was built at", "Framnæs shipyard"),),
    QUERIES[2]: (Fact("Framnæs shipyard", "lay in", "Sandefjord"),),
    QUERIES[3]: (Fact("Sandefjord whaling museum", "was given by", "Lars Christensen"),),
}
NEXT_QUERIES = dict(pairwise(QUERIES))


def make_gear_agent(
    index: Index, reader: AgentReader, settings: GearSettings | None = None, base: str = "bm25"
) -> GearAgent:
    """Return an agent over an index with a given reader."""
    parts = index.context.with_paths_per_passage(0)
    return GearAgent(
        open_retriever(base, parts), build_expansion(parts, NaiveGE(base=base)), reader, settings or GearSettings()
    )
