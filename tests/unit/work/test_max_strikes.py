"""The number of strikes stands in an index, too: the newest has the constant's."""

import re
from pathlib import Path

from shared.work.leases import MAX_STRIKES

MIGRATIONS = Path(__file__).parents[3] / "migrations"
_DEFINED = re.compile(r"CREATE INDEX (?:CONCURRENTLY )?work_spent ON [^;]*>= (\d+);")


def test_the_newest_index_of_what_is_spent_is_of_the_constant():
    *_, newest = [
        int(number)
        for file in sorted(MIGRATIONS.glob("*.sql"))
        for number in _DEFINED.findall(file.read_text("utf-8"))
    ]
    assert newest == MAX_STRIKES
