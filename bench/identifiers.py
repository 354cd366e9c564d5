"""Identifiers found whole, in another spelling and by a part: `python bench/identifiers.py [--seed 1] [--misses]`.

Each kind has fifteen identifiers, each in a short text, among others of the same parts in another order or one digit
off. A whole counts where its text is first, a part where its text is among the first three.
"""

import argparse
import random
import string
import tempfile
from pathlib import Path
from typing import NamedTuple

import clew
from clew.index import Index
from clew.settings import Settings
from clew.types import Document
from workbench import print_table

WORDS = """anchor basin cargo derrick engine funnel gasket hatch inlet jetty ladder mast nozzle outlet piston quay
rudder sensor tiller urchin valve winch yawl zinc beacon cutter dredge ferry galley""".split()  # noqa: SIM905
TEXTS = (
    "The crew wrote {} on the board before the night watch.",
    "Please look up {} in the register of the harbour office.",
    "Nobody had noticed {} until the yearly review in spring.",
)
PROSE = "The {} and the {} of the old {} were painted again in summer, and the user of the file was told in time."
# Of each kind forms in turn: the identifier, another spelling, a part, neighbours. Words a b c, in capitals A B C;
# numbers d (2 digits), e (3), f (4), g (5), and o of 2 digits with its last one changed to p; letters X Y; hashes h.
KINDS = {
    "version": ("v{d}.{y}.{e}.{o}|{d}.{y}.{e}.{o}|{e}.{o}|v{d}.{e}.{y}.{o}|v{d}.{y}.{e}.{p}",),
    "part number": (
        "{X}{Y}-{f}-{o}|{x}{y_}{f}-{o}|{f}-{o}|{X}{Y}-{o}-{f}|{X}{Y}-{f}-{p}",
        "{X}{f}/{o}{Y}|{x}-{f}-{o}-{y_}|{f}/{o}{Y}|{X}{o}/{f}{Y}|{X}{f}/{p}{Y}",
    ),
    "CVE, RFC, ISO": (
        "CVE-{f}-{g}|cve {f} {g}|{f}-{g}|CVE-{g}-{f}|CVE-{f}-{o}{e}",
        "ISO/IEC {g}-{o}|iso-iec-{g}-{o}|{g}-{o}|ISO/IEC {o}-{g}|ISO/IEC {g}-{p}",
        "RFC-{f}|rfc{f}|{f}|RFC-{e}{d}|RFD-{f}",
        "RULE-{X}{e}|rule_{x}{e}|{X}{e}|RULE-{Y}{e}|RULE-{X}{o}",
    ),
    "path": (
        "C:\\{A}\\{b}\\{c}{o}.ini|c:/{a}/{b}/{c}{o}.ini|{c}{o}.ini|C:\\{b}\\{A}\\{c}{p}.ini",
        "/srv/{a}/{b}/{c}.log|srv\\{A}\\{B}\\{C}.log|{b}/{c}.log|/srv/{b}/{a}/{c}.log|/srv/{a}/{c}/{b}.log",
    ),
    "camelCase": (
        "{a}{B}{C}|{a} {b} {c}|{b}{C}|{b}{A}{C}|{a}{C}{B}|{a}{B}",
        "{A}{B}{C}|{a}_{b}_{c}|{b} {c}|{B}{A}{C}|{A}{C}{B}|{B}{C}",
    ),
    "snake, kebab": (
        "{a}_{b}_{c}|{a}{B}{C}|{b}_{c}|{c}_{b}_{a}|{b}_{a}_{c}|{a}_{b}",
        "{a}-{b}-{c}|{a}_{b}_{c}|{b}-{c}|{c}-{b}-{a}|{b}-{a}-{c}|{a}-{b}",
    ),
    "e-mail": (
        "{x}.{a}@{b}.org|{X}.{A}@{B}.ORG|{a}@{b}.org|{a}.{x}@{b}.org|{x}.{b}@{a}.org",
        "{a}{o}@{b}{c}.net|{A}{o}@{B}{C}.NET|{b}{c}.net|{a}{p}@{b}{c}.net|{b}{o}@{c}{a}.net",
    ),
    "URL, IP": (
        "10.{d}.{e}.{o}|10.{d}.{e}.{o}:80|{e}.{o}|10.{e}.{d}.{o}|10.{d}.{e}.{p}",
        "https://{a}.{b}.net/{c}|{A}.{B}.net/{C}|{a}.{b}.net|https://{b}.{a}.net/{c}|https://{a}.{c}.net/{b}",
    ),
    "phone, ISBN": (
        "978-3-{d}-{f}{o}-{y}|9783{d}{f}{o}{y}|{d}-{f}{o}|978-3-{f}{o}-{d}-{y}|978-3-{d}-{f}{p}-{y}",
        "+44 {e}-{f}-{o}|{e}{f}{o}|{e}-{f}|+44 {f}-{e}-{o}|+44 {e}-{f}-{p}",
    ),
    "amount, date, hash, sign": (
        "${y},{e}.{o}|{y}{e}.{o}|{y},{e}|${y},{o}{y}.{d}|${e}.{o}|${y},{e}.{p}",
        "20{d}-0{y}-{o}|20{d}/0{y}/{o}|20{d}-0{y}|20{d}-{o}-0{y}|20{d}-0{y}-{p}",
        "{h}{i}{j}|{H}{I}{J}|{h}|{i}{h}{j}|{j}{i}{h}",
        "{X}++|{x}++|{X}++ board|{X}|{X}*|{X}-|{X}#",
        "{A}+|{a}+|{A}+ board|{A}|{A}-",
    ),
}
COUNT = 15


class Identifier(NamedTuple):
    """An identifier, and what is asked for it."""

    text: str
    other: str
    part: str
    neighbours: list[str]


def main() -> None:
    """Print the shares of each kind for the default retriever and for `bm25`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="print each question that is missed")
    arguments = parser.parse_args()
    source = random.Random(arguments.seed)
    made = {kind: make_identifiers(forms, source) for kind, forms in KINDS.items()}
    texts = list(dict.fromkeys(t for found in made.values() for i in found for t in (i.text, *i.neighbours)))
    documents = [Document(text, "", source.choice(TEXTS).format(text)) for text in texts]
    documents += [Document(f"prose {n}", "", PROSE.format(*source.sample(WORDS, 3))) for n in range(60)]
    with tempfile.TemporaryDirectory() as folder:
        index = clew.create(Path(folder) / "index", Settings())
        index.add(documents)
        rows = {kind: measure(index, found, print_misses=arguments.misses) for kind, found in made.items()}
    rows["all"] = [sum(shares) / len(rows) for shares in zip(*rows.values(), strict=True)]
    print(f"\n{len(documents)} texts, {len(KINDS) * COUNT} identifiers; in %")
    titles = [f"{retriever}: {what}" for retriever in ("auto", "bm25") for what in ("whole", "other spelling", "part")]
    print_table(("kind", *titles), [[kind, *(f"{100 * s:.1f}" for s in shares)] for kind, shares in rows.items()])


def measure(index: Index, identifiers: list[Identifier], *, print_misses: bool) -> list[float]:
    """Return the shares of identifiers found, for both retrievers."""
    shares = []
    for retriever in ("auto", "bm25"):
        for name, depth in (("text", 1), ("other", 1), ("part", 3)):
            missed = 0
            for identifier in identifiers:
                passages = index.search(question := getattr(identifier, name), 3, retriever=retriever).passages
                first = [scored.item.document_id for scored in passages][:depth]
                missed += identifier.text not in first
                if print_misses and identifier.text not in first:
                    print(f"{retriever}: {question!r} finds {first}, not {identifier.text!r}", flush=True)
            shares.append(1 - missed / len(identifiers))
    return shares


def make_identifiers(forms: tuple[str, ...], source: random.Random) -> list[Identifier]:
    """Return identifiers of some forms in turn, whose texts all differ."""
    made: dict[str, Identifier] = {}
    while len(made) < COUNT:
        fields = {name: str(source.randrange(10**n, 10 ** (n + 1))) for n, name in enumerate("ydefg")}
        tens, ones = source.randrange(1, 10), source.randrange(10)
        fields |= {"o": f"{tens}{ones}", "p": f"{tens}{(ones + source.randrange(1, 10)) % 10}"}
        fields |= zip("abc", source.sample(WORDS, 3), strict=True)
        fields |= zip(("x", "y_"), source.sample(string.ascii_lowercase, 2), strict=True)
        fields |= {name: f"{source.randrange(16**7, 16**8):08x}" for name in "hij"}
        fields |= {name.strip("_").upper(): fields[name].title() for name in ("a", "b", "c", "x", "y_", *"hij")}
        text, other, part, *neighbours = forms[len(made) % len(forms)].format(**fields).split("|")
        made.setdefault(text, Identifier(text, other, part, neighbours))
    return list(made.values())


if __name__ == "__main__":
    main()
