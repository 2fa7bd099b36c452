"""A request to be told or shown something is searched for what it is of."""

from __future__ import annotations

import pytest

from shared.search.query.language import grammar, tree_text
from shared.search.query.request_words import strip_request


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tell me about AO", "AO"),
        ("please show us all entries about the dome -shutter", "the dome -shutter"),
        ("list everything about turbine 2", "turbine 2"),
        ("find all leaks in sector 4", "leaks in sector 4"),
        ("Zeig mir alle Eintr\u00e4ge zu GV-15", "GV-15"),
        ("was wissen wir \u00fcber den Dichtring", "den Dichtring"),
        # These may be what is looked for.
        ("list of spares", "list of spares"),
        ("find the leak", "find the leak"),
        ("show me", "show me"),
        ("tell AND me", "tell AND me"),
        ('"tell me about" AO', '"tell me about" AO'),
        ("dome tell me about", "dome tell me about"),
    ],
)
def test_what_only_asks_to_be_told_is_not_searched(text: str, wanted: str) -> None:
    stripped = strip_request(grammar.parse(text).tree)
    assert tree_text.text_of(stripped) == tree_text.text_of(grammar.parse(wanted).tree)
    assert stripped is not None


def test_words_keep_their_places() -> None:
    stripped = strip_request(grammar.parse("tell me about AO last night").tree)
    assert stripped is not None
    assert tree_text.text_of(stripped) == "AO last night"
    assert getattr(stripped, "start") == len("tell me about ")  # noqa: B009 - any node
