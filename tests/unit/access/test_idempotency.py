"""Which keys can be one, and what an answer is bound to."""

import pytest

from shared.access import idempotency
from shared.access.scope import Scope
from shared.errors import AccessError, InvalidRequestError


@pytest.mark.requirement("SEC10")
@pytest.mark.parametrize("key", ["", " ", "a b", "a\n", "\x7f", "\u00e9", "x" * 129])
def test_a_key_is_visible_ascii_of_at_most_128_characters(key: str):
    with pytest.raises(InvalidRequestError) as caught:
        idempotency.request(Scope("default", "key-1"), "POST /v1/entries", key, b"")

    assert caught.value.error_code == "idempotency_key_invalid"


def test_a_key_at_the_limit_is_taken_and_bound_to_the_body():
    first = idempotency.request(Scope("t", "c"), "r", "~" * 128, b"one")
    other = idempotency.request(Scope("t", "c"), "r", "~" * 128, b"two")

    assert first
    assert other
    assert first.body_hash != other.body_hash


def test_an_admin_holds_every_scope_and_others_their_own():
    reader = Scope(tenant="t", subject="s", allowed=frozenset({"read"}))
    admin = Scope(tenant="t", subject="s", allowed=frozenset({"admin"}))

    for needed in ("read", "search", "ingest", "admin"):
        admin.require(needed)
    reader.require("read")
    with pytest.raises(AccessError) as caught:
        reader.require("ingest")
    assert caught.value.details == {"needed": "ingest"}
