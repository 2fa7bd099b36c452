"""The feed of changes: whoever replays it has what the store has, and nothing else."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.reading import change_feed, read_entries
from shared.entries.reading.change_feed import FeedPosition
from shared.entries.removal import purge
from shared.entries.saving.save import save_page, tombstone_many
from tests.support.older import nothing_older

TENANT = "default"
ANYONE = Scope(tenant=TENANT, subject="operator", allowed=frozenset({"read"}))
MEMBER = Scope(tenant=TENANT, subject="jo", groups=("rf",))
OF_RF = Scope(tenant=TENANT, subject="key", logbooks=("RF",))
THEN = datetime(2024, 5, 14, tzinfo=UTC)


def draft(external_id: str = "1", **fields: Any) -> EntryDraft:
    text = fields.pop("text", "x")
    fields.setdefault("entry_time", THEN)
    return EntryDraft(source="olog", external_id=external_id, text=text, **fields)


def save(conn, *drafts: EntryDraft) -> None:
    save_page(conn, TENANT, drafts, stages=[], editor="test")
    conn.commit()


def delete(conn, *external_ids: str) -> None:
    tombstone_many(conn, TENANT, "olog", external_ids, reason="gone", stages=[])
    conn.commit()


class Copy:
    """A program that keeps a copy by reading the feed."""

    def __init__(self, conn, scope: Scope = ANYONE, limit: int = 3) -> None:
        self.conn, self.scope, self.limit = conn, scope, limit
        self.place = FeedPosition()
        self.entries: dict[str, tuple[int, str]] = {}
        self.heard: list[tuple[str, str]] = []

    def read(self) -> list[tuple[str, str]]:
        """Replay what nothing holds back by now, and return it."""
        nothing_older(self.conn)
        return self.read_now()

    def read_now(self) -> list[tuple[str, str]]:
        """Replay what is there at this moment and return it."""
        heard: list[tuple[str, str]] = []
        more = True
        while more:
            told = change_feed.list_changes(
                self.conn, self.scope, self.place, limit=self.limit
            )
            ids = [one.entry_id for one in told.changes if one.visible]
            found = read_entries.load_entries(self.conn, self.scope, ids, whole=True)
            self.conn.commit()
            for one in told.changes:
                heard.append((one.told_as, one.external_id))
                entry = found.get(one.entry_id)
                if one.told_as == "deleted":
                    self.entries.pop(one.external_id, None)
                elif entry is not None and entry.deleted_at is None:
                    self.entries[one.external_id] = (entry.revision, entry.text)
            self.place, more = told.place, told.more
        self.heard += heard
        return heard


def stored(conn, scope: Scope) -> dict[str, tuple[int, str]]:
    wanted = read_entries.ListingFilter()
    found = read_entries.list_entries(conn, scope, wanted, limit=1000)
    return {one.external_id: (one.revision, one.text) for one in found}


def test_each_change_is_told_once_and_the_latest_stands_for_all(conn):
    copy = Copy(conn)
    save(conn, draft("1"), draft("2"))
    assert copy.read() == [("created", "1"), ("created", "2")]
    assert copy.read() == []

    save(conn, draft("2", text="edited"))
    save(conn, draft("1", readers=("operator",)))
    save(conn, draft("2", text="edited again"))
    assert copy.read() == [("access", "1"), ("edited", "2")]

    delete(conn, "1")
    assert copy.read() == [("deleted", "1")]
    assert copy.entries == stored(conn, ANYONE)


def test_a_change_waits_for_every_transaction_that_is_older(conn, database):
    copy = Copy(conn)
    with psycopg.connect(database) as old, psycopg.connect(database) as young:
        save_page(old, TENANT, [draft("old")], stages=[], editor="test")
        save(young, draft("young"))

        assert copy.read_now() == []
        old.commit()
        assert copy.read() == [("created", "old"), ("created", "young")]


def test_what_does_not_change_is_not_told(conn):
    copy = Copy(conn)
    save(conn, draft("1"))
    copy.read()

    save(conn, draft("1", stamp="new", parsed_by=2))

    assert copy.read() == []


def test_lost_access_is_a_deletion_to_those_who_had_it_and_nothing_to_others(conn):
    anyone, member = Copy(conn), Copy(conn, MEMBER)
    save(conn, draft("1"), draft("2", readers=("rf",)))
    assert anyone.read() == [("created", "1")]
    assert member.read() == [("created", "1"), ("created", "2")]

    save(conn, draft("1", readers=("rf",)), draft("2", readers=()))
    # An edit while it is closed must not hide from anybody that it was closed.
    save(conn, draft("1", readers=("rf",), text="edited"))

    assert anyone.read() == [("deleted", "1")]
    assert member.read() == [("deleted", "2"), ("edited", "1")]
    assert anyone.entries == stored(conn, ANYONE) == {}
    assert member.entries == stored(conn, MEMBER)


@pytest.mark.requirement("SEC2")
def test_a_hidden_reply_is_told_by_no_change_of_what_it_replies_to(conn):
    copy, member = Copy(conn), Copy(conn, MEMBER)
    save(conn, draft("1"), draft("2"))
    copy.read(), member.read()

    def heard(*drafts: EntryDraft) -> tuple[list[tuple[str, str]], ...]:
        save(conn, *drafts)
        return copy.read(), member.read()

    hidden = draft("r", reply_to="1", readers=("rf",))
    assert heard(hidden) == ([], [("created", "r")])
    moved = draft("r", reply_to="2", readers=("rf",))
    assert heard(moved) == ([], [("edited", "r")])
    purge.purge(conn, TENANT, "olog", "r")
    assert heard() == ([], [("deleted", "r")])
    ours = ([("edited", "1"), ("created", "s")],) * 2
    assert heard(draft("s", reply_to="1"), draft("t", reply_to="2", readers=())) == ours
    # Where a page ends is no entry's place, so none that is hidden is named by it.
    row = conn.execute("SELECT FROM entry WHERE id = %s", [copy.place.entry_id])
    assert row.fetchone() is None


def test_a_purge_tells_what_is_left_of_its_thread(conn):
    copy = Copy(conn)
    replies = draft("2", reply_to="1"), draft("3", reply_to="2")
    save(conn, draft("1"), *replies, draft("4", reply_to="3", readers=("rf",)))
    copy.read()

    purge.purge(conn, TENANT, "olog", "1")
    # The thread is called by the second now, whoever sees more of it.
    assert sorted(copy.read()) == [("deleted", "1"), ("edited", "2"), ("edited", "3")]
    purge.purge(conn, TENANT, "olog", "4")
    assert copy.read() == []
    purge.purge(conn, TENANT, "olog", "2")
    assert sorted(copy.read()) == [("deleted", "2"), ("edited", "3")]


def test_a_key_of_some_logbooks_is_told_of_what_leaves_and_enters_them(conn):
    copy = Copy(conn, OF_RF)
    save(conn, draft("1", logbooks=("RF",)), draft("2", logbooks=("Ops",)))
    assert copy.read() == [("created", "1")]

    save(conn, draft("1", logbooks=("Ops",)), draft("2", logbooks=("RF",)))

    assert copy.read() == [("deleted", "1"), ("edited", "2")]
    assert copy.entries == stored(conn, OF_RF)


def test_what_may_be_seen_from_now_on_is_told_although_nobody_wrote(conn):
    copy = Copy(conn)
    save(conn, draft("1", visible_from=datetime.now(UTC) + timedelta(hours=1)))
    assert copy.read() == []

    # The hour passes for the feed: it was read for the last time before that moment.
    conn.execute("UPDATE entry SET visible_from = now() - interval '1 minute'")
    conn.commit()
    assert copy.place.at is not None
    copy.place = copy.place._replace(at=copy.place.at - timedelta(hours=1))

    assert copy.read() == [("access", "1")]
    assert copy.read() == []
    assert copy.entries == stored(conn, ANYONE)


def test_a_long_backlog_of_ended_embargoes_is_told_step_by_step(conn):
    hidden = datetime.now(UTC) + timedelta(hours=1)
    copy = Copy(conn, limit=100)
    parents = [draft(f"parent {n}", visible_from=hidden) for n in range(1200)]
    answers = [draft(f"reply {n}", reply_to=f"parent {n}") for n in range(50, 1200, 50)]
    save(conn, *parents, *answers)
    assert copy.read() == [("created", one.external_id) for one in answers]

    # Each had a time of its own, some of them the same.
    conn.execute(
        "UPDATE entry SET visible_from = now() - interval '1 minute'"
        " + split_part(external_id, ' ', 2)::integer / 2 * interval '1 millisecond'"
        " WHERE visible_from IS NOT NULL"
    )
    conn.commit()
    assert copy.place.at is not None
    began = copy.place.at - timedelta(hours=1)
    copy.place = copy.place._replace(at=began)
    first = change_feed.list_changes(conn, ANYONE, copy.place, limit=5000)

    assert (len(first.changes), first.more) == (1000 + 19, True)
    heard = copy.read()
    assert sorted(heard) == sorted(
        ("access", one.external_id) for one in (*parents, *answers)
    )
    assert len(copy.entries) == len(parents) + len(answers)


def test_after_a_restored_backup_the_feed_begins_anew(conn):
    copy = Copy(conn)
    save(conn, draft("1"))
    copy.read()

    conn.execute("UPDATE installation SET epoch = epoch + 1")
    conn.commit()

    assert copy.read() == [("created", "1")]


def test_another_tenant_hears_nothing(conn):
    save(conn, draft("1"))

    assert Copy(conn, Scope(tenant="other", subject="operator")).read() == []


def test_many_changes_of_others_are_looked_past(conn):
    save(conn, *(draft(str(n), readers=("rf",)) for n in range(1500)))
    save(conn, draft("mine"))

    assert Copy(conn).read() == [("created", "mine")]


@pytest.mark.requirement("U35")
def test_a_replay_equals_the_store_under_writers_that_commit_out_of_order(database):
    scopes = (ANYONE, MEMBER, OF_RF)
    done = threading.Event()

    def write(seed: int) -> None:
        rng = random.Random(seed)
        with psycopg.connect(database) as mine:
            for turn in range(40):
                names = sorted({str(rng.randrange(30)) for _ in range(3)})
                if rng.random() < 0.2:
                    tombstone_many(
                        mine, TENANT, "olog", names, reason="gone", stages=[]
                    )
                else:
                    page = [
                        draft(
                            name,
                            text=f"{seed} {turn}",
                            readers=rng.choice([None, ("rf",), ()]),
                            logbooks=rng.choice([("RF",), ("Ops",), ("RF", "Ops")]),
                            thread_key=rng.choice([None, None, "k"]),
                        )
                        for name in names
                    ]
                    save_page(mine, TENANT, page, stages=[], editor="test")
                # Older transactions end after younger ones: some are kept open for a
                # few statements, without any lock that another writer waits for.
                if rng.random() < 0.1:
                    mine.rollback()
                else:
                    mine.execute("SELECT pg_current_xact_id()")
                    mine.commit()

    def read(scope: Scope) -> tuple[Any, Any]:
        with psycopg.connect(database) as mine:
            copy = Copy(mine, scope)
            while not done.is_set():
                copy.read()
            copy.read()
            return copy.entries, stored(mine, scope)

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read, scope) for scope in scopes]
        try:
            for writer in [pool.submit(write, seed) for seed in range(4)]:
                writer.result(timeout=240)
        finally:
            done.set()
        for reader in readers:
            replayed, kept = reader.result(timeout=240)
            assert replayed == kept
