"""A source that stuffs its entries with the words of questions hides nobody else's."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from psycopg import sql

from shared.embedding.vectors.vector_tables import ensure_table
from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from tests.support.fixtures.asking import ENCODER, Asking, asking_of
from tests.support.fixtures.servers import copied

QUESTION = "Why did gate valve 8 close?"
TRUE = (
    "Gate valve 8 closed because the compressed air had sagged: a leaking dryer. The"
    " beam was lost and the crew refilled the ring an hour later."
)
COPIES, PAGE = 1000, 250


@pytest.fixture(scope="module")
def stuffed(postgres, template) -> Iterator[tuple[Asking, dict[str, UUID]]]:
    """A true entry among stuffed copies, with the ids of all: ten seconds to write."""
    with copied(postgres, template) as database, asking_of(database) as asking:
        ids = asking.write(EntryDraft("operations", "OPS-1", TRUE))
        text = "why did gate valve 8 close " * 12
        for start in range(0, COPIES, PAGE):
            numbers = range(start, start + PAGE)
            ids |= asking.write(
                *(EntryDraft("spam", f"BAD-{n}", f"{text} {n}") for n in numbers)
            )
        yield asking, ids


@pytest.mark.requirement("SEC12")
@pytest.mark.parametrize(
    ("mode", "query"),
    # In mode `keyword` an entry has all the words, and none says `why`.
    [("keyword", "gate valve 8 close"), ("semantic", QUESTION), ("hybrid", QUESTION)],
)
def test_a_thousand_stuffed_copies_leave_a_true_hit_among_the_ten(stuffed, mode, query):
    asking, ids = stuffed
    # One of them has the very vector of the question besides, as if it were copied.
    vector = ENCODER.encode([query])[0].tolist()
    with connection(asking.pool) as conn:
        table = ensure_table(conn, "test", ENCODER.model, ENCODER.dimension)
        changed = conn.execute(
            sql.SQL("UPDATE {} SET embedding = %s::halfvec WHERE entry_id = %s").format(
                sql.Identifier(table)
            ),
            (str(vector), ids["BAD-0"]),
        )
        assert changed.rowcount == 1

    told = asking.ask(query, mode=mode, limit=10)

    hits = told["results"]
    assert len(hits) <= 10
    assert str(ids["OPS-1"]) in [one["entry_id"] for one in hits]
    # Whose word each hit is, stands beside it.
    assert {one["source"] for one in hits} == {"operations", "spam"}
