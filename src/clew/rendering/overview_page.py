"""The contents of an index as an HTML fragment for a notebook; no script, nothing from elsewhere."""

from collections.abc import Mapping
from typing import Any

from clew.rendering.evidence_page import wrap_fragment
from clew.rendering.markup import escape_line
from clew.text.counts import format_count


def render_overview(name: str, overview: Mapping[str, Any]) -> str:
    """Return an overview, as of `IndexOverview.to_dict`, of an index of a name as an HTML fragment."""
    kinds = {"documents": "document", "passages": "passage", "entities": "entity", "facts": "fact"}
    counts = ", ".join(format_count(overview[kind], noun) for kind, noun in kinds.items())
    made = [f"version {overview['version']}", f"encoder {overview['encoder']}", f"extractor {overview['extractor']}"]
    parts = [
        f"<h1>{escape_line(name)}</h1>",
        f"<p>{counts}</p>",
        f"<p><small>{escape_line(', '.join(made))}</small></p>",
        *_line("Languages", overview["languages"]),
        *_line("Graphs", overview["graphs"]),
        *_line("Fields for where", [_describe_field(field) for field in overview["fields"]]),
        *_line("Mentioned most", [f"{each['name']} ({each['passages']:,})" for each in overview["largest"]]),
    ]
    return wrap_fragment(parts)


def _line(label: str, values: list[str]) -> list[str]:
    return [f"<p>{label}: {escape_line(', '.join(values))}</p>"] if values else []


def _describe_field(field: Mapping[str, Any]) -> str:
    return f"{field['name']} ({', '.join(field['kinds'])}; {', '.join(field['examples'])})"
