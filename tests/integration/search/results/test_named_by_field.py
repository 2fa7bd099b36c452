"""What a field names is found for sure: strictness leaves none of it out (U18)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from tests.support.fixtures.asking import Asking

WHEN = datetime(2026, 3, 2, 8, tzinfo=UTC)
TEXTS = {
    "smith": ("The pump of sector four was noisy again, HCM03 is not", "Ann Smith"),
    "jones": ("Somebody has to look at the pump near HCM04 some day", "Bob Jones"),
}


@pytest.fixture
def written(asking: Asking) -> Asking:
    drafts = [
        EntryDraft(
            "api",
            name,
            text,
            authors=(author,),
            tags=("cooling",),
            level="info",
            entry_time=WHEN,
            metadata={"system": "water"},
        )
        for name, (text, author) in TEXTS.items()
    ]
    asking.write(*drafts)
    return asking


def found(asking: Asking, query: str, mode: str) -> tuple[set[str], set[str]]:
    """Return the confidences of what a strict search finds, and their authors."""
    strict: Any = {"mode": mode, "ordering": {"strict": True}}
    results = asking.ask(query, **strict)["results"]
    return {one["confidence"] for one in results}, {one["author"] for one in results}


@pytest.mark.requirement("U18")
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_hit_of_words_that_a_field_names_is_high_and_outlives_strictness(
    written: Asking, mode: str
):
    for query in (
        "device:HCM03 pump",
        "author:smith pump",
        "id:smith pump",
        "metadata.system:water author:smith pump",
        "(author:smith OR id:smith) AND pump",
    ):
        assert found(written, query, mode) == ({"high"}, {"Ann Smith"}), query
    assert found(written, "tag:cooling pump", mode)[1] == {"Ann Smith", "Bob Jones"}


@pytest.mark.requirement("U18")
@pytest.mark.parametrize(
    "query",
    [
        "pump",
        "level:info pump",
        "date:2026-03-02 pump",
        "NOT author:jones pump",
        "(author:smith OR level:info) AND pump",
    ],
    ids=["none", "class", "time", "excluded", "or_a_class"],
)
def test_a_field_that_names_nothing_makes_no_hit_sure(written: Asking, query: str):
    assert "high" not in found(written, query, "keyword")[0]
    weak = written.ask(query)["results"]
    assert "Ann Smith" in {one["author"] for one in weak}
    assert "high" not in {one["confidence"] for one in weak}


@pytest.mark.parametrize(
    ("ordering", "told"),
    [
        ({"strict": True}, {"confidence": 0.5}),
        (
            {"strict": True, "min_relevance_score": 0.3},
            {"confidence": 0.5, "min_relevance_score": 0.3},
        ),
        ({"min_relevance_score": 0.3}, {"min_relevance_score": 0.3}),
        ({}, {}),
    ],
)
def test_what_strictness_cuts_is_told_as_confidence_and_not_as_a_score_given(
    written: Asking, ordering: dict[str, Any], told: dict[str, float]
):
    body = written.ask("pump", ordering=ordering)
    assert body["thresholds_applied"] == told
