"""GraphML: a node for each entity with its name as `label`, an edge for each triple with its `relation`.

`clew kg import` reads the same triples back, and networkx the same graph.

Source: Brandes et al., "GraphML Progress Report" (2002). Differs from the source: nothing.
"""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from clew.graph.exports.view import GraphView

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML cannot hold
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="relation" for="edge" attr.name="relation" attr.type="string"/>
<key id="passages" for="edge" attr.name="passages" attr.type="string"/>
<graph edgedefault="directed">
"""


def write_graphml(view: GraphView) -> Iterator[str]:
    """Yield the pieces of the file; ids of passages are joined by spaces, and nodes go by their names."""
    labels = list(view.labels())
    ids = [quoteattr(_clean(label), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}) for label in labels]
    yield _HEAD
    for id_, label in zip(ids, labels, strict=True):
        yield f'<node id={id_}><data key="label">{escape(_clean(label))}</data></node>\n'
    for number, edge in enumerate(view.edges()):
        passages = f'<data key="passages">{escape(_clean(" ".join(edge.passages)))}</data>' if edge.passages else ""
        relation = f'<data key="relation">{escape(_clean(edge.relation))}</data>'
        yield f'<edge id="{number}" source={ids[edge.head]} target={ids[edge.tail]}>{relation}{passages}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
