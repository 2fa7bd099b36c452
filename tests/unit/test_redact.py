"""Redaction: what is a secret, and that no text of a user's choice holds it up."""

import pytest

from shared.redact import redact
from tests.support.linear_cost import assert_linear

LONGEST_TEXT = 60_000


@pytest.mark.requirement("SEC14")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("to postgresql://me:pw@db:5432/x", "to postgresql://me:***@db:5432/x"),
        ("redis://:p@ss@h:1/0 and more", "redis://:***@h:1/0 and more"),
        ("a://b:c@d?password=e", "a://b:***@d?password=***"),
        ("http://host:8006/?token=e", "http://host:8006/?token=***"),
        ("see http://host:8006/docs", "see http://host:8006/docs"),
        ("key lk_0123456789ab_S3cret-x", "key ***"),
    ],
)
def test_a_secret_is_hidden_and_the_words_around_it_stay(text: str, told: str) -> None:
    assert redact(text) == told


@pytest.mark.parametrize("part", ["a", "a://:", "lk_", "lk_a-", "token ", "token:'"])
def test_a_long_text_is_read_once_whatever_it_repeats(part: str) -> None:
    assert_linear(redact, part * (LONGEST_TEXT // len(part)))
