"""A small corpus with everything in it that retrieval can trip over, and how to make an index of it."""

from collections.abc import Sequence
from pathlib import Path

import clew
from clew.index import Index
from clew.settings import Settings
from clew.types import Document, Evidence


def make_index(folder: Path, documents: Sequence[Document], encoder: str = "hashing") -> Index:
    """Return a new index of documents."""
    index = clew.create(folder, Settings(encoder=encoder, extractor="rules"))
    if documents:
        report = index.add(documents)
        assert not report.failures
    return index


def without_timing(evidence: Evidence) -> tuple[object, ...]:
    """Return evidence without what differs from run to run: its seconds."""
    return evidence.passages, evidence.paths, evidence.notes


def result_ids(evidence: Evidence) -> list[str]:
    """Return the ids of the passages found, best first."""
    return [scored.item.id for scored in evidence.passages]


def _keeper(number: int, lang: str) -> Document:
    # Those in German say it more often, so that they outrank all others in any ranking by words.
    again = "lighthouse keeper " * (6 if lang == "de" else 1)
    text = f"Station {number} has a lighthouse keeper and a boat. {again}\nThe lamp of station {number} burns oil."
    return Document(f"keeper-{number:02}", f"Station {number}", text, {"lang": lang, "number": number})


DOCUMENTS: tuple[Document, ...] = (
    Document(
        "vega",
        "Vega (ship)",
        "Vega was built in Bremerhaven and commanded by Louis Palander.",
        {"lang": "en", "year": 1872},
    ),
    Document(
        "vega-star",
        "Vega (star)",
        "Vega is the brightest star of Lyra, at 25 light years.",
        {"lang": "en", "year": 1872},
    ),
    Document(
        "palander", "Louis Palander", "Louis Palander was born in Karlskrona in 1842.", {"lang": "en", "year": 1842}
    ),
    Document(
        "karlskrona", "Karlskrona", "Karlskrona is a naval town in Blekinge, Sweden.", {"lang": "en", "year": 1680}
    ),
    Document(
        "bridge", "Blekinge", "Blekinge is a province of Sweden, north of Bornholm.", {"lang": "de", "secret": True}
    ),
    Document("bornholm", "Bornholm", "Bornholm is a Danish island with round churches.", {"lang": "en"}),
    Document("untitled-1", "", "The naval yard of Karlskrona launched the Wasa in 1778.", {"lang": "en"}),
    Document("untitled-2", "", "Palander also visited Bornholm in his old age.", {"lang": "en"}),
    Document("museum", "Marinmuseum", "It shows the Karlskrona Naval Shipyard and Dock.", {"lang": "en"}),
    Document("yard", "Old Dock", "Work in the Karlskrona Naval Shipyards and Docks ended.", {"lang": "en"}),
    Document(
        "russian", "Карлскруна", "Карлскруна основана в 1680 году. Адмирал Паландер родился здесь.", {"lang": "ru"}
    ),
    Document("chinese", "卡尔斯克鲁纳", "卡尔斯克鲁纳是瑞典的港口城市。", {"lang": "zh"}),
    Document("emoji", "🚢 Log", "The 🚢 left Karlskrona 😀 and sank 💥.", {"lang": "en"}),
    Document("arabic", "سفينة فيغا", "بنيت سفينة فيغا في بريمرهافن.", {"lang": "ar"}),
    *(Document(f"twin-{letter}", "Twin", "A twin text about herring fishing.", {"lang": "en"}) for letter in "cab"),
    *(_keeper(number, "de") for number in range(8)),
    *(_keeper(number, "en") for number in range(8, 16)),
)

QUESTIONS = (
    "Where was the commander of the Vega born?",
    "In which province is the town where Louis Palander was born?",
    "lighthouse keeper",
    "a twin text about herring fishing",
    "Кто родился в городе Карлскруна?",
    "卡尔斯克鲁纳在哪里？",
    "Which 🚢 left Karlskrona 😀?",
    "what is karlskrona",
    "Who was Zebulon Quux of Nowhereville?",
)
