"""An entry whose text no worker survives, or can read, stays findable by its words."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from shared.access.scope import Scope
from shared.enrich import entry_facts, reanalyse
from shared.entries.reading import read_entries
from shared.entries.saving.save import tombstone
from shared.messaging.stage_names import DUPLICATES_STAGE, INDEX_STAGE, METADATA_STAGE
from shared.opensearch import mapping
from shared.text.analysis.analyser import version_of
from shared.text.facility.facility import PLAIN
from shared.work import due_work, quarantine
from shared.work.leases import MAX_STRIKES
from shared.work.quarantine import Which
from tests.support.saving import save_entry
from workers.runtime.context import Context
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries
from workers.upkeep.main import quarantine_spent

TENANT = "default"
SCOPE = Scope(TENANT, "anna")

PutAside = Callable[[Context], None]


@pytest.fixture
def save(committing):
    def save(text: str, external_id: str = "A-1", **fields: Any) -> UUID:
        return save_entry(
            committing, external_id, text, stages=[METADATA_STAGE], **fields
        )

    return save


@pytest.fixture
def reading_fails(monkeypatch) -> PutAside:
    """What is no fault of the analyser: a bug, in what comes after it."""

    def fail(ctx: Context) -> None:
        def refuse(*_: object) -> None:
            raise AttributeError

        with monkeypatch.context() as patched:
            patched.setattr(entry_facts, "find", refuse)
            extract_metadata(ctx)

    return fail


@pytest.fixture
def workers_die(committing) -> PutAside:
    """No worker survives it; upkeep finds that their leases are over."""

    def die(ctx: Context) -> None:
        for _ in range(1 + MAX_STRIKES):
            assert due_work.claim(committing, METADATA_STAGE, limit=10)
            committing.execute("UPDATE work SET leased_until = now() - interval '1 s'")
        quarantine_spent(committing, ctx.settings, lambda: ctx.facility)

    return die


@pytest.fixture(params=["reading_fails", "workers_die"])
def is_put_aside(request) -> PutAside:
    """Each way in which the stage of an entry is quarantined."""
    return request.getfixturevalue(request.param)


@pytest.mark.requirement("O06")
def test_what_is_put_aside_unread_is_found_by_a_plain_split_and_flagged(
    make_context, committing, save, is_put_aside
):
    entry_id = save("Cavities HCM03 tripped", tags=["rf"], metadata={"amps": 3})

    is_put_aside(make_context())

    text = committing.execute(
        "SELECT plain, stream, language, analyser_version, tsv @@ 'cavities & hcm03',"
        "       revision FROM entry_text"
    ).fetchone()
    split = (True, "cavities hcm03 tripped\nrf", "unknown")
    assert text == (*split, version_of(PLAIN), True, 1)
    entry = read_entries.load_entry(committing, SCOPE, entry_id)
    assert entry is not None
    assert entry.read_flags == ["plain_split"]
    assert entry.quarantined_stages == [METADATA_STAGE]
    assert entry.due_stages == {DUPLICATES_STAGE: "due", INDEX_STAGE: "due"}
    # What the source says needs no reading: filters find it.
    told = committing.execute(
        "SELECT facts FROM entry_finding WHERE stage = %s", (METADATA_STAGE,)
    ).fetchone()
    assert "'rf'" in str(told[0])
    (size,) = committing.execute("SELECT count(*) FROM entry_quantity").fetchone()
    assert size == 1


@pytest.mark.requirement("O06")
def test_after_an_edit_that_cannot_be_read_the_index_holds_that_and_nothing_older(
    make_indexing_context, committing, save, reading_fails
):
    ctx = make_indexing_context()
    client, alias = ctx.opensearch, mapping.read_alias(ctx.settings.opensearch_index)
    save("valves opened")
    extract_metadata(ctx)
    index_entries(ctx)
    save("valves closed")

    reading_fails(ctx)
    index_entries(ctx)

    client.indices.refresh(index=alias)
    (hit,) = client.search(index=alias, body={})["hits"]["hits"]
    assert hit["_source"]["stream"] == ["valves closed"]


def test_what_is_given_up_unread_is_read_anew_by_a_later_analyser_and_by_no_other(
    make_context, committing, save, workers_die, monkeypatch
):
    ctx = make_context()
    entry_id = save("valves opened")
    workers_die(ctx)
    (aside,) = quarantine.list_quarantined(committing, Which(TENANT), limit=10)
    quarantine.discard(committing, Which(TENANT, id=aside.id))
    committing.execute("DELETE FROM work")
    committing.execute(
        "INSERT INTO likeness (entry_id, tenant, source, at)"
        " SELECT id, tenant, source, entry_time FROM entry"
    )

    reanalyse.prepare(ctx.pool, ctx.settings, None, 0, PLAIN)(committing)
    assert due_work.claim(committing, METADATA_STAGE, limit=10) == []

    monkeypatch.setattr("shared.text.analysis.analyser._VERSION", 255)
    reanalyse.prepare(ctx.pool, ctx.settings, None, 0, PLAIN)(committing)
    extract_metadata(ctx)

    text = committing.execute("SELECT plain, stream FROM entry_text").fetchone()
    assert text == (False, "valv open")
    entry = read_entries.load_entry(committing, SCOPE, entry_id)
    assert entry is not None
    assert entry.read_flags == []


def test_an_edit_that_comes_while_workers_die_is_read_and_not_put_aside(
    make_context, committing, save, workers_die
):
    ctx = make_context()
    save("valves opened")
    for _ in range(1 + MAX_STRIKES):
        due_work.claim(committing, METADATA_STAGE, limit=10)
        committing.execute("UPDATE work SET leased_until = now() - interval '1 s'")
    save("valves closed")

    quarantine_spent(committing, ctx.settings, lambda: ctx.facility)
    extract_metadata(ctx)

    text = committing.execute("SELECT plain, stream FROM entry_text").fetchone()
    assert text == (False, "valv close")
    assert quarantine.list_quarantined(committing, Which(TENANT), limit=10) == []


def test_what_is_deleted_and_put_aside_is_due_for_its_tombstone_alone(
    make_context, committing, save, workers_die
):
    entry_id = save("valves opened")
    tombstone(committing, TENANT, entry_id, reason="test", stages=[METADATA_STAGE])

    workers_die(make_context())

    due = committing.execute("SELECT stage FROM work").fetchall()
    assert due == [(INDEX_STAGE,)]
    assert committing.execute("SELECT FROM entry_text").fetchall() == []


def test_a_plain_split_that_cannot_be_kept_leaves_the_entry_put_aside_all_the_same(
    make_context, committing, save, workers_die, monkeypatch
):
    def refuse(*_: object) -> None:
        raise AttributeError

    monkeypatch.setattr(entry_facts, "collect_declared_facts", refuse)
    save("valves opened")

    workers_die(make_context())

    (aside,) = quarantine.list_quarantined(committing, Which(TENANT), limit=10)
    assert (aside.stage, aside.error["code"]) == (METADATA_STAGE, "worker_lost")
    assert committing.execute("SELECT FROM entry_text").fetchall() == []
