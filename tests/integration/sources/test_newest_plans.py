"""What is told of how a source stands costs little, whatever else is stored."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from shared.access.scope import Scope
from shared.sources.admin import shortfalls, source_overview
from shared.work import lag

# Of one source nearly all entries, of one some old ones, of one what is deleted.
MANY, FEW, MOST = 16_000, 200, 1000
_FILL = """
    INSERT INTO entry (id, tenant, source, external_id, revision, doc_version,
        content_hash, access_hash, kind, origin, logbooks, authors, tags, metadata,
        entry_time, deleted_at)
    SELECT gen_random_uuid(), 'default', %(source)s, n::text, 1, 1, '', '', 'entry',
           'human', '{Ops}', '{}', '{}', '{}',
           '2024-01-01'::timestamptz + %(day)s * interval '1 day'
               + n * interval '1 minute',
           CASE WHEN %(gone)s THEN now() END
      FROM generate_series(1, %(count)s) AS n"""
_STOOD = """
    INSERT INTO source_state (source, tenant, adapter, config_hash, config)
    SELECT source, 'default', 'olog', '', '{}' FROM entry GROUP BY source"""
# Every file has come but those of the source with old entries.
_ATTACH = """
    INSERT INTO attachment (id, tenant, entry_id, external_id, position, filename,
                            state, error)
    SELECT gen_random_uuid(), tenant, id, 'a', 0, 'a.txt',
           CASE WHEN source = 'old' THEN 'linked' ELSE 'stored' END,
           CASE WHEN source = 'old' THEN '{"code": "refused", "message": "No."}'::jsonb
           END
      FROM entry"""
ALL = Scope("default", "me")
CLOSED = Scope("default", "me", logbooks=("Vacuum",))


@pytest.fixture
def filled(database: str) -> Iterator[psycopg.Connection]:
    """A database in which the newest of one source lie before all of another."""
    with psycopg.connect(database) as conn:
        for source, count, day, gone in (
            ("busy", MANY, 300, False),
            ("old", FEW, 0, False),
            ("gone", FEW + MOST, 600, True),
        ):
            values = {"source": source, "count": count, "day": day, "gone": gone}
            conn.execute(_FILL, values)
        conn.execute(_STOOD)
        conn.execute("ANALYZE entry")
        yield conn


def steps(conn, statement: str, **values: Any) -> list[dict[str, Any]]:
    """Run a statement; return each step of its plan, with what it has read."""
    explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}"
    (found,) = conn.execute(explain, values).fetchone()
    todo, done = [found[0]["Plan"]], []
    while todo:
        step = todo.pop()
        todo += step.get("Plans", [])
        done.append(step)
    return done


def test_the_newest_entry_is_looked_up_and_what_is_hidden_bounded(filled):
    def read(scope: Scope, source: str) -> tuple[int, int]:
        """Return how many rows the index gave, and how many were found."""
        values = {**scope.params, "source": source, "looked_through": MOST}
        found = steps(filled, source_overview._NEWEST, **values)
        assert {one["Node Type"] for one in found} <= {
            "Limit",
            "Subquery Scan",
            "Index Scan",
        }
        (scan,) = (one for one in found if one["Node Type"] == "Index Scan")
        assert scan["Index Name"] == "entry_of_source"
        return round(scan["Actual Rows"]), round(found[0]["Actual Rows"])

    assert read(ALL, "busy") == (1, 1)
    assert read(ALL, "old") == (1, 1)
    assert read(ALL, "never") == (0, 0)
    # Whoever may see nothing, and what was deleted: no more than is ever counted.
    assert read(CLOSED, "busy") == (MOST, 0)
    assert read(ALL, "gone") == (MOST, 0)


def test_the_numbers_of_every_source_are_looked_up_one_by_one(filled):
    found = steps(filled, source_overview._BEHIND, tenant="*", most=MOST)
    scans = [one for one in found if one.get("Relation Name") == "entry"]
    assert [one["Index Name"] for one in scans] == ["entry_of_source"]
    # On average of three sources: one, one, and what is deleted.
    assert scans[0]["Actual Rows"] * scans[0]["Actual Loops"] <= MOST + 3

    behind = {
        one.source: one.lag_seconds or 0 for one in source_overview.behind(filled, "*")
    }
    assert behind["busy"] < behind["old"]


def test_whether_a_facility_is_alone_is_read_off_both_ends_of_an_index(filled):
    # As it is planned once it has been prepared: for whichever facility.
    filled.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    filled.execute("PREPARE alone AS" + lag._IS_ALONE.replace("%(tenant)s", "$1"))
    found = steps(filled, "EXECUTE alone ('default')")
    scans = [one for one in found if one.get("Relation Name") == "entry"]
    assert [one["Node Type"] for one in scans] == ["Index Only Scan"] * 2
    assert [one["Actual Rows"] for one in scans] == [1, 1]


def test_files_that_came_cost_nothing_where_the_others_are_counted(filled):
    filled.execute(_ATTACH)
    filled.execute("ANALYZE attachment")
    values = {"tenant": "default", "most": shortfalls.MOST_FILES}
    found = steps(filled, shortfalls._UNFETCHED, **values)
    scans = [one for one in found if one.get("Relation Name") == "attachment"]
    assert {one.get("Index Name") for one in scans} <= {None, "attachment_unfetched"}
    assert "Seq Scan" not in {one["Node Type"] for one in scans}

    lacking = shortfalls.load_shortfalls(filled, "default")
    assert {name: one.files for name, one in lacking.items()} == {"old": FEW}
