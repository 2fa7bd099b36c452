"""With `read_only` on, everything can be read and nothing is written."""

import pytest

from shared.errors import DatabaseQueryError
from shared.postgres.pool import connection, make_pool


def test_a_read_only_pool_reads_and_refuses_to_write(database):
    pool = make_pool(database, application="test", size=1, read_only=True)

    with connection(pool) as conn:
        assert conn.execute("SELECT count(*) FROM entry").fetchone() == (0,)
    with pytest.raises(DatabaseQueryError) as caught, connection(pool) as conn:
        conn.execute("DELETE FROM entry")

    pool.close()
    assert (caught.value.error_code, caught.value.status) == ("read_only", 503)
    assert caught.value.severity == "RETRIABLE"


def test_an_api_that_is_read_only_answers_pushes_with_503(make_system):
    system = make_system(LOGCHORD_READ_ONLY="true")
    system.bring_up("api")

    with system.client() as client:
        pushed = client.post("/v1/entries", json={"text": "Beam dump."})
        listed = client.get("/v1/entries")

    assert pushed.status_code == 503
    assert pushed.json()["error"]["code"] == "read_only"
    assert listed.status_code == 200
