"""Metadata of many entries kept at once: as each by itself, none in another's way."""

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from bench import logbook
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page, tombstone
from shared.ids import uuid7
from shared.messaging.stage_names import (
    DIGEST_STAGE,
    DUPLICATES_STAGE,
    INDEX_STAGE,
    METADATA_STAGE,
)
from shared.stages import entry_stages
from shared.vocabulary.learn_words import SeenWords
from shared.work import batches, due_work
from workers.tasks import batch_commit
from workers.tasks.enhance import extract_metadata
from workers.tasks.stages import run_stage

TENANT = "default"
NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)
ODD = (
    "",
    "'; DROP TABLE entry; -- \\' \\\\ \"quoted\" {a,b}",
    "真空漏れ HCM03",
    "👩\u200d🔬 \u202eevil\u202c e\u0301",
    "a" * 300 + " 300 mA -1e-9 mbar 20 °C",
    "Die Kühlwasserpumpe ist ausgefallen und wurde heute morgen ersetzt",
    "see SR:C03-VA:HCM2 and BL5.0.2, LOTO-2024-0312, off at 10:30",
)

_OF_ENTRIES: LiteralString = """
    SELECT e.external_id, e.doc_version, t.revision, t.language, t.analyser_version,
           t.stream, t.idents, t.tsv::text, t.plain, m.language, m.entities, m.flags,
           f.revision, f.version, f.inputs, f.facts, f.terms, f.people,
           ARRAY(SELECT (q.place, q.dimension, q.value, q.name, q.device,
                         q.parameter, q.said_at)::text
                   FROM entry_quantity q WHERE q.entry_id = e.id ORDER BY q.place),
           ARRAY(SELECT w.stage FROM work w WHERE w.entry_id = e.id ORDER BY w.stage)
      FROM entry e
      LEFT JOIN entry_text t ON t.entry_id = e.id
      LEFT JOIN entry_metadata m ON m.entry_id = e.id
      LEFT JOIN entry_finding f ON f.entry_id = e.id AND f.stage = 'metadata'
     WHERE e.tenant = %(tenant)s ORDER BY e.external_id"""
_WORDS: LiteralString = """
    SELECT language, surface, stem FROM lexeme WHERE tenant = %(tenant)s
     ORDER BY language, surface"""
_NAMES: LiteralString = "SELECT ident FROM ident WHERE tenant = %(tenant)s ORDER BY 1"

Save = Callable[..., UUID]


@pytest.fixture
def patient(monkeypatch) -> None:
    """However slow the machine is, nothing is kept before there is enough."""
    monkeypatch.setattr(batch_commit, "KEEP_SECONDS", 60.0)


@pytest.fixture
def save(conn) -> Save:
    def save(
        name: str,
        text: str = "RF cavity tripped",
        *,
        tenant: str = TENANT,
        work_class: int = due_work.LIVE,
        stages: Sequence[str] = (METADATA_STAGE,),
        **more: Any,
    ) -> UUID:
        (saved,) = save_page(
            conn,
            tenant,
            [EntryDraft("api", name, text, entry_time=NOON, **more)],
            stages=stages,
            editor="test",
            work_class=work_class,
        )
        conn.commit()
        return saved.entry_id

    return save


def drafts(seed: int) -> list[dict[str, Any]]:
    """Return entries as they are written, and odd ones among them."""
    luck = random.Random(seed)
    usual = [
        {
            "text": one["text"],
            "authors": (one["author"],),
            "tags": tuple(one["tags"]),
            "metadata": {"run": number, "beam": {"current": f"{number}.5"}},
        }
        for number, one in enumerate(logbook.entries(20, seed=seed))
    ]
    odd = [{"text": text, "title": f"odd {text[:9]}"} for text in ODD]
    return luck.sample([*usual, *odd], len(usual) + len(odd))


def keep(conn, tenant: str, ids: Iterable[UUID], expected: str, *, at_once: int):
    """Read these entries and keep so many of them at a time."""
    contents = read_entries.load_contents(conn, tenant, [*ids])
    found = [(one, metadata.extract(one, expected)) for one in contents.values()]
    known = SeenWords()
    for at in range(0, len(found), at_once):
        learnt = metadata.store_all(conn, tenant, found[at : at + at_once], known)
        conn.commit()
        assert learnt is not None
        learnt.remember()


def state(conn, tenant: str) -> list[list[tuple]]:
    given = {"tenant": tenant}
    return [
        conn.execute(statement, given).fetchall()
        for statement in (_OF_ENTRIES, _WORDS, _NAMES)
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_kept_together_is_as_each_kept_by_itself(conn, save, seed):
    sizes = {"alone": 1, "together": 100}
    ids = {
        tenant: [
            save(f"{number:02}", tenant=tenant, **draft)
            for number, draft in enumerate(drafts(seed))
        ]
        for tenant in sizes
    }
    for tenant, size in sizes.items():
        keep(conn, tenant, ids[tenant], "en", at_once=size)
    first = state(conn, "together")
    assert first == state(conn, "alone")
    assert all(first)

    # Half of them say something else by now, and all are read by other rules.
    for tenant, size in sizes.items():
        for number in range(0, len(ids[tenant]), 2):
            save(f"{number:02}", f"klystron {number} drew 5 A", tenant=tenant)
        keep(conn, tenant, ids[tenant], "de", at_once=size)
        keep(conn, tenant, ids[tenant], "de", at_once=size)

    second = state(conn, "together")
    assert second == state(conn, "alone")
    versions = [[row[1:3] for row in found[0]] for found in (first, second)]
    # A document is newer where something of it is: an edit, or another language.
    assert versions[0] == [(1, 1)] * len(ids["alone"])
    assert {version for version, _ in versions[1]} == {1, 2}


@pytest.mark.usefixtures("patient")
def test_a_batch_is_kept_in_one_commit_beside_what_was_deleted(ctx, conn, save):
    kept = [save(f"A-{number}") for number in range(4)]
    gone = save("B-1")
    tombstone(conn, TENANT, gone, reason=None, stages=[METADATA_STAGE])
    conn.commit()

    extract_metadata(ctx)

    conn.rollback()
    found = conn.execute("SELECT entry_id, xmin::text FROM entry_text").fetchall()
    assert {entry_id for entry_id, _ in found} == {*kept}
    assert len({commit for _, commit in found}) == 1
    due = conn.execute("SELECT entry_id, stage FROM work").fetchall()
    assert {*due} == {
        *((one, stage) for one in kept for stage in (INDEX_STAGE, DUPLICATES_STAGE)),
        (gone, INDEX_STAGE),
    }


@pytest.mark.requirement("O06")
def test_metadata_that_cannot_be_stored_keep_none_of_their_neighbours_out(
    ctx, conn, save
):
    poison, *others = [save(f"A-{number}") for number in range(6)]
    conn.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'not this one'; END $$"
    )
    conn.execute(
        sql.SQL(
            "CREATE TRIGGER refuse BEFORE INSERT ON entry_text FOR EACH ROW"
            " WHEN (NEW.entry_id = {}) EXECUTE FUNCTION refuse()"
        ).format(sql.Literal(poison))
    )
    conn.commit()

    extract_metadata(ctx)

    conn.rollback()
    found = conn.execute("SELECT entry_id FROM entry_text").fetchall()
    assert {entry_id for (entry_id,) in found} == {*others}
    aside = conn.execute("SELECT entry_id, stage FROM quarantine").fetchall()
    assert aside == [(poison, METADATA_STAGE)]
    due = conn.execute("SELECT FROM work WHERE stage = 'metadata'").fetchall()
    assert due == []


@pytest.mark.usefixtures("patient")
def test_a_batch_that_the_database_holds_up_goes_back_before_its_limit(
    ctx, conn, database, save, monkeypatch
):
    ids = [save(f"A-{number}") for number in range(3)]
    gone = save("B-1")
    tombstone(conn, TENANT, gone, reason=None, stages=[METADATA_STAGE])
    conn.commit()
    monkeypatch.setattr(batch_commit, "FAILING_SECONDS", 0.0)
    one_batch = islice(batches.claim_batches(ctx.pool, METADATA_STAGE, (), limit=8), 1)
    monkeypatch.setattr(ctx, "batches", lambda *_, **__: one_batch)

    with psycopg.connect(database) as other:
        other.execute("LOCK entry_text")
        extract_metadata(ctx)

    conn.rollback()
    found = conn.execute(
        "SELECT entry_id, claim, attempts FROM work WHERE stage = 'metadata'"
    ).fetchall()
    # One was tried by itself; the others, and what was deleted, were not.
    assert {*found} == {(one, None, 0) for one in [*ids, gone]}
    late = conn.execute("SELECT entry_id FROM work WHERE last_error IS NOT NULL")
    assert late.fetchall() == [(ids[0],)]


@pytest.mark.requirement("P1")
def test_a_claim_that_is_lost_beside_its_batch_has_no_effect(
    ctx, conn, save, monkeypatch
):
    ids = [save(f"A-{number}") for number in range(4)]
    taken: list[due_work.Claim] = []

    def take_one(name, *_):
        if name == "before_finish" and not taken:
            conn.rollback()
            conn.execute(
                "UPDATE work SET leased_until = now() WHERE entry_id = %s", ids[1:2]
            )
            taken.extend(
                due_work.claim(conn, METADATA_STAGE, limit=1, entry_ids=ids[1:2])
            )
            conn.commit()

    monkeypatch.setattr(ctx, "checkpoint", take_one)

    extract_metadata(ctx)

    assert [one.entry_id for one in taken] == ids[1:2]
    found = conn.execute("SELECT entry_id FROM entry_text").fetchall()
    assert {one for (one,) in found} == {ids[0], *ids[2:]}
    due = conn.execute(
        "SELECT entry_id, claim, attempts, last_error FROM work"
        " WHERE stage = 'metadata'"
    )
    assert due.fetchall() == [(ids[1], taken[0].claim, 2, None)]


@pytest.mark.requirement("P1")
@pytest.mark.usefixtures("patient")
def test_an_edit_beside_its_batch_is_read_and_its_neighbours_are_kept(
    ctx, conn, save, monkeypatch
):
    ids = [save(f"A-{number}") for number in range(4)]
    extract = metadata.extract
    edited: list[UUID] = []

    def edit_one(content, *more):
        if content.entry_id == ids[2] and not edited:
            edited.append(save("A-0", text="klystron replaced"))
        return extract(content, *more)

    monkeypatch.setattr(metadata, "extract", edit_one)
    commits: list[set[tuple]] = []

    def look(name, *_):
        if name == "after_commit":
            conn.rollback()
            now = conn.execute("SELECT entry_id, revision FROM entry_text").fetchall()
            commits.append({*now})

    monkeypatch.setattr(ctx, "checkpoint", look)

    extract_metadata(ctx)

    # What was read of it before its edit is not kept even for a moment.
    unedited = {(one, 1) for one in ids[1:]}
    assert commits == [unedited, {(ids[0], 2), *unedited}]

    conn.rollback()
    found = conn.execute("SELECT entry_id, revision, stream FROM entry_text").fetchall()
    assert edited == ids[:1]
    assert {*found} == {
        (ids[0], 2, "klystron replac"),
        *((one, 1, "rf caviti trip") for one in ids[1:]),
    }
    due = conn.execute("SELECT FROM work WHERE stage = 'metadata'").fetchall()
    assert due == []


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("where", ["text", "file"])
def test_what_may_take_long_is_begun_once_what_was_made_before_is_kept(
    ctx, conn, save, monkeypatch, where
):
    words = "beam " * batch_commit.SHORT_CHARACTERS
    short = [save(f"A-{number}") for number in range(3)]
    long = save("B-1", text=words if where == "text" else "see the file")
    if where == "file":
        conn.execute(
            "INSERT INTO attachment (id, tenant, entry_id, external_id, position,"
            "                        filename, state, text)"
            " VALUES (%s, %s, %s, 'f', 1, 'log.txt', 'stored', %s)",
            (uuid7(), TENANT, long, words),
        )
        conn.commit()
    extract = metadata.extract
    kept_before: list[set[UUID]] = []

    def look(content, *more):
        if content.entry_id == long:
            conn.rollback()
            found = conn.execute("SELECT entry_id FROM entry_text").fetchall()
            kept_before.append({one for (one,) in found})
        return extract(content, *more)

    monkeypatch.setattr(metadata, "extract", look)

    extract_metadata(ctx)

    assert kept_before == [{*short}]
    conn.rollback()
    (read,) = conn.execute(
        "SELECT length(stream) FROM entry_text WHERE entry_id = %s", (long,)
    ).fetchall()
    assert read[0] > batch_commit.SHORT_CHARACTERS


def test_what_is_kept_together_is_of_one_facility_and_one_class(ctx, conn, save):
    live, bulk = save("A-1"), save("A-2", work_class=due_work.BULK)
    other = save("A-1", tenant="other")

    extract_metadata(ctx, (live, bulk, other))

    conn.rollback()
    due = conn.execute(
        "SELECT entry_id, tenant, class FROM work WHERE stage = 'index'"
    ).fetchall()
    assert {*due} == {
        (live, TENANT, due_work.LIVE),
        (bulk, TENANT, due_work.BULK),
        (other, "other", due_work.LIVE),
    }


@pytest.mark.usefixtures("patient")
def test_findings_of_a_batch_are_kept_in_one_commit(make_context, conn, save):
    ctx = make_context(LOGCHORD_STAGES='{"digest": {"enabled": true}}')
    stages = entry_stages.list_entry_stages(ctx.settings)
    text = "Arc tripped klystron, cooled pump, opened valve, refilled water, reset"
    ids = [
        save(f"A-{number}", f"{text} B-{number}", stages=stages, tenant=tenant)
        for tenant in (TENANT, "other")
        for number in range(3)
    ]

    run_stage(ctx, DIGEST_STAGE)
    # A tag leaves the digest as it was: what is kept is of that revision.
    save("A-0", f"{text} B-0", tags=("RF",), stages=stages)
    run_stage(ctx, DIGEST_STAGE)

    conn.rollback()
    found = conn.execute(
        "SELECT entry_id, revision, found -> 0 -> 'keywords' ->> 1, xmin::text"
        " FROM entry_finding WHERE stage = 'digest'"
    ).fetchall()
    assert {row[:3] for row in found} == {
        (one, 2 if at == 0 else 1, f"reset B-{at % 3}") for at, one in enumerate(ids)
    }
    # One for each facility, and that of the edit.
    assert len({commit for *_, commit in found}) == 3
    due = conn.execute("SELECT FROM work WHERE stage = 'digest'").fetchall()
    assert due == []
