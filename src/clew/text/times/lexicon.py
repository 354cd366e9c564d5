"""Words that state times, by language: months, weekdays, units and relative words of CLDR by way of `dateparser`.

Each word has a letter for its role, so that `clew.text.times.grammar` can read a text as a row of letters:

    M m     month, its abbreviation           W U     weekday, unit of time
    C r     number word, Roman number         R X     day relative to the reference, to a date before it in the text
    L N T   last, next, this                  G S     following, same
    v F     "vor" and "in" of relative times  g l e   ago, later, earlier
    f t u   from, to, until                   s b a   since, before, after
    w & d   between, and, of                  I i o   in, other prepositions, articles
    h p z   onwards, present, will            P H @   early or late, part of the day, AD
    J O     century, decade

Source: `dateparser`'s tables of words; own tables of the words that join times, which no library has. Differs from the
source: words for "last", "next" and "this" are taken out of phrases such as "le mois dernier".
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

# Codes of the languages that Clew's rules read, where the library has them; those in _WORDS are read best.
LANGUAGES = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "ca", "ro", "hu", "tr", "id", "pl", "cs"),
    *("ru", "uk", "el"),
)
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905 - a list
_UNITS = ("day", "week", "month", "year", "decade")
PIECE = re.compile(r"[^\W\d_]+|[-–—/.,;:()+#°%$€£§]")
_RELATIVE = re.compile(r"(?P<in>in )?(?P<count>\d) (?P<unit>day|week|month|year)(?: ago)?")
_NUMBER = re.compile(r"\(\\d[^)]*\)")
_WEAK = {"may", "march"}  # in lower case: verbs too
_MIN_WEEKDAY = 5  # characters: shorter ones are other words too
VOTE_BITS = 16

# "letter word|word=value; letter ...", first those of a role; V: words that only tell the language.
_WORDS = {
    "en": "f from; t to|through|thru; u until|till|til|up to; s since; b before|prior to; a after; w between; & and; "
    "I in; i on|at|during|by|around|about|circa|ca|c|as of|dated; d of|day of; o the; h onwards|onward; p present|"
    "date|now; z will|shall|ll|going to|upcoming; L last|past; N next|coming; T this; P early=0|beginning of=0|start "
    "of=0|mid=1|middle of=1|late=2|end of=2; H morning|afternoon|evening|night; R last night=-1|tonight=0|day before "
    "yesterday=-2; l later; e earlier; G following; S same|that; J century|centuries; r tenth=10|eleventh=11|"
    "twelfth=12|thirteenth=13|fourteenth=14|fifteenth=15|sixteenth=16|seventeenth=17|eighteenth=18|nineteenth=19|"
    "twentieth=20|twenty-first=21; Z half a; O nineties=1990|eighties=1980|seventies=1970|sixties=1960|fifties=1950|"
    "forties=1940|thirties=1930|twenties=1920; U decade=decade|decades=decade; @ ad|ce; V is was were for with he she "
    "it i we you are has had not who his her be my your our an which have been",
    "de": "f von|vom; u bis; s seit|ab; a nach; w zwischen; & und|sowie; I in; i im|am|an|um|gegen|zum|zur|etwa|circa|"
    "ca; d des|der; o dem|den|die|das|spätestens|einschließlich; p gegenwart; z wird|werden|werde|wirst; L letzte|"
    "letzten|letzter|letztes|letztem|vergangene|vergangenen|vergangenes|vorige|vorigen|voriges|voriger; N nächste|"
    "nächsten|nächster|nächstes|nächstem|kommende|kommenden|kommendes; T dieser|diesem|diesen|diese|dieses; P "
    "anfang=0|beginn=0|frühen=0|mitte=1|ende=2|späten=2; H vormittag|mittag|nachmittag|abend|nacht|früh; U "
    "wochen=week|jahrzehnt=decade|jahrzehnte=decade|jahrzehnten=decade|jahres=year; l später; e früher|zuvor; G "
    "folgenden|folgende|folgendes|darauffolgenden|darauf; S selben|gleichen|jenem|jenes; X folgejahr=year; O "
    "neunziger=1990|achtziger=1980|siebziger=1970|sechziger=1960|fünfziger=1950|vierziger=1940|dreißiger=1930|"
    "zwanziger=1920|neunzigern=1990|achtzigern=1980|siebzigern=1970|sechzigern=1960; J jahrhundert|jahrhunderts|"
    "jahrhunderten; V ist war waren wurde wurden ich wir sie er nicht auf für mit ein eine einen hat haben hatte zu "
    "es bei aus",
    "fr": "d de|du|des|d; t à|au|aux; u jusqu|jusque; s depuis|dès|à partir|à compter; b avant; a après; w entre; & "
    "et; i en|vers|environ; F dans; o le|la|les|l; p présent|nos jours; z sera|seront|aura|auront|va|vont|serons; L "
    "dernier|dernière|derniers|dernières|passé|passée; N prochain|prochaine|prochains|prochaines; T ce|cette|cet|ces; "
    "P début=0|commencement=0|mi=1|milieu=1|fin=2; H matin|soir|après-midi|nuit; C une=1|un=1|vingt=20|trente=30|"
    "quarante=40|cinquante=50|soixante=60|soixante-dix=70|quatre-vingt=80|quatre-vingts=80|quatre-vingt-dix=90; U "
    "an=year|décennie=decade|décennies=decade; l plus tard; e plus tôt|auparavant; G suivant|suivante; S même; X "
    "lendemain=1|surlendemain=2|veille=-1; J siècle|siècles; V est fut était été il elle nous je un une pour que qui "
    "sur dans ne pas avons ont sont se s n",
    "es": "d de|del; t a|al; u hasta; s desde|a partir|a contar; b antes de|antes del; a después de|después del|tras; "
    "w entre; & y|e; I en; i hacia|alrededor; F dentro de; o el|la|los|las; p presente|actualidad; L pasado|pasada|"
    "pasados|pasadas|último|última|últimos|últimas; N próximo|próxima|próximos|próximas|que viene; T este|esta; P "
    "principios=0|comienzos=0|inicios=0|mediados=1|finales=2|fines=2; H tarde|noche|madrugada; R anoche=-1|pasado "
    "mañana=2; C uno=1|dos=2|tres=3|cuatro=4|cinco=5|seis=6|siete=7|ocho=8|nueve=9|diez=10|once=11|doce=12|quince=15|"
    "veinte=20|treinta=30|cuarenta=40|cincuenta=50|sesenta=60|setenta=70|ochenta=80|noventa=90; U década=decade|"
    "décadas=decade; l más tarde|después; G siguiente; S mismo|misma|ese|esa|aquel; J siglo|siglos; V es fue se que "
    "un una por con no su lo me está son han ha había era muy como más",
    "it": "d di|del|dell|d|dello|della; t a|al|all; u fino al|fino a|fino all|fino alla; s dal|dall|da; b prima del|"
    "prima di; a dopo il; w tra|fra; & e; I in; i nel|nell|verso|circa; o il|lo|la|i|gli|le|l; p oggi|presente; z "
    "sarà|saranno; L scorso|scorsa|ultimo|ultima|ultimi|ultime; N prossimo|prossima|prossimi|prossime; T questo|"
    "questa|quest; P inizio=0|inizi=0|metà=1|fine=2; H mattina|pomeriggio|sera|notte|stamattina; R stamattina=0|"
    "stasera=0|ieri sera=-1; C uno=1|una=1|un=1|due=2|tre=3|quattro=4|cinque=5|sei=6|sette=7|otto=8|nove=9|dieci=10|"
    "venti=20|trenta=30|quaranta=40|cinquanta=50|sessanta=60|settanta=70|ottanta=80|novanta=90; U decennio=decade|"
    "decenni=decade; l dopo|più tardi; e prima; G successivo|seguente; S stesso; J secolo|secoli; V è era sono stato "
    "fu che un una per con non si ha hanno della nella ho",
    "pt": "d de|do|da|dos|das; t a|ao|à; u até; s desde|a partir; b antes de|antes do; a depois de|após; w entre; & "
    "e; I em; i no|na|nos|nas|por volta; F daqui a; o o|os|as; p presente; L passado|passada|último|última|últimos|"
    "últimas; N próximo|próxima|próximos|próximas|que vem; T este|esta; P início=0|começo=0|meados=1|final=2|fim=2|"
    "finais=2; H manhã|tarde|noite; R depois de amanhã=2; C dois=2|duas=2|três=3|quatro=4|cinco=5|seis=6|sete=7|"
    "oito=8|nove=9|dez=10|vinte=20|trinta=30|quarenta=40|cinquenta=50|sessenta=60|setenta=70|oitenta=80|noventa=90; U "
    "década=decade|décadas=decade; g atrás; l depois|mais tarde; e antes; G seguinte; S mesmo; J século|séculos; V é "
    "foi que um uma por com não seu sua se são está eu ele ela",
    "nl": "f van; u tot; s sinds|vanaf; b vóór|voor; a na; w tussen; & en; I in; i op|rond|omstreeks; o de|het; p "
    "heden; z zal|zullen; L vorige|vorig|afgelopen|laatste; N volgende|volgend|komende|komend; T dit|deze; P begin=0|"
    "half=1|medio=1|eind=2|einde=2; H ochtend|middag|avond|nacht; R gisteravond=-1|vanochtend=0|vanavond=0; C een=1|"
    "twee=2|drie=3|vier=4|vijf=5|zes=6|zeven=7|acht=8|negen=9|tien=10; U decennium=decade|decennia=decade; F over; l "
    "later; e eerder; G daaropvolgende; S hetzelfde|dezelfde; J eeuw; V is was werd een ik wij hij zij niet met voor "
    "van te dat er heeft zijn",
}  # fmt: skip


class Entry(NamedTuple):
    """A word or phrase of a language, by its role."""

    rest: tuple[str, ...]  # of a phrase, the pieces after the first one, in lower case
    letter: str
    value: int | str = 0  # month, weekday from 0, count, days, third, or the name of a unit


class Word(NamedTuple):
    """A written word: its languages as counts of `VOTE_BITS` bits each, and its entries by the number of one."""

    vote: int
    entries: dict[int, tuple[Entry, ...]]


class Lexicon(NamedTuple):
    """Words of all languages as they are written, and those without which no time is stated in a text of no digit."""

    words: dict[str, Word]
    votes: dict[str, int]  # of the words
    triggers: frozenset[str]  # in lower case


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Return the words of all languages, read once; this imports `dateparser`."""
    found: dict[str, dict[int, dict[tuple[str, ...], Entry]]] = {}
    voters: dict[str, set[int]] = {}
    triggers: set[str] = set()
    for number, code in enumerate(LANGUAGES):
        for phrase, letter, value in _entries(code):
            pieces = tuple(PIECE.findall(phrase.lower()))
            if not pieces or (letter == "m" and len(pieces[0]) < 3):
                continue
            voters.setdefault(pieces[0], set()).add(number) if len(pieces) == 1 or letter != "V" else None
            if letter == "V":
                continue
            entries = found.setdefault(pieces[0], {}).setdefault(number, {})
            entries.setdefault(pieces[1:], Entry(pieces[1:], letter, value))
            if letter in "MWURXLNJO" and len(pieces[0]) > 1:
                triggers.add(pieces[0])
    words: dict[str, Word] = {}
    for word, numbers in voters.items():
        vote = sum(1 << (VOTE_BITS * number) for number in numbers)
        entries_by = {n: tuple(sorted(e.values(), key=lambda e: -len(e.rest))) for n, e in found.get(word, {}).items()}
        forms = {word, word.capitalize(), word.upper(), *_roman_forms(word)}
        words.update(dict.fromkeys(forms, Word(vote, entries_by)))
        if word in _WEAK:
            weak = (Entry((), "k", next(e.value for e in entries_by[0] if e.letter in "Mm")),)
            words[word] = Word(vote, {**entries_by, 0: weak})
    return Lexicon(words, {form: word.vote for form, word in words.items()}, frozenset(triggers))


def _entries(code: str) -> Iterator[tuple[str, str, int | str]]:
    """Yield the phrases of a language with letter and value, the own ones first: those win."""
    for part in _WORDS.get(code, "").split("; "):
        letter, _, words = part.partition(" ")
        for word in words.split(" ") if letter == "V" else words.split("|"):
            name, _, value = word.partition("=")
            yield name, letter, int(value) if value.lstrip("-").isdigit() else value or 0
    if code in _WORDS:
        for roman, number in _ROMAN.items():
            yield from ((roman + ending, "r", number) for ending in ("", "e", "ème") if number > 4)
    info: dict[str, Any] = import_module(f"dateparser.data.date_translation_data.{code}").info
    for number, key in enumerate(_MONTHS, 1):
        names = [name for name in info.get(key, ()) if name.isalpha()]
        longest = max(map(len, names), default=0)
        yield from ((name, "M" if len(name) > 4 or len(name) == longest else "m", number) for name in names)
    for number, key in enumerate(_WEEKDAYS):
        yield from ((name, "W", number) for name in info.get(key, ()) if len(name) >= _MIN_WEEKDAY)
    units = {name.lower(): key for key in _UNITS for name in info.get(key, ()) if len(name) > 1}
    yield from ((name, "U", key) for name, key in units.items())
    yield from _relative_entries(info, units)
    for row in info.get("simplifications") or ():
        yield from ((name, "C", int(value)) for name, value in row.items() if name.isalpha() and str(value).isdigit())


def _relative_entries(info: dict[str, Any], units: dict[str, str]) -> Iterator[tuple[str, str, int | str]]:
    for key, phrases in info.get("relative-type", {}).items():
        if match := _RELATIVE.fullmatch(key):
            count = int(match["count"]) * (1 if match["in"] else -1)
            for phrase in phrases:
                words = PIECE.findall(phrase.lower())
                others = [word for word in words if word not in units and len(word) > 3]
                if match["unit"] == "day":
                    yield phrase, "R", count
                elif len(others) < len(words) and len(others) == 1 and abs(count) < 2:
                    yield others[0], "LTN"[count + 1], 0
    for key, patterns in info.get("relative-type-regex", {}).items():
        if key in ("\\1 year ago", "in \\1 year"):
            for pattern in patterns:
                parts = _NUMBER.split(pattern)
                if len(parts) != 2 or "\\" in "".join(parts):
                    continue
                if key.startswith("in"):
                    yield parts[0], "F", 0
                else:
                    words = parts[1].split()
                    yield (words[-1], "g", 0) if len(words) > 1 else (parts[0], "v", 0)


def _roman_forms(word: str) -> Iterator[str]:
    """Yield "XIXe" of "xixe"."""
    yield from (word[: -len(ending)].upper() + ending for ending in ("e", "ème") if word.removesuffix(ending) in _ROMAN)


_ROMAN = {
    tens + ones: 10 * ten + one
    for ten, tens in enumerate(("", "x", "xx"))
    for one, ones in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if tens + ones
}
