"""The metadata stage on a real Postgres: what it stores, once, and never too late."""

import re
from itertools import product
from string import ascii_lowercase
from uuid import UUID

import pytest

from shared.access.scope import Scope
from shared.enrich import metadata
from shared.entries.reading import read_entries
from shared.postgres.pool import translate_database_errors
from shared.search.query.compiled import tsquery
from shared.text.facility.facility import Facility, NamePattern
from tests.support.asked import condition
from tests.support.saving import save_entry

TENANT = "default"


@pytest.fixture
def save(conn):
    def save(text: str, external_id: str = "A-1", **fields) -> UUID:
        return save_entry(conn, external_id, text, stages=["metadata"], **fields)

    return save


@pytest.fixture
def content_of(conn):
    return lambda entry_id: read_entries.load_contents(conn, TENANT, [entry_id])[
        entry_id
    ]


@pytest.fixture
def enrich(conn, content_of):
    def enrich(entry_id: UUID, expected: str | None = None) -> bool:
        content = content_of(entry_id)
        found = metadata.extract(content, expected)
        return metadata.store(conn, content, found) is not None

    return enrich


@pytest.fixture
def flags_of(conn):
    def flags_of(entry_id: UUID) -> list[str]:
        shown = read_entries.load_entry(conn, Scope(TENANT, "anna"), entry_id)
        assert shown is not None
        return shown.read_flags

    return flags_of


@pytest.fixture
def finds(conn):
    def finds(question: str, language: str = "en") -> bool:
        asked = condition(question, language)
        assert asked is not None
        with translate_database_errors():
            row = conn.execute(
                "SELECT count(*) FROM entry_text"
                " WHERE tsv @@ %s::tsquery AND language = %s",
                (tsquery.write_tsquery(asked), language),
            ).fetchone()
        return row[0] > 0

    return finds


@pytest.mark.parametrize(
    ("text", "found", "missed"),
    [
        ("ion pump off at the arc", ["pump off", '"pump off"'], ['"pump on"', "down"]),
        ("beam down again", ["beam down again"], ["beam up"]),
        ("LOTO-2024-0312 released", ["0312", "LOTO-2024-0312"], ["0313"]),
        ("BL5.0.2 shutter", ["BL 5.0.2", "bl-5.0.2"], ["BL 5.0.3"]),
        ("reset HCM03", ["HCM 03", "HCM3", "hcm 3", "hcm-03"], ["HCM04", "HCM 33"]),
        ("swapped hcm 03", ["HCM03", "HCM 3"], ["HCM04"]),
        ("SR:C01-RF:Trip", ["SR:C01-RF:Trip", "c01", "trip"], ["SR:C02-RF:Trip"]),
    ],
)
def test_what_an_english_index_loses_is_found_and_a_near_miss_is_not(
    save, enrich, finds, text: str, found: list[str], missed: list[str]
):
    enrich(save(text))

    assert [question for question in found if not finds(question)] == []
    assert [question for question in missed if finds(question)] == []


def test_names_and_language_are_stored_with_their_places(conn, save, enrich):
    entry_id = save("HCM03 tripped, CO2 low, see SR:C03-VA:HCM2 in the log, elog:2")

    assert enrich(entry_id)

    row = conn.execute("SELECT language, entities FROM entry_metadata").fetchone()
    assert row[0] == "en"
    assert row[1] == [
        {"kind": "device", "name": "HCM03", "canonical": "hcm3", "start": 0, "end": 5},
        {
            "kind": "pv",
            "name": "SR:C03-VA:HCM2",
            "canonical": "sr:c03-va:hcm2",
            "start": 28,
            "end": 42,
        },
    ]


def test_what_is_counted_or_a_standard_or_a_licence_is_no_device(content_of, save):
    counted = (
        "MODE 3 ENTERED WITHIN 30 MINUTES, 10 CFR 50 PART 21 REPORT 4, TESTED 5 SIRENS"
        " IN APRIL 1999, SEITE 4, ETAPE 2, FASE 3, GRUPPE 7, EST 11."
    )
    counted += " By IEEE-323, iec 61508, ISO 9001 and ASTM-572 under NPF-43 and SNM-42."
    named = (
        "UNIT 2 TRIPPED, BUS 17 LOST, MCC 24 AND KCK 03 AND MODE-3 AND LINE 12 OFF,"
        " ISO-12 AND DIN-4 SHUT."
    )
    found = metadata.extract(content_of(save(f"{counted} {named}")), None)
    shown = [fact.value for fact in found.known.facts if fact.field == "device"]
    listed = ["UNIT 2", "BUS 17", "MCC 24", "KCK 03", "MODE-3", "LINE 12"]
    listed += ["ISO-12", "DIN-4"]
    assert shown == [one["name"] for one in found.entities] == listed


def test_what_the_facility_itself_names_is_a_device_whatever_its_word(content_of, save):
    pattern = NamePattern(kind="device", pattern=r"MODE \d")
    facility = Facility(names=((pattern, re.compile(pattern.pattern)),))
    content = content_of(save("MODE 3 LOST WITHIN 30 MINUTES"))
    found = metadata.extract(content, None, facility)
    assert [one["name"] for one in found.entities] == ["MODE 3"]


def test_a_short_text_takes_the_language_of_its_source(conn, save, enrich):
    enrich(save("Pompa da vuoto"), "it")

    assert conn.execute("SELECT language FROM entry_text").fetchone() == ("it",)


def test_the_language_that_the_source_says_is_not_guessed(conn, save, enrich):
    enrich(save("Beam tripped and was lost again this morning", language="de-CH"))

    assert conn.execute("SELECT language FROM entry_text").fetchone() == ("de",)


def test_the_stage_makes_the_document_due_in_the_same_transaction(conn, save, enrich):
    entry_id = save("RF trip")

    enrich(entry_id)

    due = conn.execute("SELECT stage FROM work WHERE entry_id = %s", (entry_id,))
    assert sorted(row[0] for row in due) == ["duplicates", "index", "metadata"]


def test_an_older_revision_never_replaces_a_newer_one(conn, save, enrich, content_of):
    entry_id = save("the first text")
    late = content_of(entry_id)
    save("the second text")
    enrich(entry_id)

    assert not metadata.store(conn, late, metadata.extract(late, None))

    stored = conn.execute("SELECT revision, stream FROM entry_text").fetchone()
    assert stored == (2, "the second text")


def test_the_same_revision_read_anew_gets_a_newer_document(conn, save, content_of):
    entry_id = save("Trips today")
    content = content_of(entry_id)
    metadata.store(conn, content, metadata.extract(content, "en"))
    metadata.store(conn, content, metadata.extract(content, "en"))
    assert content_of(entry_id).doc_version == content.doc_version

    metadata.store(conn, content, metadata.extract(content, "de"))

    assert content_of(entry_id).doc_version == content.doc_version + 1


@pytest.mark.requirement("O06")
def test_a_text_that_cannot_be_analysed_stays_findable_by_its_words(
    conn, save, enrich, finds, flags_of, monkeypatch
):
    def refuse(*_):
        raise ValueError

    monkeypatch.setattr(metadata, "analyse", refuse)

    entry_id = save("Cavities HCM03 tripped")
    enrich(entry_id)

    stored = conn.execute("SELECT plain, stream FROM entry_text").fetchone()
    assert stored == (True, "cavities hcm03 tripped")
    assert finds("cavities tripped", "unknown")
    assert flags_of(entry_id) == ["plain_split"]


def test_a_flag_of_what_was_read_goes_with_the_revision_that_it_is_of(
    save, enrich, flags_of
):
    words = ("".join(word) for word in product(ascii_lowercase[:20], repeat=4))
    entry_id = save(" ".join(words))
    assert flags_of(entry_id) == []
    enrich(entry_id)
    assert flags_of(entry_id) == ["text_cut"]
    save("short by now")
    assert flags_of(entry_id) == []
    enrich(entry_id)
    assert flags_of(entry_id) == []


def names_in(conn) -> list[tuple]:
    (found,) = conn.execute("SELECT entities FROM entry_metadata").fetchone()
    return [(one["name"], one.get("start"), one.get("end")) for one in found]


def test_tags_of_html_are_no_words_and_names_keep_their_places(conn, save, enrich):
    enrich(save('<p class="note">see <b>HCM03</b></p>', text_format="html"))

    assert conn.execute("SELECT stream FROM entry_text").fetchone() == ("see hcm3",)
    assert names_in(conn) == [("HCM03", 23, 28)]


def test_what_links_and_pictures_say_is_found_and_their_marks_are_not(
    conn, save, enrich, finds
):
    enrich(
        save(
            '<p class="emphatic">Orbit <a href="http://log.example/HCM03" target="up">'
            'jumped</a> <img src="scope.png" alt="oscilloscope" width="300"></p>'
            "<script>tracking()</script>",
            text_format="html",
        )
    )

    assert finds("orbit jumped")
    assert finds("oscilloscope")
    assert not any(finds(word) for word in ("emphatic", "target", "width", "tracking"))
    assert names_in(conn)[0] == ("HCM03", 54, 59)


@pytest.mark.parametrize(
    ("text_format", "text", "expected"),
    [
        ("markdown", "see **HCM03** and HCM03", [(6, 11), (18, 23)]),
        ("elcode", "[b]HCM03[/b] <off>", [(3, 8)]),
        # A mark runs through it: found, but nowhere to be shown.
        ("html", "<p>HCM<b>03</b> is off</p>", [(None, None)]),
        # Nothing but text, though it is called HTML.
        ("html", "set <HCM03> to 5", [(5, 10)]),
    ],
)
def test_names_are_placed_in_the_text_as_it_came(
    conn, save, enrich, text_format, text, expected
):
    enrich(save(text, text_format=text_format))

    assert names_in(conn) == [("HCM03", *one) for one in expected]


def test_html_that_an_older_release_has_kept_without_its_text_is_read_all_the_same(
    conn, save, enrich
):
    entry_id = save('<p class="note">see <b>HCM03</b></p>', text_format="html")
    conn.execute("UPDATE revision SET plain = NULL")

    enrich(entry_id)

    assert conn.execute("SELECT stream FROM entry_text").fetchone() == ("see hcm3",)
    assert names_in(conn) == [("HCM03", 23, 28)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "\u200b\u200b",
        "\u202eevil\u202c",
        "👩\u200d🔬",
        "مرحبا بالعالم",
        "'; DROP TABLE entry; -- \\' \\\\ ''",
        "a" * 1_000_000,
        "e" + "\u0301" * 10_000,
        "\n" * 100_000,
        " ".join(f"{i:06x}" for i in range(110_000)),
        "beam " * 40_000,
        "\U00010400" * 300,
        "真" * 100_000,
    ],
    ids=lambda text: f"{text[:6]!r} x {len(text)}",
)
def test_any_text_is_stored_and_takes_no_more_than_postgres_allows(
    conn, save, enrich, text: str
):
    entry_id = save(text)

    assert enrich(entry_id)

    assert conn.execute("SELECT count(*) FROM entry_text").fetchone() == (1,)
