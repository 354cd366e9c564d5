"""What a segment holds of a passage, worked out from the passage alone, one Python object a word."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from clew.graph.segments.segment import Segment, Vocabulary
from clew.text.bm25 import count_terms
from clew.text.casing import looks_like_name
from clew.text.normalization import key_hash, name_key, strip_parentheses, token_keys, token_spans
from clew.text.page_text import blank_unread
from clew.text.sentences import passage_sentence_spans
from tests.oracles.sentences import has_enough_letters, text_terms

_HEADING = re.compile(r"^ {0,3}#{2,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_SENTENCE_END = frozenset(".!?:\n\"'“”«»([*#-")


def passage_content(row: Mapping[str, Any], salt: int) -> dict[str, Any]:
    """Return the content of a passage in a segment, in words."""
    title, text = row["title"], blank_unread(row["text"])
    spans = token_spans(text)
    mentions = row["mentions"] or []
    names = [title, strip_parentheses(title), *row["aliases"]] if name_key(title) else []
    headings = _HEADING.findall(row["text"]) if name_key(title) else []
    counts = count_terms([f"{title}\n{text}"])
    return {
        **{name: row[name] for name in ("id", "document_id", "title", "text", "metadata", "document_hash")},
        **{name: row[name] for name in ("ordinal", "start", "end", "document_rows", "extractor")},
        "failed": row["failure"] is not None,
        "document_id_hash": key_hash(row["document_id"], salt),
        "vector": row.get("vector"),
        "mentions": [mention["name"] for mention in mentions],
        "covering": [_covering(mention["start"], mention["end"], spans) for mention in mentions],
        "triples": [(t["head"], t["relation"].strip() or "mentions", t["tail"]) for t in row["triples"] or []],
        "title_key": name_key(title) or None,
        "title_form": title if name_key(title) else None,
        "names": list(dict.fromkeys(key for name in names if (key := name_key(name)))),
        "headings": list(dict.fromkeys(key for name in headings if (key := name_key(name)))),
        "links": _links(row, salt),
        "tokens": list(zip(token_keys(text), (_flags(text, start) for start, _ in spans), strict=True)),
        "terms": dict(zip(counts.hashes[counts.terms].tolist(), counts.counts.tolist(), strict=True)),
        "length": int(counts.lengths[0]),
        "sentences": _sentences(text, spans, mentions),
    }


def segment_content(segment: Segment) -> list[dict[str, Any]]:
    """Return the content of each passage of a segment, in words."""
    return [_content(segment, number) for number in range(len(segment))]


def _content(segment: Segment, number: int) -> dict[str, Any]:
    s, names = segment.passages, segment.names
    key, form = [*names.keys.texts, None], [*names.forms.texts, None]
    relations, words = list(segment.facts.relations.texts), list(segment.tokens.vocabulary.texts)
    tokens, terms = segment.tokens.tokens, segment.terms
    spans = segment.facts.mention_spans[slice(*segment.facts.mentions.indptr[number : number + 2])]
    word_range, term_range = (slice(*indptr[number : number + 2]) for indptr in (tokens.indptr, terms.indptr))
    count = len(tokens.row(number))
    return {
        "id": s.ids[number],
        "document_id": s.document_ids[number],
        "title": s.titles[number],
        "text": s.texts[number],
        "metadata": s.metadata[number],
        "document_hash": s.document_hashes[number],
        "ordinal": s.ordinals[number],
        "start": s.starts[number],
        "end": s.ends[number],
        "document_rows": s.document_rows[number],
        "extractor": s.extractor_names[int(s.extractors[number])],
        "failed": s.failed[number],
        "document_id_hash": s.document_id_hashes[number],
        "vector": s.vectors[number].tolist() if s.vectors.shape[1] else None,
        "mentions": [form[i] for i in segment.facts.mentions.row(number)],
        "covering": [{(a, b) for a in range(count) for b in range(a, count) if a <= i and b >= j} for i, j in spans],
        "triples": [(form[h], relations[r], form[t]) for h, r, t in segment.facts.triples.row(number)],
        "title_key": key[segment.titles.keys[number]],
        "title_form": form[segment.titles.forms[number]],
        "names": [key[i] for i in segment.titles.names.row(number)],
        "headings": [key[i] for i in segment.titles.headings.row(number)],
        "links": [tuple(link) for link in segment.titles.links.row(number).tolist()],
        "tokens": list(
            zip((words[i] for i in tokens.row(number)), segment.tokens.flags[word_range].tolist(), strict=True)
        ),
        "terms": dict(
            zip(terms.hashes[terms.terms[term_range]].tolist(), terms.counts[term_range].tolist(), strict=True)
        ),
        "length": terms.lengths[number],
        "sentences": _stored_sentences(segment, number),
    }


def _stored_sentences(segment: Segment, number: int) -> list[dict[str, Any]]:
    sentences = segment.sentences
    begin, end = sentences.spans.indptr[number : number + 2].tolist()
    mentions = sentences.mentions[slice(*segment.facts.mentions.indptr[number : number + 2])].tolist()
    return [
        {
            "span": tuple(sentences.spans.values[row].tolist()),
            "first token": sentences.first_tokens[row],
            "mentions": [i for i, sentence in enumerate(mentions) if sentence == row - begin],
            "terms": segment.terms.hashes[sentences.terms.row(row)].tolist(),
        }
        for row in range(begin, end)
    ]


def _sentences(text: str, tokens: list[tuple[int, int]], mentions: list[Any]) -> list[dict[str, Any]]:
    starts = [start for start, _ in passage_sentence_spans(text)]
    place = [next((i for i in reversed(range(len(starts))) if 0 <= starts[i] <= m["start"]), -1) for m in mentions]
    return [
        {
            "span": (start, end),
            "first token": sum(token < start for token, _ in tokens),
            "mentions": [i for i, sentence in enumerate(place) if sentence == number],
            "terms": sorted(count_terms([text[start:end]]).hashes.tolist()),
        }
        for number, (start, end) in enumerate(passage_sentence_spans(text))
    ]


def check_vocabularies(segment: Segment, contents: list[dict[str, Any]], salt: int) -> None:
    """Check that the vocabularies hold what passages use, and nothing else."""
    names, facts = segment.names, segment.facts
    forms = {n for c in contents for n in (*c["mentions"], *(n for h, _, t in c["triples"] for n in (h, t)))}
    forms |= {c["title_form"] for c in contents} - {None}
    keys = {key for form in forms if (key := name_key(form))} | {
        k for c in contents for k in (*c["names"], *c["headings"])
    }
    _check(names.forms, forms, salt)
    _check(names.keys, keys, salt)
    _check(facts.relations, {relation for c in contents for _, relation, _ in c["triples"]}, salt)
    words = {word for key in keys for word in key.split(" ")} | {word for c in contents for word, _ in c["tokens"]}
    _check(segment.tokens.vocabulary, words, salt)
    key_texts, word_texts = [*names.keys.texts, ""], list(segment.tokens.vocabulary.texts)
    assert [key_texts[i] for i in names.form_keys] == [name_key(form) for form in names.forms.texts]
    assert [[word_texts[i] for i in names.key_tokens.row(k)] for k in range(len(names.keys))] == [
        key.split(" ") for key in names.keys.texts
    ]
    assert list(segment.passages.extractor_names) == sorted({c["extractor"] for c in contents})
    assert set(segment.terms.hashes.tolist()) == {term for c in contents for term in c["terms"]}
    found = {term for c in contents for term in text_terms(f"{c['title']}\n{blank_unread(c['text'])}")}
    bridging = dict(zip(segment.terms.hashes.tolist(), segment.sentences.bridging.tolist(), strict=True))
    assert bridging == {key_hash(term): has_enough_letters(term) for term in found}


def _check(vocabulary: Vocabulary, texts: set[str], salt: int) -> None:
    assert set(vocabulary.texts) == texts
    assert vocabulary.hashes.tolist() == [key_hash(text, salt) for text in vocabulary.texts]
    assert Counter(vocabulary.hashes.tolist()) == Counter(sorted(vocabulary.hashes.tolist()))
    assert vocabulary.hashes.tolist() == sorted(set(vocabulary.hashes.tolist()))


def _covering(start: int, end: int, spans: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the ranges of tokens whose text holds a mention."""
    count = len(spans)
    ranges = [(a, b) for a in range(count) for b in range(a, count)]
    return {(a, b) for a, b in ranges if start >= 0 and spans[a][0] <= start and end <= spans[b][1]}


def _flags(text: str, start: int) -> int:
    before = text[max(start - 3, 0) : start].rstrip(" ")
    opens_sentence = not before or before[-1] in _SENTENCE_END
    capitalised = text[start].isupper() and not opens_sentence
    return looks_like_name(text[start:]) + 2 * text[start].islower() + 4 * capitalised


def _links(row: Mapping[str, Any], salt: int) -> list[tuple[int, ...]]:
    found = []
    for link in dict.fromkeys(row["links"]):
        path = unquote(link.split("#")[0].split("?")[0]).strip()
        if not path or not (link in row["text"] or row["ordinal"] == 0):
            continue
        parts: list[str] = []
        for part in (*PurePosixPath(row["document_id"]).parent.parts, *PurePosixPath(path).parts):
            parts = parts[:-1] if part == ".." else parts if part == "." else [*parts, part]
        file_name = path.rstrip("/").rsplit("/", 1)[-1]
        stem = file_name.rsplit(".", 1)[0] if re.search(r"\.\w{1,5}$", file_name) else file_name
        keys = [name_key(name.replace("_", " ")) for name in (path, file_name, stem)]
        found.append(tuple(key_hash(text, salt) if text else 0 for text in (path, "/".join(parts), *keys)))
    return found
