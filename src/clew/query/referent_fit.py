"""Scores of a referent for a reference: 0 for not at all, more for better, by its number, kind and noun.

Source: none. Differs from the source: nothing.
"""

import re

from clew.query.referents import (
    DATE,
    PERSON,
    PLACE,
    SHIP_NOUNS,
    THING,
    UNKNOWN,
    Referent,
    is_same_noun,
    noun_kind,
)


def fits_noun(one: Referent, noun: str) -> int:
    """Return how well a referent fits `the same NOUN`: 3 for its noun, 2 for its kind, 1 where neither is known."""
    kind = noun_kind(noun) or THING
    if one.noun and (is_same_noun(one.noun, noun) or kind != THING):
        return 3 if is_same_noun(one.noun, noun) else 2 * (one.kind == kind)
    if one.noun and noun_kind(noun) == THING:
        return 0
    return 2 if one.kind == kind else int(one.kind == UNKNOWN and kind != DATE)


def fits_person(one: Referent, pronoun: str) -> int:
    """Return how well a referent fits a personal pronoun; the last answer ranks above the last subject."""
    if one.kind == PERSON and one.pronoun in (pronoun, ""):
        return 3 if one.is_answer else 2
    return int(one.kind == UNKNOWN and not one.pronoun)


def fits_she(one: Referent) -> int:
    """Return how well `she` or `her` fits: 4 for a woman, 3 for a ship, 2 for what may be either, 1 if unknown."""
    if one.kind == PERSON:
        return {"she": 4, "": 2}.get(one.pronoun, 0)
    if re.fullmatch(SHIP_NOUNS, one.noun) or one.pronoun == "she":
        return 3
    return 2 if one.kind == THING and not one.noun else int(one.kind == UNKNOWN)


def fits_it(one: Referent, *, prefers_place: bool) -> int:
    """Return how well `it` fits: a thing, or a place, which verbs such as `founded` prefer."""
    if one.pronoun == "they" or one.kind in (PERSON, DATE):
        return 0
    order = {THING: 2, PLACE: 3} if prefers_place else {THING: 3, PLACE: 2}
    return order.get(one.kind, 1)


def fits_they(one: Referent) -> int:
    """Return how well `they` fits: several, or a group, else anyone."""
    if one.pronoun == "they" or (one.kind == THING and re.fullmatch("expedition|crew|company|band|club", one.noun)):
        return 3
    return 1 if one.kind in (PERSON, THING, UNKNOWN) else 0


def fits_owner(one: Referent, *, of_ship: bool) -> int:
    """Return how well a referent fits as what a captain, an owner or a length is of."""
    if one.kind in (PERSON, DATE) or (of_ship and one.kind == PLACE):
        return 0
    is_ship = re.fullmatch(SHIP_NOUNS, one.noun) is not None
    if of_ship and one.kind == THING and one.noun:
        return 4 if is_ship else 2  # an expedition has a captain where no ship is known
    return {THING: 3, PLACE: 2}.get(one.kind, 1)
