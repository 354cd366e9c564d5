"""Names in scripts without capitals: whole words without marks, particles and function words; repeated words joined."""

import pytest

from clew.text.mentions import find_mentions


def names(text: str) -> list[str]:
    return [mention.name for mention in find_mentions(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("कार्यशाला पासाउ में है।", "पासाउ", {"है।", "है", "में"}),
        ("ورکشاپ پاساؤ میں ہے۔", "پاساؤ", {"ہے۔", "میں"}),
        ("تقع الورشة في باساو، هل هذا صحيح؟", "باساو", {"باساو،", "هذا", "صحيح؟"}),
        ("בית המלאכה נמצא בפסאו והוא היה ריק.", "בפסאו", {"היה"}),
        ("কর্মশালাটি পাসাউয়ে ছিল।", "পাসাউয়ে", {"ছিল।", "ছিল"}),
        ("작업장은 파사우에서 자우어가 관리한다.", "파사우", {"파사우에서", "자우어가"}),
        ("አውደ ጥናቱ በፓሳው ነበር።", "በፓሳው", {"ነበር።", "ነበር"}),
        ("სახელოსნო პასაუში იყო.", "პასაუში", {"იყო"}),
    ],
)
def test_words_are_names_without_their_marks(text: str, wanted: str, unwanted: set[str]) -> None:
    found = names(text)
    assert wanted in found
    assert not unwanted & set(found)


def test_words_that_stand_together_twice_are_one_name() -> None:
    text = "मार्गिट ज़ाउअर पासाउ आई। कार्यशाला मार्गिट ज़ाउअर चलाती हैं।"
    found = names(text)
    assert found.count("मार्गिट ज़ाउअर") == 2
    assert "पासाउ" in found
