"""Upkeep forgets what people did and said, days after telemetry kept it."""

import psycopg
import pytest

from tests.support.fixtures.system import Factory
from tests.support.waiting import until

_OLD = """
    INSERT INTO search_event (tenant, at, type)
    SELECT 't', now() - make_interval(days => d), 'query' FROM unnest(%(days)s) AS d"""
_SAID = """
    INSERT INTO search_feedback (id, tenant, at, job_id, verdict)
    SELECT gen_random_uuid(), 't', now() - make_interval(days => d),
           gen_random_uuid(), 'good'
      FROM unnest(%(days)s) AS d"""
_LEFT = """
    SELECT (SELECT count(*) FROM search_event),
           (SELECT count(*) FROM search_feedback)"""


@pytest.mark.requirement("S4-43")
def test_upkeep_forgets_events_and_feedback_past_their_days(make_system: Factory):
    system = make_system(LOGCHORD_TELEMETRY__RETENTION_DAYS="3")
    with psycopg.connect(system.database, autocommit=True) as conn:
        for statement in (_OLD, _SAID):
            conn.execute(statement, {"days": [1, 40]})
        assert conn.execute(_LEFT).fetchone() == (2, 2)

        system.start("upkeep")

        until(
            lambda: conn.execute(_LEFT).fetchone() == (1, 1),
            within_seconds=120,
            what="the retention of upkeep",
        )
