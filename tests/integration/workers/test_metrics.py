"""What a worker counts, and where it says so."""

import re

import httpx2
import pytest

from local.server import free_port
from tests.support.fixtures.system import TRUSTED
from tests.support.waiting import until

COUNTED = re.compile(r'logchord_branch_seconds_count\{branch="(\w+)"[^}]*\} (\d+)\.0')


@pytest.mark.timeout(120)
def test_each_branch_of_a_search_is_counted_once_at_the_port_that_was_set(make_system):
    port = free_port()
    system = make_system(EMBEDDING_MODEL="hashing-384")
    system.start("api")
    system.start("search", LOGCHORD_METRICS_PORT=str(port))
    system.wait_ready("search")
    with system.client() as client:
        found = client.post(
            "/v1/search/query", json={"query": "vacuum", "mode": "hybrid"}
        )
    assert found.status_code == 200, found.text
    branches = [one["name"] for one in found.json()["branches"]]

    def counted() -> list[tuple[str, str]]:
        return COUNTED.findall(
            httpx2.get(f"http://127.0.0.1:{port}/metrics", verify=TRUSTED).text
        )

    until(lambda: len(counted()) >= len(branches), within_seconds=10)
    assert len(branches) >= 2
    assert sorted(counted()) == sorted((name, "1") for name in branches)
