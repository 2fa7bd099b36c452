"""The German words for times, said in the English ones that are read."""

import re

_FORMS: dict[str, str] = {
    "after": "nach",
    "a": "einem einer eines",
    "afternoon": "nachmittag",
    "and": "und",
    "around": "gegen",
    "before": "vor",
    "between": "zwischen",
    "day": "tage tagen",
    "day before yesterday": "vorgestern",
    "during": "w\u00e4hrend waehrend",
    "evening": "abend",
    "few": "paar einige einigen",
    "from": "von vom",
    "hour": "stunde stunden",
    "in": "im",
    "last": "letzte letzten letzter letztes letztem vergangene vergangenen vergangener",
    "midnight": "mitternacht",
    "minute": "minuten",
    "month": "monat monate monaten monats",
    "morning": "morgen vormittag",
    "night": "nacht",
    "newer": "j\u00fcnger juenger",
    "noon": "mittag",
    "older": "\u00e4lter aelter",
    "on": "am",
    "previous": "vorige vorigen voriger voriges vorherige vorherigen vorheriger",
    "shift": "schicht",
    "since": "seit ab",
    "spring": "fr\u00fchling fruehling fr\u00fchjahr fruehjahr",
    "summer": "sommer",
    "autumn": "herbst",
    "the": "dem den der des zum zur",
    "this": "diese dieser dieses diesen diesem",
    "today": "heute",
    "until": "bis",
    "week": "woche wochen",
    "weekend": "wochenende",
    "year": "jahr jahre jahren jahres",
    "yesterday": "gestern",
    # Counts, as they are compared.
    "2": "zwei",
    "3": "drei",
    "4": "vier",
    "5": "f\u00fcnf fuenf",
    "6": "sechs",
    "7": "sieben",
    "8": "acht",
    "9": "neun",
    "10": "zehn",
    # Days and months.
    "monday": "montag",
    "tuesday": "dienstag",
    "wednesday": "mittwoch",
    "thursday": "donnerstag",
    "friday": "freitag",
    "saturday": "samstag sonnabend",
    "sunday": "sonntag",
    "january": "januar j\u00e4nner jaenner",
    "february": "februar",
    "march": "m\u00e4rz maerz",
    "may": "mai",
    "june": "juni",
    "july": "juli",
    "october": "oktober",
    "december": "dezember",
}
# No article that is an English word: a `die` is a part, too.
WORDS = {form: word for word, forms in _FORMS.items() for form in forms.split()}
_SHIFT = re.compile(r"(?P<name>\w{2,20})schicht")
# `Montagmorgen`, `Freitagabend`.
_PART_OF_DAY = re.compile(
    r"(?P<day>\w+tag|mittwoch|sonnabend)"
    r"(?P<part>morgen|vormittag|nachmittag|abend|nacht)s?"
)
# Small words that mean something else in English, or in capitals: BIS, IM, DES, `am`.
_SMALL = frozenset(
    (
        *("am", "bis", "im", "von", "vom", "vor", "nach", "gegen", "seit", "und", "ab"),
        *("dem", "den", "der", "des", "zum", "zur"),
    )
)
_WITH_A_YEAR = frozenset({"seit"})
# What German has in words of its own: beside it no small word is German.
_ENGLISH = frozenset(
    word
    for said in _FORMS
    for word in said.split()
    if word not in {"in", "a"} and not word.isdigit()
)
# Spoken of the other way round, or in other words.
_TURNED = (
    (re.compile(r"\bein few\b"), "few"),
    (re.compile(r"^older als\b"), "older than"),
    (re.compile(r"^(?:newer|neuer) als\b"), "newer than"),
    # By itself it is the name of a shift.
    (re.compile(r"(?<=day) fr(?:\u00fc|ue)h\b(?! shift)"), " morning"),
    (re.compile(r"\btoday morning\b"), "this morning"),
    (re.compile(r"\btoday night\b"), "this night"),
    # The shift of a day, and the night up to its morning.
    (re.compile(r"\b(shift|night) from (?=(?:the )?\d)"), r"\1 of "),
    (re.compile(r"\bnight (?:auf|the) (?:the )?(?=\d)"), "night before "),
    (
        re.compile(r"^since (\d{1,4}|few) (minute|hour|day|week|month|year)$"),
        r"last \1 \2",
    ),
    (re.compile(r"^since a (minute|hour|day|week|month|year)$"), r"past \1"),
    (re.compile(r"\btoday (afternoon|evening)\b"), r"this \1"),
    (
        re.compile(r"^before (\d{1,4}|a|few) (minute|hour|day|week|month|year)$"),
        r"\1 \2 ago",
    ),
    (re.compile(r"\b(\d{1,2})\. (?=[a-z])"), r"\1 "),
    (re.compile(r"\b(\d{1,2})\.([0-5]\d) uhr\b"), r"\1:\2"),
    (re.compile(r"(?<![:.\d])(\d{1,2}) uhr\b"), r"\1:00"),
    (re.compile(r"(?<=\d) uhr\b"), ""),
)


def begins(word: str) -> bool:
    """Tell whether an expression may begin with a word."""
    return word in WORDS or bool(_SHIFT.fullmatch(word) or _PART_OF_DAY.fullmatch(word))


def lower(word: str) -> str:
    """Return a word in small letters, unless it is a name in capitals."""
    small = word.lower()
    return word if word.isupper() and small.strip(",;.:!?") in _SMALL else small


def in_english(text: str) -> str:
    """Return plain words with the German ones among them in English."""
    words = text.split()
    if not any(begins(word) or word == "uhr" for word in words):
        return text
    if not _SMALL.isdisjoint(words) and not _is_german(words):
        return text
    said = " ".join(map(_word, words))
    for pattern, other in _TURNED:
        said = pattern.sub(other, said)
    return said


def _is_german(words: list[str]) -> bool:
    """Tell whether the words beside the small ones may be German."""
    others = [word for word in words if word not in _SMALL]
    if len(others) == 1 and others[0].isdigit():
        return _WITH_A_YEAR.issuperset(words[:-1])
    return all(word in WORDS or word not in _ENGLISH for word in others)


def _word(word: str) -> str:
    shift = _SHIFT.fullmatch(word)
    if shift:
        # The others have the names that the facility gives them.
        name = "night" if shift["name"] == "nacht" else shift["name"]
        return f"{name} shift"
    part = _PART_OF_DAY.fullmatch(word)
    if part and part["day"] in WORDS:
        return f"{WORDS[part['day']]} {WORDS[part['part']]}"
    return WORDS.get(word, word)
