"""F18: Postgres crashes while entries are posted; what was promised is kept."""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import service_user
from local.postgres import EmbeddedPostgres
from local.server import Place, free_port
from shared import migrations
from tests.faults.ledger import Ledger, Posting

SEED = 20261121
CRASHES = 2
ENTRIES = 60
DOWN_SECONDS = 3
RECOVERY_SECONDS = 15


@pytest.fixture
def own_postgres(place, reap) -> Iterator[EmbeddedPostgres]:
    """A Postgres that nobody else uses, so that it may crash."""
    home = Path(tempfile.mkdtemp(prefix="logchord-test-"))
    reap(home)
    server = EmbeddedPostgres(
        Place(home=home, cache=place.cache), free_port(), secrets.token_urlsafe(16)
    )
    server.start()
    assert server.pid is not None
    reap(server.pid)
    server.wait_ready(60)
    migrations.migrate(server.url)
    yield server
    server.stop()
    service_user.discard_home(home)


@pytest.mark.requirement("F18", "P1", "P2", "P3")
@pytest.mark.timeout(300)
def test_no_accepted_entry_is_lost_when_postgres_crashes(
    make_system, own_postgres, reap
):
    system = make_system(database=own_postgres.url)
    system.start("api", "enhance", "embed", "upkeep")
    system.wait_ready("enhance", "embed", "upkeep")
    ledger = Ledger(system, "F18", SEED)
    key = system.key()
    a_third = ENTRIES // (CRASHES + 1)

    for turn in range(CRASHES):
        with Posting(ledger, key, range(turn * a_third, (turn + 1) * a_third)):
            own_postgres.stop(crash=True)
            # The gap itself is the fault: the server stays away this long.
            threading.Event().wait(DOWN_SECONDS)
            own_postgres.start()
            reap(own_postgres.pid)
            own_postgres.wait_ready(30)
            ledger.note_kill([])
    with Posting(ledger, key, range(CRASHES * a_third, ENTRIES)):
        pass

    line = ledger.close(within_seconds=60)

    assert line.accepted == ENTRIES
    assert line.lost == 0
    assert line.duplicate_effects == 0
    assert line.quarantined == 0
    assert ledger.refused, "no post met the gap: nothing was tried"
    for status, code, told_when in ledger.refused:
        assert status == 503, (status, code)
        assert code in {"database_unavailable", "database_query_retry"}
        assert told_when, code
