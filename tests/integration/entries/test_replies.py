"""Replies are told again when others may see their parent, and only then."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.reading import change_feed
from shared.entries.reading.change_feed import FeedPosition
from shared.entries.saving.save import save_page
from tests.support.older import nothing_older
from tests.support.waiting import until_blocked

TENANT = "default"
OF_RF = Scope(tenant=TENANT, subject="key", logbooks=("RF",))


def draft(external_id: str, *logbooks: str, **fields: Any) -> EntryDraft:
    return EntryDraft("olog", external_id, "x", logbooks=logbooks or ("RF",), **fields)


def save(conn, *drafts: EntryDraft) -> None:
    write(conn, *drafts)
    conn.commit()


def write(conn, *drafts: EntryDraft) -> None:
    save_page(conn, TENANT, drafts, stages=[], editor="test")


@pytest.fixture
def heard(conn) -> Callable[[], list[tuple[str, str]]]:
    """What a key of one logbook is told since it was asked last."""
    place = FeedPosition()

    def heard() -> list[tuple[str, str]]:
        nonlocal place
        nothing_older(conn)
        told = change_feed.list_changes(conn, OF_RF, place, limit=100)
        conn.commit()
        place = told.place
        return sorted((one.external_id, one.told_as) for one in told.changes)

    return heard


def test_a_reply_is_told_again_when_its_parent_enters_a_logbook_and_by_no_later_edit(
    conn, heard
):
    save(conn, draft("parent", "Ops"), draft("reply", reply_to="parent"))
    assert heard() == [("reply", "created")]

    for _ in range(2):
        save(conn, draft("parent", "Ops", "RF"))
        assert heard() == [("parent", "edited"), ("reply", "access")]
        # Of an edit that the same people read, and of the same set anew, it is no news.
        save(conn, draft("parent", "RF", "Ops", tags=("trip",)))
        assert heard() == [("parent", "edited")]
        save(conn, draft("parent", "Ops"))
        assert heard() == [("parent", "deleted"), ("reply", "access")]


def test_a_reply_that_comes_while_its_parent_is_closed_is_told_again(conn, database):
    save(conn, draft("parent"))
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database) as other:
        # It has the source alone, and the parent has no thread before it commits.
        write(other, draft("reply", reply_to="parent"))
        with psycopg.connect(database) as mine:
            closing = pool.submit(save, mine, draft("parent", readers=("rf",)))
            until_blocked(database)
            other.commit()
            closing.result(timeout=30)

    row = conn.execute("SELECT change FROM entry WHERE external_id = 'reply'")
    assert row.fetchone() == ("access",)


def test_replies_are_locked_with_the_entries_of_the_page_in_order_of_their_ids(
    conn, database
):
    for one in (draft("a"), draft("m", reply_to="a"), draft("z")):
        save(conn, one)
    lock = "SELECT FROM entry WHERE external_id = %s FOR NO KEY UPDATE"
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database) as other:
        other.execute(lock, ["m"])
        with psycopg.connect(database) as mine:
            closed = (draft("z", tags=("t",)), draft("a", readers=("rf",)))
            closing = pool.submit(save, mine, *closed)
            until_blocked(database)
            # It waits for the reply before it has what comes behind.
            other.execute("SET lock_timeout = '2s'")
            other.execute(lock, ["z"])
            other.commit()
            closing.result(timeout=30)

    row = conn.execute("SELECT change FROM entry WHERE external_id = 'm'").fetchone()
    assert row == ("access",)
