"""The contents of an index from Python: its documents, entities, neighbours and facts; a mixin of `Index`."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from clew.index.version import IndexVersion
from clew.plugins.arguments import check_string
from clew.query.contents import GraphContents, IndexedDocument, IndexedDocuments, IndexedEntity, Neighbour
from clew.text.display import format_count
from clew.types import Filter, Triple

if TYPE_CHECKING:
    from clew.query.overview import IndexOverview


class ReadableIndex(IndexVersion):
    """An index whose contents can be read: as a collection of its documents, and as a graph.

    Names, counts and texts under a filter are those that the allowed passages and the imported graphs give.
    """

    @cached_property
    def documents(self) -> IndexedDocuments:
        """The documents by id: sized, sliced and iterated without reading more than is asked for."""
        return IndexedDocuments(self.context.scope)

    def __len__(self) -> int:
        return len(self.documents)

    def __bool__(self) -> bool:
        return True  # an index without documents is still one

    def __iter__(self) -> Iterator[IndexedDocument]:
        return iter(self.documents)

    def __contains__(self, document_id: object) -> bool:
        return document_id in self.documents

    def get(self, document_id: str, where: Filter | None = None) -> IndexedDocument | None:
        """Return the document of an id, None where the index has none, or none within the filter."""
        check_string(document_id, "document_id")
        check_string(where, "where", optional=True)
        documents = self.documents if where is None else self.documents.filter(where)
        return documents.find(document_id)

    def entities(self, text: str = "", where: Filter | None = None) -> Iterator[IndexedEntity]:
        """Yield the entities whose names contain a text, in any case; those that most passages mention come first.

        Memory is a few bytes for each entity, and names are read one by one. Raises InputError where the filter cannot
        be read, or names a field that no passage has.
        """
        check_string(text, "text")
        return self._graph(where).entities(text)

    def neighbours(self, name: str, where: Filter | None = None) -> Iterator[Neighbour]:
        """Yield the entities that a fact joins to an entity, each with the fact, in the order of the index.

        Raises:
            InputError: No entity has that name within the filter, or the filter cannot be read.
        """
        check_string(name, "name")
        return self._graph(where).neighbours(name)

    def triples(
        self, head: str = "", relation: str = "", tail: str = "", where: Filter | None = None
    ) -> Iterator[Triple]:
        """Yield the facts of the index, in its order; a byte for each fact is held, and one fact at a time.

        Args:
            head: Name of the entity that they begin at, "" for any.
            relation: Their relation, in any case; "" for any.
            tail: Name of the entity that they end at, "" for any.
            where: Filter of the passages that state them; those of imported graphs stay.

        Raises:
            InputError: No entity has such a name, or no fact such a relation, within the filter; or it cannot be read.
        """
        for value, label in ((head, "head"), (relation, "relation"), (tail, "tail")):
            check_string(value, label)
        return self._graph(where).triples(head, relation, tail)

    def overview(self) -> "IndexOverview":
        """Return what the index holds: counts, fields for filters, its most frequent entities."""
        from clew.query.overview import describe_contents
        from clew.store.kg_shards import stored_graphs

        graphs = [graph.name for graph in stored_graphs(self.table.iter_shards(["metadata"]))]
        return describe_contents(self.context.scope, self.table.version, self.table.settings, graphs)

    def encoder_note(self) -> str:
        """Return what to do where most of the text is not English and the encoder knows no other language, else ""."""
        from clew.query.overview import describe_foreign_text

        return describe_foreign_text(self.snapshot, str(self.table.settings["encoder"]), self.table.location.name)

    def __repr__(self) -> str:
        """Return the name and the version, and the counts where the index is open already."""
        name, version = self.table.location.name, self.table.version
        if "context" not in vars(self):
            return f"Index({name!r}, version {version})"
        s = self.snapshot
        sizes = {
            "document": len(self),
            "passage": len(s.passage_ids),
            "entity": len(s.entities),
            "fact": len(s.triples),
        }
        counts = ", ".join(format_count(size, noun) for noun, size in sizes.items())
        within = "" if self.selection is None else ", of the passages that a filter allows"
        return f"Index({name!r}, version {version}, {counts}{within})"

    def _graph(self, where: Filter | None) -> GraphContents:
        check_string(where, "where", optional=True)
        return GraphContents(self.context.scope, where)

    def _let_go(self) -> None:
        super()._let_go()
        vars(self).pop("documents", None)
