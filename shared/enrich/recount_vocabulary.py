"""The vocabulary counted: every entry's words are read again, in steps.

So are those of entries from before there was a vocabulary. Words are not kept with
their entry: they are made of its text, as the metadata stage makes them.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich import metadata
from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import Content
from shared.entries.saving import attachment_rows
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import Pool, connection
from shared.text import plain_text
from shared.text.analysis.analyser import plain_words, words_of
from shared.text.facility.facility import Facility
from shared.vocabulary import word_counts
from shared.vocabulary.learn_words import language_of
from shared.vocabulary.word_counts import Count
from shared.work.backlog import ids_by_tenant
from shared.work.chore_records import Effect, Progress

log = get_logger()

# A step holds the rows of its words: short, for who learns them waits.
STEP_ENTRIES = 500
# It reads fewer long texts, so that it ends well within the time of a task.
STEP_SECONDS = 10.0
# Texts are up to a megabyte each: so many are in memory at once.
_READ_AT_ONCE = 50

_PAGE: LiteralString = """
    SELECT t.entry_id, t.tenant, t.language, t.idents, t.plain
      FROM entry_text t
      JOIN entry e ON e.id = t.entry_id
     WHERE e.deleted_at IS NULL
       AND (%(after)s::uuid IS NULL OR t.entry_id > %(after)s)
     ORDER BY t.entry_id
     LIMIT %(limit)s"""

_FIRST = ("", "", "")


@dataclass(frozen=True, slots=True)
class _VocabularyRow:
    entry_id: UUID
    tenant: str
    language: str
    idents: list[str]
    plain: bool


def prepare(
    pool: Pool, cursor: Mapping[str, Any] | None, done: int, facility: Facility
) -> Effect:
    """Read a page of entries or words; return the commit of its counts.

    The walk goes over the entries, then over the words, then over the names.
    """
    if cursor is None:
        return lambda conn: Progress(
            {"walk": word_counts.begin(conn), "after": None}, 0
        )
    walk = int(cursor["walk"])
    if what := cursor.get("settle"):
        return lambda conn: _settle(conn, walk, what, cursor["after"], done)
    with connection(pool) as conn:
        values = {"after": cursor["after"], "limit": STEP_ENTRIES}
        page = fetch_all(conn, _VocabularyRow, _PAGE, values)
    count, seen = _counted(pool, page, facility)

    def commit(conn: Connection) -> Progress:
        word_counts.store_counts(conn, walk, count)
        if seen < len(page) or seen == STEP_ENTRIES:
            went = {"walk": walk, "after": str(page[seen - 1].entry_id)}
            return Progress(went, done + seen)
        first = {"walk": walk, "settle": word_counts.WORDS, "after": _FIRST}
        return Progress(first, done + seen, total=done + seen)

    return commit


def _settle(
    conn: Connection, walk: int, what: str, after: Sequence[str], done: int
) -> Progress:
    ended = word_counts.settle(conn, walk, what, after)
    if ended is not None:
        went = {"walk": walk, "settle": what, "after": ended}
        return Progress(went, done, total=done)
    if what == word_counts.WORDS:
        first = {"walk": walk, "settle": word_counts.NAMES, "after": _FIRST}
        return Progress(first, done, total=done)
    return Progress(None, done, total=done)


def _counted(
    pool: Pool, page: Sequence[_VocabularyRow], facility: Facility
) -> tuple[Count, int]:
    """Count the words of the first entries of a page, and how many there was time for.

    No transaction is open while a text is read, which may take a quarter of a second.
    """
    count = Count()
    ends = time.monotonic() + STEP_SECONDS
    contents: dict[UUID, Content] = {}
    for place, row in enumerate(page):
        if place and time.monotonic() >= ends:
            return count, place
        if place % _READ_AT_ONCE == 0:
            contents = _contents(pool, page[place : place + _READ_AT_ONCE])
        content = contents.get(row.entry_id)
        if content is not None:
            words = _words(pool, content, row, facility)
            count.add(row.tenant, language_of(row.language), words, row.idents)
    return count, len(page)


def _contents(pool: Pool, rows: Sequence[_VocabularyRow]) -> dict[UUID, Content]:
    found: dict[UUID, Content] = {}
    named = ((row.tenant, row.entry_id) for row in rows)
    with connection(pool) as conn:
        for tenant, ids in ids_by_tenant(named):
            found |= read_entries.load_contents(conn, tenant, ids)
    return found


def _words(
    pool: Pool, content: Content, row: _VocabularyRow, facility: Facility
) -> dict[str, str]:
    files: list[str] = []
    if content.has_attachments:
        with connection(pool) as conn:
            files = attachment_rows.load_texts(conn, content.tenant, content.entry_id)
    text = plain_text.to_plain(content.text, content.text_format)
    sections = metadata.sections_of(content, text, files)
    if row.plain:
        return plain_words(sections)
    try:
        return words_of(sections, row.language, facility)
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError):
        # As the stage does it, until that entry is read anew.
        log.exception("analysis_failed", entry_id=str(content.entry_id))
        return plain_words(sections)
