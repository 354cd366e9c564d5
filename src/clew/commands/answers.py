"""Output of `clew search` and `clew ask`: JSON of a fixed shape for programs, short text for people."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clew.commands.output import print_heading, print_line, print_marked, print_usage
from clew.rendering.markup import plain_line
from clew.text.display import escape_control, format_count
from clew.text.normalization import name_key
from clew.types import AgentStep, Answer, Evidence, Path, Place, SentenceChain

_READ_QUOTES = "No answer is clear; the sentences that fit best:"
_NO_USABLE_REPLY = "No answer: no reply of the language model can be used."
_MAX_VALUES = 5
_MAX_PATHS = 10
_MAX_CHAINS = 3
_MAX_OTHERS = 5


def evidence_json(question: str, retriever: str, evidence: Evidence) -> dict[str, Any]:
    """Return evidence in the shape of `clew search --json`."""
    return {"question": question, "retriever": retriever, **evidence.to_dict()}


def answer_json(question: str, retriever: str, answer: Answer) -> dict[str, Any]:
    """Return an answer in the shape of `clew ask --json`."""
    shape = {"question": question, "retriever": retriever, **answer.to_dict()}
    return {**shape, "evidence": evidence_json(question, retriever, answer.evidence)}


def print_evidence(evidence: Evidence, question: str = "") -> None:
    """Print ranked passages, each by what of it speaks to the question, then the paths that lead to them."""
    from clew.rendering.snippets import SnippetMaker

    snippets = SnippetMaker(question, evidence)
    for rank, scored in enumerate(evidence.passages, 1):
        passage = scored.item
        snippet = snippets.make(passage)
        place = passage.place_at(snippet.start or 0) or Place()
        if snippet.start is None:
            place = replace(place, line=None)
        if place.heading == passage.title:
            place = replace(place, heading="")
        where = f", {place}" if str(place) else ""
        where += f"; {passage.time}, {passage.time.source}" if passage.time else ""
        print_heading(f"{rank}. {passage.title or passage.id}  [{passage.id}{where}]  {scored.score:.4f}")
        print_marked("   ", snippet.text, snippet.marks)
    if evidence.paths:
        print_line("\nHow they connect:" if evidence.passages else "Paths:")
    for path in evidence.paths[:_MAX_PATHS]:
        print_line(f"  {_format_path(path.item)}")
    if len(evidence.paths) > _MAX_PATHS:
        print_line(f"  ... and {len(evidence.paths) - _MAX_PATHS} more (--json has them all)")
    _print_chains(evidence, _MAX_CHAINS)
    _print_notes(evidence.notes)
    print_usage(evidence.usage)


def print_steps(steps: Sequence[AgentStep]) -> None:
    """Print what an agent did, step by step."""
    for number, step in enumerate(steps, 1):
        usage = step.usage
        tokens = f"{usage.input_tokens} + {usage.output_tokens} tokens"
        cost = f"{usage.seconds:.2f} s, {format_count(usage.calls, 'call')}, {tokens}"
        print_line(f"\nStep {number} ({cost}): {step.query}")
        for label, values in (("read", step.read), ("linked", step.linked), ("noted", step.gist), ("new", step.new)):
            if values:
                more = f"; ... ({len(values)})" if len(values) > _MAX_VALUES else ""
                print_line(f"  {label}: {'; '.join(values[:_MAX_VALUES])}{more}")
        print_line(f"  {step.verdict}{f': {step.reasoning}' if step.reasoning else ''}")


class StreamingAnswer:
    """Prints an answer while it is written; `shown` is the text on the terminal."""

    def __init__(self) -> None:
        self.shown = ""

    def __call__(self, text: str) -> None:
        """Print the new part of a text; a text with another beginning gets a new line."""
        if not text.startswith(self.shown):
            sys.stdout.write("\n")
            self.shown = ""
        sys.stdout.write(escape_control(text[len(self.shown) :]))
        sys.stdout.flush()
        self.shown = text


def print_answer(answer: Answer, stream: StreamingAnswer | None = None) -> None:
    """Print an answer that `stream` has not shown yet, its citations, other candidates and paths.

    If a language model failed, the evidence is printed in place of an answer.
    """
    shown = "" if stream is None else stream.shown
    if shown:
        sys.stdout.write("\n")
    if not shown or " ".join(shown.split()) != answer.text:
        print_line(answer.headline or (_NO_USABLE_REPLY if answer.failure else _no_answer(answer)))
    if answer.failure:
        print_evidence(replace(answer.evidence, notes=(*answer.evidence.notes, *answer.notes)))
        return
    for number, citation in enumerate(answer.citations, 1):
        where = str(citation.place) if citation.place else f"characters {citation.start}-{citation.end}"
        time = citation.time
        dated = f"; {time}, {time.source}" if time is not None and time.source != "text" else ""
        place = f"{citation.document_id}, {where}{dated}"
        print_line(f"\n[{number}] {citation.title or citation.document_id} ({place})")
        quote = f"\u201c{plain_line(citation.quote)}\u201d"
        at = quote.find(answer.text) if answer.text and number == 1 else -1
        print_marked("    ", quote, [(at, at + len(answer.text))] if at >= 0 else [])
    for other in answer.others:
        print_line(f"\n{other}  [{other.citation.passage_id}]")
        print_line(f"    \u201c{plain_line(other.citation.quote)}\u201d")
    if others := _other_candidates(answer):
        print_line(f"\nOther candidates: {', '.join(others)}")
    if answer.evidence.paths:
        print_line("\nHow the passages connect:" if answer.evidence.passages else "\nThe paths it stands on:")
        for path in answer.evidence.paths[:3]:
            print_line(f"  {_format_path(path.item)}")
    _print_chains(answer.evidence, 1)
    _print_notes(answer.notes)
    print_usage(answer.evidence.usage + answer.usage)


def _other_candidates(answer: Answer) -> list[str]:
    """Return the first candidates beside those of the headline, neither part of one nor longer than the answer."""
    headline, text = answer.headline.casefold(), answer.text.casefold()
    keys = ((c.item, c.item.casefold()) for c in answer.candidates)
    return [item for item, key in keys if key not in headline and not (text and text in key)][:_MAX_OTHERS]


def _no_answer(answer: Answer) -> str:
    return _READ_QUOTES if answer.citations else "No answer: the evidence does not hold one."


def _format_path(path: Path) -> str:
    # No passage states what an imported graph alone holds.
    sources = [f"  ({', '.join(t.passages)})" if t.passages else "" for t in path]
    ends = [(_with_name(t.head, t.head_name), _with_name(t.tail, t.tail_name)) for t in path]
    return "\n    ".join(
        f"{head} --[{t.relation}]--> {tail}{source}"
        for t, (head, tail), source in zip(path, ends, sources, strict=True)
    )


def _with_name(written: str, name: str) -> str:
    """Return an end of a triple as its passage writes it, with the name of its entity where that is another."""
    return f"{written} [{name}]" if name and name_key(name) != name_key(written) else written


def _print_chains(evidence: Evidence, count: int) -> None:
    for number, chain in enumerate(evidence.chains[:count], 1):
        print_line(f"\nChain {number} of {len(evidence.chains)}:" if count > 1 else "\nThe chain of sentences:")
        print_line(f"  {_format_chain(chain.item)}")


def _format_chain(chain: SentenceChain) -> str:
    quotes = [
        f"{c.title or c.document_id}: \u201c{plain_line(c.quote)}\u201d  ({c.passage_id})" for c in chain.sentences
    ]
    return "\n    ".join(
        [quotes[0], *(f"by {name}: {quote}" for name, quote in zip(chain.bridges, quotes[1:], strict=True))]
    )


def _print_notes(notes: tuple[str, ...]) -> None:
    if notes:
        print_line("\n" + "\n".join(f"note: {' '.join(note.split())}" for note in notes))
