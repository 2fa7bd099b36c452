"""A new version of a stage with a task of its own makes just that stage due, once."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from psycopg import Connection

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page, tombstone
from shared.messaging.stage_names import (
    DUPLICATES_STAGE,
    INDEX_STAGE,
    METADATA_STAGE,
    embed_stage,
)
from shared.stages import entry_stages, installed_stages, stage_versions
from shared.stages.stage_contract import StageDescriptor
from shared.work import chore_records, due_work
from shared.work.chore_records import RENEW_TEXTS
from tests.support.watched_chores import Watched, due_now
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import embed_entries, extract_metadata
from workers.tasks.index import index_entries
from workers.tasks.stages import run_stage

MODEL = "hashing-384"
TENANTS = ("default", "other")
ROW_NAMES = {
    "embed": embed_stage(MODEL),
    DUPLICATES_STAGE: DUPLICATES_STAGE,
    METADATA_STAGE: METADATA_STAGE,
    INDEX_STAGE: INDEX_STAGE,
}

Due = list[tuple[str, str, int]]


@pytest.fixture(autouse=True)
def pages_of_three(monkeypatch):
    """Pages end within a tenant's rows, and tenants share them."""
    monkeypatch.setattr(stage_versions, "STEP_ENTRIES", 3)


@pytest.fixture
def raise_version(monkeypatch) -> Callable[[str], None]:
    """Install another release of a stage."""

    def newer(name: str) -> None:
        known = dict(installed_stages.load_descriptors())
        old = known[name]
        assert isinstance(old, StageDescriptor)
        known[name] = replace(old, version=old.version + 1)
        monkeypatch.setattr(installed_stages, "load_descriptors", lambda: known)

    return newer


def fill(conn: Connection, ctx: Context) -> None:
    """Store five entries of each of two facilities, and do all that is due of them."""
    stages = entry_stages.list_entry_stages(ctx.settings)
    for number in range(5):
        for tenant in TENANTS:
            draft = EntryDraft("api", f"{number}", f"klystron {number} tripped")
            save_page(conn, tenant, [draft], stages=stages, editor="test")
    work(ctx)


def work(ctx: Context) -> None:
    extract_metadata(ctx)
    for stage in entry_stages.list_finder_stages(ctx.settings):
        run_stage(ctx, stage)
    # What they found in words is read with the entry.
    extract_metadata(ctx)
    embed_entries(ctx, MODEL)
    place_entries(ctx)
    index_entries(ctx)


def renewed(ctx: Context, conn: Connection) -> Due:
    """Carry the chore out, and return what is due by now."""
    chore_records.open_chore(conn, RENEW_TEXTS)
    chores.renew_texts(ctx)
    assert chore_records.list_unfinished(conn) == []
    return due(conn)


def due(conn: Connection) -> Due:
    return conn.execute(
        "SELECT e.tenant || ':' || e.external_id, w.stage, w.class FROM work w"
        " JOIN entry e ON e.id = w.entry_id ORDER BY 1, 2"
    ).fetchall()


def all_of(stage: str, numbers: range = range(5)) -> Due:
    named = [f"{tenant}:{n}" for tenant in TENANTS for n in numbers]
    return [(name, stage, due_work.BULK) for name in sorted(named)]


@pytest.mark.requirement("O06")
@pytest.mark.parametrize("name", list(ROW_NAMES))
def test_a_new_version_makes_its_stage_due_for_every_entry_once_and_no_other(
    make_context, committing, raise_version, name
):
    ctx = make_context()
    fill(committing, ctx)
    assert renewed(ctx, committing) == []

    raise_version(name)

    assert renewed(ctx, committing) == all_of(ROW_NAMES[name])
    work(ctx)
    assert due(committing) == []
    assert renewed(ctx, committing) == []


def test_what_waits_is_put_aside_or_gone_is_left_alone(
    make_context, committing, raise_version
):
    ctx = make_context()
    fill(committing, ctx)
    assert renewed(ctx, committing) == []
    stage = ROW_NAMES["embed"]
    found = committing.execute(
        "SELECT id, tenant, external_id FROM entry WHERE external_id < '3'"
    )
    for entry_id, tenant, number in found.fetchall():
        match number:
            case "0":
                tombstone(committing, tenant, entry_id, reason="test", stages=[])
            case "1":
                due_work.add(committing, tenant, [entry_id], [stage])
            case "2":
                committing.execute(
                    "INSERT INTO quarantine (id, tenant, entry_id, source, external_id,"
                    " stage, revision, attempts, error) VALUES"
                    " (uuidv7(), %s, %s, 'api', '2', %s, 1, 4, '{}')",
                    (tenant, entry_id, stage),
                )

    raise_version("embed")

    waiting = [(f"{tenant}:1", stage, due_work.LIVE) for tenant in TENANTS]
    expected = sorted([*waiting, *all_of(stage, range(3, 5))])
    assert renewed(ctx, committing) == expected


def test_what_a_release_that_kept_no_versions_has_made_is_of_the_first_one(
    make_context, committing, raise_version
):
    ctx = make_context()
    fill(committing, ctx)
    assert renewed(ctx, committing) == []
    raise_version(DUPLICATES_STAGE)
    committing.execute(
        "UPDATE maintenance SET result = result - %s || jsonb_build_object(%s::text,"
        " jsonb_build_object('embed', %s::int))",
        (
            stage_versions.VERSIONS,
            stage_versions.VERSIONS,
            installed_stages.list_stages()["embed"].version,
        ),
    )

    assert renewed(ctx, committing) == all_of(DUPLICATES_STAGE)


class Renewing(Watched):
    kind, begins = RENEW_TEXTS, "begin"


def test_killed_in_the_middle_the_walk_goes_on_where_it_was(
    make_context, committing, raise_version
):
    ctx = make_context(Renewing)
    fill(committing, ctx)
    assert renewed(ctx, committing) == []
    raise_version("embed")
    steps = count()

    def die(_: str) -> None:
        # Once at every other step, just before its commit.
        if next(steps) % 2:
            raise KeyboardInterrupt

    ctx.at["before_commit"] = die
    chore: Any = chore_records.open_chore(committing, RENEW_TEXTS)
    while chore_records.find(committing, chore).ended_at is None:
        due_now(committing)
        try:
            chores.renew_texts(ctx)
        except KeyboardInterrupt:
            committing.execute("UPDATE maintenance SET strikes = 0")

    assert chore_records.find(committing, chore).state == "done"
    assert next(steps) > 8
    assert due(committing) == all_of(ROW_NAMES["embed"])
