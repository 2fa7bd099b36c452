"""Cursors open what they were made for, and nothing else."""

import base64
import hmac
import zlib
from dataclasses import replace

import pytest

from shared.access.cursors import MAX_CURSOR_BYTES, Binding, Signer
from shared.errors import InvalidRequestError

BINDING = Binding("GET /v1/entries", "{}", "key-1", 10)
PLACE = ["2026-03-02T05:10:00+00:00", "01a1fdfb-7a3c-7f55-bf65-0f178b48bbb1"]


def test_a_cursor_gives_back_its_place():
    signer = Signer(b"s" * 32, 60)

    cursor = signer.make(PLACE, BINDING)

    assert signer.open(cursor, BINDING) == PLACE
    assert len(cursor) <= MAX_CURSOR_BYTES
    assert cursor.isascii()


@pytest.mark.requirement("SEC9")
@pytest.mark.parametrize(
    "other",
    [
        replace(BINDING, route="GET /v1/others"),
        replace(BINDING, query='{"a":1}'),
        replace(BINDING, caller="key-2"),
        replace(BINDING, limit=11),
    ],
)
def test_a_cursor_belongs_to_route_query_caller_and_size(other: Binding):
    signer = Signer(b"s" * 32, 60)
    cursor = signer.make(PLACE, BINDING)

    with pytest.raises(InvalidRequestError) as caught:
        signer.open(cursor, other)

    assert caught.value.error_code == "bad_cursor"


@pytest.mark.requirement("SEC9")
def test_an_expired_cursor_and_one_of_another_installation_are_refused():
    expired = Signer(b"s" * 32, -1).make(PLACE, BINDING)
    foreign = Signer(b"x" * 32, 60).make(PLACE, BINDING)

    for cursor in (expired, foreign):
        with pytest.raises(InvalidRequestError):
            Signer(b"s" * 32, 60).open(cursor, BINDING)


@pytest.mark.requirement("SEC9")
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "=" * 8,
        "A" * 512,
        "A" * 100_000,
        "\u00e9" * 20,
        base64.urlsafe_b64encode(zlib.compress(b"x" * 300_000)).decode()[:512],
    ],
)
def test_what_was_never_a_cursor_is_refused(cursor: str):
    with pytest.raises(InvalidRequestError) as caught:
        Signer(b"s" * 32, 60).open(cursor, BINDING)

    assert caught.value.error_code == "bad_cursor"


def test_a_second_spelling_of_a_cursor_is_refused():
    signer = Signer(b"s" * 32, 60)
    cursor = signer.make(["a"], BINDING)

    for other in (cursor + "=", cursor + "==", cursor.replace("-", "+") + "\n"):
        with pytest.raises(InvalidRequestError):
            signer.open(other, BINDING)


@pytest.mark.requirement("SEC9")
def test_how_much_of_a_signature_is_right_takes_no_time_to_tell(monkeypatch):
    compared: list[tuple[int, int]] = []

    def compare(ours: bytes, given: bytes) -> bool:
        compared.append((len(ours), len(given)))
        return ours == given

    monkeypatch.setattr(hmac, "compare_digest", compare)
    signer = Signer(b"s" * 32, 60)
    cursor = signer.make(PLACE, BINDING)
    signer.open(cursor, BINDING)
    with pytest.raises(InvalidRequestError):
        Signer(b"x" * 32, 60).open(cursor, BINDING)

    assert len(compared) == 2
    assert all(ours == given for ours, given in compared)
