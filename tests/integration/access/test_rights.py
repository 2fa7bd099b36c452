"""The one condition on what a caller may see, judged by Postgres in every case."""

from datetime import UTC, datetime
from itertools import product
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from shared.access import rights
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from tests.support.fixtures.asking import ANNA, BEN

LOGBOOKS: tuple[list[str], ...] = ([], ["ops"], ["rf"], ["ops", "rf"])
READERS: tuple[list[str] | None, ...] = (
    *(None, [], ["anna"], ["shift"]),
    *(["ben"], ["*"], ["-"], ["ben", "anna"]),
)
AT = datetime(2026, 3, 1, tzinfo=UTC)
# In seconds from now.
VISIBLE_FROM = (None, -1, 0, 3600)
ENTRIES = list(product(LOGBOOKS, READERS, VISIBLE_FROM))
CALLERS = (
    Scope("default", "anna", ("shift",)),
    Scope("default", "anna", ("shift",), logbooks=("ops",)),
    Scope("default", "anna", logbooks=()),
    # Marks of everybody and nobody name no caller.
    Scope("default", "*", ("-",)),
)
JUDGED = """
    SELECT e.number
      FROM (SELECT number, logbooks::text[], readers::text[],
                   now() + make_interval(secs => seconds) AS visible_from
              FROM jsonb_to_recordset(%(entries)s::jsonb)
                   AS one (number int, logbooks text[], readers text[], seconds float8)
           ) AS e
     WHERE true"""


@pytest.mark.parametrize("scope", CALLERS, ids=["anna", "of ops", "of none", "marks"])
def test_an_entry_is_seen_or_unseen_by_logbooks_readers_and_time(database, scope):
    rows = [
        {"number": number, "logbooks": books, "readers": readers, "seconds": seconds}
        for number, (books, readers, seconds) in enumerate(ENTRIES)
    ]
    given: dict[str, Any] = {**scope.params, "entries": Jsonb(rows)}
    with psycopg.connect(database) as conn:

        def those(condition: str) -> list[int]:
            statement = f"{JUDGED} {condition} ORDER BY e.number"
            return [number for (number,) in conn.execute(statement, given)]

        seen, unseen = those(rights.SEEN), those(rights.unseen("e"))

    names = {scope.subject, *scope.groups} - {"*", "-"}
    expected = [
        number
        for number, (books, readers, seconds) in enumerate(ENTRIES)
        if (scope.logbooks is None or {*books} & {*scope.logbooks})
        and (readers is None or names & {*readers})
        and (seconds is None or seconds <= 0)
    ]
    assert seen == expected
    assert sorted([*seen, *unseen]) == list(range(len(ENTRIES)))


def test_whether_a_word_is_misspelt_is_told_by_no_entry_that_is_hidden(asking):
    def write(name: str, text: str, **rights: Any) -> None:
        asking.write(EntryDraft("api", name, text, entry_time=AT, **rights))

    write("A", "Klystron 3 tripped")
    write("B", "Pump runs")

    def told(query: str, who: Scope = ANNA) -> tuple[list[str], list[str]]:
        answer = asking.ask(query, who)
        notes = [one["message"] for one in answer["diagnostics"]]
        return [one["external_id"] for one in answer["results"]], notes

    questions = ("klystran", "klystran pump", "what did the klystran do?")
    before = [told(one) for one in questions]
    assert all("A" in found for found, _ in before)
    write("C", "klystran", readers=("ben",))

    assert told("klystran", BEN) == (["C"], [])
    assert [told(one) for one in questions] == before
