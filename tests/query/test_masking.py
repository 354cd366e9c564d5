"""Questions without the names of what they are about, and the words in them that ask."""

from hypothesis import given
from hypothesis import strategies as st

from clew.query.masking import FUNCTION_WORDS, PLACEHOLDER, MaskedQuestion, find_relation_words, mask_names
from clew.text.normalization import token_keys


def places(question: str, *names: str) -> list[tuple[int, int]]:
    found = [question.index(name) for name in names]
    return [(start, start + len(name)) for start, name in zip(found, names, strict=True)]


def phrases(question: str, *names: str) -> list[tuple[str, ...]]:
    return list(find_relation_words(mask_names(question, places(question, *names))).phrases)


def test_a_name_is_taken_out() -> None:
    question = "Who directed The Elephant Man in 1980?"
    asked = mask_names(question, places(question, "The Elephant Man"))
    assert asked == MaskedQuestion(("who", "directed"), ("in", "1980"))
    assert asked.text == "who directed it in 1980"
    assert asked.words == ("who", "directed", "in", "1980")


def test_without_a_name_all_words_stand_before_it() -> None:
    assert mask_names("Who's there?", []) == MaskedQuestion(("who", "s", "there"), ())
    assert mask_names("Who's there?", []).text == f"who s there {PLACEHOLDER}"
    assert mask_names("", []) == mask_names(" ?! ", []) == MaskedQuestion((), ())
    assert mask_names("", []).text == PLACEHOLDER


def test_the_name_at_either_end_or_alone() -> None:
    assert mask_names("Fram was built by whom", [(0, 4)]) == MaskedQuestion((), ("was", "built", "by", "whom"))
    assert mask_names("who built Fram", [(10, 14)]) == MaskedQuestion(("who", "built"), ())
    assert mask_names("Fram", [(0, 4)]).text == PLACEHOLDER


def test_further_names_leave_a_placeholder() -> None:
    question = "Did Nansen sail with Amundsen on Fram or Vega?"
    asked = mask_names(question, places(question, "Fram", "Nansen", "Vega", "Amundsen"))
    assert asked == MaskedQuestion(("did",), ("sail", "with", "it", "on", "it", "or", "it"))
    assert asked.text == "did it sail with it on it or it"


def test_a_name_that_overlaps_an_earlier_one_is_left_out() -> None:
    question = "who shot New York Times Square"
    asked = mask_names(question, [(9, 23), (13, 30)])
    assert asked == MaskedQuestion(("who", "shot"), ("square",))
    touching = mask_names("who met AnnaBob there", [(8, 12), (12, 15)])
    assert touching == MaskedQuestion(("who", "met"), ("it", "there"))
    assert mask_names("who met Anna", [(8, 12), (8, 12)]) == MaskedQuestion(("who", "met"), ())
    begun = mask_names("who lives in New York City", [(13, 21), (13, 26)])
    assert begun == MaskedQuestion(("who", "lives", "in"), ()), "of two that begin together the longer one"


def test_words_are_folded_in_any_script() -> None:
    question = "Où est né Ærø ﬁlm ΣΊΣΥΦΟΣ 東京 กรุงเทพ?"
    asked = mask_names(question, places(question, "Ærø"))
    assert asked.before == ("ou", "est", "ne")
    assert asked.after == tuple(token_keys(" ﬁlm ΣΊΣΥΦΟΣ 東京 กรุงเทพ"))
    assert asked.after[:4] == ("film", "σίσυφοσ", "東", "京")


def test_a_question_without_end_is_cut() -> None:
    words = [f"w{number}" for number in range(1_000)]
    start = len(" ".join(words)) + 1
    both = mask_names(" ".join([*words, "X", *words]), [(start, start + 1)])
    assert (len(both.before), both.after) == (400, tuple(words[:400]))
    assert len(mask_names(" ".join(words), []).before) == 400


@given(st.text(max_size=40), st.data())
def test_what_is_not_named_stays_in_order(question: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(question)), max_size=6)))
    names = list(zip(cuts[::2], cuts[1::2], strict=False))
    asked = mask_names(question, data.draw(st.permutations(names)))
    bounds = [0, *(place for name in names for place in name), len(question)]
    pieces = [token_keys(question[bounds[i] : bounds[i + 1]]) for i in range(0, len(bounds), 2)]
    after = [word for number, piece in enumerate(pieces[1:]) for word in ([PLACEHOLDER] * (number > 0) + piece)]
    assert asked == MaskedQuestion(tuple(pieces[0]), tuple(after))


def test_the_nearest_words_are_read_first() -> None:
    question = "the birthplace of Maria Theresa's father"
    asked = find_relation_words(mask_names(question, places(question, "Maria Theresa")))
    assert [around[0] for around in asked.phrases] == ["father", "birthplace"]
    assert asked.reverse_order == (1, 0)
    question = "the release dates that films sharing actors with Fram got"
    asked = find_relation_words(mask_names(question, places(question, "Fram")))
    words = [around[0] for around in asked.phrases]
    assert words == ["got", "actors", "sharing", "films", "dates", "release"]
    assert [words[place] for place in asked.reverse_order] == ["actors", "sharing", "films", "dates", "release", "got"]


def test_words_come_with_the_phrases_that_hold_them() -> None:
    found = phrases("what is the place of birth of X", "X")
    assert found == [("birth", "place of birth"), ("place", "place of birth")]
    found = phrases("what release date does film X have won awards", "X")
    assert found[:2] == [("won", "won awards"), ("awards", "won awards")]
    assert found[2:] == [("film",), ("date", "release date"), ("release", "release date")]
    three = phrases("red green blue X", "X")
    assert three == [("blue", "green blue"), ("green", "red green", "green blue"), ("red", "red green")]


def test_no_phrase_goes_through_a_name_or_over_another_word() -> None:
    assert phrases("the film of X of awards", "X") == [("awards",), ("film",)]
    assert phrases("place in birth X", "X") == [("birth",), ("place",)]
    assert phrases("X film Y place", "X", "Y") == [("film",), ("place",)]
    assert phrases("X films of Y of place", "X", "Y") == [("films",), ("place",)]


def test_nothing_asks() -> None:
    for question in ("", "who is it", "What did X do?"):
        found = find_relation_words(
            mask_names(question, []) if "X" not in question else mask_names(question, places(question, "X"))
        )
        assert (found.phrases, found.reverse_order) == ((), ())


WORDS = st.lists(st.sampled_from(["film", "of", "the", "it", "place", "birth", "東"]), max_size=8).map(tuple)


@given(WORDS, WORDS)
def test_every_asking_word_comes_once_in_each_order(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    found = find_relation_words(MaskedQuestion(before, after))
    one = [w for w in after if w not in FUNCTION_WORDS]
    other = [w for w in before[::-1] if w not in FUNCTION_WORDS]
    words = [around[0] for around in found.phrases]
    assert words == one + other
    assert [words[place] for place in found.reverse_order] == other + one
    assert sorted(found.reverse_order) == list(range(len(words)))
    sides = (f" {' '.join(before)} ", f" {' '.join(after)} ")
    for around in found.phrases:
        assert len(set(around)) == len(around)
        for phrase in around:
            assert around[0] in phrase.split()
            assert any(f" {phrase} " in side for side in sides)
            assert PLACEHOLDER not in phrase.split()
            middle = phrase.split()[1:-1]
            assert middle in ([], ["of"])
            assert not {phrase.split()[0], phrase.split()[-1]} & FUNCTION_WORDS
