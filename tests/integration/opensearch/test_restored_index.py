"""An index that is ahead of what was restored, and one that is gone: both follow."""

import hashlib
import json
import stat
import threading
from functools import partial
from typing import Any

import psycopg
import pytest

from shared.access import keys
from shared.entries.saving.save import tombstone
from shared.messaging.stage_names import INDEX_STAGE
from shared.opensearch import aliases, documents, mapping
from shared.opensearch.client import refresh
from shared.work import chore_records
from tests.support.fixtures.servers import create_database, drop_database
from tests.support.installation import PHOTO, STAGES, Installation, attach, entries
from tests.support.saving import save_entry
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries
from workers.upkeep.main import keep_index

pytestmark = pytest.mark.timeout(240)
SETTINGS = "facility_timezone: Europe/Berlin\n"


@pytest.fixture
def installation(make_indexing_context, database, tmp_path) -> Installation:
    home = tmp_path / "home"
    (tmp_path / "logchord.yaml").write_text(SETTINGS, encoding="utf-8")
    first = make_indexing_context(LOGCHORD_HOME=str(home))
    environ = {
        "DATABASE_URL": database,
        "LOGCHORD_HOME": str(home),
        "OPENSEARCH_URL": first.settings.opensearch_url.get_secret_value(),
        "OPENSEARCH_INDEX": first.settings.opensearch_index,
    }
    named = {name: environ[name] for name in ("LOGCHORD_HOME", "OPENSEARCH_INDEX")}
    make = partial(make_indexing_context, **named)
    return Installation(database, home, environ, make)


def work(ctx: Context) -> None:
    extract_metadata(ctx)
    index_entries(ctx)


def catch_up(ctx: Context, conn: psycopg.Connection) -> None:
    """Do what upkeep and the workers do of themselves after a start."""
    conn.execute("UPDATE maintenance SET created_at = created_at - interval '1 h'")
    keep(ctx)
    for _ in range(20):
        if chore_records.find_unfinished(conn, chore_records.RECONCILE_INDEX) is None:
            break
        conn.execute("UPDATE maintenance SET due_at = now() WHERE ended_at IS NULL")
        chores.reconcile_index(ctx)
        conn.execute("UPDATE work SET due_at = now()")
        work(ctx)
    keep(ctx)


def keep(ctx: Context) -> None:
    assert ctx.opensearch is not None
    keep_index(ctx.opensearch, ctx.settings.opensearch_index, ctx.pool)


def lose(one: Installation, postgres_url: str) -> None:
    """Lose the database, every attached file and the configuration."""
    name = one.database.rpartition("/")[2]
    drop_database(postgres_url, name)
    create_database(postgres_url, name)
    for path in sorted(one.home.parent.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()


def documents_of(ctx: Context) -> dict[str, tuple[int, Any]]:
    """Version and text of all that is searchable, by entry."""
    client, alias = ctx.opensearch, mapping.read_alias(ctx.settings.opensearch_index)
    assert client is not None
    refresh(client, alias, 10)
    found = client.search(index=alias, body={"size": 1000, "version": True})
    return {
        hit["_id"]: (hit["_version"], hit["_source"].get("stream"))
        for hit in found["hits"]["hits"]
    }


def wanted(conn: psycopg.Connection) -> dict[str, tuple[int, Any]]:
    """What the index must hold: what Postgres says, and nothing beside it."""
    ids = [row[0] for row in conn.execute("SELECT id FROM entry").fetchall()]
    return {
        str(one.entry_id): (one.version, one.body.get("stream"))
        for one in documents.load(conn, "default", ids)
    }


@pytest.mark.requirement("U23", "F36", "P1", "P6")
def test_what_a_backup_holds_is_found_as_it_was_and_nothing_later_is(
    installation, postgres, tmp_path_factory
):
    file = tmp_path_factory.mktemp("elsewhere") / "logchord.tar"
    is_over = threading.Event()
    pushed: list[int] = []

    def push() -> None:
        with psycopg.connect(installation.database, autocommit=True) as conn:
            while not is_over.is_set():
                number = len(pushed)
                with conn.transaction():
                    save_entry(conn, f"flow{number}", f"flow {number}", stages=STAGES)
                pushed.append(number)

    with installation.at_work() as (ctx, conn):
        ids = [save_entry(conn, f"e{n}", f"trip {n}", stages=STAGES) for n in range(8)]
        attach(installation, conn, ids[0])
        key = make_key(conn)
        conn.execute(
            "INSERT INTO job (id, tenant, subject, state, request, plan, deadline_at)"
            " VALUES (uuidv7(), 'default', 'tester', 'done', '{}', '{}', now())"
        )
        with conn.transaction():
            tombstone(conn, "default", ids[7], reason=None, stages=[INDEX_STAGE])
        work(ctx)

        flow = threading.Thread(target=push)
        flow.start()
        made = installation.run("backup", str(file), "--json")
        is_over.set()
        flow.join()

        # What the backup does not hold: edits, deletions, enrichment, and new entries.
        for number in range(3):
            for turn in range(3):
                save_entry(conn, f"e{number}", f"ghost {turn}", stages=STAGES)
        with conn.transaction():
            tombstone(conn, "default", ids[3], reason=None, stages=[INDEX_STAGE])
        conn.execute(
            "UPDATE entry SET doc_version = doc_version + 9 WHERE id = %s", ids[4:5]
        )
        later = str(save_entry(conn, "later", "a ghost", stages=STAGES))
        work(ctx)
        ahead = documents_of(ctx)

    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert later in ahead
    lose(installation, postgres.url)

    done = installation.run("restore", str(file))

    assert done.returncode == 0, done.stderr
    assert (installation.home.parent / "logchord.yaml").read_text("utf-8") == SETTINGS
    with installation.store.open(hashlib.sha256(PHOTO).digest()) as photo:
        assert photo.read() == PHOTO
    with installation.at_work() as (ctx, conn):
        kept = entries(conn)
        texts = {name: text for name, *_, text in kept}
        assert {f"e{n}": f"trip {n}" for n in range(8)}.items() <= texts.items()
        flowed = [name for name in texts if name.startswith("flow")]
        assert len(texts) == 8 + len(flowed)
        assert json.loads(made.stdout)["entries"] == len(texts) - 1
        assert keys.find(conn, key).subject == "tester"
        # Searches of the last hours would be most of a backup.
        assert conn.execute("SELECT count(*) FROM job").fetchone() == (0,)
        # The proof of this test: without the epoch raised the stale documents stay.
        epoch = conn.execute("SELECT epoch FROM installation").fetchone()[0]
        conn.execute("UPDATE installation SET epoch = 0")
        catch_up(ctx, conn)
        stale = documents_of(ctx)
        assert stale != wanted(conn)
        assert later not in stale
        assert epoch > 0

    refused = installation.run("restore", str(file))
    name = installation.database.rpartition("/")[2]
    again = installation.run("restore", str(file), "--force", name)

    assert refused.returncode == 1
    assert f"--force {name}" in refused.stderr
    assert again.returncode == 0, again.stderr
    assert "left as it is: logchord.yaml" in again.stderr
    with installation.at_work() as (ctx, conn):
        assert entries(conn) == kept
        catch_up(ctx, conn)
        assert documents_of(ctx) == wanted(conn)
        empty = aliases.look(ctx.opensearch, ctx.settings.opensearch_index)
        ctx.opensearch.indices.delete(index=empty.read)

    once_more = installation.run("restore", str(file), "--force", name)

    assert once_more.returncode == 0, once_more.stderr
    with installation.at_work() as (ctx, conn):
        catch_up(ctx, conn)
        found = documents_of(ctx)
        assert found == wanted(conn)
        assert len(found) == len(texts)


def make_key(conn: psycopg.Connection) -> str:
    return keys.create_key(
        conn, tenant="default", name="k", subject="tester", scopes=("read",)
    ).token
