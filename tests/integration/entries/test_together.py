"""Pages, deletions and purges of the same sources at once: no deadlock, one outcome."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest

from shared.entries.draft import EntryDraft
from shared.entries.removal import purge
from shared.entries.saving.save import save_page, tombstone, tombstone_many
from shared.work import due_work as due

pytestmark = pytest.mark.timeout(300)
TENANT = "default"
STAGES = ["metadata", "embed:test"]
SOURCES = ("elog", "olog")
WRITERS, TURNS, NAMES = 4, 40, 24


def draft(rng: random.Random, turn: int) -> EntryDraft:
    def other(share: float) -> str | None:
        return str(rng.randrange(NAMES)) if rng.random() < share else None

    related = other(0.1)
    return EntryDraft(
        rng.choice(SOURCES),
        str(rng.randrange(NAMES)),
        # Some deliveries change nothing, and some only what the source counts.
        f"text {turn % 3}",
        reply_to=other(0.4),
        thread_key=rng.choice([None, None, None, "k", "l"]),
        supersedes=other(0.03),
        related=(related,) if related else (),
        stamp=rng.choice([None, "a", "b"]),
        readers=rng.choice([None, None, ("rf",)]),
    )


def write(database: str, seed: int) -> int:
    """Do what pollers, people and workers do, all at once; return how often."""
    rng = random.Random(seed)
    done = 0
    with psycopg.connect(database) as conn:
        for turn in range(TURNS):
            kind = rng.random()
            if kind < 0.7:
                page = [draft(rng, turn) for _ in range(rng.randrange(1, 8))]
                save_page(conn, TENANT, page, stages=STAGES, editor="test")
            elif kind < 0.85:
                names = [str(rng.randrange(NAMES)) for _ in range(3)]
                tombstone_many(
                    conn,
                    TENANT,
                    rng.choice(SOURCES),
                    names,
                    reason="pruned",
                    stages=["embed:test", "index"],
                )
            elif kind < 0.88:
                name = str(rng.randrange(NAMES))
                purge.purge(conn, TENANT, rng.choice(SOURCES), name)
            elif kind < 0.92:
                found = conn.execute("SELECT id FROM entry LIMIT 1").fetchone()
                if found:
                    tombstone(
                        conn, TENANT, found[0], reason=None, stages=["embed:test"]
                    )
            else:
                taken = due.claim(conn, "metadata", limit=4)
                conn.commit()
                due.finish(conn, *taken)
                ids = sorted(one.entry_id for one in taken)
                due.add(conn, TENANT, ids, ["index"])
            conn.commit()
            done += 1
    return done


def expected(conn: Any, source: str) -> set[frozenset[str]]:
    """Threads by brute force over what is stored: join whatever touches."""
    rows = conn.execute(
        "SELECT e.external_id, e.thread_key, ARRAY(SELECT target FROM entry_link l"
        " WHERE l.entry_id = e.id AND l.kind <> 'related')"
        " FROM entry e WHERE e.source = %s",
        (source,),
    ).fetchall()
    names = {row[0] for row in rows}
    groups = [{name} for name in names]
    for name, key, targets in rows:
        touching = {name} | ({*targets} & names)
        touching |= {row[0] for row in rows if key is not None and row[1] == key}
        merged: set[str] = set().union(*(one for one in groups if one & touching))
        groups = [one for one in groups if not one & touching] + [merged]
    return {frozenset(one) for one in groups if len(one) > 1}


def stored(conn: Any, source: str) -> set[frozenset[str]]:
    found: dict[UUID, set[str]] = {}
    for name, thread in conn.execute(
        "SELECT external_id, thread_id FROM entry"
        " WHERE source = %s AND thread_id IS NOT NULL",
        (source,),
    ):
        found.setdefault(thread, set()).add(name)
    return {frozenset(one) for one in found.values() if len(one) > 1}


def test_writers_at_once_never_wait_for_each_other_in_a_circle(conn, database):
    with ThreadPoolExecutor(WRITERS) as pool:
        running = [pool.submit(write, database, seed) for seed in range(WRITERS)]
        assert sum(one.result(timeout=240) for one in running) == WRITERS * TURNS

    for source in SOURCES:
        assert stored(conn, source) == expected(conn, source)
    # Each revision once and none left out; nothing that was purged is back.
    gaps = conn.execute(
        "SELECT e.id FROM entry e WHERE e.revision <> (SELECT count(*) FROM revision r"
        " WHERE r.entry_id = e.id)"
    ).fetchall()
    back = conn.execute(
        "SELECT FROM entry JOIN purged USING (tenant, source, external_id)"
    ).fetchall()
    assert (gaps, back) == ([], [])
    # Whoever is superseded by an entry is deleted.
    alive = conn.execute(
        "SELECT old.id FROM entry_link l JOIN entry old ON old.source = l.source"
        " AND old.external_id = l.target"
        " WHERE l.kind = 'supersedes' AND old.deleted_at IS NULL"
    ).fetchall()
    assert alive == []
