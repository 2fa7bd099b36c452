"""A dump for a server that is older than the programs that wrote it."""

import pytest

from api.cli.backup.fill_database import bearable

LIMIT = b"SET transaction_timeout = 0;\n"
HEAD = b"SET lock_timeout = 0;\n"
TEXT = b"COPY revision FROM stdin;\n" + LIMIT


@pytest.mark.parametrize(
    ("server", "head"), [pytest.param(160_009, b""), pytest.param(170_000, LIMIT)]
)
def test_an_older_server_is_spared_the_limit_it_does_not_know(server, head):
    dump = [HEAD + LIMIT + TEXT, TEXT]
    assert list(bearable(dump, server)) == [HEAD + head + TEXT, TEXT]
