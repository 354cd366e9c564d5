"""Texts of relations and nodes as G-reasoner reads them: lines of a name, a type, and the content of a passage.

Source: the authors' code of G-reasoner (github.com/RManLuo/gfm-rag, commit 57e3e28), for the lines, and for the form of
names, which its graphs have. Differs from the source: a name of which that form leaves nothing is kept as it is; a
passage stands for a document, under its title, else its id; an encoder reads as much of a text as of any other.
"""

from clew.graph.snapshot.relational_edges import inverse_text, relation_texts
from clew.graph.snapshot.snapshot import Snapshot
from clew.models.validation import replace_surrogates

_MENTIONED = "is_mentioned_in"  # the relation of an entity to a document


def reasoner_relation_texts(snapshot: Snapshot) -> list[str]:
    """Return the texts of the R relations of a snapshot's graphs, then those of their inverses.

    A mention leads from the passage to the entity, and that of the source from the entity to the document.
    """
    *stated, _, equivalent = relation_texts(snapshot)
    plain = [*map(published_name, stated), inverse_text(_MENTIONED), equivalent]
    inverse = [*map(inverse_text, plain[:-2]), _MENTIONED, inverse_text(equivalent)]
    return [f"name: {text}" for text in (*plain, *inverse)]


def reasoner_node_texts(snapshot: Snapshot) -> list[str]:
    """Return the texts of the P passages, then those of the E entities."""
    named = zip(snapshot.titles, snapshot.passage_ids, snapshot.texts, strict=True)
    passages = [f"name: {title or id_}\ntype: document\ncontent: {text}".strip() for title, id_, text in named]
    entities = [f"name: {published_name(name)}\ntype: entity" for name in snapshot.entities]
    return list(map(replace_surrogates, (*passages, *entities)))


def published_name(name: str) -> str:
    """Return a name in lower case with a space for every character but letters and digits of ASCII, and spaces."""
    form = "".join(c if c == " " or (c.isascii() and c.isalnum()) else " " for c in name.lower()).strip()
    return form or name
