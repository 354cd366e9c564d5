"""Words in texts, against a regular expression."""

import re

from hypothesis import given
from hypothesis import strategies as st

from clew.text.mentions import _has_word


@given(st.text("aab_1é .名́", max_size=12), st.text("ab1é名", min_size=1, max_size=3))
def test_a_word_is_found_where_no_letter_is_next_to_it(text: str, word: str) -> None:
    assert _has_word(text, word) == (re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None)
