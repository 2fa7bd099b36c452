"""What a source remembers is found, whichever way the database sorts texts."""

import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import Connection

from local.postgres import EmbeddedPostgres
from local.server import StackFolders, free_port
from shared import migrations
from shared.sources import adapter_memory
from shared.sources.adapter_memory import StoredMemory
from tests.support.fixtures.own_servers import own_home, start_again
from tests.support.fixtures.servers import Reap, of_database

# By code points the capitals come first and the accents last; in English, neither.
KEYS = ["A", "Z", "a", "b", "f", "g", "z", "\u00c4", "\u00e9", "\u4e2d", "\U0001f600"]
_LOCALE = "en_US.utf8"
_CREATE: LiteralString = """
    CREATE DATABASE english TEMPLATE template0
    LOCALE_PROVIDER libc LOCALE 'en_US.utf8'"""


class EnglishPostgres(EmbeddedPostgres):
    """A Postgres that finds the locales of a folder."""

    locales: Path

    def _environment(self) -> Mapping[str, str]:
        return {**super()._environment(), "LOCPATH": str(self.locales)}


@pytest.fixture(scope="module")
def sorted_by_language(place: StackFolders, reap: Reap) -> Iterator[str]:
    """A migrated database whose texts are sorted as in English."""
    with TemporaryDirectory(prefix="logchord-test-") as folder:
        locales = Path(folder)
        locales.chmod(0o755)
        _make_locale(locales / _LOCALE)
        with own_home(place, reap) as own:
            server = EnglishPostgres(own, free_port(), secrets.token_urlsafe(16))
            server.locales = locales
            start_again(server, reap)
            with psycopg.connect(server.url, autocommit=True) as admin:
                admin.execute(_CREATE)
            url = of_database(server.url, "english")
            migrations.migrate(url)
            yield url
            server.stop()


def _make_locale(folder: Path) -> None:
    # Our Postgres has no other one built in: it is made without ICU.
    localedef = shutil.which("localedef")
    if localedef is not None:
        command = [localedef, "--no-archive", "-i", "en_US", "-f", "UTF-8", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return
    # A system may do without; the test below holds what the schema says.
    pytest.skip("no other order of texts is to be had here: no localedef, or no en_US")


def test_keys_stand_in_the_order_of_their_bytes_in_every_database(conn):
    row = conn.execute(
        "SELECT c.collname FROM pg_attribute a JOIN pg_collation c"
        "    ON c.oid = a.attcollation"
        " WHERE a.attrelid = 'source_memory'::regclass AND a.attname = 'key'"
    ).fetchone()
    assert row == ("C",)


def neighbours(conn: Connection, key: str) -> dict[str, Any]:
    return adapter_memory.load(conn, "ring", key)


def test_every_key_is_found_from_whichever_one_is_asked_first(sorted_by_language):
    with psycopg.connect(sorted_by_language) as conn:
        (english,) = conn.execute("SELECT 'a' < 'Z' AND '\u00e9' < 'f'").fetchone()
        assert english, "the database sorts as Python does: nothing is shown"
        adapter_memory.save(conn, "ring", {key: n for n, key in enumerate(KEYS)})

        for first in ["", *KEYS, "y"]:
            asked = StoredMemory(lambda key: neighbours(conn, key))
            asked.get(first)
            assert [asked.get(key) for key in KEYS] == list(range(len(KEYS)))
            assert asked.get("zz") is None


def test_keys_are_read_in_their_order_by_an_index(sorted_by_language):
    with psycopg.connect(sorted_by_language) as conn:
        conn.execute(
            "INSERT INTO source_memory (source, key, value)"
            " SELECT 'sheets', 'file:' || n, '{}' FROM generate_series(1, 20000) AS n"
        )
        conn.execute("ANALYZE source_memory")
        values = {"source": "sheets", "key": "file:7", "limit": 250}
        found = conn.execute(f"EXPLAIN (COSTS OFF) {adapter_memory._FROM}", values)
        plan = "\n".join(str(row[0]) for row in found)

    assert "Index Scan using source_memory_pkey" in plan
    assert "Sort" not in plan
