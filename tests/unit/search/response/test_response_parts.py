"""Which hits beyond a page's scope are told: stronger, nearly as strong, or none."""

import pytest

from shared.search.ranking.ranked_hits import Ranked
from shared.search.response.response_parts import choose_rivals

BAND, LEAD, WINNER = 0.05, 0.15, 0.8


def hit(name: str, score: float, *, in_scope: bool = False) -> Ranked:
    factors = {"scope": 1.2} if in_scope else {}
    return Ranked(
        name, name, "logbook", 1, score, 0.0, {}, {}, {}, None, factors=factors
    )


def told(times_winner: float, band: float = BAND) -> str | None:
    items = [hit("in", WINNER, in_scope=True), hit("out", WINNER * times_winner)]
    found = choose_rivals(items, band, LEAD)
    assert found is None or [one.entry_id for one in found.items] == ["out"]
    return found and found.reason


@pytest.mark.requirement("S4-27")
@pytest.mark.parametrize(
    ("times", "reason"),
    [(0.94, None), (0.95, "close_band"), (1.0, "close_band"), (1.1, "stronger")],
)
def test_what_lies_within_the_band_or_above_is_told(times, reason) -> None:
    assert told(times) == reason


@pytest.mark.requirement("S4-69")
@pytest.mark.parametrize(("times", "reason"), [(0.84, None), (0.86, "close_band")])
def test_a_clear_lead_tells_of_none_however_wide_the_band(times, reason) -> None:
    assert told(times, band=0.5) == reason


@pytest.mark.requirement("S4-68")
def test_three_are_told_at_most_best_first() -> None:
    others = [hit(f"out{n}", 0.8 + n / 100) for n in range(6)]
    found = choose_rivals([hit("in", 0.8, in_scope=True), *others], BAND, LEAD)
    assert found is not None
    assert [one.entry_id for one in found.items] == ["out5", "out4", "out3"]


def test_with_nothing_within_the_scope_whatever_there_is_is_stronger() -> None:
    found = choose_rivals([hit("out", 0.2)], BAND, LEAD)
    assert found is not None
    assert found.reason == "stronger"
    assert choose_rivals([hit("in", 0.2, in_scope=True)], BAND, LEAD) is None
