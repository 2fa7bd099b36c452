"""What another analyser has read is made due, behind everything live, and once."""

from pathlib import Path

import pytest
from psycopg import Connection

from shared.enrich import reanalyse
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page, tombstone
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.text.facility.facility import Facility, load
from shared.work import chore_records, due_work, schedule
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import extract_metadata
from workers.upkeep import main

TENANTS = ("default", "other")
NAMED = "names:\n  - {kind: permit, pattern: 'RSR[ -]*[0-9]+'}\n"


def renewed(ctx: Context, conn: Connection) -> list[tuple[str, int]]:
    """Carry the chore out and return what it made due, by tenant and class."""
    conn.execute("DELETE FROM work WHERE stage = %s", (INDEX_STAGE,))
    chore_records.open_chore(conn, chore_records.RENEW_TEXTS)
    chores.renew_texts(ctx)
    assert chore_records.list_unfinished(conn) == []
    return conn.execute(
        "SELECT e.tenant || ':' || e.external_id, w.class FROM work w"
        " JOIN entry e ON e.id = w.entry_id WHERE w.stage = %s ORDER BY 1",
        (METADATA_STAGE,),
    ).fetchall()


def test_what_another_analyser_read_is_read_anew_and_nothing_else(
    make_context, committing, tmp_path: Path, monkeypatch
):
    # Pages end within a tenant's rows, and tenants share them.
    monkeypatch.setattr(reanalyse, "STEP_ENTRIES", 3)
    for number in range(4):
        for tenant in TENANTS:
            draft = EntryDraft("api", f"{number}", f"lifted RSR 00{number}")
            save_page(
                committing, tenant, [draft], stages=[METADATA_STAGE], editor="test"
            )
    ctx = make_context()
    extract_metadata(ctx)
    place_entries(ctx)
    assert renewed(ctx, committing) == []

    file = tmp_path / "facility.yaml"
    file.write_text(NAMED, "utf-8")
    newer = make_context(LOGCHORD_ANALYSER__FACILITY_FILE=str(file))
    gone = "SELECT id, tenant FROM entry WHERE external_id = '3'"
    for entry_id, tenant in committing.execute(gone).fetchall():
        tombstone(committing, tenant, entry_id, reason="test", stages=[])

    expected = [
        (f"{tenant}:{n}", due_work.BULK) for tenant in TENANTS for n in range(3)
    ]
    assert renewed(newer, committing) == sorted(expected)
    extract_metadata(newer)
    place_entries(newer)
    streams = committing.execute(
        "SELECT stream FROM entry_text t JOIN entry e ON e.id = t.entry_id"
        " WHERE e.deleted_at IS NULL"
    ).fetchall()
    assert {stream for (stream,) in streams} == {f"lift rsr-00{n}" for n in range(3)}
    assert renewed(newer, committing) == []


def test_what_an_older_release_read_gets_its_place_among_its_like(
    make_context, committing
):
    for number in range(2):
        draft = EntryDraft("api", f"{number}", "beam lost")
        save_page(
            committing, "default", [draft], stages=[METADATA_STAGE], editor="test"
        )
    ctx = make_context()
    extract_metadata(ctx)
    place_entries(ctx)
    committing.execute(
        "DELETE FROM likeness WHERE entry_id ="
        " (SELECT id FROM entry WHERE external_id = '1')"
    )

    assert renewed(ctx, committing) == [("default:1", due_work.BULK)]
    extract_metadata(ctx)
    place_entries(ctx)
    assert renewed(ctx, committing) == []


@pytest.mark.requirement("U19")
def test_a_source_s_locale_reads_its_stored_numbers_anew_and_no_others(
    make_context, committing
):
    for source in ("api", "other"):
        draft = EntryDraft(source, "1", "vacuum at 1,500 mbar, beam 3,5 mA")
        save_page(
            committing, "default", [draft], stages=[METADATA_STAGE], editor="test"
        )
    ctx = make_context()
    extract_metadata(ctx)
    place_entries(ctx)
    assert values(committing) == {"api": [150_000], "other": [150_000]}

    german = make_context(LOGCHORD_SOURCES__API__LOCALE="de_DE")
    assert renewed(german, committing) == [("default:1", due_work.BULK)]
    extract_metadata(german)
    place_entries(german)
    assert values(committing) == {"api": [150, 0.0035], "other": [150_000]}
    assert renewed(german, committing) == []


def values(conn: Connection) -> dict[str, list[float]]:
    """Return the numbers that are known of each source's entries."""
    found: dict[str, list[float]] = {}
    for source, value in conn.execute(
        "SELECT e.source, q.value FROM entry_quantity q"
        " JOIN entry e ON e.id = q.entry_id ORDER BY e.source, q.place"
    ):
        found.setdefault(source, []).append(value)
    return found


@pytest.mark.parametrize(
    "setting", ["TENANTS__DEFAULT__LANGUAGE", "ANALYSER__LANGUAGE"]
)
def test_few_words_take_the_language_of_their_tenant_and_then_of_the_facility(
    make_context, committing, setting
):
    for source in ("api", "english"):
        draft = EntryDraft(source, source, "Strahlen weg")
        save_page(
            committing, "default", [draft], stages=[METADATA_STAGE], editor="test"
        )
    ctx = make_context(LOGCHORD_SOURCES__ENGLISH__LANGUAGE="en")
    extract_metadata(ctx)
    place_entries(ctx)
    assert read(committing) == {"api": ("en", "strahlen weg")} | ENGLISH

    told = {f"LOGCHORD_{setting}": "de", "LOGCHORD_SOURCES__ENGLISH__LANGUAGE": "en"}
    german = make_context(**told)
    assert renewed(german, committing) == [("default:api", due_work.BULK)]
    extract_metadata(german)
    place_entries(german)
    assert read(committing) == {"api": ("de", "strahl weg")} | ENGLISH
    assert renewed(german, committing) == []


ENGLISH = {"english": ("en", "strahlen weg")}


def read(conn: Connection) -> dict[str, tuple[str, str]]:
    """Return in which language each source was read, and its terms."""
    found = conn.execute(
        "SELECT e.source, t.language, btrim(t.stream, E'\\n') FROM entry_text t"
        " JOIN entry e ON e.id = t.entry_id"
    ).fetchall()
    return {source: (language, stream) for source, language, stream in found}


def test_a_file_that_changed_has_entries_read_anew_at_the_next_start(
    make_context, committing, tmp_path: Path, monkeypatch
):
    # Two steps: how far it has come says by which file it began.
    monkeypatch.setattr(reanalyse, "STEP_ENTRIES", 1)
    draft = EntryDraft("api", "1", "lifted RSR 001")
    save_page(committing, "default", [draft], stages=[METADATA_STAGE], editor="test")
    ctx = make_context()
    extract_metadata(ctx)
    file = tmp_path / "facility.yaml"
    file.write_text(NAMED, "utf-8")
    other = load(file)

    def due(facility: Facility) -> list[str]:
        main.renew_at_once(committing, facility)
        return schedule.list_due_kinds(committing, schedule.INSTALLATION)

    main.arrange_chores(committing)
    # Nobody knows yet by what they were read; the hour's chore finds out.
    assert due(other) == []
    renewed(ctx, committing)
    assert due(ctx.facility) == []
    assert due(other) == [chore_records.RENEW_TEXTS]
