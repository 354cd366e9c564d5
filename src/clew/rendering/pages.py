"""Evidence and answers as HTML: a page of its own, and a fragment for a notebook; no script, nothing from elsewhere."""

from collections.abc import Iterable

from clew.rendering.drawing import Card, arrange_columns
from clew.rendering.markup import escape_line, escape_text, plain_text, strip_links
from clew.types import AgentStep, Answer, Citation, Evidence, Passage

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = (
    ".clew{color-scheme:light dark;--ground:#faf9f6;--panel:#fff;--ink:#20262b;--soft:#5a646c;--line:#dcd9d2;"
    "--mark:#fbe6a2;--accent:#0b6666;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif;"
    "padding:1rem;overflow-wrap:anywhere}@media(prefers-color-scheme:dark){.clew{--ground:#15191c;--panel:#1d2326;"
    "--ink:#e8e5de;--soft:#a9b1b5;--line:#384146;--mark:#5a4a12;--accent:#7fcfc4}}"
    ".clew>*{max-width:42rem;margin-inline:auto}.clew h1{font-size:1.4rem}.clew h2{font-size:1.05rem;margin-block:"
    "1.8rem .6rem}.clew h3{font-size:1rem;margin:0}.clew p{margin-block:.4rem;white-space:pre-wrap}.clew small{color:"
    "var(--soft)}.clew mark{background:var(--mark);color:inherit;border-radius:3px}.clew .answer{font-size:1.15rem;"
    "font-weight:600}.clew article,.clew .card{background:var(--panel);border:1px solid var(--line);border-radius:10px;"
    "box-sizing:border-box;padding:.7rem 1rem}.clew article{margin-block:.7rem}.clew .hops{list-style:none;padding:0;"
    "margin-block:.3rem 1.2rem}.clew .hops li{margin:0}.clew .hops li+li{margin-top:.6rem}.clew .hops "
    ".hop{margin:-.3rem 0 .3rem 1.6rem;border-left:2px solid var(--accent);"
    "padding:.35rem .8rem}.clew .hops b{font-weight:600}.clew .hops small{margin-left:.6rem}"
)


def render_evidence(evidence: Evidence, question: str = "") -> str:
    """Return evidence as an HTML fragment: how it connects, passages with marked quotes, notes, steps."""
    return _wrap(_title(question), _evidence_parts(evidence, ()))


def render_answer(answer: Answer, question: str = "") -> str:
    """Return an answer as an HTML fragment: its text, then its evidence with the citations marked."""
    shown = answer.headline or "The evidence does not hold an answer."
    parts = [*_title(question), f'<p class="answer">{escape_text(shown)}</p>']
    quote = plain_text(answer.citations[0].quote) if answer.citations else ""
    if answer.text and answer.text in quote:
        before, after = map(escape_text, quote.split(answer.text, 1))
        parts.append(f"<blockquote>{before}<b>{escape_text(answer.text)}</b>{after}</blockquote>")
    if answer.weak and answer.text:
        parts.append("<p><small>The evidence supports this only weakly.</small></p>")
    parts += [
        f"<p><small>{escape_line(str(one))}</small></p><blockquote>{escape_line(plain_text(one.citation.quote))}</blockquote>"
        for one in answer.others
    ]
    own = [note for note in answer.notes if note not in answer.evidence.notes]
    return _wrap([*parts, *_notes(own)], _evidence_parts(answer.evidence, answer.citations))


def render_page(fragment: str, title: str) -> str:
    """Return an HTML document of one file around a fragment; its policy forbids scripts and requests."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape_line(title)}</title><style>html{{color-scheme:light dark}}body{{margin:0}}"
        f".clew{{min-height:100vh;box-sizing:border-box}}</style></head>\n<body>\n{fragment}\n</body></html>"
    )


def mark_quotes(passage: Passage, quotes: Iterable[Citation]) -> str:
    """Return the text of a passage as HTML, with the quotes from it marked; those that overlap are one."""
    spans = sorted((q.start - passage.start, q.end - passage.start) for q in quotes if q.passage_id == passage.id)
    pieces, place = [], 0
    for start, end in spans:
        begin, stop = max(place, start), min(end, len(passage.text))
        if begin < stop:
            pieces += [_plain(passage.text[place:begin]), f"<mark>{_plain(passage.text[begin:stop])}</mark>"]
            place = stop
    return "".join([*pieces, _plain(passage.text[place:])])


def _plain(text: str) -> str:
    return escape_text(strip_links(text.replace("\r\n", "\n").replace("\r", "\n")))


def _wrap(*parts: Iterable[str]) -> str:
    body = "\n".join(piece for group in parts for piece in group)
    return f'<div class="clew"><style>{_STYLE}</style>\n{body}\n</div>'


def _title(question: str) -> list[str]:
    return [f"<h1>{escape_line(question)}</h1>"] if question else []


def _evidence_parts(evidence: Evidence, citations: Iterable[Citation]) -> list[str]:
    quotes = [*citations, *(sentence for chain in evidence.chains for sentence in chain.item.sentences)]
    parts = _hop_lists(evidence) if evidence.chains or evidence.paths else []
    if evidence.passages:
        parts.append("<h2>Passages</h2>")
    for rank, scored in enumerate(evidence.passages, 1):
        passage = scored.item
        heading = f"{rank}. {escape_line(passage.title or passage.document_id)}"
        time = f" · {escape_line(f'{passage.time}, {passage.time.source}')}" if passage.time else ""
        source = f"<small>{escape_line(passage.id)}{time} · score {scored.score:.4f}</small>"
        parts.append(f"<article><h3>{heading}</h3>{source}<p>{mark_quotes(passage, quotes)}</p></article>")
    if not (evidence.passages or evidence.paths or evidence.chains):
        parts.append("<p>Nothing was found.</p>")
    return [*parts, *_notes(evidence.notes), *_steps(evidence.steps)]


def _hop_lists(evidence: Evidence) -> list[str]:
    parts = ["<h2>How it connects</h2>"]
    for column in arrange_columns(evidence):
        items = "".join(f"<li>{_card(card)}</li>" for card in column.cards)
        parts.append(f'<div><small>{escape_line(column.heading)}</small><ol class="hops">{items}</ol></div>')
    return parts


def _card(card: Card) -> str:
    arrow = ""
    if card.hop is not None:
        sign = "↓" if card.hop.downward else "↑"
        arrow = f'<div class="hop">{sign} {escape_line(card.hop.label)}</div>'
    source = f"<small>{escape_line(card.source)}</small>" if card.source and card.source != card.title else ""
    text = f"<br>{escape_line(card.text)}" if card.text else ""
    return f'{arrow}<div class="card"><b>{escape_line(card.title)}</b>{source}{text}</div>'


def _notes(notes: Iterable[str]) -> list[str]:
    return [f"<p><small>Note: {escape_line(note)}</small></p>" for note in notes]


def _steps(steps: Iterable[AgentStep]) -> list[str]:
    items = [
        f"<li>{escape_line(step.query)}<br><small>{escape_line(step.verdict)}"
        f"{f': {escape_line(step.reasoning)}' if step.reasoning else ''}</small></li>"
        for step in steps
    ]
    return ["<h2>Steps</h2>", f"<ol>{''.join(items)}</ol>"] if items else []
