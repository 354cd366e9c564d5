"""Check the polar example corpus and its questions; prints one line, exits 1 on a problem."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
GENERIC = {"Antarctic", "South"}  # short titles that are also plain words: only a link counts
WANTED = {2: 25, 3: 20, 4: 8}  # questions at least, per number of hops
Named = dict[str, set[str]]  # article -> the articles it links or names


def fold(text: str) -> str:
    """Lower-case the text, strip its accents and reduce it to words."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("ø", "o").replace("æ", "ae"))
    return " ".join(re.findall(r"\w+", "".join(c for c in plain if not unicodedata.combining(c))))


def holds(text: str, phrase: str) -> bool:
    """Say whether the folded text holds the folded phrase as whole words."""
    return f" {fold(phrase)} " in f" {fold(text)} "


def names_of(text: str) -> list[str]:
    """Return an article's title, its title without the parenthesis, and its aliases."""
    title = text.splitlines()[0].removeprefix("# ").strip()
    aliases = ";".join(re.findall(r"^Aliases: (.+)$", text, re.M)).split(";")
    return [title, re.sub(r" \([^)]*\)$", "", title), *(a.strip() for a in aliases if a)]


def mentions(docs: dict[str, str]) -> Named:
    """Map each article to the articles it links or names, longest names first."""
    names = {n: d for d, text in docs.items() for n in names_of(text) if n not in GENERIC}
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf"(?<!\w)(?:{either})(?!\w)")
    found: Named = {}
    for doc, text in docs.items():
        links = set(re.findall(r"\]\(([^)]+\.md)\)", text))
        plain = pattern.findall(re.sub(r"\]\([^)]*\)", "]", text))
        found[doc] = (links | {names[n] for n in plain}) - {doc}
    return found


def check_articles(docs: dict[str, str], found: Named) -> list[str]:
    """Check the form, the length and the links of every article."""
    titles = {names_of(text)[0] for text in docs.values()}
    bad = [] if 90 <= len(docs) == len(titles) else [f"{len(docs)} articles, {len(titles)} titles"]
    for doc, text in docs.items():
        body = re.sub(r"\]\([^)]*\)|^(#|Aliases:).*$", "", text, flags=re.M)
        dead = (found[doc] - docs.keys()) | (set(re.findall(r"\[\[([^\]]+)\]\]", text)) - titles)
        bad += [f"{doc}: no title line"] if not text.startswith("# ") else []
        bad += [f"{doc}: {len(body.split())} words"] if not 60 <= len(body.split()) <= 160 else []
        bad += [f"{doc}: dead links {sorted(dead)}"] if dead else []
        bad += [f"{doc}: names fewer than two others"] if len(found[doc]) < 2 else []
        bad += [f"{doc}: named by no other"] if not any(doc in s for s in found.values()) else []
    return bad


def check_question(q: dict[str, Any], docs: dict[str, str], found: Named) -> list[str]:
    """Check one question against its gold articles."""
    gold, answer = q["gold"], q["answers"][0]
    if not docs.keys() >= set(gold) or len(set(gold)) != q["hops"]:
        return [f"{q['id']}: gold {gold} missing or not {q['hops']} hops"]
    if q["type"] == "comparison":
        fine = answer in ("yes", "no") or any(holds(docs[g], answer) for g in gold)
        return [] if fine else [f"{q['id']}: answer in no gold article"]
    bad = [] if answer in docs[gold[-1]] else [f"{q['id']}: answer not in the last article"]
    bad += [f"{q['id']}: answer already in {g}" for g in gold[:-1] if holds(docs[g], answer)]
    for here, there in pairwise(gold):
        if there not in found[here] and here not in found[there]:
            bad.append(f"{q['id']}: {here} and {there} do not name each other")
        if any(n not in GENERIC and holds(q["question"], n) for n in names_of(docs[there])):
            bad.append(f"{q['id']}: the question names {there}")
    return bad


def main() -> int:
    """Run every check and print the summary."""
    docs = {p.name: p.read_text("utf-8") for p in sorted((HERE / "polar").glob("*.md"))}
    questions = [json.loads(line) for line in (HERE / "questions.jsonl").open(encoding="utf-8")]
    found = mentions(docs)
    bad = check_articles(docs, found)
    bad += [b for q in questions for b in check_question(q, docs, found)]
    hops = Counter(q["hops"] for q in questions)
    if len({q["id"] for q in questions}) != 60 or any(hops[h] < n for h, n in WANTED.items()):
        bad.append("not 60 questions, or too few of one kind")
    print(*bad, sep="\n", end="\n" if bad else "")
    kinds = ", ".join(f"{n} with {h} hops" for h, n in sorted(hops.items()))
    print(f"{len(docs)} articles, {len(questions)} questions ({kinds}), {len(bad)} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
