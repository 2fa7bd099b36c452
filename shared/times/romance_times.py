"""Times as French, Italian and Spanish say them, in the English words that are read."""

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from shared.times import german_times
from shared.times.calendar_names import (
    COUNT_OF,
    MONTH_OF,
    UNIT_OF,
    WEEKDAY_OF,
    strip_accents,
)
from shared.times.day_words import WEEKDAYS
from shared.times.written_forms import MONTHS

_English: TypeAlias = str | Callable[[re.Match[str]], str]

_MONTH_OF = {name: MONTHS[number - 1] for name, number in MONTH_OF.items()}
_DAY_OF = {name: WEEKDAYS[number - 1] for name, number in WEEKDAY_OF.items()}
_SEASONS = {
    **dict.fromkeys(("hiver", "inverno", "invierno"), "winter"),
    **dict.fromkeys(("printemps", "primavera"), "spring"),
    **dict.fromkeys(("ete", "estate", "verano"), "summer"),
    **dict.fromkeys(("automne", "autunno", "otono"), "autumn"),
}
# French `an` is an article in English, so that no table of all languages has it.
_UNIT_OF = UNIT_OF | _SEASONS | {"an": "year"}
_COUNT_OF = {word: str(number) for word, number in COUNT_OF.items()}
_COUNT_OF |= dict.fromkeys(("quelques", "qualche", "alcuni", "unos", "algunos"), "few")
_UNIT = f"(?P<unit>{'|'.join(_UNIT_OF)})"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_COUNT_OF)})"
_MONTH, _WEEKDAY = f"(?P<month>{'|'.join(_MONTH_OF)})", f"(?P<day>{'|'.join(_DAY_OF)})"
_SEASON = f"(?P<unit>{'|'.join(_SEASONS)})"
_OF_YEAR = r"(?P<of>,? (?:de |del )(?=\d{4}\b))?"
# What was said in English by an earlier turn.
_DATE = rf"(?=\d\d? (?:{'|'.join(MONTHS)})\b)"
_SAID = rf"(?=(?:yesterday|today|last|this|{'|'.join(WEEKDAYS)})\b)"

_THESE = "(?:(?:dans |pendant )?[lc]es|negli|nelle|gli|le|(?:en )?l[oa]s)"


def _unit(found: re.Match[str]) -> str:
    return _UNIT_OF[found["unit"]]


def _units(found: re.Match[str]) -> str:
    """Return a count and its units, as `3 days`; without one, a few of them."""
    count = found["count"] or "few"
    return f"{_COUNT_OF.get(count, count)} {_unit(found)}s"


def _month(found: re.Match[str]) -> str:
    return _MONTH_OF[found["month"]] + (" " if found["of"] else "")


def _day(found: re.Match[str]) -> str:
    return _DAY_OF[found["day"]]


def _turn(english: _English, *forms: str) -> tuple[re.Pattern[str], _English]:
    return re.compile(rf"\b(?:{'|'.join(forms)})"), english


_TURNS = (
    _turn("day before yesterday", r"avant-hier\b", r"l'altro ieri\b", r"anteayer\b"),
    _turn(
        "yesterday evening", r"(?:hier soir|ieri sera|ayer por la (?:noche|tarde))\b"
    ),
    _turn("yesterday morning", r"(?:hier matin|ieri mattina|ayer por la manana)\b"),
    _turn("yesterday afternoon", r"hier apres-midi\b", r"ieri pomeriggio\b"),
    _turn("last night", r"(?:la )?nuit derniere\b", r"cette nuit\b", r"anoche\b"),
    _turn("last night", r"(?:la )?scorsa notte\b", r"ieri notte\b"),
    _turn("yesterday", r"(?:ieri|ayer)\b", r"hier\Z"),
    _turn("today", r"(?:aujourd'hui|oggi|hoy)\b"),
    _turn("this morning", r"(?:ce matin|stamattina|esta manana)\b"),
    _turn(
        lambda found: f"last {_unit(found)}",
        rf"(?:le |la |l'|il |el )?{_UNIT} (?:derni(?:er|ere)|passee?"
        r"|scors[oa]|passat[oa]|pasad[oa])\b",
    ),
    _turn(
        lambda found: f"this {_unit(found)}",
        rf"(?:cet|cette|ce|quest[oa]|est[ea]) {_UNIT}\b",
    ),
    # `l'hiver 2023`, `en verano de 2023`; `a \u00e9t\u00e9` is no summer.
    _turn(
        lambda found: f"{_unit(found)} ",
        rf"(?:(?:en|in|le|la|el|nel|au|del|du) |(?:de )?l'|d'|nell'|dell'){_SEASON}"
        r" (?:de |del )?(?=\d{4}\b)",
    ),
    # `gli ultimi 3 giorni`, `ces 3 derniers jours`.
    _turn(
        lambda found: f"last {_units(found)}",
        rf"{_THESE} (?:derni\w+s|ultim[ie]|ultim[oa]s) (?:{_COUNT} )?{_UNIT}\b",
    ),
    _turn(
        lambda found: f"last {_units(found)}", rf"{_THESE} {_COUNT} derni\w+ {_UNIT}\b"
    ),
    _turn(
        lambda found: f"last {_units(found)}",
        rf"(?:depuis|da|desde hace) {_COUNT} {_UNIT}\b",
    ),
    _turn(lambda found: f"{_units(found)} ago", rf"(?:il y a|hace) {_COUNT} {_UNIT}\b"),
    _turn(lambda found: f"{_units(found)} ago", rf"{_COUNT} {_UNIT} fa\b"),
    _turn(
        lambda found: f"older than {_units(found)}",
        r"(?:plus (?:vieux|vieilles|ancien\w*) (?:que|de)|piu vecchi?e? di"
        rf"|mas (?:viej|antigu)[oa]s (?:que|de)) {_COUNT} {_UNIT}\b",
    ),
    _turn(
        lambda found: f"last {_day(found)}",
        rf"(?:el )?{_WEEKDAY} (?:dernier|scors[oa]|pasado)\b",
    ),
    _turn(
        lambda found: f"since {_day(found)}",
        rf"(?:depuis|da|desde(?: el)?) {_WEEKDAY}\b",
    ),
    _turn(lambda found: f"on {_day(found)}", rf"el {_WEEKDAY}\b(?! \d)"),
    _turn("since ", rf"(?:depuis|desde|da) {_SAID}"),
    # `d\u00e9but juin`, `a principios de junio`, `mi-mai`, `a fine maggio`.
    _turn(
        lambda found: f"beginning of {_month(found)}",
        r"(?:au |all'|a |al )?(?:debut|inizio|principios?)(?: du mois)?(?: de| di)?"
        rf" {_MONTH}\b{_OF_YEAR}",
    ),
    _turn(
        lambda found: f"middle of {_month(found)}",
        r"(?:(?:a la |a )?mi-|(?:a )?(?:meta|mediados)(?: de| di)? )"
        rf"{_MONTH}\b{_OF_YEAR}",
    ),
    _turn(
        lambda found: f"end of {_month(found)}",
        r"(?:a la |alla |a )?(?:fin|fine|finales)(?: du mois)?(?: de| di)?"
        rf" {_MONTH}\b{_OF_YEAR}",
    ),
    # `3 de junio de 2024`, `1er juin`.
    _turn(
        lambda found: f"{found['number']} {_month(found)}",
        rf"(?P<number>\d\d?)(?:er|\u00ba|\u00b0)? (?:de |di )?{_MONTH}\b{_OF_YEAR}",
    ),
    _turn(
        lambda found: f"{'since' if found['since'] else 'in'} {_month(found)}",
        r"(?:(?P<since>depuis|desde|da)|en(?: el mes de)?|nel(?: mese di)?|in"
        rf"|(?:au|du) mois de) {_MONTH}\b{_OF_YEAR}",
    ),
    # What stands between two dates, and before one.
    _turn(
        r"from \1 to ",
        rf"(?:du|dal|del|desde el) (\d\d?.{{0,20}}?) (?:au|al|hasta el) {_DATE}",
    ),
    _turn(
        r"between \1 and ",
        r"(?:entre|tra|fra) (?:le |el |il )?(\d\d?.{0,20}?) (?:et|y|e) (?:le |el |il )?"
        + _DATE,
    ),
    _turn("since ", rf"(?:depuis le|desde el|dal) {_DATE}"),
    _turn("before ", rf"(?:avant le|antes del|prima del) {_DATE}"),
    _turn("after ", rf"(?:apres le|despues del|dopo il) {_DATE}"),
    _turn("until ", rf"(?:jusqu'au|hasta el|fino al) {_DATE}"),
    _turn("on ", rf"(?:le |el |il |l')(?:{_WEEKDAY} )?{_DATE}"),
)
_BEGIN_WORDS = """
    le la les il el los las gli ce cet cette ces questo questa esta este en in nel nelle
    negli dans pendant du dal del da desde depuis avant apres antes despues dopo prima
    au jusqu'au hasta fino entre tra fra hace ieri ayer anteayer avant-hier anoche oggi
    hoy aujourd'hui stamattina scorsa nuit debut inizio principio principios fin fine
    finales meta mediados al a all'inizio alla
"""
# Each is in one of the forms above, and is no word of English or German.
_TELLING_WORDS = """
    depuis desde hace fa dernier derniere derniers dernieres passe passee scorso scorsa
    passato passata pasado pasada ultimi ultime ultimos ultimas ieri ayer anteayer
    avant-hier anoche aujourd'hui oggi hoy soir matin stamattina nuit jours heures
    semaine mois annee mese anno ano settimana semana questa questo esta este cette
    hiver inverno invierno printemps verano automne autunno otono
    vieux vieilles anciens anciennes vecchi vecchie viejos viejas antiguos antiguas
"""
_ELIDED = {f"mi-{one}" for one in _MONTH_OF} | {
    f"{article}'{one}" for article in ("l", "d", "nell", "dell") for one in _SEASONS
}
_BEGINNINGS = frozenset(_BEGIN_WORDS.split()) | _DAY_OF.keys() | _COUNT_OF.keys()
_BEGINNINGS |= _ELIDED
_TELLING = frozenset(_TELLING_WORDS.split()) | {"mai"} | _ELIDED
_TELLING |= {*_MONTH_OF, *_DAY_OF} - {*MONTHS, *WEEKDAYS, *german_times.WORDS}
# In German it says where, so that other words must be French.
HERE = "hier"
_FRENCH_WORDS = "le les est que quand pourquoi ete il depuis soir matin apres-midi"
_FRENCH = frozenset(_FRENCH_WORDS.split())


def find_first_words(words: Iterable[str]) -> frozenset[str]:
    """Return which words a time may begin with, where they are in these languages."""
    plain = {word.lower(): _make_plain(word.lower().strip(",;.:!?")) for word in words}
    said = frozenset(plain.values())
    is_here = HERE in said
    if is_here and not (said & _FRENCH or any("s'" in word for word in said)):
        is_here = False
    if not is_here and _TELLING.isdisjoint(said):
        return frozenset()
    begin = _BEGINNINGS | {HERE} if is_here else _BEGINNINGS
    return frozenset(
        typed for typed, word in plain.items() if word in begin or word[:2] == "l'"
    )


def in_english(text: str) -> str:
    """Return small letters with the times of these languages among them in English."""
    plain = _make_plain(text)
    words = plain.split()
    if _TELLING.isdisjoint(words) and words[-1:] != [HERE]:
        return text
    turned = plain
    for said, english in _TURNS:
        turned = said.sub(english, turned)
    return text if turned == plain else turned


def _make_plain(text: str) -> str:
    """Return a text as who lacks the keys for accents writes it."""
    return text if text.isascii() else strip_accents(text.replace("\u2019", "'"))
