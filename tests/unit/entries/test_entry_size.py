"""What counts against the size of an entry: whatever has no limit of its own."""

from typing import Any

import pytest

from api.entries.schemas.entries import EntryIn
from shared.entries.saving.validate import PushRules
from shared.errors import InvalidRequestError
from shared.settings.settings import Settings

LIMIT = 1000
RULES = PushRules(Settings.load({"LOGCHORD_MAX_ENTRY_BYTES": str(LIMIT)}))
# `{"a": ""}` without the letters between the last two quotes.
EMPTY_BYTES = 9


def admitted(**fields: Any) -> None:
    RULES.draft(EntryIn.model_validate(fields).model_dump(), "")


@pytest.mark.requirement("B5", "P11")
@pytest.mark.parametrize("letter", ["x", "ü", "\U0001f600"])
def test_metadata_count_against_the_size_of_an_entry(letter: str) -> None:
    left = LIMIT - EMPTY_BYTES - len("text")
    fill = letter * (left // len(letter.encode()))
    fill += "x" * (left - len(fill.encode()))
    admitted(text="text", metadata={"a": fill})
    with pytest.raises(InvalidRequestError) as caught:
        admitted(text="text", metadata={"a": f"{fill}x"})
    assert caught.value.error_code == "body_too_large"


@pytest.mark.requirement("B5")
def test_an_entry_without_metadata_may_fill_its_limit() -> None:
    admitted(text="x" * (LIMIT - 5), title="title")
    with pytest.raises(InvalidRequestError, match="1000 bytes"):
        admitted(text="x" * (LIMIT - 4), title="title")
