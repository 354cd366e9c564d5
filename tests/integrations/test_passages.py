"""Fields of passages, as all adapters give them; no library of theirs is needed."""

from clew.integrations.passages import passage_fields, scored_fields
from clew.types import Passage, Place, PlaceStart, Scored


def made(*places: PlaceStart, **metadata: object) -> Passage:
    return Passage("d#1", "d", "Vega", "One.\nTwo.", 10, 19, metadata, places)


def test_fields_say_where_a_passage_begins_in_its_source() -> None:
    places = (PlaceStart(0, Place(page=3, heading="Guide > Crew")), PlaceStart(5, Place(page=4)))
    own = {"passage_id": "d#1", "document_id": "d", "title": "Vega", "start": 10, "end": 19}
    assert passage_fields(made(*places, lang="en")) == {"lang": "en", "page": 3, "heading": "Guide > Crew", **own}
    assert scored_fields(Scored(made(PlaceStart(0, Place(slide=2))), 0.5)) == {"slide": 2, **own, "score": 0.5}


def test_a_source_without_places_has_none_and_its_metadata_stay() -> None:
    assert set(passage_fields(made())) == {"passage_id", "document_id", "title", "start", "end"}
    assert passage_fields(made(page=7))["page"] == 7
    assert passage_fields(made(PlaceStart(0, Place(page=3)), page=7, title="other"))["page"] == 3
    assert passage_fields(made(title="other"))["title"] == "Vega"
