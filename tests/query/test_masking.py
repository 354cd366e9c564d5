"""Masked questions, and their words that may name relations."""

from hypothesis import given
from hypothesis import strategies as st

from clew.query.linking import FUNCTION_WORDS, PLACEHOLDER, MaskedQuestion, find_relation_words, mask_names
from clew.text.normalization import token_keys


def spans_of(question: str, *names: str) -> list[tuple[int, int]]:
    actual = [question.index(name) for name in names]
    return [(start, start + len(name)) for start, name in zip(actual, names, strict=True)]


def phrases_of(question: str, *names: str) -> list[tuple[str, ...]]:
    return list(find_relation_words(mask_names(question, spans_of(question, *names))).phrases)


def test_a_name_is_masked() -> None:
    question = "Who directed The Elephant Man in 1980?"
    query = mask_names(question, spans_of(question, "The Elephant Man"))
    assert query == MaskedQuestion(("who", "directed"), ("in", "1980"))
    assert query.text == "who directed it in 1980"
    assert query.words == ("who", "directed", "in", "1980")


def test_without_a_name_all_words_stand_before_it() -> None:
    assert mask_names("Who's there?", []) == MaskedQuestion(("who", "s", "there"), ())
    assert mask_names("Who's there?", []).text == f"who s there {PLACEHOLDER}"
    assert mask_names("", []) == mask_names(" ?! ", []) == MaskedQuestion((), ())
    assert mask_names("", []).text == PLACEHOLDER


def test_overlapping_names_are_ignored() -> None:
    question = "who shot New York Times Square"
    query = mask_names(question, [(9, 23), (13, 30)])
    assert query == MaskedQuestion(("who", "shot"), ("square",))
    touching = mask_names("who met AnnaBob there", [(8, 12), (12, 15)])
    assert touching == MaskedQuestion(("who", "met"), ("it", "there"))
    assert mask_names("who met Anna", [(8, 12), (8, 12)]) == MaskedQuestion(("who", "met"), ())
    begun = mask_names("who lives in New York City", [(13, 21), (13, 26)])
    assert begun == MaskedQuestion(("who", "lives", "in"), ()), "of two that begin together the longer one"


def test_words_are_folded_in_any_script() -> None:
    question = "Où est né Ærø ﬁlm ΣΊΣΥΦΟΣ 東京 กรุงเทพ?"
    query = mask_names(question, spans_of(question, "Ærø"))
    assert query.before == ("ou", "est", "ne")
    assert query.after == tuple(token_keys(" ﬁlm ΣΊΣΥΦΟΣ 東京 กรุงเทพ"))
    assert query.after[:4] == ("film", "σίσυφοσ", "東", "京")


def test_a_long_question_is_truncated() -> None:
    words = [f"w{number}" for number in range(1_000)]
    start = len(" ".join(words)) + 1
    both = mask_names(" ".join([*words, "X", *words]), [(start, start + 1)])
    assert (len(both.before), both.after) == (400, tuple(words[:400]))
    assert len(mask_names(" ".join(words), []).before) == 400


@given(st.text(max_size=40), st.data())
def test_words_outside_names_stay_in_order(question: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(question)), max_size=6)))
    names = list(zip(cuts[::2], cuts[1::2], strict=False))
    query = mask_names(question, data.draw(st.permutations(names)))
    bounds = [0, *(position for name in names for position in name), len(question)]
    pieces = [token_keys(question[bounds[i] : bounds[i + 1]]) for i in range(0, len(bounds), 2)]
    after = [word for number, piece in enumerate(pieces[1:]) for word in ([PLACEHOLDER] * (number > 0) + piece)]
    assert query == MaskedQuestion(tuple(pieces[0]), tuple(after))


def test_words_come_with_the_phrases_that_contain_them() -> None:
    actual = phrases_of("what is the place of birth of X", "X")
    assert actual == [("birth", "place of birth"), ("place", "place of birth")]
    actual = phrases_of("what release date does film X have won awards", "X")
    assert actual[:2] == [("won", "won awards"), ("awards", "won awards")]
    assert actual[2:] == [("film",), ("date", "release date"), ("release", "release date")]
    three = phrases_of("red green blue X", "X")
    assert three == [("blue", "green blue"), ("green", "red green", "green blue"), ("red", "red green")]


def test_no_phrase_spans_a_name_or_a_function_word() -> None:
    assert phrases_of("the film of X of awards", "X") == [("awards",), ("film",)]
    assert phrases_of("place in birth X", "X") == [("birth",), ("place",)]
    assert phrases_of("X film Y place", "X", "Y") == [("film",), ("place",)]
    assert phrases_of("X films of Y of place", "X", "Y") == [("films",), ("place",)]


def test_questions_without_relation_words() -> None:
    for question in ("", "who is it", "What did X do?"):
        actual = find_relation_words(
            mask_names(question, []) if "X" not in question else mask_names(question, spans_of(question, "X"))
        )
        assert (actual.phrases, actual.reverse_order) == ((), ())


WORDS = st.lists(st.sampled_from(["film", "of", "the", "it", "place", "birth", "東"]), max_size=8).map(tuple)


@given(WORDS, WORDS)
def test_every_relation_word_comes_once_in_each_order(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    actual = find_relation_words(MaskedQuestion(before, after))
    one = [w for w in after if w not in FUNCTION_WORDS]
    other = [w for w in before[::-1] if w not in FUNCTION_WORDS]
    words = [neighbours[0] for neighbours in actual.phrases]
    assert words == one + other
    assert [words[position] for position in actual.reverse_order] == other + one
    assert sorted(actual.reverse_order) == list(range(len(words)))
    sides = (f" {' '.join(before)} ", f" {' '.join(after)} ")
    for neighbours in actual.phrases:
        assert len(set(neighbours)) == len(neighbours)
        for phrase in neighbours:
            assert neighbours[0] in phrase.split()
            assert any(f" {phrase} " in side for side in sides)
            assert PLACEHOLDER not in phrase.split()
            middle = phrase.split()[1:-1]
            assert middle in ([], ["of"])
            assert not {phrase.split()[0], phrase.split()[-1]} & FUNCTION_WORDS
