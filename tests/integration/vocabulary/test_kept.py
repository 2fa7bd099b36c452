"""The vocabulary has what the entries have: while they come, change, go, are purged."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from shared.enrich import metadata, recount_vocabulary
from shared.entries.reading import read_entries
from shared.entries.removal import purge as purging
from shared.entries.saving.save import tombstone
from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.pool import make_pool
from shared.text.facility.facility import PLAIN
from shared.vocabulary import word_counts
from shared.vocabulary.learn_words import SeenWords
from shared.work import chore_records
from tests.support.fixtures.workers import MakeContext
from tests.support.saving import save_entry
from workers.runtime.context import Context
from workers.tasks import chores
from workers.tasks.enhance import extract_metadata

TENANT = "default"


class Stepping(Context):
    """Does at each step of a chore what the test asks for."""

    at_step: Callable[[int], object] | None = None
    steps = 0

    def checkpoint(self, name: str, *_: UUID) -> None:
        if name == "after_step":
            self.steps += 1
            if self.at_step is not None:
                self.at_step(self.steps)


@pytest.fixture
def ctx(make_context: MakeContext) -> Context:
    return make_context(Stepping)


def save(conn, name: str, text: str, tenant: str = TENANT) -> UUID:
    with conn.transaction():
        return save_entry(conn, name, text, stages=[METADATA_STAGE], tenant=tenant)


def learn(conn, entry_id: UUID, known: SeenWords | None = None) -> bool:
    """Carry the stage out, as a worker does; false if the entry has moved on."""
    content = read_entries.load_contents(conn, TENANT, [entry_id]).get(entry_id)
    if content is None or content.deleted:
        return False
    found = metadata.extract(content, "en")
    with conn.transaction():
        learnt = metadata.store(conn, content, found, known)
    if learnt is not None:
        learnt.remember()
    return learnt is not None


def count(ctx: Context, conn) -> None:
    chore_records.open_chore(conn, chore_records.COUNT_WORDS)
    go_on(ctx, conn)


def go_on(ctx: Context, conn) -> None:
    chores.count_words(ctx)
    assert chore_records.list_unfinished(conn) == []


def purge(conn, name: str) -> None:
    with conn.transaction():
        done = purging.purge(conn, TENANT, "api", name)
    with conn.transaction():
        word_counts.forget(conn, TENANT, done.language, done.terms)


def words(conn, tenant: str = TENANT) -> dict[str, int]:
    rows = conn.execute("SELECT surface, n FROM lexeme WHERE tenant = %s", (tenant,))
    return dict(rows.fetchall())


def names(conn) -> dict[str, int]:
    return dict(conn.execute("SELECT ident, n FROM ident").fetchall())


def test_the_stage_takes_in_words_with_their_stems_and_names(committing):
    learn(committing, save(committing, "1", "Cavities tripped near HCM03"))

    found = committing.execute("SELECT language, surface, stem FROM lexeme").fetchall()
    assert set(found) == {
        ("en", "cavities", "caviti"),
        ("en", "tripped", "trip"),
        ("en", "near", "near"),
    }
    assert set(names(committing)) == {"hcm3", "hcm03", "hcm", "03", "3"}


def test_what_was_rolled_back_is_not_trusted_to_be_there(committing):
    known = SeenWords()
    entry_id = save(committing, "1", "cavity tripped")
    content = read_entries.load_contents(committing, TENANT, [entry_id])[entry_id]
    with committing.transaction(force_rollback=True):
        metadata.store(committing, content, metadata.extract(content, "en"), known)

    learn(committing, entry_id, known)

    assert set(words(committing)) == {"cavity", "tripped"}


def test_known_words_are_not_sent_again(committing):
    known = SeenWords()
    learn(committing, save(committing, "1", "cavity tripped"), known)
    committing.execute("DELETE FROM lexeme")

    learn(committing, save(committing, "2", "cavity quenched"), known)

    assert set(words(committing)) == {"quenched"}


def test_the_count_says_in_how_many_entries_a_word_is(ctx, committing, monkeypatch):
    monkeypatch.setattr(recount_vocabulary, "STEP_ENTRIES", 2)
    monkeypatch.setattr(word_counts, "STEP_ROWS", 2)
    for number in range(5):
        save(committing, f"{number}", f"beam beam HCM03 {'lost' * (number % 2)}")
        save(committing, f"{number}", "beam", tenant="other")
    extract_metadata(ctx)

    for _ in range(2):
        count(ctx, committing)
        assert words(committing) == {"beam": 5, "lost": 2}
        assert words(committing, "other") == {"beam": 5}
        assert names(committing)["hcm3"] == 5


def test_a_count_of_long_texts_holds_no_transaction_open_meanwhile(
    ctx, committing, database
):
    for number in range(4):
        text = " ".join(f"lost{number}x{place} beam" for place in range(8000))
        save(committing, f"{number}", text)
    extract_metadata(ctx)
    # As at ten seconds, which a page of longer texts takes.
    pool = make_pool(database, application="test", size=1, idle_timeout_ms=200)
    with pool:
        walk = {"walk": word_counts.begin(committing), "after": None}
        effect = recount_vocabulary.prepare(pool, walk, 0, PLAIN)
        assert effect(committing).done == 4


def test_a_count_of_long_texts_does_as_many_a_step_as_there_is_time_for(
    ctx, committing, monkeypatch
):
    monkeypatch.setattr(recount_vocabulary, "STEP_SECONDS", 0.0)
    for number in range(3):
        save(committing, f"{number}", "beam lost")
    extract_metadata(ctx)

    count(ctx, committing)

    assert ctx.steps > 3
    assert words(committing) == {"beam": 3, "lost": 3}


@pytest.mark.parametrize("vocabulary", ["there", "older"])
def test_what_no_entry_has_any_more_goes_with_the_count(ctx, committing, vocabulary):
    save(committing, "1", "cavity quenched")
    save(committing, "2", "HCM03 sparked")
    extract_metadata(ctx)
    if vocabulary == "older":
        # As it is where entries are older than the vocabulary.
        committing.execute("DELETE FROM lexeme")
        committing.execute("DELETE FROM ident")
    save(committing, "1", "cavity recovered")
    tombstone(
        committing,
        TENANT,
        save(committing, "2", "HCM03 sparked"),
        reason=None,
        stages=[],
    )
    extract_metadata(ctx)

    count(ctx, committing)

    assert words(committing) == {"cavity": 1, "recovered": 1}
    assert names(committing) == {}


def test_a_word_that_comes_behind_the_walk_is_not_taken_out(
    ctx, committing, monkeypatch
):
    monkeypatch.setattr(recount_vocabulary, "STEP_ENTRIES", 1)
    first = save(committing, "1", "beam")
    extract_metadata(ctx)
    last = save(committing, "2", "quenched HCM03")
    extract_metadata(ctx)
    known = ctx.known

    def move(step: int) -> None:
        # The second step has gone through the first entry.
        if step == 2:
            save(committing, "1", "beam quenched HCM03")
            learn(committing, first, known)
            save(committing, "2", "gone")
            learn(committing, last, known)

    ctx.at_step = move
    count(ctx, committing)

    assert set(words(committing)) == {"beam", "quenched", "gone"}
    assert "hcm3" in names(committing)
    ctx.at_step = None
    count(ctx, committing)
    assert words(committing) == {"beam": 1, "quenched": 1, "gone": 1}


def test_a_walk_that_dies_goes_on_where_it_was(ctx, committing, monkeypatch):
    monkeypatch.setattr(recount_vocabulary, "STEP_ENTRIES", 2)
    for number in range(6):
        save(committing, f"{number}", "beam lost")
    extract_metadata(ctx)

    class Killed(BaseException):
        """Ends a worker wherever it is."""

    def die(step: int) -> None:
        if step == 3:
            raise Killed

    ctx.at_step = die
    with pytest.raises(Killed):
        count(ctx, committing)
    ctx.at_step = None
    committing.execute("UPDATE maintenance SET leased_until = NULL")
    go_on(ctx, committing)

    assert words(committing) == {"beam": 6, "lost": 6}


def test_a_purge_takes_out_the_words_that_only_its_entry_had(ctx, committing):
    save(committing, "1", "Aloysius dropped HCM77 and the beam")
    save(committing, "1", "Melchior drops HCM77 and the beam")
    save(committing, "2", "the beam dropped")
    extract_metadata(ctx)
    known = ctx.known

    purge(committing, "1")

    assert "melchior" not in words(committing)
    assert not [name for name in names(committing) if "77" in name]
    assert {"beam", "dropped"} <= words(committing).keys()
    # What remains of it, a form of a word that others have, goes with the count that
    # the purge has made due.
    go_on(ctx, committing)
    assert words(committing) == {"the": 1, "beam": 1, "dropped": 1}
    # And who knew the word takes it in again.
    learn(committing, save(committing, "3", "Melchior again"), known)
    assert "melchior" in words(committing)


def test_many_learners_of_the_same_words_in_any_order_do_not_block(
    database, committing
):
    rng = random.Random(7)
    pool = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]
    ids = [
        save(committing, f"{n}", " ".join(rng.sample(pool, 40)) + f" DEV{n % 9}")
        for n in range(60)
    ]

    def work(part: list[UUID]) -> int:
        with psycopg.connect(database, autocommit=True) as conn:
            return sum(learn(conn, one) for one in part)

    with ThreadPoolExecutor(4) as threads:
        done = sum(threads.map(work, [ids[n::4] for n in range(4)]))

    assert done == 60
    assert expected(committing) == {*words(committing)}


def expected(conn) -> set[str]:
    """Every word of the entries that are there, read one by one."""
    rows = conn.execute(
        "SELECT r.text FROM entry e"
        " JOIN revision r ON r.entry_id = e.id AND r.number = e.revision"
        " WHERE e.deleted_at IS NULL"
    )
    found = {word.lower() for (text,) in rows for word in text.split()}
    return {word for word in found if word.isalpha()}


def test_in_the_end_it_has_what_the_entries_have_whatever_went_on(
    ctx, database, committing, monkeypatch
):
    monkeypatch.setattr(recount_vocabulary, "STEP_ENTRIES", 5)
    monkeypatch.setattr(word_counts, "STEP_ROWS", 20)
    pool = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(120)]

    def text(rng: random.Random) -> str:
        return " ".join(rng.sample(pool, 8))

    first = random.Random(1)
    ids = [save(committing, f"{n}", text(first)) for n in range(40)]
    for one in ids:
        learn(committing, one)

    def write(seed: int) -> None:
        """Edit, delete and purge entries of its own; learn like a worker does."""
        rng = random.Random(seed)
        known = SeenWords()
        with psycopg.connect(database, autocommit=True) as conn:
            for turn in range(40):
                name = f"{seed + 3 * rng.randrange(13)}"
                done = rng.random()
                if done < 0.1:
                    purge(conn, name)
                elif done < 0.2:
                    entry_id = save(conn, name, text(rng))
                    tombstone(conn, TENANT, entry_id, reason=None, stages=[])
                else:
                    learn(conn, save(conn, f"{name}-{turn}", text(rng)), known)
                    learn(conn, save(conn, name, text(rng)), known)

    def count_on(_: int) -> None:
        for _ in range(6):
            with psycopg.connect(database, autocommit=True) as conn:
                chore_records.open_chore(conn, chore_records.COUNT_WORDS)
            chores.count_words(ctx)

    with ThreadPoolExecutor(4) as threads:
        work = [threads.submit(write, seed) for seed in range(3)]
        work.append(threads.submit(count_on, 0))
        for each in work:
            each.result()
    assert expected(committing) <= {*words(committing)}

    chore_records.start_over(committing, chore_records.COUNT_WORDS)
    go_on(ctx, committing)

    assert expected(committing) == {*words(committing)}
