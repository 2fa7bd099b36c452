"""What an index is called tells whether anybody can still want it."""

import time

from shared.ids import uuid7
from shared.opensearch import aliases


def test_a_bare_index_of_a_rebuild_or_of_an_hour_ago_is_left_over_and_no_other():
    now = time.time_ns()
    made = aliases.name_of("logbook", f"{now}-a1b2c3")
    old = aliases.name_of("logbook", f"{now - 2 * 3600 * 10**9}-a1b2c3")
    of_a_rebuild = aliases.name_of("logbook", uuid7().hex)

    assert not aliases.is_left_over("logbook", made)
    assert aliases.is_left_over("logbook", old)
    assert aliases.is_left_over("logbook", of_a_rebuild)
    assert not aliases.is_left_over("logbook", "logbook-v1-something-else")


def test_an_index_of_an_older_mapping_is_told_by_its_name():
    older = aliases.Indices("b", "b-v1-17-abc", "b-v1-17-abc", ())
    ours = aliases.name_of("b", "17-abc")
    assert older.older == ["b-v1-17-abc"]
    assert aliases.Indices("b", ours, ours, ()).older == []
    assert aliases.Indices("b", "b-v1-17-abc", ours, ()).older == ["b-v1-17-abc"]
