"""Documents that a filter hides beside ones that it does not, with names that both have."""

from clew.types import Document
from tests.small_index import DOCUMENTS

VISIBLE = tuple(document for document in DOCUMENTS if document.metadata["lang"] == "en")
HIDDEN = (
    Document(
        "secretdoc1",
        "Ysolde Trunkbarrow",
        "Ysolde Trunkbarrow was born in Quibbleton. She commanded the Vega and knew Karlskrona.",
        {"hushkey": 1},
        aliases=("Louis Palander", "Karlskrona", "Bornholm", "Wasa", "Lyra"),
    ),
    Document(
        "secretdoc2",
        "Codename Basilisk",
        "Codename Basilisk is a file.\n## Louis Palander\n\nHe left Bremerhaven for Quibbleton.\n\n## Vega\n\nA ship.",
        {"klass": "top"},
    ),
    Document("secretdoc3", "Louis Palander (informant 4711)", "Louis Palander (informant 4711) lived in Bornholm.", {}),
    Document("secretdoc4", "Zorblax Vault", " ".join(["KARLSKRONA is watched from Zorblax Vault."] * 9), {}),
    Document("secretdoc5", "Louis Palandar", "Louis Palandar of Quibbleton is another. Zorblax Vaults are many.", {}),
)
WHERE = "document_id NOT LIKE 'secretdoc%'"
