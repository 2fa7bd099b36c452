"""Where entries are older than the vocabulary, they are gone through at once."""

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from shared import migrations
from shared.ids import uuid7
from shared.work import chore_records, schedule
from tests.support.fixtures.servers import create_database, drop_database, of_database

MINE = "keep_a_vocabulary"
_ENTRY = """
    INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
                       content_hash, access_hash, kind, origin, logbooks, authors, tags,
                       metadata, entry_time)
    VALUES (%(id)s, 'default', 'api', %(number)s, 1, 1, '', '', 'entry', 'human', '{}',
            '{}', '{}', '{}', now())"""
_TEXT = """
    INSERT INTO entry_text (entry_id, tenant, revision, language, analyser_version,
                            stream, idents, tsv)
    VALUES (%(id)s, 'default', 1, 'en', 1, 'beam lost', '{}', '')"""


@pytest.fixture
def older(postgres, tmp_path: Path) -> Iterator[str]:
    """The address of a database as it was before there was a vocabulary."""
    files = sorted(migrations.FOLDER.glob("*.sql"))
    (mine,) = [one for one in files if MINE in one.name]
    for one in files[: files.index(mine)]:
        shutil.copy(one, tmp_path)
    name = f"older_{secrets.token_hex(6)}"
    create_database(postgres.url, name)
    url = of_database(postgres.url, name)
    migrations.migrate(url, folder=tmp_path)
    yield url
    drop_database(postgres.url, name)


@pytest.mark.parametrize("entries", [0, 1])
def test_the_first_count_is_due_at_once_only_where_there_are_texts(older, entries):
    with psycopg.connect(older, autocommit=True) as conn:
        for number in range(entries):
            # By hand: the code of today may know columns that are not there yet.
            values = {"id": uuid7(), "number": f"{number}"}
            conn.execute(_ENTRY, values)
            conn.execute(_TEXT, values)

        migrations.migrate(older)

        due = schedule.list_due_kinds(conn, schedule.INSTALLATION)
    assert due == [chore_records.COUNT_WORDS] * entries
