"""A backup while entries flow in, everything lost, and all of it put back."""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import secrets
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from local import service_user
from shared import migrations
from shared.access import keys
from shared.access.scope import Scope
from shared.enrich.attachments.file_store import FileStore
from shared.entries.reading import change_feed
from shared.entries.reading.change_feed import FeedPosition
from shared.entries.saving.save import tombstone
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.opensearch import aliases, documents, mapping
from shared.opensearch.client import refresh
from shared.postgres.pool import connect
from shared.work import chore_records
from tests.support.fixtures.servers import (
    copied,
    create_database,
    drop_database,
    of_database,
)
from tests.support.machine import BIN, ended, machine
from tests.support.saving import save_entry
from tests.support.typed import typed
from tests.support.waiting import until
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries
from workers.upkeep.main import keep_index

pytestmark = pytest.mark.timeout(240)
ANYONE = Scope(tenant="default", subject="operator", allowed=frozenset({"read"}))
TABLES: LiteralString = """
    SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"""
# Transactions are counted by each server for itself.
ROWS: LiteralString = """
    SELECT count(*), md5(string_agg(row, '' ORDER BY row))
      FROM (SELECT (to_jsonb(t) - 'changed_xid')::text AS row FROM {} t) AS rows"""
STAGES = (METADATA_STAGE, INDEX_STAGE)
PHOTO = b"a photograph of a valve"
SETTINGS = "facility_timezone: Europe/Berlin\n"


class Installation(NamedTuple):
    """An installation without processes: what they do, its test does."""

    database: str
    home: Path
    environ: dict[str, str]
    make_context: Callable[[], Context]

    def run(self, *words: str) -> CompletedProcess[str]:
        folder = self.home.parent
        return typed(*words, environ=self.environ, folder=folder)

    @property
    def store(self) -> FileStore:
        return FileStore(str(self.home / "attachments"))

    @contextmanager
    def at_work(self) -> Iterator[tuple[Context, psycopg.Connection]]:
        """A worker, and a connection, that are gone when the block ends."""
        ctx = self.make_context()
        with psycopg.connect(self.database, autocommit=True) as conn:
            yield ctx, conn
        ctx._resources.close()


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


def entries(conn: psycopg.Connection) -> list[Any]:
    return conn.execute(
        "SELECT e.external_id, e.revision, e.doc_version, e.deleted_at, r.text"
        " FROM entry e JOIN revision r ON r.entry_id = e.id ORDER BY e.id, r.number"
    ).fetchall()


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


def attach(one: Installation, conn: psycopg.Connection, entry_id: UUID) -> None:
    sha256 = hashlib.sha256(PHOTO).digest()
    one.store.put(io.BytesIO(PHOTO), sha256, len(PHOTO))
    conn.execute(
        "INSERT INTO attachment (id, tenant, entry_id, external_id, position, filename,"
        " state, bytes, sha256) VALUES (uuidv7(), 'default', %s, 'p', 0, 'p.jpg',"
        " 'stored', %s, %s)",
        (entry_id, len(PHOTO), sha256),
    )


def make_key(conn: psycopg.Connection) -> str:
    return keys.create_key(
        conn, tenant="default", name="k", subject="tester", scopes=("read",)
    ).token


@pytest.fixture(scope="module")
def kept(postgres, template, tmp_path_factory) -> Iterator[tuple[Installation, Path]]:
    """An installation with three entries, and a backup of it."""
    folder = tmp_path_factory.mktemp("kept")
    with copied(postgres, template) as database:
        home = folder / "home"
        environ = {"DATABASE_URL": database, "LOGCHORD_HOME": str(home)}
        one = Installation(database, home, environ, pytest.fail)
        with psycopg.connect(database) as conn:
            ids = [
                save_entry(conn, f"e{n}", f"trip {n}", stages=STAGES) for n in range(3)
            ]
            attach(one, conn, ids[0])
            # By a server that has counted more transactions than ours ever will.
            conn.execute("UPDATE entry SET changed_xid = '900000000000'")
            conn.execute(
                "INSERT INTO glossary_form (tenant, term_key, form_key, term, form,"
                " by_hand) VALUES ('default', 'ps', 'power supply', 'PS',"
                " 'power supply', true)"
            )
            conn.execute(
                "INSERT INTO maintenance (id, kind, cursor) VALUES (uuidv7(),"
                " 'reembed_model', '{\"horizon\": \"900000000000\"}')"
            )
        file = folder / "kept.tar"
        made = one.run("backup", str(file))
        assert made.returncode == 0, made.stderr
        assert "entries: 3, attached files: 1" in made.stdout
        yield one, file


def contents(database: str) -> dict[str, Any]:
    """Number and hash of the rows of every table that a restore leaves as it was."""
    own = {"installation", "maintenance", "worker_process", "upkeep_loop"}
    with psycopg.connect(database) as conn:
        names = {row[0] for row in conn.execute(TABLES).fetchall()} - own
        return {
            name: conn.execute(sql.SQL(ROWS).format(sql.Identifier(name))).fetchone()
            for name in names
        }


def held(database: str) -> list[Any]:
    with psycopg.connect(database) as conn:
        return entries(conn)


def cut(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def flip(whole: bytes, at: int) -> bytes:
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


@pytest.mark.requirement("U23")
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(cut, id="cut off"),
        pytest.param(lambda whole: flip(whole, 4000), id="a bit of the dump"),
        pytest.param(lambda whole: flip(whole, whole.index(PHOTO)), id="of a file"),
        pytest.param(lambda whole: flip(whole, 5), id="of a name"),
        pytest.param(lambda whole: whole[: whole.rindex(b"manifest")], id="its end"),
        pytest.param(lambda _: b"", id="nothing"),
    ],
)
def test_a_damaged_backup_changes_nothing(kept, tmp_path, damage):
    one, file = kept
    before = held(one.database)
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(damage(file.read_bytes()))

    done = one.run("restore", str(damaged), "--force", one.database.rpartition("/")[2])

    assert done.returncode == 1
    assert f"{damaged} is no whole backup of Logchord" in done.stderr
    assert held(one.database) == before


@pytest.mark.requirement("U23")
def test_a_backup_that_cannot_be_written_leaves_nothing_of_it(kept, tmp_path):
    one, file = kept
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    exists = one.run("backup", str(file))
    nowhere = one.run("backup", str(tmp_path / "none" / "new.tar"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        full = one.run("backup", str(tmp_path / "new.tar"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert (exists.returncode, nowhere.returncode, full.returncode) == (1, 1, 1)
    assert "`--force` replaces it" in exists.stderr
    assert "No such file or directory" in nowhere.stderr
    assert "File too large" in full.stderr
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("U23")
def test_a_backup_that_is_told_to_end_leaves_nothing_of_it(kept, tmp_path, reap):
    one, _ = kept
    words = [str(BIN / "logchord"), "backup", str(tmp_path / "new.tar")]
    with psycopg.connect(one.database) as holding:
        holding.execute("LOCK TABLE entry IN ACCESS EXCLUSIVE MODE")
        ended = subprocess.Popen(words, env={**os.environ, **one.environ})
        reap(ended.pid)
        until(lambda: list(tmp_path.iterdir()), within_seconds=60)
        ended.terminate()
        code = ended.wait(60)

    assert code == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("U23")
def test_a_database_at_work_of_others_or_of_a_newer_schema_is_left_alone(
    kept, postgres, database, tmp_path
):
    one, file = kept
    newer = tmp_path / "newer.tar"
    name = one.database.rpartition("/")[2]
    with connect(database, application="worker embed") as conn:
        elsewhere = {"DATABASE_URL": database}
        at_work = typed("restore", str(file), environ=elsewhere, folder=tmp_path)
        conn.execute("INSERT INTO schema_migration VALUES ('9999_pre_later.sql', '')")
        conn.commit()
        made = typed("backup", str(newer), environ=elsewhere, folder=tmp_path)
    unknown = one.run("restore", str(newer), "--force", name)
    create_database(postgres.url, f"other_{name}")
    others = of_database(postgres.url, f"other_{name}")
    with psycopg.connect(others) as conn:
        conn.execute("CREATE TABLE payroll ()")
    foreign = {"DATABASE_URL": others}
    refused = typed("restore", str(file), environ=foreign, folder=tmp_path)
    drop_database(postgres.url, f"other_{name}")
    absent = typed("restore", str(file), environ=foreign, folder=tmp_path)

    assert made.returncode == 0, made.stderr
    assert (at_work.returncode, unknown.returncode, refused.returncode) == (1, 1, 1)
    assert "worker embed. Stop them first" in at_work.stderr
    assert "9999_pre_later.sql" in unknown.stderr
    assert "not Logchord's, such as payroll" in refused.stderr
    assert f'database "other_{name}" does not exist' in absent.stderr
    assert len(held(one.database)) == 3


@pytest.mark.requirement("U23")
def test_a_restore_that_is_killed_changes_nothing_and_is_begun_again(kept, reap):
    """Afterwards, readers of changes are told of all, and of what comes behind it."""
    one, file = kept
    name = one.database.rpartition("/")[2]
    before = contents(one.database)
    with psycopg.connect(one.database) as conn:
        save_entry(conn, "later", "since then")
    words = [str(BIN / "logchord"), "restore", str(file), "--force", name]
    with (
        psycopg.connect(one.database, autocommit=True) as conn,
        psycopg.connect(one.database) as holding,
    ):
        # What it drops after others.
        holding.execute("LOCK TABLE schema_migration IN ACCESS SHARE MODE")
        killed = subprocess.Popen(words, env={**os.environ, **one.environ})
        reap(killed.pid)
        until(lambda: "Lock" in waits_of_psql(conn), within_seconds=60)
        killed.kill()
        killed.wait()
        holding.rollback()
        until(lambda: not waits_of_psql(conn), within_seconds=60)
    assert "later" in {name for name, *_ in held(one.database)}

    again = one.run("restore", str(file), "--force", name)

    assert again.returncode == 0, again.stderr
    assert contents(one.database) == before
    assert before["glossary_form"][0] == 1
    with psycopg.connect(one.database) as conn:
        told = change_feed.list_changes(conn, ANYONE, FeedPosition(), limit=10)
        conn.rollback()
        save_entry(conn, "e3", "after the restore")
        conn.commit()
        then = change_feed.list_changes(conn, ANYONE, told.place, limit=10)
        waits_for = conn.execute("SELECT cursor ->> 'horizon' FROM maintenance")
        assert waits_for.fetchall() == [("0",)]
    assert [one.external_id for one in told.changes] == ["e0", "e1", "e2"]
    assert [one.external_id for one in then.changes] == ["e3"]


def waits_of_psql(conn: psycopg.Connection) -> list[str | None]:
    return [
        row[0]
        for row in conn.execute(
            "SELECT wait_event_type FROM pg_stat_activity"
            " WHERE application_name = 'psql' AND datname = current_database()"
        )
    ]


@pytest.mark.requirement("U23")
def test_an_upgrade_backs_up_first_and_its_backup_is_the_way_back(
    postgres, tmp_path, monkeypatch
):
    name = f"older_{secrets.token_hex(6)}"
    create_database(postgres.url, name)
    database = of_database(postgres.url, name)
    older = tmp_path / "older"
    older.mkdir()
    *before, last = migrations.load()
    for one in before:
        (older / one.name).write_text(one.sql, encoding="utf-8")
    migrations.migrate(database, folder=older)
    with psycopg.connect(database) as conn:
        save_entry(conn, "e0", "trip 0")
    environ = {"DATABASE_URL": database, "LOGCHORD_HOME": str(tmp_path / "home")}
    run = partial(typed, environ=environ, folder=tmp_path)

    done = run("upgrade", "--json")
    again = run("upgrade")
    file = json.loads(done.stdout)["backup"]
    migrated = migrations.migrate(database, dry_run=True)
    back = run("restore", file, "--force", name)
    pending = migrations.migrate(database, dry_run=True)
    texts = held(database)
    drop_database(postgres.url, name)

    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert json.loads(done.stdout)["applied"] == [last.name]
    assert migrated == []
    assert "Nothing is pending" in again.stderr
    assert back.returncode == 0, back.stderr
    assert pending == [last.name]
    assert [(one[0], one[-1]) for one in texts] == [("e0", "trip 0")]


@pytest.mark.requirement("U23")
def test_an_embedded_database_is_filled_and_backed_up_while_its_stack_rests(
    kept, tmp_path, reap
):
    _, file = kept
    # The servers of root, which are another user's, have to get there.
    tmp_path.chmod(0o755)
    here = machine(tmp_path)
    reap(here.home)

    restored = here.run("restore", str(file), "--json")
    again = here.run("backup", str(tmp_path / "again.tar"), "--json")

    assert restored.returncode == 0, restored.stderr
    assert again.returncode == 0, again.stderr
    made = json.loads(again.stdout)
    assert (made["entries"], made["attachments"]) == (3, 1)
    assert ended(here.home)
    service_user.discard_home(here.home)
