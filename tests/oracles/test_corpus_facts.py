"""Extractions and title links as facts, with names resolved over the whole corpus."""

from collections import Counter
from collections.abc import Sequence

import pytest

from clew.indexing.extraction.rule_based import RuleExtractor
from clew.text.normalization import key_hash
from clew.types import Extraction, Failure, Mention, Passage
from tests.oracles.corpus_facts import CorpusFacts, PassageFacts, corpus_facts
from tests.oracles.title_linking import NamedText

CORPUS = {
    "fram": ("Fram (ship)", "The Fram was built by Colin Archer in Larvik. Fram sailed."),
    "archer": ("Colin Archer", "Colin Archer was a naval architect, born in Larvik."),
    "larvik": ("Larvik", "Larvik is a town. Its harbour [saw](fram.md) ships."),
    "film": ("Fram (film)", "A film about polar research."),
    "plain": ("", "The Fram Museum stands in Oslo, near Larvik."),
}


def make_text(id_: str, links: Sequence[str] = ()) -> NamedText:
    title, text = CORPUS[id_]
    return NamedText(f"{id_}.md", title, text, (), links, is_first=True)


def extract(passage: NamedText) -> Extraction:
    (result,) = RuleExtractor().extract([Passage("p", "d", passage.title, passage.text, 0, len(passage.text))])
    assert not isinstance(result, Failure)
    return result


def make_facts(*ids: str, links: dict[str, Sequence[str]] | None = None) -> CorpusFacts:
    passages = [make_text(id_, (links or {}).get(id_, ())) for id_ in ids]
    return corpus_facts(passages, [extract(passage) for passage in passages])


def passage_facts(*ids: str, passage_id: str, links: dict[str, Sequence[str]] | None = None) -> PassageFacts:
    return make_facts(*ids, links=links).facts[ids.index(passage_id)]


def test_titles_are_linked_by_the_words_before_them() -> None:
    facts = passage_facts("fram", "archer", "larvik", passage_id="fram")
    assert facts.title == "fram ship"
    assert ("fram ship", "was built by", "colin archer") in facts.triples
    assert ("fram ship", "in", "larvik") in facts.triples
    assert dict(facts.mentions)["colin archer"] == 1.0


def test_a_title_without_its_parentheses_is_the_passage_itself() -> None:
    facts = passage_facts("fram", "archer", passage_id="fram")
    assert "fram" not in dict(facts.mentions)
    assert not any(head == tail for head, _, tail in facts.triples)


def test_an_ambiguous_name_is_shared_out() -> None:
    facts = passage_facts("fram", "film", "plain", passage_id="plain")
    weights = dict(facts.mentions)
    # "Fram Museum" is a longer name of its own; "Fram" inside it is still a title's mention.
    assert weights["fram museum"] == 1.0
    assert weights["fram ship"] == weights["fram film"] == 0.5


def test_a_link_is_a_mention_and_a_triple() -> None:
    without = passage_facts("fram", "larvik", passage_id="larvik")
    assert "fram ship" not in dict(without.mentions)
    facts = passage_facts(
        "fram", "larvik", passage_id="larvik", links={"larvik": ("fram.md", "nowhere.md", "larvik.md")}
    )
    assert dict(facts.mentions)["fram ship"] == 1.0
    assert facts.triples[-1] == ("larvik", "links to", "fram ship")


def test_a_passage_does_not_link_to_its_own_title() -> None:
    facts = passage_facts("larvik", passage_id="larvik", links={"larvik": ("larvik.md",)})
    assert not any(tail == "larvik" for _, _, tail in facts.triples)


def test_without_a_title_mentions_are_kept_and_links_need_no_head() -> None:
    facts = passage_facts("larvik", "plain", passage_id="plain")
    assert facts.title == ""
    assert {"fram museum", "oslo", "larvik"} <= dict(facts.mentions).keys()
    assert all(head for head, _, _ in facts.triples)


def test_surfaces_and_names() -> None:
    corpus = make_facts("fram", "archer", "larvik", "film")
    assert corpus.surfaces["fram ship"].most_common(1)[0][0] == "Fram (ship)"
    assert sorted(corpus.names[key_hash("fram")]) == ["fram film", "fram ship"]
    assert corpus.names[key_hash("fram ship")] == ("fram ship",)
    assert corpus.names[key_hash("colin archer")] == ("colin archer",)
    mentioned = {key for result in corpus.facts for key, _ in result.mentions}
    assert mentioned | {result.title for result in corpus.facts} == corpus.surfaces.keys()
    assert {key for result in corpus.facts for head, _, tail in result.triples for key in (head, tail)} <= mentioned | {
        result.title for result in corpus.facts
    }


def test_triples_of_other_extractors_are_resolved_too() -> None:
    corpus = Extraction(
        (Mention("Larvik"), Mention("  "), Mention("?")),
        (("Fram", " built in ", "LARVIK"), ("Fram", "", "the Oslo"), ("Fram", "is", "fram"), ("", "x", "Oslo")),
    )
    passages = [make_text("fram"), make_text("larvik"), make_text("film")]
    facts = corpus_facts(passages, [corpus, Extraction(), Extraction()]).facts[0]
    assert facts.triples[:2] == [("fram ship", "built in", "larvik"), ("fram ship", "mentions", "oslo")]
    assert not any(head == tail for head, _, tail in facts.triples)
    assert "" not in dict(facts.mentions)


@pytest.mark.parametrize("removed", CORPUS)
def test_a_document_removed_takes_all_it_linked_with_it(removed: str) -> None:
    """The facts of the rest are those of a corpus that never knew it, whatever came before."""
    rest = [id_ for id_ in CORPUS if id_ != removed]
    again, fresh = make_facts(*CORPUS), make_facts(*rest)
    remaining = make_facts(*rest)
    assert remaining == fresh
    title = {"fram": "fram ship", "archer": "colin archer", "larvik": "larvik", "film": "fram film"}.get(removed)
    if title in ("fram ship", "fram film"):
        assert title in again.surfaces
        assert title not in remaining.surfaces
        assert all(title not in (key for key, _ in corpus.mentions) for corpus in remaining.facts)
        assert all(title not in keys for keys in remaining.names.values())


def test_the_order_of_the_corpus_does_not_matter() -> None:
    one, other = make_facts(*CORPUS), make_facts(*reversed(CORPUS))
    assert one.facts == other.facts[::-1]
    assert one.surfaces == other.surfaces
    assert one.names == other.names


def test_an_empty_corpus() -> None:
    assert corpus_facts([], []) == CorpusFacts([], {}, {})


def test_the_surface_of_a_title_wins_over_any_number_of_short_forms() -> None:
    passages = [NamedText(str(n), "", "FRAM SHIP was here", (), (), is_first=True) for n in range(5)]
    corpus = corpus_facts([*passages, make_text("fram")], [Extraction((Mention("FRAM SHIP"),))] * 5 + [Extraction()])
    assert corpus.surfaces["fram ship"].most_common(1)[0][0] == "Fram (ship)"
    assert isinstance(corpus.surfaces["fram ship"], Counter)
