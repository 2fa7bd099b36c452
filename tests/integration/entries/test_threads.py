"""Links and threads: whatever comes first, the same entries are the same thread."""

import random
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.access.scope import Scope
from shared.entries import entry_links, threads
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.search.results import hydrate
from tests.support.waiting import until_blocked

TENANT = "default"
STAGES = ["metadata", "embed:test"]
ANYONE = Scope(tenant=TENANT, subject="operator", allowed=frozenset({"read"}))


def draft(external_id: str, **fields) -> EntryDraft:
    source = fields.pop("source", "elog")
    text = fields.pop("text", "x")
    return EntryDraft(source=source, external_id=external_id, text=text, **fields)


@pytest.fixture
def save(conn):
    def save(*drafts: EntryDraft):
        return save_page(conn, TENANT, drafts, stages=STAGES, editor="test")

    return save


def threads_of(conn) -> dict[str, object]:
    rows = conn.execute("SELECT external_id, thread_id FROM entry").fetchall()
    return dict(rows)


def partition(conn) -> set[frozenset[str]]:
    """The threads of two and more, whatever they are called."""
    found: dict[object, set[str]] = {}
    for name, thread in threads_of(conn).items():
        if thread is not None:
            found.setdefault(thread, set()).add(name)
    return {frozenset(names) for names in found.values() if len(names) > 1}


def test_a_reply_before_its_parent_joins_it_when_it_comes(conn, save):
    (reply,) = save(draft("2", reply_to="1"))
    assert threads_of(conn) == {"2": reply.entry_id}

    save(draft("1"))

    assert threads_of(conn) == {"1": reply.entry_id, "2": reply.entry_id}


def test_an_entry_that_stands_alone_is_in_no_thread(conn, save):
    save(draft("1"), draft("2", related=("1",)))

    assert threads_of(conn) == {"1": None, "2": None}


def test_a_chain_of_fifty_in_any_order_is_one_thread(conn, save):
    chain = [draft(str(n), reply_to=str(n - 1) if n else None) for n in range(50)]
    random.Random(7).shuffle(chain)

    for first in range(0, 50, 7):
        save(*chain[first : first + 7])

    rows = conn.execute("SELECT DISTINCT thread_id FROM entry").fetchall()
    smallest = conn.execute("SELECT id FROM entry ORDER BY id LIMIT 1").fetchone()
    assert rows == [smallest]


@pytest.mark.parametrize("parent", ["1", "", None])
def test_a_reply_to_nobody_or_to_itself_is_none(conn, save, parent):
    save(draft("1", reply_to=parent))

    assert conn.execute("SELECT count(*) FROM entry_link").fetchone() == (0,)
    assert threads_of(conn) == {"1": None}


def test_a_circle_of_two_is_one_thread_and_no_loop(conn, save):
    save(draft("1", reply_to="2"))
    save(draft("2", reply_to="1"))

    assert partition(conn) == {frozenset({"1", "2"})}


def test_the_same_key_is_the_same_thread_of_one_source_only(conn, save):
    save(draft("1", thread_key="k"), draft("9", thread_key="k", source="olog"))
    save(draft("2"), draft("3", reply_to="2", thread_key="k"))

    assert partition(conn) == {frozenset({"1", "2", "3"})}


def test_a_new_thread_is_no_revision_and_no_work(conn, save):
    (parent,) = save(draft("1"))
    conn.execute("DELETE FROM work")
    conn.commit()

    save(draft("2", reply_to="1"))

    facts = conn.execute(
        "SELECT revision, doc_version, change, thread_id = id FROM entry"
        " WHERE external_id = '1'"
    ).fetchone()
    assert facts == (1, 1, "edited", True)
    rows = conn.execute("SELECT stage FROM work WHERE entry_id = %s", [parent.entry_id])
    assert rows.fetchall() == []


def test_an_edit_that_takes_a_reply_back_splits_the_thread(conn, save):
    save(draft("1"), draft("2", reply_to="1"), draft("3", reply_to="2"))

    save(draft("2", text="not a reply after all"))

    assert partition(conn) == {frozenset({"2", "3"})}
    assert threads_of(conn)["1"] is None


def test_an_edit_with_a_new_id_buries_the_old_one_and_keeps_its_thread(conn, save):
    save(draft("1"), draft("2", reply_to="1"))
    conn.execute("DELETE FROM work")

    save(draft("1b", supersedes="1", text="corrected"))

    rows = conn.execute("SELECT external_id, delete_reason FROM entry").fetchall()
    assert sorted(rows) == [("1", "superseded"), ("1b", None), ("2", None)]
    assert partition(conn) == {frozenset({"1", "1b", "2"})}
    work = conn.execute(
        "SELECT stage FROM work w JOIN entry e ON e.id = w.entry_id"
        " WHERE e.external_id = '1' ORDER BY stage"
    ).fetchall()
    assert work == [("embed:test",), ("index",)]


@pytest.mark.parametrize("first", ["old", "new", "together"])
def test_a_superseded_entry_stays_buried_whichever_comes_first(conn, save, first):
    old, new = draft("1"), draft("1b", supersedes="1")
    pages = {"old": [[old], [new]], "new": [[new], [old]], "together": [[new, old]]}

    for page in [*pages[first], [old]]:
        save(*page)

    rows = conn.execute("SELECT external_id, delete_reason FROM entry").fetchall()
    assert sorted(rows) == [("1", "superseded"), ("1b", None)]


def test_links_are_read_as_far_as_the_caller_may_see_their_ends(conn, save):
    save(draft("1"), draft("2", readers=("rf",)))
    (saved,) = save(draft("3", reply_to="1", related=("2", "missing")))
    (open_end,) = conn.execute("SELECT id FROM entry WHERE external_id = '1'")

    found = entry_links.load_links(conn, ANYONE, [saved.entry_id])

    assert found == {saved.entry_id: [("reply", open_end[0])]}


def test_a_parent_and_its_reply_that_are_saved_at_once_find_each_other(conn, database):
    def save_parent() -> None:
        with psycopg.connect(database) as other:
            save_page(other, TENANT, [draft("1")], stages=STAGES, editor="test")

    save_page(conn, TENANT, [draft("2", reply_to="1")], stages=STAGES, editor="test")
    with ThreadPoolExecutor() as pool:
        parent = pool.submit(save_parent)
        # The parent waits for the reply.
        until_blocked(database)
        conn.commit()
        parent.result(timeout=20)

    assert partition(conn) == {frozenset({"1", "2"})}


NAMES = st.sampled_from("abcdef")
ENTRIES = st.lists(
    st.tuples(NAMES, st.none() | NAMES, st.none() | st.sampled_from("kl")), max_size=8
)


def expected(entries) -> set[frozenset[str]]:
    """The threads by brute force: join whatever touches until nothing does."""
    last = {name: (parent, key) for name, parent, key in entries}
    groups = [{name} for name in last]
    for name, (parent, key) in last.items():
        touching = {name} | ({parent} & set(last))
        touching |= {n for n, (_, k) in last.items() if key is not None and k == key}
        merged = set().union(*(one for one in groups if one & touching))
        groups = [one for one in groups if not one & touching] + [merged]
    return {frozenset(one) for one in groups if len(one) > 1}


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(entries=ENTRIES, size=st.integers(1, 4))
def test_threads_do_not_depend_on_the_order_or_the_pages(conn, entries, size):
    with conn.transaction(force_rollback=True):
        for first in range(0, len(entries), size):
            page = [
                draft(name, reply_to=parent, thread_key=key, text=f"{parent} {key}")
                for name, parent, key in entries[first : first + size]
            ]
            save_page(conn, TENANT, page, stages=[], editor="test")

        assert partition(conn) == expected(entries)
        assert_nothing_is_left_to_join(conn)


def assert_nothing_is_left_to_join(conn) -> None:
    """What was joined step by step is what looking at every entry makes of it."""
    before = threads_of(conn)
    rows = conn.execute("SELECT id, thread_id FROM entry").fetchall()
    known = {thread for _, thread in rows if thread is not None}

    threads.join(conn, TENANT, "elog", [entry_id for entry_id, _ in rows], known)

    assert threads_of(conn) == before


REPLIES = 5_000
READ = """
    SELECT sum(coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0))::int
      FROM pg_stat_xact_user_tables WHERE relname = 'entry'"""


def test_a_reply_to_a_thread_of_thousands_looks_at_a_few_of_them(conn, save):
    (root,) = save(draft("root", thread_key="k"))
    replies = [draft(str(n), reply_to="root" if n % 2 else "0") for n in range(REPLIES)]
    replies[0] = draft("0", thread_key="k")
    for first in range(0, REPLIES, 1000):
        save(*replies[first : first + 1000])
    conn.execute("ANALYZE entry")
    conn.execute("ANALYZE entry_link")
    # Of so few entries the planner reads the whole table where it looks for one.
    conn.execute("SET enable_seqscan = off")
    conn.commit()

    read = {}
    for one in (
        draft("to the first", reply_to="root"),
        draft("to a reply", reply_to="4321"),
        draft("by the key", thread_key="k"),
        draft("1", reply_to="root", text="an edit of a reply"),
        draft("root", thread_key="k", text="an edit of the first"),
        draft("2", reply_to="0", thread_key="k", text="an edit that says more"),
    ):
        before = conn.execute(READ).fetchone()[0]
        save(one)
        read[one.external_id, one.text] = conn.execute(READ).fetchone()[0] - before
        conn.commit()

    assert max(read.values()) < 20, read
    rows = conn.execute("SELECT thread_id, count(*) FROM entry GROUP BY 1").fetchall()
    assert rows == [(root.entry_id, REPLIES + 4)]


def test_thousands_that_waited_for_their_parent_are_one_thread_with_it(conn, save):
    replies = [draft(str(n), reply_to="root") for n in range(1000)]
    replies[0] = draft("0", reply_to="root", readers=("rf",))
    first, second, *others = save(*replies)

    save(draft("root"))

    rows = conn.execute("SELECT thread_id, count(*) FROM entry GROUP BY 1").fetchall()
    assert rows == [(first.entry_id, 1001)]
    # Who cannot see the first calls it by the second, and reads few of it for each.
    conn.execute("ANALYZE entry")
    before = conn.execute(READ).fetchone()[0]
    seen = [one.entry_id for one in others[-100:]]
    shown = hydrate.hydrate(conn, seen, ANYONE, 10_000)
    assert {one.thread_id for one in shown.values()} == {second.entry_id}
    assert conn.execute(READ).fetchone()[0] - before < 1000


def test_two_threads_that_an_entry_joins_are_one(conn, save):
    (first,) = save(draft("1"))
    save(draft("2", reply_to="1"), draft("3"), draft("4", reply_to="3"))

    save(draft("5", reply_to="2", supersedes="4"))

    assert set(threads_of(conn).values()) == {first.entry_id}
    assert_nothing_is_left_to_join(conn)


def test_an_entry_says_its_parent_and_its_thread(conn, save):
    (parent,) = save(draft("1"))
    (saved,) = save(draft("2", reply_to="1"))

    entry = read_entries.load_entry(conn, ANYONE, saved.entry_id)

    assert entry is not None
    assert (entry.reply_to, entry.thread_id) == ("1", parent.entry_id)
