"""A read for the nearest that could be done without ends in its time, and alone."""

import time

from shared.embedding.vectors import nearest
from shared.postgres import statement_deadline
from shared.postgres.pool import make_pool, pipelined_connection


def test_a_read_without_time_is_undone_alone_among_statements_that_go_together(
    database: str,
) -> None:
    pool = make_pool(database, application="test", size=1)
    with pipelined_connection(pool) as conn:
        bound = statement_deadline.make_share_limiter(conn, time.monotonic() + 30)
        search = nearest._Search(conn, "any", {}, lambda share: bound(share / 300))
        endless = "SELECT count(*) FROM generate_series(1, 1000000000)"
        late = search.if_in_time(lambda: conn.execute(endless).fetchone())
        assert late is None
        assert bound(1.0)
        assert search.if_in_time(lambda: "in time") == "in time"
        assert conn.execute("SELECT 2", prepare=True).fetchone() == (2,)
    with pipelined_connection(pool) as conn:
        assert conn.execute("SELECT 2", prepare=True).fetchone() == (2,)
    pool.close()
