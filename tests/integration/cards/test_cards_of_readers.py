"""A card shows no entry of another reader: every pair of callers and entries."""

import json
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from shared.access.scope import Scope
from shared.cards import make_cards
from shared.entries.draft import EntryDraft
from shared.search.response.end_search import Beside, end_search
from tests.support.ended_searches import job_of

BEGIN = datetime(2026, 3, 2, 6, tzinfo=UTC)
READERS: tuple[tuple[str, ...] | None, ...] = (
    None,
    ("anna",),
    ("ben",),
    ("rf",),
    ("anna", "ben"),
    (),
)
BOOKS = ("Operations", "Secret")
VISIBLE = (None, datetime(2999, 1, 1, tzinfo=UTC))
TENANTS = ("default", "elsewhere")
CALLERS = (
    Scope("default", "anna"),
    Scope("default", "ben", logbooks=("Operations",)),
    Scope("default", "carl", groups=("rf",)),
    Scope("default", "dora", logbooks=("Secret",)),
    Scope("elsewhere", "anna"),
)
STEPS = ("tripped", "was repaired", "forward power is 38 kW", "lock removed, LOTO-1-1")


def may_see(caller: Scope, tenant: str, one: EntryDraft) -> bool:
    """Tell it by the rules of the contract, without a database."""
    who = {caller.subject, *caller.groups}
    return (
        caller.tenant == tenant
        and (caller.logbooks is None or bool({*caller.logbooks} & {*one.logbooks}))
        and (one.readers is None or bool(who & {*one.readers}))
        and one.visible_from is None
    )


@pytest.mark.requirement("S4-04", "S4-28")
def test_no_card_shows_or_counts_an_entry_of_another_reader(asking, monkeypatch):
    # What they cost is another test's: here each must be made to be looked at.
    monkeypatch.setattr(make_cards, "MOST_MS", 10_000)
    written: dict[str, tuple[str, EntryDraft]] = {}
    for tenant in TENANTS:
        drafts = []
        kinds = product(READERS, BOOKS, VISIBLE)
        for number, (readers, book, visible) in enumerate(kinds):
            name = f"{tenant}-{number}"
            mark = f"mark{len(written):03d}{tenant}"
            drafts.append(
                EntryDraft(
                    "api",
                    name,
                    f"RFC2 {STEPS[number % len(STEPS)]} {mark}.",
                    entry_time=BEGIN + timedelta(hours=number),
                    title=f"RFC2 {mark}",
                    readers=readers,
                    logbooks=(book,),
                    visible_from=visible,
                    # All of them are one thread.
                    reply_to=f"{tenant}-0" if number else None,
                )
            )
            written[mark] = (tenant, drafts[-1])
        asking.write(*drafts, tenant=tenant)
    shown = 0
    for caller in CALLERS:
        plan = asking.plan("RFC2", caller, limit=50)
        job = job_of(asking.context, plan)
        arrived = asking.carried_out(plan)
        beside = Beside(make_cards=make_cards.make_cards)
        ended = end_search(asking.context, job, plan, arrived, beside)
        assert ended.answer is not None
        told = ended.answer.cards
        text = json.dumps([one.to_json() for one in told])
        seen = {
            mark
            for mark, (tenant, one) in written.items()
            if may_see(caller, tenant, one)
        }
        # One hit alone shares its thread with nobody.
        types = ["entity", "thread"] if len(seen) > 1 else ["entity"]
        assert [one.type for one in told] == types
        assert [one.count for one in told] == [len(seen)] * len(told)
        for mark in written:
            if mark not in seen:
                assert mark not in text, (caller.subject, mark)
            else:
                shown += mark in text
    assert shown
