"""Looking at one version of an index, within what a key may see: its documents, passages, entities and paths."""

from heapq import merge
from itertools import islice

import numpy as np

from clew.arrays import BoolArray, sort_distinct
from clew.query.graph_browsing import GraphBrowser, StatedEdge
from clew.query.scope import Scope
from clew.server import records
from clew.server.access import Access
from clew.server.open_indexes import OpenVersion
from clew.server.refusals import Refusal, unknown
from clew.types import Filter

_SETTINGS = ("encoder", "extractor", "passage_tokens", "passage_overlap", "sentences", "aliases")
_MAX_PASSAGES = 1_000  # ids of an entity's passages


def allowed_passages(version: OpenVersion, access: Access) -> tuple[Filter | None, BoolArray]:
    """Return the filter of a key, and the passages (P,) that it allows."""
    where = access.restrict(None, version.scope)
    return where, version.scope.mask(where)


def describe_index(version: OpenVersion, access: Access) -> records.IndexStats:
    """Return counts of what a key may see."""
    where, allowed = allowed_passages(version, access)
    snapshot, blocked = version.index.snapshot, version.scope.blocked_triples(where)
    triples = snapshot.triples if blocked is None else snapshot.triples[~blocked]
    stored = version.index.table.settings
    return records.IndexStats(
        index=version.name,
        version=version.number,
        documents=int(version.documents.visible(allowed).sum()),
        passages=int(allowed.sum()),
        entities=version.browser.count_visible(where),
        relations=len(sort_distinct(triples[:, 1])),
        triples=len(triples),
        filtered=access.where is not None,
        settings={name: stored[name] for name in _SETTINGS if name in stored},
    )


def find_passage(version: OpenVersion, access: Access, passage_id: str) -> records.PassageView:
    """Return a passage with its neighbours; one that the key may not see is a Refusal (404)."""
    where, allowed = allowed_passages(version, access)
    snapshot, browser = version.index.snapshot, version.browser
    position = visible_position(version.scope, passage_id, allowed)
    number = version.documents.find(snapshot.document_ids[position])
    assert number is not None
    together = [p for p in version.documents.passages(number) if allowed[p]]
    place = together.index(position)
    before = snapshot.passage(together[place - 1]) if place else None
    after = snapshot.passage(together[place + 1]) if place + 1 < len(together) else None
    return records.PassageView(
        **records.Passage.model_validate(snapshot.passage(position)).model_dump(),
        index=version.name,
        version=version.number,
        previous=None if before is None else records.Passage.model_validate(before),
        next=None if after is None else records.Passage.model_validate(after),
        document=[snapshot.passage_ids[p] for p in together],
        entities=[records.EntitySummary.model_validate(match) for match in browser.passage_entities(position, where)],
        relations=[_view_edge(edge, browser, where) for edge in browser.passage_facts(position, where)],
    )


def visible_position(scope: Scope, passage_id: str, allowed: BoolArray) -> int:
    """Return the position of a passage; one that does not exist or is not allowed (P,) is a Refusal (404)."""
    snapshot = scope.snapshot
    position = snapshot.position(passage_id)
    exists = position < len(snapshot.passage_ids) and snapshot.passage_ids[position] == passage_id
    if not exists or not allowed[position]:
        raise unknown("passage", passage_id)
    return position


def check_removable(version: OpenVersion, access: Access, document_id: str) -> None:
    """Refuse (404) to remove a document of which the key does not see every passage."""
    _, allowed = allowed_passages(version, access)
    number = version.documents.find(document_id)
    if number is None or not all(allowed[p] for p in version.documents.passages(number)):
        raise unknown("document", document_id)


def find_entities(version: OpenVersion, access: Access, text: str, limit: int) -> records.EntityList:
    """Return the entities whose names contain a text."""
    where, _ = allowed_passages(version, access)
    matches, truncated = version.browser.search(text, limit, where)
    found = [records.EntitySummary.model_validate(match) for match in matches]
    return records.EntityList(index=version.name, version=version.number, entities=found, truncated=truncated)


def find_entity(version: OpenVersion, access: Access, name: str, limit: int) -> records.Entity:
    """Return the entity of an id or a name, with its facts and passages, at most `limit` facts."""
    where, _ = allowed_passages(version, access)
    browser = version.browser
    position = _visible_entity(version, name, where)
    degree = browser.count_facts(position, where)
    passages = browser.mentioning(position, where)
    return records.Entity(
        **records.EntitySummary.model_validate(browser.match(position, where)).model_dump(),
        index=version.name,
        version=version.number,
        degree=degree,
        relations=[_view_edge(edge, browser, where) for edge in browser.facts(position, where, limit, quotes=True)],
        relations_truncated=degree > limit,
        passage_ids=passages[:_MAX_PASSAGES],
        passages_truncated=len(passages) > _MAX_PASSAGES,
    )


def find_paths(
    version: OpenVersion, access: Access, start: str, end: str, limit: int, max_hops: int
) -> records.PathList:
    """Return the shortest paths between two entities, each an id or a name."""
    where, _ = allowed_passages(version, access)
    browser = version.browser
    first, last = (_visible_entity(version, name, where) for name in (start, end))
    if first == last:
        raise Refusal(400, f"{start!r} and {end!r} are the same entity: name two", "input")
    found, truncated = browser.paths(first, last, where, max_hops, limit)
    paths = [
        records.EntityPath(
            entities=[records.EntitySummary.model_validate(browser.match(entity, where)) for entity in path.entities],
            edges=[_view_edge(edge, browser, where) for edge in path.edges],
        )
        for path in found
    ]
    return records.PathList(
        index=version.name,
        version=version.number,
        start=records.EntitySummary.model_validate(browser.match(first, where)),
        end=records.EntitySummary.model_validate(browser.match(last, where)),
        paths=paths,
        truncated=truncated,
    )


def _visible_entity(version: OpenVersion, name: str, where: Filter | None) -> int:
    position = version.browser.find(name, where)
    if position is None:
        raise unknown("entity", name)
    return position


def list_documents(
    version: OpenVersion,
    access: Access,
    unread: dict[str, tuple[str, str]],
    after: str,
    limit: int,
    text: str = "",
    status: str = "",
) -> records.DocumentPage:
    """Return a page of the documents that the key may see, by id.

    Args:
        version: The version that is read.
        access: What the key may see.
        unread: By id, the reason and the job of files and texts that could not be read.
        after: Only ids greater than this.
        limit: Documents of the page, at most.
        text: Only documents whose id or title contains it, in any case.
        status: Only documents of this status; "" for all.
    """
    _, allowed = allowed_passages(version, access)
    documents, wanted = version.documents, text.casefold()
    visible = np.flatnonzero(documents.visible(allowed))
    extra = [id_ for id_ in sorted(unread) if not _is_visible(version, id_, allowed)]
    is_filtered = bool(text or status)
    first = 0 if is_filtered else int(np.searchsorted(visible, documents.first_after(after))) if after else 0
    ids = merge((documents.id(number) for number in visible[first:].tolist()), extra)
    described = (_describe_document(version, id_, allowed, unread) for id_ in ids if is_filtered or id_ > after)
    if is_filtered:
        listed = [d for d in described if status in ("", d.status) and wanted in f"{d.id}\n{d.title}".casefold()]
        total, page = len(listed), [document for document in listed if document.id > after][: limit + 1]
    else:
        total, page = len(visible) + len(extra), list(islice(described, limit + 1))
    more = page[limit - 1].id if len(page) > limit else None
    return records.DocumentPage(
        index=version.name, version=version.number, total=total, documents=page[:limit], next=more
    )


def _is_visible(version: OpenVersion, document_id: str, allowed: BoolArray) -> bool:
    number = version.documents.find(document_id)
    return number is not None and any(allowed[p] for p in version.documents.passages(number))


def _describe_document(
    version: OpenVersion,
    document_id: str,
    allowed: BoolArray,
    unread: dict[str, tuple[str, str]],
) -> records.Document:
    snapshot, number = version.index.snapshot, version.documents.find(document_id)
    positions = [] if number is None else [p for p in version.documents.passages(number) if allowed[p]]
    reason, job = unread.get(document_id, ("", ""))
    cause = version.extraction_failures.get(document_id, "")
    if not positions:
        return records.Document(
            id=document_id, title="", passages=0, characters=0, status="failed", reason=reason, job=job
        )
    return records.Document(
        id=document_id,
        title=snapshot.titles[positions[0]],
        passages=len(positions),
        characters=max(snapshot.ends[p] for p in positions),
        status="partly failed" if cause or reason else "indexed",
        reason=reason or cause,
        job=job,
    )


def _view_edge(edge: StatedEdge, browser: GraphBrowser, where: Filter | None) -> records.StatedFact:
    """Return an edge of the graph, whose ends have the names that allowed passages give them."""
    head, tail = browser.match(edge.head, where), browser.match(edge.tail, where)
    return records.StatedFact(
        head=head.name,
        relation=edge.relation,
        tail=tail.name,
        head_id=head.id,
        tail_id=tail.id,
        passages=edge.passages,
        imported=edge.imported,
        quotes=edge.quotes,
    )
