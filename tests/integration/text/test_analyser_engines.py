"""A question means the same in Postgres and in OpenSearch, in every language."""

import os
import random
from pathlib import Path

import pytest

from shared.text.facility import facility
from tests.support.faults.measures.size import times
from tests.support.fixtures.engines import ENGINES, Logbook, Text

# (language, text, what finds it, what does not)
PAIRS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("en", "Two cavities were detuned", ("cavity", "cavity\u2019s"), ("cave",)),
    ("en", "Signed by J. Müller", ("Müller", "Muller", "Mueller"), ("Miller",)),
    ("en", "Signed by H. Schroeder", ("Schröder", "schroeder"), ("Schreder",)),
    ("en", "valve off, not down", ('"not down"', "off"), ('"off down"',)),
    ("en", "the pump\u2019s seal", ("pump's", "pump", "pumps"), ("pumice",)),
    (
        "de",
        "Kühlwasserdurchfluss zu klein",
        ("Kühlwasser", "Kuehlwasser", "kuhlwasser", "Durchfluss", "Wasserdurchfluss"),
        ("Wasserdampf", "klein -Kühlwasser"),
    ),
    (
        "de",
        "Mehrere Störungen am Klystron",
        ("Störung", "Stoerung", "storung"),
        ("Zerstörung",),
    ),
    ("de", "Die Vakuum-Pumpe steht", ("Vakuumpumpe", "Pumpen"), ("Vorpumpe",)),
    ("de", "Stromausfälle in der Nacht", ("Ausfall", "Strom"), ("Abfall",)),
    (
        "fr",
        "Des défauts sur l\u2019aimant",
        ("défaut", "defaut", "aimants"),
        ("debut",),
    ),
    ("fr", "La pompe à vide s'est arrêtée", ("arrete", "l'arrêt", "vide"), ("vice",)),
    (
        "it",
        "Perdite d'acqua nell\u2019anello",
        ("perdita", "acqua", "anello"),
        ("aria",),
    ),
    ("it", "La velocità è bassa", ("velocita", "velocità"), ("vento",)),
    ("es", "Válvulas de vacío cerradas", ("valvula", "vacio", "cerrada"), ("vacuna",)),
    ("es", "El haz se perdió", ("perdio", "haz"), ("luz",)),
    ("ja", "真空漏れが発生した", ("真空", "漏れ", "漏"), ("真漏", "水漏れ")),
    ("zh", "冷却水流量过低", ("冷却水", "流量", "低"), ("冷流", "高")),
    ("ko", "진공 펌프가 정지했다", ("펌프", "진공"), ("진펌",)),
)


@pytest.mark.requirement("U19")
def test_words_of_every_language_are_found_alike_by_both_engines(logbook) -> None:
    logbook.write(
        [Text(f"{n}", text, language) for n, (language, text, *_) in enumerate(PAIRS)]
    )
    wrong = []
    asked = 0
    for number, (_, text, finding, missing) in enumerate(PAIRS):
        for query in (*finding, *missing):
            asked += 1
            for engine in ENGINES:
                is_found = f"{number}" in logbook.found(engine, query)
                if is_found != (query in finding):
                    wrong.append((engine, query, text))
    assert wrong == []
    assert asked >= 60


@pytest.mark.requirement("I01", "C45")
def test_names_and_state_words_are_found_in_both_engines_and_near_misses_are_not(
    logbook: Logbook, tmp_path: Path
) -> None:
    file = tmp_path / "facility.yaml"
    file.write_text(
        "names:\n  - {kind: permit, pattern: 'RSR[ #-]*\\d+', ignore_zeros: true}\n"
        "glossary:\n  - [BPM, beam position monitor]\n",
        "utf-8",
    )
    rows = (
        ("reset HCM03", ("HCM 03", "HCM3", "hcm 3", "hcm-03"), ("HCM04", "HCM 33")),
        ("HCM 03 replaced", ("HCM03", "hcm3", "hcm"), ("HCM30",)),
        ("BL5.0.2 shutter", ("BL 5.0.2", "bl-5.0.2"), ("BL 5.0.3", "BL 5.0")),
        ("LOTO-2024-0312 off", ("0312", "LOTO 2024-0312"), ("LOTO-2024-0313",)),
        ("lifted RSR 0312", ("RSR-312", "rsr#0312"), ("RSR 313",)),
        ("SR:C01-RF:Trip", ("sr:c01-rf", "c01", "rf", "trip"), ("SR:C02-RF:Trip",)),
        (
            "SR:C04-RF:Trip's and HCM55's alarm",
            ("SR:C04-RF:Trip", "sr:c04-rf:trip\u2019s", "hcm 55", "HCM55's alarm"),
            ("SR:C05-RF:Trip", "HCM5"),
        ),
        ("beam down again", ('"beam down"', "down again"), ('"beam up"',)),
        ("2e-7 Torr at 06:45", ("2e-7", "2E-07", "6:45", "06:45"), ("7:45", "hcm645")),
        ("the beam position monitors drift", ("BPM",), ('"BPM"',)),
        ("BPM is dead", ("beam position monitor",), ('"beam position"',)),
    )
    texts = [Text(f"{n}", text) for n, (text, *_) in enumerate(rows)]
    logbook.write(texts, facility.load(file))
    wrong = [
        (engine, query, text)
        for n, (text, finding, missing) in enumerate(rows)
        for query in (*finding, *missing)
        for engine in ENGINES
        if (f"{n}" in logbook.found(engine, query)) != (query in finding)
    ]
    assert wrong == []


WORDS = (
    *("beam", "beams", "trip", "tripped", "off", "not", "the", "valve", "on", "Ventil"),
    *("Kühlwasser", "Kuehlwasserausfall", "Ausfälle", "défaut", "defauts", "l'aimant"),
    *("HCM03", "HCM 3", "hcm 03", "HCM04", "SR:C01-RF:Trip", "SR:C02-RF:Trip", "c01"),
    *("BL 5.0.2", "5.0.2", "LOTO-2024-0312", "0312", "12:30", "2e-7 Torr", "500mA"),
    *(
        *(
            "真空漏れ",
            "真空",
            "漏",
            "펌프",
            "e\u0301te\u0301",
            "😀",
            "pump\u2019s",
            "RF",
        ),
        *("RF 500 MHz", "HCM03's", "SR:C01-RF:Trip\u2019s"),
    ),
    *(
        "x" * 300,
        "Müller",
        "Mueller",
        "12.03.2024",
        "2024-03-12T05:10:00Z",
        "a_b",
        "w17",
    ),
)
ODD_TEXTS = (
    "",
    "\u200b \u202e",
    "beam " * 400 + "trip",
    " ".join(f"w{n}" for n in range(17_000)) + " last",
    "真空漏れ" * 50,
)


def random_texts(luck: random.Random, count: int) -> list[Text]:
    languages = ("en", "de", "fr", "it", "es")
    made = [" ".join(luck.choices(WORDS, k=luck.randrange(1, 9))) for _ in range(count)]
    texts = [*ODD_TEXTS, *made]
    return [Text(f"{n}", text, luck.choice(languages)) for n, text in enumerate(texts)]


def random_query(luck: random.Random) -> str:
    parts = []
    for _ in range(luck.randrange(1, 4)):
        words = " ".join(luck.choices(WORDS, k=luck.choice((1, 1, 1, 2))))
        shape = luck.choice(("{}", "{}", "{}", '"{}"', "-{}", '-"{}"', "OR {}"))
        parts.append(shape.format(words))
    return " ".join(parts)


def test_random_questions_find_the_same_of_random_texts_in_both_engines(logbook):
    seed = int(os.environ.get("LOGCHORD_TEST_SEED", "7"))
    luck = random.Random(seed)
    logbook.write(random_texts(luck, 80))
    sizes = []
    count = times(60, 150)
    for _ in range(count):
        query = random_query(luck)
        in_postgres, in_opensearch = (logbook.found(one, query) for one in ENGINES)
        assert in_postgres == in_opensearch, f"seed {seed}: {query}"
        sizes.append(len(in_postgres))
    # Questions that find nothing, or everything, prove nothing.
    assert sum(0 < size < 60 for size in sizes) >= count // 2, sizes
