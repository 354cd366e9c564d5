from clew.query.conflicts import Conflict, compare_statements
from clew.query.statements import read_statements
from clew.types import Passage, Time


def find(*texts: tuple[str, str], title: str = "") -> list[Conflict]:
    passages = [
        Passage(str(n), str(n), title, text, 0, len(text), {}, (), Time(day, day, "field date") if day else None)
        for n, (day, text) in enumerate(texts)
    ]
    return compare_statements(one for passage in passages for one in read_statements(passage))


def values(conflict: Conflict) -> list[tuple[str, str, str]]:
    return [(value.value, value.first, value.until) for value in conflict.values]


def test_the_later_statement_replaces_the_earlier_one() -> None:
    (found,) = find(
        ("2020-05-02", "Halden Ltd is based in Oslo."),
        ("2023-06-01", "Halden Ltd is now based in Bergen."),
        ("2018-01-01", "Halden Ltd is based in Drammen."),
    )
    assert found.subject == "Halden Ltd"
    assert values(found) == [
        ("Bergen", "2023-06-01", ""), ("Oslo", "2020-05-02", "2023-06-01"), ("Drammen", "2018-01-01", "2020-05-02"),
    ]  # fmt: skip
    assert not found.is_contradiction
    assert [quote.passage_id for quote in found.values[0].quotes] == ["1"]


def test_statements_of_one_time_or_of_none_contradict_each_other() -> None:
    for day in ("2020-05-02", ""):
        (found,) = find((day, "Halden Ltd is based in Oslo."), (day, "Halden Ltd is based in Bergen."))
        assert found.is_contradiction
        assert {value.until for value in found.values} == {""}


def test_an_office_has_one_holder_at_a_time() -> None:
    (found,) = find(
        ("2020-05-02", "Maria Olsen is the chief executive of Halden Ltd."),
        ("2023-06-01", "Jan Berg is the chief executive of Halden Ltd."),
    )
    assert values(found) == [("Jan Berg", "2023-06-01", ""), ("Maria Olsen", "2020-05-02", "2023-06-01")]


def test_what_a_sentence_leaves_out_is_its_title() -> None:
    (found,) = find(("2020-05-02", "It is based in Oslo."), ("2023-06-01", "It is based in Bergen."), title="Halden")
    assert found.subject == "Halden"


def test_a_relation_of_several_values_at_a_time_has_none_that_replaces_another() -> None:
    members = [("2020-05-02", f"Halden Ltd is a member of {club}.") for club in ("Nordsam", "Havring", "Pumpelag")]
    others = [("2020-05-02", f"Orsta Ltd is a member of {club}.") for club in ("Nordsam", "Fjordtek")]
    assert find(*members, *others, ("2023-06-01", "Halden Ltd is a member of Fjordtek.")) == []


def test_events_and_denials_replace_nothing() -> None:
    assert find(("2020-05-02", "Ana visited Rome."), ("2023-06-01", "Ana visited Paris.")) == []
    assert find(("2020-05-02", "Ana lives in Rome."), ("2023-06-01", "Ana might live in Paris.")) == []
    assert find(("2020-05-02", "Ana lives in Rome."), ("2023-06-01", "Ana no longer lives in Paris.")) == []


def test_a_past_relation_that_nearly_all_subjects_have_one_value_of_is_contradicted() -> None:
    people = "Adele Bodil Cyrus Edwin Flora Gustav Halina Ingrid Jonas Klara"
    towns = "Oslo Bonn Rome Lyon Cork Graz Bari Pisa Vaduz Kiel"
    known = [("", f"{one} was born in {town}.") for one, town in zip(people.split(), towns.split(), strict=True)]
    (found,) = find(*known, ("", "Adele was born in Bergen."))
    assert found.subject == "Adele"
    assert found.is_contradiction


def test_a_longer_form_is_the_same_value() -> None:
    assert (
        find(("2020-05-02", "Halden Ltd is based in Oslo."), ("2023-06-01", "Halden Ltd is based in Oslo, Norway."))
        == []
    )


def test_a_range_ends_by_its_own_words() -> None:
    fox, hunt = "Marlow Works is led by Jane Fox.", "Marlow Works is led by Peter Hunt."
    times = (Time("1990-01-01", "1998-12-31", "text"), Time("2023-05-01", "2023-05-01", "field date"))
    passages = [
        Passage(str(n), str(n), "", text, 0, len(text), {}, (), time)
        for n, (text, time) in enumerate(zip((fox, hunt), times, strict=True))
    ]
    (found,) = compare_statements(one for passage in passages for one in read_statements(passage))
    assert values(found) == [("Peter Hunt", "2023-05-01", ""), ("Jane Fox", "1990-01-01", "1998-12-31")]


def test_one_contradiction_does_not_hide_what_replaced_what() -> None:
    found = find(
        ("2020-05-02", "Halden Ltd is based in Oslo."),
        ("2023-06-01", "Good news: Halden Ltd is now based in Bergen."),
        ("", "Acme AG is based in Bern."),
        ("", "Acme AG is based in Zug."),
        ("2021-01-01", "Marlow Works is based in Leeds."),
    )
    assert [(one.subject, one.is_contradiction) for one in found] == [("Acme AG", True), ("Halden Ltd", False)]
