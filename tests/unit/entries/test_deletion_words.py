"""Of a deleted entry it is said whether its logbook or somebody here deleted it."""

import pytest

from shared.entries.tombstones import describe_deletion


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        # As the rows of earlier releases have them, too.
        ("deleted at its source", "deleted in its logbook"),
        ("no longer at its source", "deleted in its logbook"),
        ("superseded", "superseded by another entry"),
        ("retention", "deleted here, as older than what is kept of its source"),
        ("its source was removed", "deleted here, after its source was removed"),
        ("a typo", "deleted here, by a request"),
        (None, "deleted here, by a request"),
    ],
)
def test_each_reason_says_who_has_deleted_it(reason, told):
    assert describe_deletion(reason) == told
