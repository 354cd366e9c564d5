"""Texts whose capitals tell nothing."""

import pytest

from clew.text.casing import is_uninformative

PROSE = "The Fram left Oslo in 1893. Nansen led the expedition to the north."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROSE, False),
        (PROSE.lower(), True),
        (PROSE.upper(), True),
        ("so we went to the harbour and then the ship was gone i think", True),
        ("the fram", False),  # too short to say
        ("卡尔斯克鲁纳是瑞典的港口城市。" * 5, False),  # no capitals at all: the rules know the script
        ("москва является столицей и крупнейшим городом", False),
        ("1893 " * 40, False),
        ("", False),
    ],
)
def test_text_without_capitals_and_in_capitals(text: str, expected: bool) -> None:
    assert is_uninformative(text) is expected
