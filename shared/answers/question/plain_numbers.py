"""Numbers as they would be written plainly: `1,200`, `007`, `three` and `minus two`."""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from shared.text.analysis.tokens import scan
from shared.text.facility.facility import Facility
from shared.text.reading.quantities import find_quantities
from shared.text.words.numerals import COMMA_LANGUAGES
from shared.times.calendar_names import COUNT_OF
from shared.vocabulary.expand import UNSTEMMED

_NUMBER = re.compile(
    r"(?<![\w.])\d{1,20}(?:[.,:]\d{1,20}){0,6}|(?<=[A-Za-z_-])\d{1,20}"
)
# One digit may be a word in an entry, or the number of anything.
_LOOSE = re.compile(r"(?<![\w.,:/-])\d[\d.,:]{0,18}\d(?![\w/-])")
# An entry of that moment need not say it.
_TIME_OF_DAY = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_FROM_ELEVEN = (
    *("eleven elf onze undici", "twelve zw\u00f6lf douze dodici doce"),
    *(
        "thirteen dreizehn treize tredici trece",
        "fourteen vierzehn quatorze quattordici catorce",
    ),
    *("fifteen f\u00fcnfzehn quinze quindici quince", "sixteen sechzehn sedici"),
    *("seventeen siebzehn", "eighteen achtzehn", "nineteen neunzehn"),
    "twenty zwanzig vingt venti veinte",
)
_TENS = (
    "thirty drei\u00dfig trente trenta treinta",
    "forty vierzig quarante quaranta cuarenta",
    "fifty f\u00fcnfzig cinquante cinquanta cincuenta",
    "sixty sechzig soixante sessanta sesenta",
    "seventy siebzig settanta setenta",
    "eighty achtzig ottanta ochenta",
    "ninety neunzig novanta noventa",
)
_SPELT_OUT = str.maketrans({"\u00fc": "ue", "\u00f6": "oe"})
_ROWS = {
    **dict(enumerate(_FROM_ELEVEN, 11)),
    **{10 * tens: row for tens, row in enumerate(_TENS, 3)},
}
_NUMBERS = COUNT_OF | {
    word: number for number, row in _ROWS.items() for word in row.casefold().split()
}
# These are words of other kinds in other languages: `due to`, `once`, `un joint neuf`.
_OF_LANGUAGE = {
    "it": {"due": 2, "sei": 6, "otto": 8},
    "fr": {"sept": 7, "neuf": 9, "seize": 16},
    "es": {"once": 11},
}
NUMBER_WORDS = {
    spelt: number
    for word, number in _NUMBERS.items()
    for spelt in (word, word.translate(_SPELT_OUT))
    if not any(word in words for words in _OF_LANGUAGE.values())
}
_TIMES = {f"{word}mal": number for word, number in NUMBER_WORDS.items()} | {"twice": 2}
# A plural behind one of them says that it counts, whatever the language.
_COUNTS = {
    "due": re.compile(r" (?!to\b|date\b|time\b|the\b)\w+[ei]\b"),
    "otto": re.compile(r" \w+[ei]\b"),
    "neuf": re.compile(r" \w+[sx]\b"),
    "sept": re.compile(r" \w+[sx]\b"),
}
_WORD = re.compile(r"[^\W\d_]{3,12}")
# `twenty-five`, `treinta y cinco`, `dix-sept`.
_TENS_AND_MORE = re.compile(r"(?:-| et | y )([^\W\d_]{3,12})\b")
_LEAST_TENS = 10
_ONES = NUMBER_WORDS | _OF_LANGUAGE["fr"]
_SPOKEN = frozenset(NUMBER_WORDS).union(_TIMES, *_OF_LANGUAGE.values())
_SIGNED = frozenset({" -", "(-", "=-", ":-", "~-", "<-", ">-"})
# `Au moins` and `al menos` are no less than nothing.
_MINUS = re.compile(
    r"(?<!\bau )(?<!\bdu )(?<!\bal )(?<!\blo )\b(?:minus|moins|meno|menos) (?=\d)"
    r"|(?<=\s)[\u2212\u2013](?=\d)",
    re.IGNORECASE,
)
_BELOW_ZERO = re.compile(
    r"(?<![\w.,-])(\d[\d.,]*[^\d;!?]{0,12}) (?:below zero|unter null|sous z\u00e9ro"
    r"|au-dessous de z\u00e9ro|sotto (?:lo )?zero|bajo cero)\b",
    re.IGNORECASE,
)
# `11h04`, `11.04 Uhr`, `alle ore 11.04`; what takes `5 h 30 min` is no time of day.
_CLOCK = re.compile(
    r"\b([01]?\d|2[0-3])(?: ?h ?([0-5]\d)\b(?! ?min)|\.([0-5]\d)(?= uhr\b))"
    r"|(?<=\bore )([01]?\d|2[0-3])\.([0-5]\d)\b",
    re.IGNORECASE,
)


def write_plainly(text: str, language: str = "") -> str:
    """Return a text whose spoken numbers and signs are in digits.

    `language`: that of the text, where it is known.
    """
    own = _OF_LANGUAGE.get(language, {})
    plain: list[str] = []
    end = 0
    for found in _WORD.finditer(text):
        if found.start() < end or found[0].casefold() not in _SPOKEN:
            continue
        number, last = _read_word(text, found, own)
        if number is not None:
            plain += (text[end : found.start()], str(number))
            end = last
    said = "".join((*plain, text[end:])) if plain else text
    return _BELOW_ZERO.sub(r"-\1", _MINUS.sub("-", said))


def write_clocks(text: str) -> str:
    """Return a text whose times of day are all written as `11:04`."""
    return _CLOCK.sub(lambda clock: ":".join(filter(None, clock.groups())), text)


def is_number_word(word: str) -> bool:
    """Tell whether a word is a number in every language that has it."""
    return word in NUMBER_WORDS


def find_numbers(text: str) -> Iterator[str]:
    """Yield every number, as it would be written plainly, without its sign."""
    for _, number in _find(write_plainly(write_clocks(text))):
        yield number


def list_loose_numbers(
    text: str, things: AbstractSet[str], facility: Facility
) -> Iterator[str]:
    """Yield the numbers of a question that are no size, time, thing or part of a name.

    `things`: the numbers by which it calls things.
    """
    tokens = scan(text, UNSTEMMED, facility)
    parts = [(one.start, one.end) for one in tokens if one.is_name]
    parts += [(one.start, one.end) for one in find_quantities(text)]
    for found in _LOOSE.finditer(text):
        is_part = any(start <= found.start() < end for start, end in parts)
        is_time = _TIME_OF_DAY.fullmatch(found[0])
        if not is_part and not is_time and found[0].lstrip("0") not in things:
            yield found[0]


def find_signed(plain: str) -> Iterator[str]:
    """Yield every number of a text that is written plainly, with its sign."""
    for sign, number in _find(plain):
        yield f"{sign}{number}"


def find_readings(plain: str, language: str) -> Iterator[str]:
    """Yield all that the numbers of a text may be, with their signs: `1.250` is two."""
    yield from find_signed(plain)
    if language in COMMA_LANGUAGES:
        for found in _NUMBER.finditer(plain):
            if _GROUPED_BY_POINTS.fullmatch(found[0]):
                yield found[0].replace(".", "").partition(",")[0]


def _find(text: str) -> Iterator[tuple[str, str]]:
    for match in _NUMBER.finditer(text):
        written = match[0]
        # Where a text or a line begins it is a mark of lists.
        is_signed = text[max(0, match.start() - 2) : match.start()] in _SIGNED
        sign = "-" if is_signed else ""
        if ":" in written:
            yield sign, (written.removesuffix(":00").lstrip("0") or written)
            continue
        if _GROUPED.fullmatch(written):
            written = written.replace(",", "")
        plain = written.replace(",", ".")
        if plain.count(".") == 1:
            plain = plain.rstrip("0").rstrip(".")
        yield sign, (plain.lstrip("0") or "0")


def _read_word(
    text: str, word: re.Match[str], own: Mapping[str, int]
) -> tuple[int | None, int]:
    """Return the number that a word is, if it is one, and where it ends."""
    said, end = word[0].casefold(), word.end()
    number = NUMBER_WORDS.get(said) or _TIMES.get(said) or own.get(said)
    if number is None and said in _COUNTS and _COUNTS[said].match(text, end):
        number = next(words[said] for words in _OF_LANGUAGE.values() if said in words)
    if number is not None and number >= _LEAST_TENS and number % 10 == 0:
        more = _TENS_AND_MORE.match(text, end)
        ones = _ONES.get(more[1].casefold()) if more else None
        if more and ones and ones < _LEAST_TENS:
            return number + ones, more.end()
    return number, end
