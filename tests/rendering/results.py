"""Evidence with chains, paths and quotes, and a hostile twin of it."""

from clew.types import Answer, Citation, Evidence, Passage, Scored, SentenceChain, Triple

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\x1b[31m\u202e]]>--> [go](javascript:alert(3))"

SHIP = "Vega was built in Bremerhaven. Louis Palander commanded Vega."
MAN = "Louis Palander was born in Karlskrona in 1842."


def quote(document: str, text: str, words: str, offset: int = 0) -> Citation:
    start = offset + text.index(words)
    return Citation(document, f"{document}#1", document.title(), start, start + len(words), words)


def make_evidence(ship: str = SHIP, title: str = "Vega") -> Evidence:
    """Return two passages, the second of which begins at character 100 of its document."""
    passages = (
        Passage("ship#1", "ship", title, ship, 0, len(ship)),
        Passage("man#1", "man", "Man", MAN, 100, 100 + len(MAN)),
    )
    last = quote("ship", ship, ship[ship.index("Louis") :]) if "Louis" in ship else quote("ship", ship, ship)
    chain = SentenceChain((last, quote("man", MAN, MAN, 100)), ("Louis Palander",))
    path = (
        Triple("Louis Palander", "commanded", "Vega", ("ship#1",)),
        Triple("Louis Palander", "was born in", "Karlskrona", ("man#1",)),
    )
    return Evidence(
        tuple(Scored(passage, 0.5) for passage in passages),
        (Scored(path, 1.0),),
        ("a note",),
        chains=(Scored(chain, 1.0),),
    )


def make_answer(evidence: Evidence) -> Answer:
    return Answer("Karlskrona", (quote("man", MAN, "Karlskrona", 100),), (), evidence)
