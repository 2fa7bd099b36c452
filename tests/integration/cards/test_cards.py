"""Cards of what a question names or its best hits share, from what the caller sees."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from shared.access.scope import Scope
from shared.cards.make_cards import make_cards
from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from shared.search.jobs import job as jobs
from shared.search.response.card import Card
from shared.search.response.end_search import Beside, end_search, store
from shared.search.response.job_answer import JobReader, read_answer
from shared.search.response.search_answer import SearchAnswer
from shared.text.facility.devices import Register, Thing
from tests.support.ended_searches import job_of
from tests.support.fixtures.asking import ANNA, BEN, Asking

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
BESIDE = Beside(make_cards=make_cards)


def draft(name: str, text: str, hours: int = 0, **more: Any) -> EntryDraft:
    at = BEGIN + timedelta(hours=hours)
    return EntryDraft("api", name, text, entry_time=at, **more)


def answer(
    asking: Asking, query: str, scope: Scope = ANNA, **more: Any
) -> SearchAnswer:
    plan = asking.plan(query, scope, **more)
    job = job_of(asking.context, plan)
    ended = end_search(asking.context, job, plan, asking.carried_out(plan), BESIDE)
    assert ended.answer is not None
    return ended.answer


def cards(
    asking: Asking, query: str, scope: Scope = ANNA, **more: Any
) -> dict[str, Card]:
    return {one.card_id: one for one in answer(asking, query, scope, **more).cards}


def lines(card: Card) -> dict[str, str]:
    return {one.kind: one.text for one in reversed(card.lines)}


def test_a_device_card_says_when_it_tripped_last_and_that_it_is_fixed(asking) -> None:
    ids = asking.write(
        draft("OPS-1", "Tripped on arc, reset at once.", title="HCM03 tripped"),
        draft("OPS-2", "HCM03 tripped on overtemperature. Beam lost.", 50),
        draft("OPS-3", "Fan replaced, it is back on.", 53, reply_to="OPS-2"),
        draft("OPS-4", "QF9 tripped, HCM03 looks fine.", 60),
        draft("OPS-5", "Coffee.", 70),
    )
    card = cards(asking, "HCM03 tripped")["entity:device:hcm3"]

    told = lines(card)
    assert told["last_trip"] == "HCM03 tripped on overtemperature."
    assert told["last_fix"] == "it is back on."
    assert card.state == "resolved"
    assert told["last_entry"].startswith("QF9 tripped")
    assert card.count == 3
    assert card.entry_ids == [str(ids[name]) for name in ("OPS-4", "OPS-2", "OPS-1")]
    texts = {
        str(ids["OPS-2"]): "HCM03 tripped on overtemperature. Beam lost.",
        str(ids["OPS-3"]): "Fan replaced, it is back on.",
    }
    cited = [one for one in card.lines if one.start is not None]
    assert {one.entry_id for one in cited} >= {*texts}
    named = {str(entry_id): f"/e/api/{name}" for name, entry_id in ids.items()}
    assert all(one.permalink == named[one.entry_id] for one in card.lines)
    for one in cited:
        if one.entry_id in texts:
            assert texts[one.entry_id][one.start : one.end] == one.text


@pytest.mark.requirement("S4-28")
def test_spellings_of_a_device_are_one_card_with_its_aliases(asking: Asking) -> None:
    things = Register(
        [Thing("device", "HCM 3", None, ("horizontal corrector 3", "HCM03"))]
    )
    asking.context = replace(
        asking.context, facility=replace(asking.context.facility, things=things)
    )
    asking.write(
        draft("a", "HCM03 tripped."),
        draft("b", "HCM 3 tripped again.", 1),
        draft("c", "hcm-3 tripped once more.", 2),
    )
    found = cards(asking, "tripped")
    assert [one.type for one in found.values()] == ["entity"]
    (card,) = found.values()
    assert card.count == 3
    assert {card.title, *card.aliases} >= {"HCM03", "HCM 3"}
    assert len(card.entry_ids) == 3


def test_a_card_needs_the_question_or_forty_per_cent_of_the_best(asking) -> None:
    asking.write(
        *(draft(f"q{n}", f"QF{n} vacuum leak", n) for n in range(1, 7)),
        *(draft(f"h{n}", "HCM03 vacuum leak", 10 + n) for n in range(4)),
    )
    assert [*cards(asking, "vacuum leak")] == ["entity:device:hcm3"]
    assert cards(asking, "vacuum leak")["entity:device:hcm3"].why == "shared"
    # Three of ten are not enough.
    asking.write(draft("h3", "QF9 vacuum leak", 13))
    assert [*cards(asking, "vacuum leak")] == []
    named = cards(asking, "QF2 leak")
    assert named["entity:device:qf2"].why == "named"


@pytest.mark.requirement("S4-28")
def test_a_card_names_twenty_entries_at_most_and_counts_them_all(asking) -> None:
    asking.write(*(draft(f"n{n}", "HCM03 drifts", 24 * n) for n in range(45)))
    card = cards(asking, "HCM03", limit=2)["entity:device:hcm3"]
    assert len(card.entry_ids) == 20
    assert card.count == 45
    assert card.facets["kind"] == {"logbook": 45}
    assert sum(card.facets["month"].values()) == 45
    assert card.per_month == pytest.approx(45 / (44 / 30.4375), abs=0.01)


def test_a_thread_card_has_its_steps_in_order_with_their_durations(asking) -> None:
    asking.write(
        draft("T-1", "Gate valve closed: vacuum interlock tripped.", title="Beam lost"),
        draft("T-2", "The cause was a leaking O ring.", 2, reply_to="T-1"),
        draft("T-3", "O ring replaced.", 5, reply_to="T-1"),
        draft("T-4", "Beam is back.", 6, reply_to="T-1"),
    )
    found = cards(asking, "beam OR ring")
    (card,) = [one for one in found.values() if one.type == "thread"]
    assert card.state == "resolved"
    assert card.title == "Beam lost"
    assert [one.kind for one in card.lines] == ["trip", "cause", "action", "restored"]
    assert [one.seconds for one in card.lines] == [None, 7200.0, 10_800.0, 3600.0]
    times = [datetime.fromisoformat(one.time) for one in card.lines]
    assert all(a <= b for a, b in pairwise(times))


def test_latest_values_and_locks_are_told_with_who_says_so(asking: Asking) -> None:
    ids = asking.write(
        draft("V-1", "RFC2 forward power 40 kW."),
        draft("V-2", "RFC2 forward power 38 kW.", 4),
        draft("L-1", "Lock and tag LOTO-2026-0111 applied to the breaker of RFC2.", 5),
        draft("L-2", "LOTO-2026-0111 removed, RFC2 may be switched on.", 9),
    )
    card = cards(asking, "RFC2")["entity:device:rfc2"]
    (value,) = [one for one in card.lines if one.kind == "value"]
    assert value.text == "forward power 38 kW"
    assert value.entry_id == str(ids["V-2"])
    locks = [(one.kind, one.entry_id) for one in card.lines if "lock" in one.kind]
    assert locks == [
        ("lock_removed", str(ids["L-2"])),
        ("lock_applied", str(ids["L-1"])),
    ]


def test_a_value_has_the_unit_that_its_entry_gives_it(asking: Asking) -> None:
    asking.write(
        draft("V-1", "RFC2 frequency 499.654 MHz."),
        draft("V-2", "RFC2 gap current 1100 mA, gap voltage 0.5 kV.", 1),
        draft("V-3", "RFC2 Temperatur 86 \u00b0F, Druck 2,5 psi.", 2, language="de"),
    )
    card = cards(asking, "RFC2")["entity:device:rfc2"]
    values = [one.text.split() for one in card.lines if one.kind == "value"]
    assert {" ".join(words[-2:]) for words in values} == {
        *("499.654 MHz", "1100 mA", "0.5 kV", "86 \u00b0F", "2.5 psi"),
    }


def test_a_stored_job_has_the_cards_of_whoever_reads_it(asking: Asking) -> None:
    asking.write(
        draft("a", "HCM03 tripped."),
        draft("b", "HCM03 is back on.", 3, readers=("anna",)),
    )
    plan = asking.plan("HCM03")
    job = job_of(asking.context, plan)
    ended = end_search(asking.context, job, plan, asking.carried_out(plan), BESIDE)
    store(asking.pool, job, ended)
    with connection(asking.pool) as conn:
        kept = jobs.find_own_job(conn, plan.scope, job.job_id)
    told = {}
    for scope in (ANNA, BEN):
        reader = JobReader(asking.context, scope, make_cards=make_cards)
        read = read_answer(reader, kept)
        assert read is not None
        (card,) = read.cards
        told[scope.subject] = (card.state, card.count)
    assert told == {"anna": ("resolved", 2), "ben": ("open", 1)}
