"""A purge leaves nothing in any store, keeps the name out, and proves it."""

import io
import json
import time
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import UUID

import psycopg
import pytest

from shared.access.scope import Scope
from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef
from shared.enrich import metadata
from shared.enrich.attachments.file_store import FileStore
from shared.entries import refs
from shared.entries.draft import EntryDraft
from shared.entries.reading import change_feed, read_entries
from shared.entries.reading.change_feed import FeedPosition
from shared.entries.refs import Ref
from shared.entries.removal import purge
from shared.entries.saving.entry_batch import NO_ENTRY
from shared.entries.saving.save import save_page
from shared.ids import uuid7
from shared.opensearch import bulk, documents, erase, mapping
from shared.search.jobs import job as jobs
from shared.search.jobs import progress, redis_keys
from tests.support.older import nothing_older
from tests.support.typed import typed

TENANT = "default"
STAGES = ["metadata", "embed:test"]
ANYONE = Scope(tenant=TENANT, subject="operator", allowed=frozenset({"read"}))
SECRET = "Alice's phone is 555-0199"
BYTES = b"a photograph"
CONTENT = sha256(BYTES).digest()


def draft(external_id: str, **fields: Any) -> EntryDraft:
    fields.setdefault("text", "RF trip")
    return EntryDraft(source="olog", external_id=external_id, **fields)


def save(conn, *drafts: EntryDraft) -> list[Any]:
    return save_page(conn, TENANT, drafts, stages=STAGES, editor="test")


def private(external_id: str = 'Linac/5"12') -> EntryDraft:
    return draft(
        external_id,
        text=SECRET,
        raw=RawItem(external_id, {"text": SECRET}),
        attachments=(AttachmentRef("1", "photo.jpg"),),
        reply_to="parent",
    )


@pytest.fixture
def entry_id(conn) -> UUID:
    """An entry of which every table has something."""
    (saved,) = save(conn, private())
    key = saved.entry_id
    content = read_entries.load_contents(conn, TENANT, [key])[key]
    metadata.store(conn, content, metadata.extract(content, None))
    doc_key = f"default/olog/{'Linac%2F5' + chr(34) + '12'}"
    conn.execute(
        "INSERT INTO job (id, tenant, subject, state, request, plan, ranked,"
        " deadline_at) VALUES (%s, 'default', 'jo', 'done', '{}', '{}', %s, now()),"
        " (%s, 'default', 'jo', 'done', '{}', '{}', '[]', now())",
        (uuid7(), json.dumps([{"chunk": f"{doc_key}#0000"}]), uuid7()),
    )
    conn.execute(
        "INSERT INTO idempotency (tenant, caller, route, key, body_hash, answer)"
        " VALUES ('default', 'k', 'r', 'x', '', %s)",
        (json.dumps({"entry_id": str(key)}),),
    )
    conn.execute(
        "INSERT INTO quarantine (id, tenant, source, external_id, stage, error)"
        " VALUES (%s, 'default', 'olog', %s, 'ingest', '{}')",
        (uuid7(), private().external_id),
    )
    conn.execute(
        "UPDATE attachment SET state = 'stored', sha256 = %s, bytes = %s",
        (CONTENT, len(BYTES)),
    )
    conn.commit()
    return key


def tables_with(conn, needle: str) -> list[str]:
    """Every table of which any row, as text, holds this."""
    names = conn.execute(
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
    ).fetchall()
    return [
        name
        for (name,) in names
        if conn.execute(
            psycopg.sql.SQL(
                "SELECT 1 FROM {0} t WHERE strpos(t::text, %s) > 0 LIMIT 1"
            ).format(psycopg.sql.Identifier(name)),
            (needle,),
        ).fetchone()
    ]


@pytest.mark.requirement("U30")
def test_a_purge_leaves_only_the_name(conn, entry_id):
    name = private().external_id

    done = purge.purge(conn, TENANT, "olog", name)

    found = {table for table, count in done.counts.items() if count}
    assert found >= {
        *("entry", "revision", "raw_payload", "attachment", "entry_link"),
        *("entry_text", "entry_metadata", "work", "quarantine", "job", "idempotency"),
    }
    assert done.files == ((CONTENT, len(BYTES)),)
    left = purge.count_traces(conn, TENANT, "olog", name, entry_id)
    assert not any(left.values())
    assert tables_with(conn, SECRET) == []
    assert tables_with(conn, str(entry_id)) == ["purged"]
    # A job that has nothing to do with it stays.
    assert conn.execute("SELECT count(*) FROM job").fetchone() == (1,)


def test_turns_of_agents_that_were_told_of_it_go_with_their_jobs(conn, entry_id):
    running, other = uuid7(), uuid7()
    conn.execute(
        "INSERT INTO job (id, tenant, subject, state, request, plan, deadline_at)"
        " VALUES (%s, 'default', 'jo', 'queued', '{}', '{}', now()),"
        " (%s, 'default', 'jo', 'queued', '{}', '{}', now())",
        (running, other),
    )
    found = json.dumps({"0": {"outcomes": [{"hits": [{"entry_id": str(entry_id)}]}]}})
    conn.execute(
        "INSERT INTO agent_turn (job_id, turn_no, tenant, state, outcomes, model_out)"
        " VALUES (%(one)s, 1, 'default', 'done', %(found)s, NULL),"
        " (%(one)s, 2, 'default', 'ended', '{}', %(said)s),"
        " (%(other)s, 1, 'default', 'done', '{}', NULL)",
        {
            "one": running,
            "other": other,
            "found": found,
            "said": json.dumps({"text": SECRET}),
        },
    )
    name = private().external_id

    done = purge.purge(conn, TENANT, "olog", name)

    assert (done.counts["agent_turn"], done.counts["job"]) == (2, 2)
    assert running in done.jobs
    assert other not in done.jobs
    assert tables_with(conn, SECRET) == []
    assert conn.execute("SELECT job_id FROM agent_turn").fetchall() == [(other,)]
    left = purge.count_traces(conn, TENANT, "olog", name, entry_id)
    assert (left["agent_turn"], left["job"]) == (0, 0)


def test_what_is_kept_of_jobs_beside_their_rows_can_be_erased(jobs_client):
    one, other = uuid7(), uuid7()
    for job_id in (one, other):
        until = int(time.time()) + 60
        progress.tell_event(jobs_client, job_id, "llm_chunk", {}, until=until)
        jobs_client.hset(redis_keys.job(job_id), "job", "{}")

    jobs.erase_jobs(jobs_client, [one])

    assert not jobs_client.exists(redis_keys.job(one), redis_keys.events(one))
    assert jobs_client.exists(redis_keys.job(other), redis_keys.events(other)) == 2


def test_what_was_purged_never_comes_back(conn, entry_id):
    purge.purge(conn, TENANT, "olog", private().external_id)

    again, neighbour = save(conn, private(), draft("neighbour"))

    assert (again.status, again.entry_id) == ("purged", NO_ENTRY)
    assert neighbour.status == "created"
    purge.purge(conn, TENANT, "olog", private().external_id)


def test_a_name_that_is_not_here_can_be_kept_out(conn):
    done = purge.purge(conn, TENANT, "olog", "unheard-of")

    assert done.entry_id is None
    assert not any(done.counts.values())
    (result,) = save(conn, draft("unheard-of"))
    assert result.status == "purged"


def test_whoever_keeps_a_copy_is_told_that_it_is_gone(conn, entry_id):
    nothing_older(conn)
    told = change_feed.list_changes(conn, ANYONE, FeedPosition(), limit=10)
    stranger = Scope(tenant=TENANT, subject="key", logbooks=("Other",))

    purge.purge(conn, TENANT, "olog", private().external_id)
    conn.commit()

    nothing_older(conn)
    (one,) = change_feed.list_changes(conn, ANYONE, told.place, limit=10).changes
    assert (one.told_as, one.entry_id) == ("deleted", entry_id)
    assert (
        change_feed.list_changes(conn, stranger, FeedPosition(), limit=10).changes == []
    )


@pytest.mark.requirement("U30")
def test_vectors_of_replies_are_made_without_the_words_of_what_was_purged(conn):
    _, reply = save(conn, draft("parent", text=SECRET), private("reply"))
    conn.execute("DELETE FROM work")

    purge.purge(conn, TENANT, "olog", "parent", stages=STAGES)

    due = conn.execute("SELECT entry_id, stage FROM work").fetchall()
    assert due == [(reply.entry_id, "embed:test")]


def test_a_thread_that_a_purged_entry_held_together_falls_apart(conn):
    save(conn, draft("1"), draft("2", reply_to="1"), draft("3", reply_to="1"))

    purge.purge(conn, TENANT, "olog", "1")

    rows = conn.execute("SELECT id = thread_id FROM entry").fetchall()
    assert rows == [(True,), (True,)]


def test_an_entry_is_found_by_whatever_it_is_called(conn):
    (saved,) = save(conn, draft("Linac/5 12"))
    save(conn, draft("7"))
    save_page(conn, TENANT, [EntryDraft("elog", "7", "x")], stages=[], editor="test")
    expected = Ref("olog", "Linac/5 12", saved.entry_id)

    for ref in (
        str(saved.entry_id),
        "logchord:default/olog/Linac%2F5%2012",
        "/e/olog/Linac/5%2012",
        "olog/Linac/5 12",
        "Linac/5 12",
    ):
        assert refs.find(conn, TENANT, ref) == [expected], ref
    pinned = "https://log.example.org/e/olog/Linac%2F5%2012@3"
    assert refs.find(conn, TENANT, pinned) == [replace(expected, revision=3)]
    # Of what is purged only a permalink leaves the revision off.
    for cited in (f"{saved.entry_id}@3", "Linac/5 12@3"):
        assert refs.find(conn, TENANT, cited) == []
        assert refs.find_cited(conn, TENANT, cited) == [replace(expected, revision=3)]
    assert [one.source for one in refs.find(conn, TENANT, "7")] == ["elog", "olog"]
    assert refs.find(conn, TENANT, "8") == []
    assert refs.find(conn, "other", str(saved.entry_id)) == []
    assert refs.find(conn, TENANT, "logchord:other/olog/7") == []


@pytest.mark.requirement("U30")
@pytest.mark.timeout(240)
def test_the_command_removes_document_and_file_too_and_prints_the_proof(
    conn, database, entry_id, opensearch, search_client, own_index, tmp_path
):
    base, client = own_index, search_client
    store = FileStore(str(tmp_path / "attachments"))
    store.put(io.BytesIO(BYTES), CONTENT, len(BYTES))
    alias = mapping.write_alias(base)
    (document,) = documents.load(conn, TENANT, [entry_id])
    conn.commit()
    assert bulk.write(client, alias, [document]) == {}
    environment = {
        "DATABASE_URL": database,
        "OPENSEARCH_URL": opensearch.url,
        "OPENSEARCH_INDEX": base,
        "LOGCHORD_HOME": str(tmp_path),
    }

    logchord = partial(typed, "purge", environ=environment, folder=tmp_path)

    unasked = logchord(str(entry_id))
    assert unasked.returncode != 0
    assert store.has(CONTENT, len(BYTES))

    done = logchord(str(entry_id), "--yes", "--json")

    assert done.returncode == 0, done.stderr
    proof = json.loads(done.stdout)
    assert proof["removed"]["entry"] == proof["removed"]["files"] == 1
    assert set(proof["left"].values()) == {0}
    assert {"index", "files", "revision", "raw_payload"} <= set(proof["left"])
    assert not store.has(CONTENT, len(BYTES))
    assert proof["removed"]["vocabulary"] > 0
    assert proof["removed"]["index"] == 1
    # Who did it is told by the name, which is kept out anyway.
    audit = "SELECT request, target, way_in FROM audit_record"
    assert conn.execute(audit).fetchall() == [
        ("logchord purge", private().source + "/" + private().external_id, "command")
    ]
    learnt = "SELECT surface FROM lexeme UNION ALL SELECT ident FROM ident"
    assert conn.execute(learnt).fetchall() == []
    # A worker that read the entry before writes its document too late.
    assert bulk.write(client, alias, [document]) == {}
    client.indices.refresh(index=alias)
    assert erase.count(client, base, entry_id) == 0
    missing = logchord("nothing-of-this-name", "--yes")
    assert missing.returncode == 3
