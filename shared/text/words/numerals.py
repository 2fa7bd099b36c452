"""Numbers as texts write them: with a point or a comma, in groups, by powers of ten."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, NamedTuple

# What stands before the decimals, where a source's locale tells.
DecimalMark = Literal[".", ","]
# Where nothing tells, a comma is one in these if it can be nothing else.
COMMA_LANGUAGES = frozenset({"de", "es", "fr", "it"})

_MINUS = "\u2212"
_RAISED = "[\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}"
_PLAIN_DIGITS = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u2212",
    "0123456789+--",
)
# `10^-7`, `10**-7`, `10^{-7}` and the same with raised digits.
_POWER = (
    rf"10(?:(?:\^|\*\*)(?:[-+{_MINUS}]?\d{{1,3}}|[({{][-+{_MINUS}]?\d{{1,3}}[)}}])"
    rf"|{_RAISED})"
)
_EXPONENT = (
    rf"(?:[eE](?P<exponent>[-+{_MINUS}]?\d{{1,3}})"
    # Where the raised digits were lost, a sign still tells a power: `1.5 x 10-9`.
    rf"|\s?[x*\u00d7\u00b7]\s?(?P<power>{_POWER}|10[-+{_MINUS}]\d{{1,3}}))?"
)
# What parts groups of thousands and is nothing else: no-break, figure, thin blanks.
_GROUP = "'\u00a0\u2007\u2009\u202f"
# By what stands before the decimals. Plain blanks part groups where a comma follows.
_DIGITS: dict[DecimalMark, str] = {
    ".": rf"[1-9]\d{{0,2}}(?:[,{_GROUP}]\d{{3}})+(?:\.\d{{1,12}})?"
    r"|\d{1,12}(?:\.\d{1,12})?|\.\d{1,12}",
    ",": rf"[1-9]\d{{0,2}}(?:[.{_GROUP}]\d{{3}})+(?:,\d{{1,12}})?(?![.,]?\d)"
    r"|[1-9]\d{0,2}(?: \d{3})+,\d{1,12}|\d{1,12}(?:[.,]\d{1,12})?|\.\d{1,12}",
}
_TIMES = r"[x*\u00d7\u00b7]"
# What stands behind a `^` is an exponent, of whatever it may be, and no number; a power
# behind a sign of its own belongs to a number that cannot be read.
_NUMBERS = {
    mark: re.compile(
        rf"(?<![\w.,:/^{_MINUS}-])(?<!\d\u2013)(?<!\d\*\*)(?<!\^ )(?<!\d[eE] )"
        rf"(?<!\d[{_GROUP}])(?P<sign>[-+{_MINUS}]?)"
        rf"(?:(?<!\d{_TIMES})(?<!\d{_TIMES} )(?<!\d {_TIMES} )(?P<bare>{_POWER})"
        rf"|(?P<digits>{digits}){_EXPONENT})"
    )
    for mark, digits in _DIGITS.items()
}
# The other end of `5-10 mA`.
_OTHER_ENDS = {
    mark: re.compile(
        rf"[-\u2013{_MINUS}](?!0\d)(?P<digits>{digits})"
        rf"(?:[eE](?P<exponent>[-+{_MINUS}]?\d{{1,3}}))?"
    )
    for mark, digits in _DIGITS.items()
}
_BLANKS = str.maketrans(dict.fromkeys(f"{_GROUP} "))
# A plain blank parts groups where what comes before can have no number of its own, and
# what follows is not counted: `to 10 500 V`, and neither `BPM 10 500 V` nor
# `to 2 500 W heaters`.
_TOLD = (
    "about|above|approximately|at|auf|bei|below|exceeded|exceeds|is|ist|reached|"
    "reaches|than|to|under|was|were|war|around|over"
)
_GOES_ON = (
    "after|again|and|as|at|auf|because|before|bei|but|by|during|for|from|in|instead|"
    "nach|now|oder|on|or|since|then|to|und|until|vor|when|which|while|with"
)
_WITH_BLANKS = r"(?P<number>[1-9]\d{0,2}(?: \d{3})+)(?:[.,]\d{1,12})?"
_IN_A_UNIT = r" ?(?:%|[\u00b0A-Za-z\u00b5\u03bc]{1,4}[3\u00b3]?(?:/[A-Za-z]{1,4})?)"
_BY_BLANKS = re.compile(
    rf"(?:(?<!\w)(?:{_TOLD})|[=<>~:(\u2248\u2264\u2265])\s?"
    rf"{_WITH_BLANKS}(?={_IN_A_UNIT}"
    rf"(?:\Z|[.,;:)!?\n]|\s{{1,2}}(?:(?:{_GOES_ON})(?!\w)|[-\u2013(])))",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"{_WITH_BLANKS}{_IN_A_UNIT}")
_BLANK_BETWEEN = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")
_NO_BREAK = "\u00a0"
# `1.500` and `1,500`: a group of thousands, or three decimals.
_GROUPED = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")


class Numeral(NamedTuple):
    """A number of a text, and where it stands."""

    value: Decimal
    start: int
    end: int
    # As it is written, without its sign.
    digits: str

    @property
    def is_whole(self) -> bool:
        """Tell whether the number is written in digits alone."""
        return self.digits.isdecimal()


def find_numerals(
    text: str, language: str = "en", mark: DecimalMark | None = None
) -> Iterator[tuple[Numeral, Numeral | None]]:
    """Yield the numbers of a text in order, each with the other end of its range.

    `mark` is what its source writes before decimals; without, the language tells where
    there is no doubt, and what may be 1500 and 1.5 is no number at all.
    """
    is_told = mark is not None
    text = _grouped(text)
    if mark is None:
        mark = "," if language in COMMA_LANGUAGES else "."
    for match in _NUMBERS[mark].finditer(text):
        first = _numeral(match, mark, is_told=is_told)
        if first is None:
            continue
        other = None
        if match["digits"]:
            other = _OTHER_ENDS[mark].match(text, match.end())
        if other is None:
            yield first, None
        elif last := _numeral(other, mark, is_told=is_told):
            yield first, last


def _grouped(text: str) -> str:
    """Return a text, its places kept, whose blanks part thousands where they surely do.

    A text of nothing but a quantity has no other number in it.
    """
    if not _BLANK_BETWEEN.search(text):
        return text
    if alone := _ALONE.fullmatch(text.strip()):
        return text.replace(alone["number"], _as_group(alone["number"]))
    return _BY_BLANKS.sub(lambda said: _as_group(said[0]), text)


def _as_group(number: str) -> str:
    return _BLANK_BETWEEN.sub(_NO_BREAK, number)


def _numeral(
    match: re.Match[str], mark: DecimalMark, *, is_told: bool
) -> Numeral | None:
    parts = match.groupdict()
    power = parts.get("bare") or parts.get("power")
    exponent = power.removeprefix("10").strip("^*(){}") if power else parts["exponent"]
    digits = (parts["digits"] or "1").translate(_BLANKS)
    if mark == ",":
        plain = _with_point(digits, is_told=is_told, is_scaled=exponent is not None)
    else:
        plain = digits.replace(",", "")
    if plain is None:
        return None
    written = f"{parts.get('sign') or ''}{plain}e{exponent or 0}"
    value = Decimal(written.translate(_PLAIN_DIGITS))
    start = match.start() if "sign" in parts else match.start("digits")
    return Numeral(value, start, match.end(), match[0].lstrip(f"+-\u2013{_MINUS}"))


def _with_point(digits: str, *, is_told: bool, is_scaled: bool) -> str | None:
    """Return digits in which a comma may stand before decimals; None: who knows."""
    if not is_scaled and _GROUPED.fullmatch(digits):
        if is_told:
            return digits.replace(".", "").replace(",", ".")
        # With a point it is what a machine has shown; with a comma, either.
        return None if "," in digits else digits
    if "," not in digits and digits.count(".") == 1:
        return digits
    return digits.replace(".", "").replace(",", ".")
