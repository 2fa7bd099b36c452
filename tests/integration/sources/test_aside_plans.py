"""What a source has quarantined is found without what the others have."""

from typing import Any

import psycopg
import pytest

from shared.sources.intake import quarantined_items

OTHERS = 20_000
_FILL = """
    INSERT INTO quarantine (id, tenant, source, external_id, stage, error)
    SELECT gen_random_uuid(), 'default', 'other-' || n %% 4, n::text, 'ingest', '{}'
      FROM generate_series(1, %s) AS n"""


@pytest.mark.parametrize("name", ["_COUNT", "_HAS_ANY"])
def test_each_page_looks_for_its_own_source_alone(database, name):
    values: dict[str, Any] = {"tenant": "default", "source": "ring", "most": 10_000}
    with psycopg.connect(database) as conn:
        conn.execute(_FILL, [OTHERS])
        conn.execute("ANALYZE quarantine")
        statement = getattr(quarantined_items, name)
        found = conn.execute(f"EXPLAIN (COSTS OFF) {statement}", values)
        plan = "\n".join(str(row[0]) for row in found)

    assert "quarantine_of_source" in plan
    assert "Seq Scan" not in plan
