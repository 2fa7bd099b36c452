"""Jobs lie in partitions of an hour, made ahead and dropped whole."""

from uuid import UUID

import pytest

from shared.search.jobs import partitions

HOUR = 500_000


@pytest.fixture
def job(conn):
    def job(hour: float) -> UUID:
        made = UUID(int=round(hour * 3_600_000) << 80)
        conn.execute(
            "INSERT INTO job (id, tenant, subject, state, request, plan, deadline_at)"
            " VALUES (%s, 'default', 'tester', 'done', '{}', '{}', now())",
            (made,),
        )
        return made

    return job


def parts(conn) -> list[str]:
    rows = conn.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits"
        " WHERE inhparent = 'job'::regclass ORDER BY 1"
    ).fetchall()
    return [row[0] for row in rows if row[0] != "job_default"]


def part_of(conn, made: UUID) -> str:
    row = conn.execute(
        "SELECT tableoid::regclass::text FROM job WHERE id = %s", (made,)
    ).fetchone()
    return "gone" if row is None else row[0]


def test_the_next_hours_have_their_partitions_before_they_begin(conn, job):
    partitions.rotate_partitions(conn, retention_hours=24, hour=HOUR)

    assert parts(conn) == [f"job_h{HOUR + ahead}" for ahead in range(3)]
    assert part_of(conn, job(HOUR + 2.99)) == f"job_h{HOUR + 2}"


def test_keeping_them_twice_equals_once(conn):
    for _ in range(2):
        partitions.rotate_partitions(conn, retention_hours=24, hour=HOUR)

    assert len(parts(conn)) == 3


def test_an_hour_is_dropped_when_its_youngest_job_is_past_the_retention(conn, job):
    partitions.rotate_partitions(conn, retention_hours=2, hour=HOUR)
    made = job(HOUR)

    partitions.rotate_partitions(conn, retention_hours=2, hour=HOUR + 2)
    assert part_of(conn, made) == f"job_h{HOUR}"

    partitions.rotate_partitions(conn, retention_hours=2, hour=HOUR + 3)
    assert part_of(conn, made) == "gone"
    assert f"job_h{HOUR}" not in parts(conn)


def test_a_job_that_came_before_its_partition_is_kept_as_long_and_no_longer(conn, job):
    early = job(HOUR + 0.5)
    partitions.rotate_partitions(conn, retention_hours=2, hour=HOUR)

    # Its hour cannot have a partition any more, the next ones can.
    assert parts(conn) == [f"job_h{HOUR + 1}", f"job_h{HOUR + 2}"]
    assert part_of(conn, early) == "job_default"
    partitions.rotate_partitions(conn, retention_hours=2, hour=HOUR + 3)
    assert part_of(conn, early) == "gone"


def test_the_hour_is_the_databases_and_jobs_of_now_find_a_partition(conn):
    partitions.rotate_partitions(conn, retention_hours=24)

    row = conn.execute(
        "INSERT INTO job (id, tenant, subject, state, request, plan, deadline_at)"
        " VALUES (uuidv7(), 'default', 'tester', 'done', '{}', '{}', now())"
        " RETURNING tableoid::regclass::text"
    ).fetchone()
    assert row[0] in parts(conn)


def test_a_table_of_another_name_beside_them_is_left_alone(conn):
    conn.execute(
        "CREATE TABLE job_history PARTITION OF job"
        " FOR VALUES FROM ('ffffffff-0000-0000-0000-000000000000') TO (MAXVALUE)"
    )

    partitions.rotate_partitions(conn, retention_hours=24, hour=HOUR)

    assert "job_history" in parts(conn)
