"""What a backup, a restore and an upgrade refuse, and what they leave as it was."""

import json
import os
import resource
import secrets
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from api.cli.backup.archive import new_archive
from local import service_user
from shared import migrations
from shared.access.scope import Scope
from shared.entries.reading import change_feed
from shared.entries.reading.change_feed import FeedPosition
from shared.entries.removal import purge
from shared.postgres.pool import connect
from tests.support.fixtures.servers import (
    copied,
    create_database,
    drop_database,
    of_database,
)
from tests.support.installation import (
    PHOTO,
    STAGES,
    Installation,
    attach,
    contents,
    held,
)
from tests.support.machine import BIN, ended, machine
from tests.support.saving import save_entry
from tests.support.typed import typed
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(240)
ANYONE = Scope(tenant="default", subject="operator", allowed=frozenset({"read"}))


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
            # Of whoever runs this server; others need not have it.
            conn.execute("CREATE EXTENSION bloom")
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
        pytest.param(
            lambda whole: flip(whole, whole.rindex(b": 3,") + 2), id="a count"
        ),
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
    assert "Nothing was changed" in done.stderr
    assert held(one.database) == before


@pytest.mark.requirement("U23")
def test_a_backup_that_cannot_be_written_leaves_nothing_of_it(kept, tmp_path):
    one, file = kept
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    exists = one.run("backup", str(file))
    nowhere = one.run("backup", str(tmp_path / "none" / "new.tar"))
    no_name = one.run("backup", str(tmp_path / ("n" * 300)))
    folder = one.run("backup", str(tmp_path), "--force")
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        full = one.run("backup", str(tmp_path / "new.tar"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert (exists.returncode, nowhere.returncode, full.returncode) == (1, 1, 1)
    assert "`--force` replaces it" in exists.stderr
    assert "No such file or directory" in nowhere.stderr
    assert (no_name.returncode, folder.returncode) == (1, 1)
    assert "File name too long. There is no such backup." in no_name.stderr
    assert f"{tmp_path} exists, and not as a file" in folder.stderr
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


def test_a_backup_removes_what_a_killed_one_left_and_nothing_of_one_that_runs(tmp_path):
    killed = (
        "import os, pathlib, api.cli.backup.archive as a\n"
        "with a.new_archive(pathlib.Path('killed'), force=False): os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, check=False)
    (left,) = tmp_path.iterdir()

    with new_archive(tmp_path / "long", force=False):
        with new_archive(tmp_path / "short", force=False):
            assert not left.exists()
        assert len([*tmp_path.iterdir()]) == 2

    assert {one.name for one in tmp_path.iterdir()} == {"long", "short"}


@pytest.mark.requirement("U23")
def test_a_database_at_work_of_others_or_of_a_newer_schema_is_left_alone(
    kept, postgres, database, tmp_path
):
    one, file = kept
    before, newer = held(one.database), tmp_path / "newer.tar"
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
    foreign = {"DATABASE_URL": others}
    filled = typed("restore", str(file), environ=foreign, folder=tmp_path)
    with psycopg.connect(others) as conn:
        extensions = {
            row[0] for row in conn.execute("SELECT extname FROM pg_extension")
        }
        conn.execute("DROP TABLE schema_migration")
        conn.execute("CREATE TABLE payroll ()")
    refused = typed("restore", str(file), environ=foreign, folder=tmp_path)
    drop_database(postgres.url, f"other_{name}")
    absent = typed("restore", str(file), environ=foreign, folder=tmp_path)
    unread = typed("backup", str(newer) + "2", environ=foreign, folder=tmp_path)

    assert made.returncode == 0, made.stderr
    assert (at_work.returncode, unknown.returncode, refused.returncode) == (1, 1, 1)
    assert "worker embed. Stop them first" in at_work.stderr
    assert "9999_pre_later.sql" in unknown.stderr
    assert filled.returncode == 0, filled.stderr
    assert extensions == {"plpgsql", "vector", "pg_trgm"}
    assert "not Logchord's, such as" in refused.stderr
    for told in (absent, unread):
        assert told.returncode == 1
        assert f'database "other_{name}" does not exist' in told.stderr
    assert held(one.database) == before


def test_a_store_of_files_that_is_away_ends_a_backup_and_a_restore(kept, tmp_path):
    one, file = kept
    before = held(one.database)
    away = {**one.environ, "LOGCHORD_ATTACHMENTS__STORE": "/proc/is-not-mounted"}
    run = partial(typed, environ=away, folder=tmp_path)

    made = run("backup", str(tmp_path / "new.tar"))
    done = run("restore", str(file), "--force", one.database.rpartition("/")[2])

    assert (made.returncode, done.returncode) == (1, 1)
    assert "There is no such backup. (FileNotFoundError" in made.stderr
    assert "The database is as it was. (" in done.stderr
    assert "/proc/is-not-mounted" in done.stderr
    assert [*tmp_path.iterdir()] == []
    assert held(one.database) == before


def test_a_restore_that_is_refused_leaves_no_settings_where_it_was_typed(
    kept, tmp_path
):
    one, _ = kept
    config, file = one.home.parent / "logchord.yaml", tmp_path / "configured.tar"
    config.write_text("port: 8123\n")
    made = one.run("backup", str(file))
    config.unlink()
    assert made.returncode == 0, made.stderr

    run = partial(typed, environ=one.environ, folder=tmp_path)
    refused = run("restore", str(file))
    left = (tmp_path / "logchord.yaml").exists()
    done = run("restore", str(file), "--force", one.database.rpartition("/")[2])

    assert (refused.returncode, left) == (1, False)
    assert done.returncode == 0, done.stderr
    assert "put back: logchord.yaml" in done.stderr
    assert (tmp_path / "logchord.yaml").read_text() == "port: 8123\n"


@pytest.mark.requirement("U23")
def test_a_restore_that_is_killed_changes_nothing_and_is_begun_again(kept, reap):
    """Afterwards, readers of changes are told of all, and of what comes behind it."""
    one, file = kept
    name = one.database.rpartition("/")[2]
    before = contents(one.database)
    with psycopg.connect(one.database) as conn:
        save_entry(conn, "later", "since then")
        purge.purge(conn, "default", "api", "e1")
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
    assert "logchord purge api/e1 --tenant default" in again.stderr
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
def test_an_upgrade_backs_up_first_and_its_backup_is_the_way_back(postgres, tmp_path):
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
        # What saves entries may need what is still to be applied.
        conn.execute(
            "INSERT INTO api_key (key_id, tenant, subject, name, hash, scopes)"
            " VALUES ('k', 'default', 'tester', 'k', '', '{}')"
        )
    before_it = contents(database)
    environ = {"DATABASE_URL": database, "LOGCHORD_HOME": str(tmp_path / "home")}
    run = partial(typed, environ=environ, folder=tmp_path)

    (tmp_path / "there").touch()
    refused = run("upgrade", "--to", str(tmp_path / "there"))
    at_first = contents(database)
    done = run("upgrade", "--json")
    again = run("upgrade")
    file = json.loads(done.stdout)["backup"]
    migrated = migrations.migrate(database, dry_run=True)
    back = run("restore", file)
    pending = migrations.migrate(database, dry_run=True)
    after_it = contents(database)
    drop_database(postgres.url, name)

    assert refused.returncode == 1
    assert "there exists; name another file." in refused.stderr
    assert "Nothing was migrated" in refused.stderr
    assert at_first == before_it
    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert json.loads(done.stdout)["applied"] == [last.name]
    assert migrated == []
    assert "Nothing is pending" in again.stderr
    assert back.returncode == 0, back.stderr
    assert pending == [last.name]
    assert after_it == before_it


@pytest.mark.requirement("U23")
def test_an_embedded_database_is_filled_and_backed_up_while_its_stack_rests(
    kept, database, tmp_path, reap
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
    # Passwords of servers that are not used are nobody's elsewhere.
    elsewhere = {
        "DATABASE_URL": database,
        "LOGCHORD_HOME": "/proc/nobody-writes-here",
        "LOGCHORD_ATTACHMENTS__STORE": str(tmp_path / "attachments"),
    }
    moved = typed("restore", made["file"], environ=elsewhere, folder=tmp_path)
    assert moved.returncode == 0, moved.stderr
    assert len(held(database)) == 3
    service_user.discard_home(here.home)
