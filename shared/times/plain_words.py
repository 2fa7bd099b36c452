"""Words of a time as they are compared: in English, each hour and day in one form."""

import re
from collections.abc import Callable

from shared.times import german_times, romance_times, written_forms
from shared.times.calendar_names import COUNTS

MONTHS = "|".join(written_forms.MONTHS)
_SHORT = "jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec"
SHORT_MONTHS = frozenset(_SHORT.split("|"))
# `Feb. 20`; by itself `Mar` may be a name.
MONTH_BESIDE_NUMBER = rf"(?:{MONTHS}|(?:{_SHORT})\.?)"
UNITS = "minute|hour|day|week|month|year"
# How many, in digits or vaguely.
COUNT = r"(?:\d{1,4}|few|couple)"

_COUNTED = re.compile(rf"\b({'|'.join(COUNTS)}) (?=(?:{UNITS})s?\b)")
# `last 24h`, `past 90 min`.
_SHORT_UNIT = re.compile(
    r"\b(last|past|previous) (\d{1,4}) ?(?:(h|hrs?)|(mins?))$", re.ASCII
)
# `2 pm`, `2:30 p.m.`, `2-4 pm`: one half of the day may be said of both.
_HALF_OF_DAY = re.compile(
    r"(?:\b(?P<first>1[0-2]|0?[1-9])(?P<minute>:[0-5]\d)?"
    r"(?P<joins> (?:and|to|until) | ?[-\u2013] ?))?"
    r"\b(?P<hour>1[0-2]|0?[1-9])(?P<after>:[0-5]\d)? ?(?P<half>[ap])\.?m\b\.?",
    re.ASCII,
)
# `august 99`, `june '24`; no day of a month is larger than 31.
_SHORT_YEAR = re.compile(
    rf"\b(?P<month>{MONTH_BESIDE_NUMBER}(?: \d\d?,?(?= ['\u2019]))?)"
    r" (?:['\u2019](?P<after>\d\d)|(?P<behind>3[2-9]|[4-9]\d))(?!\w|[:.,]\d)",
    re.ASCII,
)
_NOON, _FIRST_OF_LAST_CENTURY = 12, 50
_SINCE_START = (
    r"\bsince (?:the )?(?:(?:beginning|start) of|anfang|beginn)(?: of)? (?:the )?"
)
# `at the end of May`, `mid-May`, `in early June`, `Anfang Juni`: a third of a month.
_PART_OF_MONTH = re.compile(
    r"\b(?:(?:at|in) (?:the )?)?"
    r"((?:start|beginning|middle|end)(?= of)|mid|anfang|mitte|ende"
    r"|(?<=in )(?:early|late))(?: of)?[ -]"
    rf"(?={MONTH_BESIDE_NUMBER}(?![^\W.]))"
)
_PARTS = {
    **dict.fromkeys(("start", "beginning", "early", "anfang"), "beginning of "),
    **dict.fromkeys(("mid", "middle", "mitte"), "middle of "),
    **dict.fromkeys(("end", "late", "ende"), "end of "),
}
_SIGNS_OF_PARTS = (" of ", "mid", "anfang", "mitte", "ende", " early ", " late ")


def _part_of_month(found: re.Match[str]) -> str:
    return _PARTS[found[1]]


# A word without which the form is not there, the form, and how it is compared.
_FORMS: tuple[tuple[str, re.Pattern[str], str | Callable[..., str]], ...] = (
    *((sign, _PART_OF_MONTH, _part_of_month) for sign in _SIGNS_OF_PARTS),
    ("before", re.compile(r"\bbefore (?:the )?(?=end of )"), "until "),
    ("after", re.compile(r"\bafter (?:the )?(?=beginning of )"), "since "),
    # `a few days`, `a couple of weeks`.
    ("few", re.compile(rf"\ba few (?={UNITS})"), "few "),
    ("couple", re.compile(rf"\b(?:a )?couple (?:of )?(?={UNITS})"), "couple "),
    ("than", re.compile(rf"\bolder than ({COUNT} (?:{UNITS}))s?$"), r"before \1 ago"),
    ("than", re.compile(rf"\bnewer than (?={COUNT} (?:{UNITS})s?$)"), "last "),
    ("than", re.compile(r"\bolder than "), "before "),
    ("than", re.compile(r"\bnewer than "), "after "),
    # `owl shift of 10 june`.
    ("shift", re.compile(r"\bshift (?:of|on) (?:the )?"), "shift "),
    # The night up to the morning of a day, and the one that is called by its evening.
    (
        "night",
        re.compile(
            r"\bnight (?:(?:from|between) .{1,20}? (?:to|and|auf)|of .{1,20}? auf)"
            r" (?:the )?"
        ),
        "night to ",
    ),
    ("night", re.compile(r"\byesterday night\b(?! shift)"), "last night"),
    (
        "night",
        re.compile(r"\b(?:during|in|over|through) the night$"),
        "during last night",
    ),
    ("night", re.compile(r"\btonight$"), "this night"),
    # Which one `until midnight` means is open.
    (
        "night",
        re.compile(r"\b(since|after|around|about|from|between) midnight\b"),
        r"\1 00:00",
    ),
    (
        "noon",
        re.compile(r"\b(since|after|around|about|from|between|to|and) noon\b"),
        r"\1 12:00",
    ),
    # `last half hour`, `in der letzten halben Stunde`.
    ("hour", re.compile(r"\blast (?:half|halben) hour\b"), "last 30 minutes"),
    # `since the start of june`, `seit Anfang Juni`, `seit Anfang des Jahres`.
    (
        "since",
        re.compile(rf"{_SINCE_START}(?=(?:day|week|month|year)$)"),
        "since this ",
    ),
    ("since", re.compile(_SINCE_START), "since "),
    (
        " of ",
        re.compile(r"\b(morning|afternoon|evening) of (?:the )?(\S.*)$"),
        r"\2 \1",
    ),
)
_FORMS_OF_SIGN = {
    sign: [(form, other) for one, form, other in _FORMS if one == sign]
    for sign in dict.fromkeys(sign for sign, *_ in _FORMS)
}
_DIGIT = re.compile(r"\d", re.ASCII)


def make_plain(words: list[str]) -> str:
    """Return words as they are compared: what ends a sentence does not count."""
    text = " ".join(map(german_times.lower, words)).rstrip(",;.:!?")
    text = text.replace("'s", "").replace("\u2019s", "")
    text = _COUNTED.sub(lambda found: f"{COUNTS.index(found[1]) + 2} ", text)
    text = german_times.in_english(romance_times.in_english(text))
    if _DIGIT.search(text):
        for form, plain in _FORMS_OF_NUMBERS:
            text = form.sub(plain, text)
    for sign, forms in _FORMS_OF_SIGN.items():
        if sign in text:
            for form, other in forms:
                text = form.sub(other, text)
    return text


def _whole_unit(found: re.Match[str]) -> str:
    return f"{found[1]} {found[2]} {'hours' if found[3] else 'minutes'}"


def _whole_year(found: re.Match[str]) -> str:
    number = found["after"] or found["behind"]
    century = 20 if int(number) < _FIRST_OF_LAST_CENTURY else 19
    return f"{found['month']} {century}{number}"


def _of_24_hours(found: re.Match[str]) -> str:
    """Return `14:00 to 16:00` for `2 to 4 pm`, `11:00 to 13:00` for `11 to 1 pm`."""
    is_late = found["half"] == "p"
    hour = int(found["hour"]) % _NOON + _NOON * is_late
    last = f"{hour:02d}{found['after'] or ':00'}"
    if not found["first"]:
        return last
    first = int(found["first"]) % _NOON + _NOON * is_late
    first -= _NOON * (is_late and first > hour)
    return f"{first:02d}{found['minute'] or ':00'}{found['joins']}{last}"


_FORMS_OF_NUMBERS: tuple[tuple[re.Pattern[str], str | Callable[..., str]], ...] = (
    (_HALF_OF_DAY, _of_24_hours),
    (_SHORT_UNIT, _whole_unit),
    (_SHORT_YEAR, _whole_year),
    # `10th of june 2023`, `june 10th, 2023`, `march of 2023`.
    (
        re.compile(
            rf"\b(\d{{1,2}})(?:st|nd|rd|th)(?: of)?"
            rf" (?={MONTH_BESIDE_NUMBER}(?![^\W.]))",
            re.ASCII,
        ),
        r"\1 ",
    ),
    (
        re.compile(rf"\b({MONTH_BESIDE_NUMBER} \d{{1,2}})(?:st|nd|rd|th)\b", re.ASCII),
        r"\1",
    ),
    (re.compile(rf"\b({MONTHS}) of (?=\d{{4}}\b)", re.ASCII), r"\1 "),
    (
        re.compile(r"\b(?:kw|cw|(?:calendar )?week|kalenderwoche) ?(\d{1,2})\b"),
        r"week \1",
    ),
)
