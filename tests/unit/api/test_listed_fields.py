"""Which fields of entries a listing shows."""

import pytest

from api.entries.entry_amount import parse_fields, select_fields
from shared.errors import InvalidRequestError

ENTRY = {"entry_id": "1", "title": "RFC2", "text": "It tripped."}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (None, ENTRY),
        # Nothing is named, so nothing is left out.
        ("", ENTRY),
        (" , ", ENTRY),
        ("title", {"title": "RFC2"}),
        ("text, title", {"text": "It tripped.", "title": "RFC2"}),
    ],
)
def test_an_entry_shows_what_is_named_and_else_all(written, shown) -> None:
    assert select_fields([ENTRY], parse_fields(written)) == [shown]


def test_what_is_no_field_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidRequestError, match="title"):
        parse_fields("titel")
