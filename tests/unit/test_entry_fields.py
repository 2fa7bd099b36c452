"""What the table of fields makes, and what it must not change of what is stored."""

import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from api.entries.schemas.entries import EntryIn, EntryOut
from shared.adapter_contract.entry import AttachmentRef
from shared.entries import draft
from shared.entries.draft import EntryDraft
from shared.entry_fields import FIELDS, NAMES, Field
from shared.opensearch import mapping
from shared.search.query.filters import filters

THEN = datetime(2024, 5, 14, 6, 12, tzinfo=UTC)
BARE = EntryDraft("olog", "1", "RF trip", entry_time=THEN)
WHOLE = replace(
    BARE,
    shift="ä",
    level="ä",
    category="ä",
    authors=("jo",),
    event_time=THEN,
    metadata={"b": {"d": 1, "c": None}, "a": "x"},
    attachments=(AttachmentRef("1", "pump.png", bytes=10),),
    related=("2",),
)
# As they were before there was a table.
HASHES = {
    "BARE": "99ff432d7472f559c63a8808a0d7dfa97f78280b8993b2a0bd98e4f0cc7d8db0",
    "WHOLE": "d6c2cfc981c2bc608091bc1012f876c0583a61e984b568448023492ea2794da8",
}
MAPPING = "58f7ab12452a03426e167434960d4c21114c3d919fe5388ffead34e3f3ab94e4"


def later() -> set[str]:
    return {one.name for one in FIELDS if not one.always_hashed}


def test_an_entry_of_before_keeps_its_hash():
    hashes = {"BARE": BARE.content_hash().hex(), "WHOLE": WHOLE.content_hash().hex()}
    assert hashes == HASHES


def test_a_field_that_came_later_is_hashed_where_it_is_set(monkeypatch):
    before = BARE.content_hash()
    monkeypatch.setattr(draft, "FIELDS", (*FIELDS, Field("url")))

    assert BARE.content_hash() == before
    assert replace(BARE, url="R-1").content_hash() != before


def test_the_mapping_of_this_version_has_only_gained_fields():
    body = mapping.make_index_body()
    for name in later():
        del body["mappings"]["properties"][name]
    assert mapping.MAPPING_VERSION == 3
    assert hashlib.sha256(json.dumps(body).encode()).hexdigest() == MAPPING


@pytest.mark.parametrize("model", [EntryIn, EntryOut])
def test_every_field_is_described_in_the_schema(model):
    assert set(NAMES) <= set(model.model_fields)


@pytest.mark.parametrize("name", NAMES)
def test_a_field_is_called_as_a_question_can_name_it_and_no_other_filter_is(name):
    assert re.fullmatch("[a-z_]+", name)
    assert filters.BUILT.count(name) == 1
    assert name not in filters.ALIASES
