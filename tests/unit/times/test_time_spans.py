"""Spans of days, nights between two days, and parts of a day."""

from dataclasses import replace
from datetime import UTC, datetime, time

import pytest

from shared.search.query.language import tree_text
from shared.times.calendar import Clock
from shared.times.shifts import NO_SHIFTS
from tests.unit.times.test_time_phrases import CLOCK, plan_of, told

JUNE_10_TO_14 = "2024-06-09 22:00 to 2024-06-14 22:00"
JUNE_10_TO_12 = "2024-06-09 22:00 to 2024-06-12 22:00"
TO_TUESDAY = "2024-06-10 16:00 to 2024-06-11 04:00"
TWO_TO_FOUR = "2024-06-11 12:00 to 2024-06-11 14:00"
LAST_NIGHT = "2024-06-11 22:00 to 2024-06-12 06:00"

# It is Wednesday, 12 June 2024.
SPANS = [
    # What has begun may end later; what has not is of the year before.
    ("trip from June 10 to June 14", JUNE_10_TO_14),
    ("trip from 10 to 14 June", JUNE_10_TO_14),
    ("trip between the 10th and the 14th of June", JUNE_10_TO_14),
    ("trip from June 10 to 14", JUNE_10_TO_14),
    ("trip vom 10. bis 12. Juni", JUNE_10_TO_12),
    ("trip vom 10. Juni bis zum 12. Juni", JUNE_10_TO_12),
    ("trip from June to August", "2024-05-31 22:00 to 2024-08-31 22:00"),
    ("trip from July to August", "2023-06-30 22:00 to 2023-08-31 22:00"),
    ("trip from November to March", "2023-10-31 23:00 to 2024-03-31 22:00"),
    # The year of the last is that of both, unless that were the wrong way round.
    ("trip from 10 June to 14 June 2023", "2023-06-09 22:00 to 2023-06-14 22:00"),
    ("trip from June 10th to 14th, 2023", "2023-06-09 22:00 to 2023-06-14 22:00"),
    (
        "trip from December 20 to January 5, 2023",
        "2022-12-19 23:00 to 2023-01-05 23:00",
    ),
    ("trip from 2024/06/10 to 2024/06/12", JUNE_10_TO_12),
    ("trip between 2024.06.10 and 2024.06.12", JUNE_10_TO_12),
    # Nights between two days.
    ("trip in the night from Monday to Tuesday", TO_TUESDAY),
    ("trip in the night between Monday and Tuesday", TO_TUESDAY),
    ("trip in der Nacht von Montag auf Dienstag", TO_TUESDAY),
    ("trip in der Nacht vom 10. auf den 11. Juni", TO_TUESDAY),
    ("trip yesterday night", LAST_NIGHT),
    ("trip gestern Nacht", LAST_NIGHT),
    ("trip Friday night", "2024-06-07 16:00 to 2024-06-08 04:00"),
    ("trip Freitagnacht", "2024-06-07 16:00 to 2024-06-08 04:00"),
    ("trip during the night", LAST_NIGHT),
    ("trip in der Nacht", LAST_NIGHT),
    ("trip overnight", LAST_NIGHT),
    ("trip tonight", LAST_NIGHT),
    # Times of day, by either clock, with their day before or behind them.
    ("trip yesterday between 14:00 and 16:00", TWO_TO_FOUR),
    ("trip between 2 pm and 4 p.m. yesterday", TWO_TO_FOUR),
    ("trip between 2 and 4 pm yesterday", TWO_TO_FOUR),
    ("trip yesterday 14:00-16:00", TWO_TO_FOUR),
    ("trip 14:00-16:00 yesterday", TWO_TO_FOUR),
    ("trip zwischen 14 und 16 Uhr gestern", TWO_TO_FOUR),
    ("trip gestern von 14 bis 16 Uhr", TWO_TO_FOUR),
    ("trip on June 11 between 14:00 and 16:00", TWO_TO_FOUR),
    ("trip on 2024-06-11 from 14:00 to 16:00", TWO_TO_FOUR),
    ("trip from 11 am to 1 pm yesterday", "2024-06-11 09:00 to 2024-06-11 11:00"),
    ("trip around 3am", "2024-06-12 00:30 to 2024-06-12 01:30"),
    ("trip around 3.15 Uhr", "2024-06-12 00:45 to 2024-06-12 01:45"),
    ("trip over the last 24h", "2024-06-11 12:00 to 2024-06-12 12:00"),
    ("trip last 90 min", "2024-06-12 10:30 to 2024-06-12 12:00"),
    ("trip since Tuesday 14:00", "2024-06-11 12:00 to"),
    ("trip since 2 pm", "2024-06-12 12:00 to"),
    ("trip since midnight", "2024-06-11 22:00 to"),
    ("trip seit Mitternacht", "2024-06-11 22:00 to"),
    ("trip around noon yesterday", "2024-06-11 09:30 to 2024-06-11 10:30"),
    (
        "trip from June 10 14:00 to June 11 02:00",
        "2024-06-10 12:00 to 2024-06-11 00:00",
    ),
    ("trip from yesterday 10 pm to today 6 am", "2024-06-11 20:00 to 2024-06-12 04:00"),
    # Parts of a day, and weeks of a year.
    ("trip on the morning of June 10", "2024-06-10 04:00 to 2024-06-10 10:00"),
    ("trip am Montagmorgen", "2024-06-10 04:00 to 2024-06-10 10:00"),
    ("trip vorgestern Abend", "2024-06-10 16:00 to 2024-06-10 22:00"),
    ("trip in the last half hour", "2024-06-12 11:30 to 2024-06-12 12:00"),
    ("trip in der letzten halben Stunde", "2024-06-12 11:30 to 2024-06-12 12:00"),
    ("trip since the start of the year", "2023-12-31 23:00 to"),
    ("trip seit Anfang Juni", "2024-05-31 22:00 to"),
    ("trip in the week of June 5", "2024-06-02 22:00 to 2024-06-09 22:00"),
    ("trip in KW 23", "2024-06-02 22:00 to 2024-06-09 22:00"),
    ("trip in week 30", "2023-07-23 22:00 to 2023-07-30 22:00"),
    ("trip in week 23 of 2022", "2022-06-05 22:00 to 2022-06-12 22:00"),
    # A month that goes on is not the last one.
    ("trip last June", "2023-05-31 22:00 to 2023-06-30 22:00"),
    ("trip last May", "2024-04-30 22:00 to 2024-05-31 22:00"),
    ("trip ab gestern", "2024-06-10 22:00 to"),
    ("trip seit einem Monat", "2024-05-12 12:00 to 2024-06-12 12:00"),
]


@pytest.mark.parametrize(("query", "interval"), SPANS)
def test_a_span_of_days_has_both_its_ends(query: str, interval: str) -> None:
    plan = plan_of(query)
    assert (told(plan), tree_text.text_of(plan.tree)) == ([interval], "trip")


def test_an_hour_of_a_day_is_searched_on_that_day() -> None:
    plan = plan_of("trip at 14:30 yesterday")
    assert told(plan) == ["2024-06-10 22:00 to 2024-06-11 22:00"]
    assert tree_text.text_of(plan.tree) == "trip at 14:30"


@pytest.mark.parametrize(
    "query",
    [
        "from 5 to 10 mA",
        "valve AB",
        "ab Werk",
        "week 24",
        "KW 24",
        "5 am",
        "overnight run",
    ],
)
def test_amounts_and_names_are_no_span(query: str) -> None:
    assert told(plan_of(query)) == []


@pytest.mark.parametrize(
    ("query", "interval"),
    [
        ("date:2024/06/10", "2024-06-09 22:00 to 2024-06-10 22:00"),
        ("since:2024.06.10", "2024-06-09 22:00 to"),
        ("date:2024/06", "2024-05-31 22:00 to 2024-06-30 22:00"),
        ("trip in august 99", "1999-07-31 22:00 to 1999-08-31 22:00"),
        ("trip in June '23", "2023-05-31 22:00 to 2023-06-30 22:00"),
        ("trip on June 10, '23", "2023-06-09 22:00 to 2023-06-11 22:00"),
        ("trip on 2024/06/10", "2024-06-09 22:00 to 2024-06-11 22:00"),
        ("trip on June 10th, 2023", "2023-06-09 22:00 to 2023-06-11 22:00"),
        ("trip on the 10th of June 2023", "2023-06-09 22:00 to 2023-06-11 22:00"),
        ("trip on Sept. 3rd, 2023", "2023-09-02 22:00 to 2023-09-04 22:00"),
    ],
)
def test_a_date_is_a_whole_day_whatever_its_signs(query: str, interval: str) -> None:
    assert told(plan_of(query)) == [interval]


YESTERDAY = "2024-06-10 22:00 to 2024-06-11 22:00"
LAST_WEEK = "2024-06-02 22:00 to 2024-06-09 22:00"
THREE_DAYS = "2024-06-09 12:00 to 2024-06-12 12:00"
JUNE_3_TO_5 = "2024-06-02 22:00 to 2024-06-05 22:00"
MAY_13 = "2023-05-12 22:00 to 2023-05-14 22:00"
MAY = "2023-04-30 22:00 to 2023-05-31 22:00"
THREE_DAYS_AGO = "2024-06-08 22:00 to 2024-06-09 22:00"
EVENING = "2024-06-11 16:00 to 2024-06-11 22:00"
SINCE_MONDAY = "2024-06-09 22:00 to"
UNTIL_JUNE_3 = "to 2024-06-02 22:00"


@pytest.mark.requirement("U19")
@pytest.mark.parametrize(
    ("french", "italian", "spanish", "interval"),
    [
        ("le 13 mai 2023", "il 13 maggio 2023", "el 13 de mayo de 2023", MAY_13),
        ("en mai 2023", "nel maggio 2023", "en mayo de 2023", MAY),
        ("du 3 au 5 juin", "dal 3 al 5 giugno", "del 3 al 5 de junio", JUNE_3_TO_5),
        (
            "entre le 3 et le 5 juin",
            "tra il 3 e il 5 giugno",
            "entre el 3 y el 5 de junio",
            JUNE_3_TO_5,
        ),
        ("avant le 3 juin", "prima del 3 giugno", "antes del 3 de junio", UNTIL_JUNE_3),
        ("hier soir", "ieri sera", "ayer por la noche", EVENING),
        ("la nuit derni\u00e8re", "la scorsa notte", "anoche", LAST_NIGHT),
        (
            "la semaine derni\u00e8re",
            "la settimana scorsa",
            "la semana pasada",
            LAST_WEEK,
        ),
        ("il y a trois jours", "tre giorni fa", "hace 3 d\u00edas", THREE_DAYS_AGO),
        (
            "ces trois derniers jours",
            "negli ultimi 3 giorni",
            "en los \u00faltimos 3 d\u00edas",
            THREE_DAYS,
        ),
        ("depuis lundi", "da luned\u00ec", "desde el lunes", SINCE_MONDAY),
        ("depuis hier", "da ieri", "desde ayer", "2024-06-10 22:00 to"),
        # As who lacks the keys writes it.
        ("la semaine derniere", "la settimana scorsa", "la semana pasada", LAST_WEEK),
        ("il y a 3 jours", "3 giorni fa", "hace 3 dias", THREE_DAYS_AGO),
        ("la nuit derniere", "ieri notte", "anoche", LAST_NIGHT),
    ],
)
def test_a_time_is_read_in_french_italian_and_spanish(
    french: str, italian: str, spanish: str, interval: str
) -> None:
    for said in (french, italian, spanish):
        plan = plan_of(f"trip {said}")
        assert (told(plan), tree_text.text_of(plan.tree)) == ([interval], "trip"), said


EARLY_JUNE = "2024-05-31 22:00 to 2024-06-10 22:00"
MID_MAY, END_OF_MAY = (
    "2024-05-09 22:00 to 2024-05-21 22:00",
    "2024-05-19 22:00 to 2024-05-31 22:00",
)
FEW_DAYS = "2024-06-07 12:00 to 2024-06-12 12:00"
FEW_DAYS_AGO = "2024-06-06 22:00 to 2024-06-10 22:00"
LAST_SUMMER = "2023-05-31 22:00 to 2023-08-31 22:00"
TWO_WINTERS_BEFORE = [
    "2021-11-30 23:00 to 2022-02-28 23:00",
    "2022-11-30 23:00 to 2023-02-28 23:00",
]
WINTERS = [
    "2022-11-30 23:00 to 2023-03-01 23:00",
    "2023-11-30 23:00 to 2024-02-29 23:00",
]


@pytest.mark.requirement("I02", "U19")
@pytest.mark.parametrize(
    ("said", "intervals"),
    [
        *((f"at the {word} of June", [EARLY_JUNE]) for word in ("beginning", "start")),
        ("in early June", [EARLY_JUNE]),
        ("Anfang Juni", [EARLY_JUNE]),
        ("d\u00e9but juin", [EARLY_JUNE]),
        ("all'inizio di giugno", [EARLY_JUNE]),
        ("a principios de junio", [EARLY_JUNE]),
        *((one, [MID_MAY]) for one in ("mid-May", "in mid May", "Mitte Mai")),
        *((one, [MID_MAY]) for one in ("mi-mai", "a met\u00e0 maggio")),
        ("a mediados de mayo", [MID_MAY]),
        ("mid-May 2023", ["2023-05-09 22:00 to 2023-05-21 22:00"]),
        *((one, [END_OF_MAY]) for one in ("end of May", "at the end of May 2024")),
        *((one, [END_OF_MAY]) for one in ("Ende Mai", "fin mai", "a fine maggio")),
        ("a finales de mayo", [END_OF_MAY]),
        ("before the end of May", ["to 2024-05-31 22:00"]),
        ("after the beginning of June", ["2024-05-31 22:00 to"]),
        ("since the end of May", ["2024-05-19 22:00 to"]),
        ("in the last few days", [FEW_DAYS]),
        ("over the past few days", [FEW_DAYS]),
        ("in den letzten paar Tagen", [FEW_DAYS]),
        ("ces derniers jours", [FEW_DAYS]),
        ("negli ultimi giorni", [FEW_DAYS]),
        ("en los \u00faltimos d\u00edas", [FEW_DAYS]),
        ("a few days ago", [FEW_DAYS_AGO]),
        ("vor ein paar Tagen", [FEW_DAYS_AGO]),
        ("il y a quelques jours", [FEW_DAYS_AGO]),
        ("qualche giorno fa", [FEW_DAYS_AGO]),
        ("hace unos d\u00edas", [FEW_DAYS_AGO]),
        ("a couple of weeks ago", ["2024-05-21 22:00 to 2024-06-05 22:00"]),
        ("in the last couple of hours", ["2024-06-12 09:00 to 2024-06-12 12:00"]),
        ("last summer", [LAST_SUMMER]),
        ("letzten Sommer", [LAST_SUMMER]),
        ("l'\u00e9t\u00e9 dernier", [LAST_SUMMER]),
        ("l'estate scorsa", [LAST_SUMMER]),
        ("el verano pasado", [LAST_SUMMER]),
        ("last winter", [WINTERS[1]]),
        ("fall 2023", ["2023-08-31 22:00 to 2023-11-30 23:00"]),
        ("im Fr\u00fchjahr 2023", ["2023-02-28 23:00 to 2023-05-31 22:00"]),
        ("winter 2022", TWO_WINTERS_BEFORE),
        *((one, WINTERS) for one in ("winter 2023", "im Winter 2023")),
        *((one, WINTERS) for one in ("en hiver 2023", "nell'inverno 2023")),
        ("en invierno de 2023", WINTERS),
        ("2019", ["2018-12-31 23:00 to 2019-12-31 23:00"]),
        ("older than 3 days", ["to 2024-06-08 22:00"]),
        ("older than last week", ["to 2024-06-02 22:00"]),
        ("\u00e4lter als 3 Tage", ["to 2024-06-08 22:00"]),
        ("plus vieux que 3 jours", ["to 2024-06-08 22:00"]),
        ("pi\u00f9 vecchi di tre giorni", ["to 2024-06-08 22:00"]),
        ("m\u00e1s antiguos que 3 d\u00edas", ["to 2024-06-08 22:00"]),
        ("newer than last week", ["2024-06-09 22:00 to"]),
        ("newer than 3 days", [THREE_DAYS]),
        ("j\u00fcnger als 2024-06-01", ["2024-06-01 22:00 to"]),
        ("neuer als letzte Woche", ["2024-06-09 22:00 to"]),
    ],
)
def test_a_time_is_read_from_words_that_leave_its_ends_open(said, intervals) -> None:
    plan = plan_of(f"klystron trips {said}")
    assert told(plan) == intervals
    assert plan.time.elsewhen is not None
    assert tree_text.text_of(plan.time.elsewhen.tree) == "klystron trips"


@pytest.mark.parametrize(
    "query",
    [
        # A modal, a verb, a part of a machine, and what somebody did.
        *("test at end may fail", "early may trips", "trip at the end of the line"),
        *(
            "broken spring",
            "replaced last spring",
            "this spring broke",
            "trips in fall",
        ),
        "la pompe a \u00e9t\u00e9 2023 fois",
        # Has not begun, or is of every year.
        *("trip end of june", "Pumpe Ende Juni 2024", "trips in summer"),
        # How much, and the number or the age of a thing.
        *("few days of beam", "a few pumps", "couple of weeks", "le dernier jour"),
        *("magnet 2019", "magnets 2019", "trips 2019 klystron", "trips 9000"),
        "pompes plus vieilles que 3 ans",
        *("pumps older than 3 years", "trips 2031", "trips 1024"),
    ],
)
def test_what_only_sounds_like_an_open_time_is_searched(query: str) -> None:
    plan = plan_of(query)
    assert (told(plan), tree_text.text_of(plan.tree)) == ([], query)


def test_south_of_the_equator_summer_is_at_the_other_end_of_the_year() -> None:
    south = replace(CLOCK, zone="America/Sao_Paulo")
    (interval,) = told(plan_of("trips last summer", south))
    assert interval == "2023-12-01 03:00 to 2024-03-01 03:00"


def test_which_winter_of_a_year_is_meant_is_asked_back() -> None:
    (asked,) = plan_of("trips winter 2023").time.asks
    assert asked.startswith("'winter 2023' comes twice: from 2022-12-01 00:00 CET")
    assert "or from 2023-12-01 00:00 CET" in asked


@pytest.mark.parametrize(
    "query",
    [
        "que s'est-il pass\u00e9 hier ?",
        "qu\u2019est-ce qui s\u2019est pass\u00e9 hier",
        "que s'est-il passe hier?",
        "cosa \u00e8 successo ieri?",
        "\u00bfQu\u00e9 pas\u00f3 ayer?",
        "was war gestern los",
    ],
)
def test_who_only_asks_what_happened_then_is_told_all_of_it(query: str) -> None:
    plan = plan_of(query)
    assert (told(plan), plan.tree) == ([YESTERDAY], None)


@pytest.mark.parametrize(
    ("query", "intervals"),
    [
        ("la pompe s'est arr\u00eat\u00e9e hier", [YESTERDAY]),
        ("que s\u2019est-il pass\u00e9 hier ?", [YESTERDAY]),
        ("fallos ayer", [YESTERDAY]),
        # German `hier` is here; these words have other meanings, too.
        ("Was war hier los", []),
        ("wer war hier", []),
        ("mars rover", []),
        ("la pompe de l'anneau", []),
        ("pompa da vuoto", []),
    ],
)
def test_a_word_for_a_time_in_one_language_is_none_in_another(query, intervals) -> None:
    assert told(plan_of(query)) == intervals


def at(wall: str, clock: Clock = CLOCK) -> Clock:
    return replace(clock, now=datetime.fromisoformat(wall).replace(tzinfo=UTC))


# A telescope's day goes from noon to noon.
NOON = replace(CLOCK, day_starts=time(12), shifts=NO_SHIFTS)


@pytest.mark.parametrize(
    ("query", "clock", "interval"),
    [
        # At four in the morning it has not begun at six.
        (
            "this morning",
            at("2024-06-12T02:00"),
            "2024-06-11 22:00 to 2024-06-12 10:00",
        ),
        (
            "this morning",
            at("2024-06-12T05:00"),
            "2024-06-12 04:00 to 2024-06-12 10:00",
        ),
        (
            "this morning",
            at("2024-06-12T06:00", NOON),
            "2024-06-12 04:00 to 2024-06-12 10:00",
        ),
        (
            "this morning",
            at("2024-06-12T13:00", NOON),
            "2024-06-12 04:00 to 2024-06-12 10:00",
        ),
        # The morning of the day that began at noon of the 10th is that of the 11th.
        (
            "yesterday morning",
            at("2024-06-11T13:00", NOON),
            "2024-06-11 04:00 to 2024-06-11 10:00",
        ),
        (
            "yesterday evening",
            at("2024-06-11T13:00", NOON),
            "2024-06-10 16:00 to 2024-06-10 22:00",
        ),
    ],
)
def test_a_part_of_a_day_is_that_of_who_asks(query, clock, interval) -> None:
    assert told(plan_of(f"trip {query}", clock)) == [interval]


@pytest.mark.parametrize(
    ("query", "interval"),
    [
        # From two to three no clock shows anything there, and in autumn twice.
        ("between 02:45 and 03:15 2024-03-31", "2024-03-31 01:15 to 2024-03-31 01:45"),
        ("between 01:30 and 02:30 2024-03-31", "2024-03-31 00:30 to 2024-03-31 01:30"),
        ("between 02:15 and 02:45 2023-10-29", "2023-10-29 00:15 to 2023-10-29 01:45"),
    ],
)
def test_a_span_of_the_night_on_which_clocks_change_is_never_empty(query, interval):
    assert told(plan_of(f"trip {query}")) == [interval]
