"""What months, weekdays, spans of time and counts are called in the five languages."""

import unicodedata
from collections.abc import Iterator, Sequence

from shared.times import german_times
from shared.times.day_words import WEEKDAYS
from shared.times.written_forms import MONTHS

_OTHER_MONTHS = (
    *("janvier gennaio enero", "f\u00e9vrier febbraio febrero", "mars marzo"),
    *("avril aprile abril", "mai maggio mayo", "juin giugno junio"),
    *("juillet luglio julio", "ao\u00fbt agosto", "septembre settembre septiembre"),
    *("octobre ottobre octubre", "novembre noviembre", "d\u00e9cembre dicembre"),
)
# Beside a number alone; what is also a word is none: `gen`, `set`, `ago`.
_SHORT_MONTHS = (
    *("janv ene", "f\u00e9v f\u00e9vr", "m\u00e4r mrz", "avr abr", "", "giu", "juil"),
    *("", "sept", "okt ott", "", "dez d\u00e9c dic"),
)
_OTHER_WEEKDAYS = (
    *("lundi luned\u00ec lunes", "mardi marted\u00ec martes"),
    *("mercredi mercoled\u00ec mi\u00e9rcoles", "jeudi gioved\u00ec jueves"),
    *("vendredi venerd\u00ec viernes", "samedi sabato s\u00e1bado"),
    "dimanche domenica domingo",
)
_SPANS = ("second", "minute", "hour", "day", "week", "month", "year")
_OTHER_SPANS = (
    "seconds sekunde sekunden seconde secondes secondo secondi segundo segundos",
    "minutes minuto minuti minutos",
    "hours heure heures ora ore hora horas",
    "days jour jours giorno giorni d\u00eda d\u00edas",
    "weeks semaine semaines settimana settimane semana semanas",
    "months mois mese mesi mes meses",
    "years ans ann\u00e9e ann\u00e9es anno anni a\u00f1o a\u00f1os",
)
COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_OTHER_COUNTS = (
    *("deux due dos", "trois tre tres", "quatre quattro cuatro", "cinq cinque cinco"),
    *("six sei seis", "sept sette siete", "huit otto ocho", "neuf nove nueve"),
    "dix dieci diez",
)
_SECONDS = (1, 60, 3600, 86_400, 604_800, 2_629_800, 31_557_600)
# How many days later than the day on which it is written; German `hier` is here.
_RELATIVE = {
    -2: "vorgestern anteayer",
    -1: "yesterday gestern hier ieri ayer",
    1: "tomorrow morgen demain domani ma\u00f1ana",
}


def _number(english: Sequence[str], others: Sequence[str]) -> dict[str, int]:
    """Return the number of each name, with and without its accents."""
    return {
        spelt: number
        for number, (name, rest) in enumerate(zip(english, others, strict=True), 1)
        for one in (*name.split(), *_german(name), *rest.split())
        for spelt in (one, strip_accents(one))
    }


def _german(english: str) -> Iterator[str]:
    yield from (form for form, word in german_times.WORDS.items() if word == english)


def strip_accents(name: str) -> str:
    """Return a text without its accents, as who lacks the keys writes it."""
    apart = unicodedata.normalize("NFKD", name)
    return "".join(one for one in apart if not unicodedata.combining(one))


# From two on, as `one` is an article as well.
COUNT_OF = {
    word: number
    for number, (english, rest) in enumerate(zip(COUNTS, _OTHER_COUNTS, strict=True), 2)
    for word in (english, *_german(str(number)), *rest.split())
}
MONTH_OF = _number(MONTHS, _OTHER_MONTHS)
SHORT_MONTH_OF = _number([one[:3] for one in MONTHS], _SHORT_MONTHS)
WEEKDAY_OF = _number(WEEKDAYS, _OTHER_WEEKDAYS)
DAYS_LATER = {
    spelt: days
    for days, names in _RELATIVE.items()
    for name in names.split()
    for spelt in (name, strip_accents(name))
}
# Every word for a month or a weekday, as they are shortened, too.
CALENDAR_WORDS = frozenset(
    (*MONTH_OF, *SHORT_MONTH_OF, *WEEKDAY_OF, *(one[:3] for one in WEEKDAYS))
)
# Behind a number: what is also a word tells no span by itself.
_SPAN_OF = _number(_SPANS, _OTHER_SPANS)
SECONDS_OF = {name: _SECONDS[number - 1] for name, number in _SPAN_OF.items()}
UNIT_OF = {name: _SPANS[number - 1] for name, number in _SPAN_OF.items()}
