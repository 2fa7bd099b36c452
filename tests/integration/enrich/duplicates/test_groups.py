"""Groups of copies and series of machines, kept as entries come, change and go."""

import random
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

import psycopg
import pytest

from shared.enrich import metadata
from shared.enrich.duplicates import (
    candidates,
    groups,
    place_entry,
    similarity,
    unlike_entries,
)
from shared.enrich.duplicates.place_entry import Placed
from shared.enrich.duplicates.series import GAP
from shared.enrich.duplicates.similarity import Shape, pattern_of, shape_of
from shared.entries import group_membership
from shared.entries.draft import EntryDraft
from shared.entries.group_membership import Alike
from shared.entries.reading import read_entries
from shared.entries.removal import purge
from shared.entries.saving.save import save_page, tombstone_many
from shared.work import due_work as due
from tests.support.saving import save_entry

TENANT = "default"
THEN = datetime(2024, 5, 14, tzinfo=UTC)
WORDS = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(400)]

_SAID = """
    SELECT e.id, t.stream, e.source, e.origin, e.entry_time
      FROM entry e JOIN entry_text t ON t.entry_id = e.id AND t.revision = e.revision
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL"""
_PLACED = """
    SELECT l.entry_id, s.group_id, l.series_id
      FROM likeness l LEFT JOIN shape s ON s.id = l.shape_id
     WHERE l.tenant = %(tenant)s"""


def save(conn, external_id: str, text: str, **fields: Any) -> UUID:
    fields.setdefault("entry_time", THEN)
    entry_id = save_entry(conn, external_id, text, source="olog", **fields)
    place(conn, entry_id)
    return entry_id


def delete(conn, external_id: str) -> None:
    for gone in tombstone_many(
        conn, TENANT, "olog", [external_id], reason="gone", stages=[]
    ):
        place(conn, gone)


def place(conn, entry_id: UUID) -> None:
    """What the stages do, one after the other."""
    content = read_entries.load_contents(conn, TENANT, [entry_id])[entry_id]
    if not content.deleted:
        metadata.store(conn, content, metadata.extract(content, "en"))
    index(conn)
    place_entry.place(conn, TENANT, entry_id)
    conn.commit()


# What the index was told of each entry, by `index`.
TOLD: dict[UUID, Alike | None] = {}


def index(conn) -> None:
    """Show what is due, as the stage `index` does."""
    due_now = "DELETE FROM work WHERE stage = 'index' RETURNING entry_id"
    ids = [one for (one,) in conn.execute(due_now).fetchall()]
    shown = group_membership.load_memberships(conn, TENANT, ids)
    TOLD.update({one: shown.get(one) for one in ids})
    conn.commit()


def parts(pairs: list[tuple[UUID, Any]]) -> set[frozenset[UUID]]:
    found = defaultdict(set)
    for entry_id, part in pairs:
        if part is not None:
            found[part].add(entry_id)
    return {frozenset(part) for part in found.values()}


def kept(conn) -> tuple[set[frozenset[UUID]], set[frozenset[UUID]]]:
    rows = conn.execute(_PLACED, {"tenant": TENANT}).fetchall()
    return (
        parts([(entry_id, group) for entry_id, group, _ in rows]),
        parts([(entry_id, series) for entry_id, _, series in rows]),
    )


def made_anew(conn) -> tuple[set[frozenset[UUID]], set[frozenset[UUID]]]:
    """Group everything from nothing, each pair compared."""
    said = conn.execute(_SAID, {"tenant": TENANT}).fetchall()
    shapes = {row[0]: shape for row in said if (shape := shape_of(row[1]))}
    group = {entry_id: entry_id for entry_id in shapes}
    for one, other in combinations(group, 2):
        if similarity.are_alike(shapes[one], shapes[other]):
            left, gone = group[one], group[other]
            group = {k: left if v == gone else v for k, v in group.items()}
    series = []
    by_pattern = defaultdict(list)
    for entry_id, stream, source, origin, at in said:
        if origin == "machine" and (pattern := pattern_of(stream)) is not None:
            by_pattern[source, pattern].append((at, entry_id))
    for number, members in enumerate(by_pattern.values()):
        members.sort()
        part = 0
        for before, (at, entry_id) in zip(
            [members[0], *members], members, strict=False
        ):
            part += at - before[0] >= GAP
            series.append((entry_id, (number, part)))
    return parts(list(group.items())), parts(series)


def copy_of(rng: random.Random, terms: list[str]) -> list[str]:
    changed = list(terms)
    for _ in range(rng.choice([0, 1, 1, 2])):
        changed[rng.randrange(len(changed))] = rng.choice(WORDS)
    return changed


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_groups_and_series_kept_are_those_made_anew(conn, seed):
    rng = random.Random(seed)
    texts = [rng.choices(WORDS, k=rng.choice([20, 30, 60])) for _ in range(4)]
    moved = 0
    for turn in range(160):
        name = str(rng.randrange(30))
        action = rng.random()
        if action < 0.25:
            delete(conn, name)
        elif action < 0.6:
            # A copy of a copy: what links the first and the last may go again.
            texts.append(copy_of(rng, rng.choice(texts)))
            save(conn, name, " ".join(texts[-1]))
        else:
            save(
                conn,
                name,
                f"vacuum {rng.random():.3f} mbar {rng.choice(['east', 'west'])}",
                origin="machine",
                entry_time=THEN + timedelta(hours=rng.randrange(200)),
            )
        moved += len(place_entry.show_moved(conn, TENANT))
        conn.commit()
        if turn % 8 == 0:
            assert kept(conn) == made_anew(conn)

    assert kept(conn) == made_anew(conn)
    sizes = [len(part) for part in (*kept(conn)[0], *kept(conn)[1])]
    assert max(sizes) > 2
    assert moved > 0
    assert conn.execute(
        "SELECT count(*) FROM shape s WHERE NOT EXISTS"
        " (SELECT FROM likeness l WHERE l.shape_id = s.id)"
    ).fetchone() == (0,)


@pytest.mark.parametrize("seed", [1, 2])
def test_placed_many_at_once_they_stand_as_placed_one_by_one(conn, seed):
    rng = random.Random(seed)
    texts = [rng.choices(WORDS, k=rng.choice([5, 20, 60])) for _ in range(12)]
    at_once = 0
    for page in range(6):
        said = [
            rng.choice([copy_of(rng, rng.choice(texts)), rng.choices(WORDS, k=30)])
            for _ in range(12)
        ]
        drafts = [
            EntryDraft(
                "olog",
                f"{page} {number}",
                " ".join(words),
                entry_time=THEN,
                origin=rng.choice(["human", "human", "machine"]),
            )
            for number, words in enumerate(said)
        ]
        saved = save_page(conn, TENANT, drafts, stages=[], editor="test")
        ids = [one.entry_id for one in saved]
        for content in read_entries.load_contents(conn, TENANT, ids).values():
            metadata.store(conn, content, metadata.extract(content, "en"))
        conn.commit()

        placed = unlike_entries.place(conn, TENANT, ids)
        conn.commit()
        at_once += len(placed)
        for entry_id in set(ids) - placed:
            place_entry.place(conn, TENANT, entry_id)
            conn.commit()
        assert unlike_entries.place(conn, TENANT, ids) == set()
        conn.commit()

        assert kept(conn) == made_anew(conn)
    assert 20 < at_once < 60


def test_copies_that_come_at_once_see_each_other(conn, database):
    rng = random.Random(4)
    text = rng.choices(WORDS, k=40)
    start = threading.Barrier(6)

    def write(number: int) -> None:
        with psycopg.connect(database) as mine:
            start.wait(timeout=30)
            save(mine, str(number), " ".join(copy_of(rng, text)))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6), timeout=60))

    assert kept(conn) == made_anew(conn)
    assert any(len(group) > 1 for group in kept(conn)[0])


def test_whom_others_move_is_shown_anew_in_the_index(conn):
    rng = random.Random(5)
    first = rng.choices(WORDS, k=40)
    # Each is alike to the one between them, and not to the other.
    last = [*rng.choices(WORDS, k=7), *first[7:]]
    between = [*last[:3], *first[3:]]
    one, other = save(conn, "1", " ".join(first)), save(conn, "2", " ".join(last))
    assert kept(conn) == made_anew(conn)
    assert len(kept(conn)[0]) == 2
    conn.execute("DELETE FROM work")
    versions = dict(conn.execute("SELECT id, doc_version FROM entry").fetchall())
    conn.commit()

    joining = save(conn, "3", " ".join(between))
    moved = place_entry.show_moved(conn, TENANT)
    conn.commit()

    assert len(kept(conn)[0]) == 1
    assert set(moved) == {one, other}
    now = dict(conn.execute("SELECT id, doc_version FROM entry").fetchall())
    assert now[one] == versions[one] + 1
    work = "SELECT entry_id, class FROM work WHERE stage = 'index'"
    assert dict(conn.execute(work).fetchall()) == {
        joining: due.LIVE,
        one: due.BULK,
        other: due.BULK,
    }
    assert place_entry.show_moved(conn, TENANT) == []


def test_what_is_placed_twice_is_placed_once(conn):
    entry_id = save(conn, "1", " ".join(WORDS[:40]))
    conn.execute("DELETE FROM work")
    versions = conn.execute("SELECT doc_version FROM entry").fetchall()

    assert place_entry.place(conn, TENANT, entry_id) == Placed()

    assert conn.execute("SELECT count(*) FROM work").fetchone() == (0,)
    assert conn.execute("SELECT doc_version FROM entry").fetchall() == versions


def test_what_is_not_analysed_yet_waits_for_it(conn):
    draft = EntryDraft("olog", "1", " ".join(WORDS[:40]), entry_time=THEN)
    (saved,) = save_page(conn, TENANT, [draft], stages=[], editor="test")

    assert place_entry.place(conn, TENANT, saved.entry_id) == Placed()
    assert kept(conn) == (set(), set())


def test_facilities_do_not_share_groups(conn):
    entry_id = save(conn, "1", " ".join(WORDS[:40]))
    draft = EntryDraft("olog", "1", " ".join(WORDS[:40]), entry_time=THEN)
    (saved,) = save_page(conn, "other", [draft], stages=[], editor="test")
    content = read_entries.load_contents(conn, "other", [saved.entry_id])[
        saved.entry_id
    ]
    metadata.store(conn, content, metadata.extract(content, "en"))
    place_entry.place(conn, "other", saved.entry_id)

    assert kept(conn)[0] == {frozenset({entry_id})}
    assert conn.execute(
        "SELECT count(DISTINCT group_id), count(*) FROM shape"
    ).fetchone() == (2, 2)


def test_a_purge_leaves_nothing_of_a_text_that_nobody_else_has(conn):
    save(conn, "1", " ".join(WORDS[:40]))
    save(conn, "2", " ".join(WORDS[50:90]))
    save(conn, "3", " ".join(WORDS[50:90]))

    purge.purge(conn, TENANT, "olog", "1")
    purge.purge(conn, TENANT, "olog", "2")

    assert conn.execute("SELECT count(*) FROM shape").fetchone() == (1,)
    purge.purge(conn, TENANT, "olog", "3")
    assert conn.execute("SELECT count(*) FROM shape").fetchone() == (0,)


def test_what_is_shown_is_right_although_nobody_looked(conn):
    """Whoever is not moved has the group and series that it was last shown with."""
    rng = random.Random(6)
    texts = [rng.choices(WORDS, k=rng.choice([20, 30])) for _ in range(3)]
    for _ in range(120):
        name = str(rng.randrange(15))
        action = rng.random()
        if action < 0.3:
            delete(conn, name)
        elif action < 0.7:
            texts.append(copy_of(rng, rng.choice(texts)))
            save(conn, name, " ".join(texts[-1]))
        else:
            at = THEN + timedelta(hours=rng.randrange(300))
            save(conn, name, "vacuum low", origin="machine", entry_time=at)
        while place_entry.show_moved(conn, TENANT):
            conn.commit()
        index(conn)
        living = "SELECT id FROM entry WHERE deleted_at IS NULL"
        ids = [one for (one,) in conn.execute(living).fetchall()]
        shown = group_membership.load_memberships(conn, TENANT, ids)

        assert {one: TOLD[one] for one in ids} == {one: shown.get(one) for one in ids}


def test_a_shape_that_is_kept_has_the_bands_that_it_would_be_given(conn):
    luck = random.Random(3)
    texts = [" ".join(luck.choices(WORDS, k=size)) for size in (14, 30, 200)]
    for number, text in enumerate(texts):
        save(conn, f"{number}", text)
    said = conn.execute(_SAID, {"tenant": TENANT}).fetchall()
    shapes = [shape for row in said if (shape := shape_of(row[1]))]

    kept = candidates.find_candidates(conn, TENANT, shapes, limit=9)

    found = {one.shape.digest: one.bands for some in kept for one in some}
    assert found == {one.digest: one.bands for one in shapes}
    assert len(found) == len(texts)


def shaped(terms: list[str]) -> Shape:
    found = shape_of(" ".join(terms))
    assert found is not None
    return found


def test_a_copy_of_one_of_many_filled_in_forms_is_found_among_them(conn):
    rng = random.Random(7)
    form = rng.sample(WORDS, k=60)
    said = [
        [*form, f"ps{n}", f"{n}.5", f"qd{n}", rng.choice(WORDS), f"at{n}"]
        for n in range(400)
    ]
    shapes = [shaped(terms) for terms in said]
    assert len({shape.digest for shape in shapes}) == len(said)
    assert not any(similarity.are_alike(shapes[0], other) for other in shapes[1:])
    groups.add_alone(conn, TENANT, shapes)

    found = []
    for number in range(0, 400, 19):
        copied = shaped(["again", *said[number][1:]])
        groups.join(conn, TENANT, copied)
        found.append((shapes[number].digest, copied.digest))

    for pair in found:
        together = conn.execute(
            "SELECT count(DISTINCT group_id), count(*) FROM shape"
            " WHERE digest = ANY(%s)",
            (list(pair),),
        ).fetchone()
        assert together == (1, 2)


def test_whoever_is_alike_is_among_those_that_may_be_however_much_it_names(conn):
    rng = random.Random(8)
    shapes = []
    for _ in range(30):
        plain = rng.choices(WORDS, k=rng.choice([20, 120]))
        named = [f"n{rng.randrange(10**6)}" for _ in range(rng.choice([0, 1, 5, 70]))]
        text = [*plain, *named]
        rng.shuffle(text)
        less, more = copy_of(rng, text), [*text, "again", "2nd"]
        without = [one for one in text if one not in named]
        shapes += [shaped(terms) for terms in (text, less, more, without)]
    unique = list({one.digest: one for one in shapes}.values())
    groups.add_alone(conn, TENANT, unique)

    found = candidates.find_candidates(conn, TENANT, unique, limit=len(unique))

    pairs = 0
    for one, near in zip(unique, found, strict=True):
        may_be = {other.shape.digest for other in near}
        copies = {
            other.digest
            for other in unique
            if similarity.are_alike(one, other) and set(one.bands) & set(other.bands)
        }
        assert copies <= may_be
        pairs += len(copies - {one.digest})
    assert pairs > len(unique)


def test_forms_that_are_filled_in_for_one_device_each_are_not_each_others_candidates(
    conn,
):
    form = random.Random(9).sample(WORDS, k=40)
    shapes = [shaped([*form, f"ps{n}", f"at{n}", f"{n}.5"]) for n in range(300)]
    groups.add_alone(conn, TENANT, shapes)

    found = candidates.find_candidates(conn, TENANT, shapes[:50], limit=300)

    assert [[one.shape.digest for one in near] for near in found] == [
        [shape.digest] for shape in shapes[:50]
    ]


def test_what_an_older_version_has_placed_is_placed_anew(conn, monkeypatch):
    words = WORDS[:40]
    save(conn, "1", " ".join(words))
    save(conn, "2", " ".join([*words[:32], *WORDS[50:58]]))
    assert len(kept(conn)[0]) == 2

    # Less in common makes copies now, and nothing of what is kept says so.
    monkeypatch.setattr(similarity, "ALIKE", 0.5)
    monkeypatch.setattr(similarity, "DUPLICATES_VERSION", 9)
    ids = [one for (one,) in conn.execute("SELECT id FROM entry").fetchall()]
    for entry_id in ids:
        place(conn, entry_id)

    assert kept(conn)[0] == {frozenset(ids)} == made_anew(conn)[0]
