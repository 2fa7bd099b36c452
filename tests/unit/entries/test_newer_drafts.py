"""Which of two deliveries of an entry is newer, as far as its source says."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.change_detection import EntryFingerprint, is_newer

EARLY, LATE = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("here", "there", "newer"),
    [
        (("1", None), ("2", None), True),
        (("2", None), ("2", None), False),
        (("2", None), ("1", None), False),
        # The count decides, whatever the clock says.
        (("2", EARLY), ("1", LATE), False),
        ((None, EARLY), (None, LATE), True),
        ((None, LATE), (None, LATE), False),
        ((None, LATE), (None, EARLY), False),
        # Hashes have no order.
        (("a1", None), ("b2", None), False),
        (("a1", EARLY), ("b2", LATE), True),
        ((None, None), (None, LATE), False),
        ((None, EARLY), (None, None), False),
    ],
)
def test_only_what_its_source_calls_newer_is(here, there, newer):
    row = EntryFingerprint(
        id=UUID(int=1),
        source="ring",
        external_id="1",
        revision=1,
        content_hash=b"",
        aside_hash=b"",
        entry_time=EARLY,
        deleted=False,
        delete_reason=None,
        version=here[0],
        modified_at=here[1],
        stamp=None,
        parsed_by=None,
        missing=False,
        thread_id=None,
        thread_key=None,
    )
    draft = EntryDraft("ring", "1", "Text", version=there[0], modified_at=there[1])

    assert is_newer(draft, row) is newer
