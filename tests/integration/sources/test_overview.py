"""How a source stands costs the same, however many entries it has."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page, tombstone_many
from shared.settings.source_sections import PUSH, SourceSettings
from shared.sources.admin import source_overview

TENANT = "default"
ALL = Scope(TENANT, "me")
BEGAN = datetime(2024, 6, 10, tzinfo=UTC)
CONFIGURED = {"api": SourceSettings(adapter=PUSH)}


def stock(conn, scope=ALL) -> tuple[int, bool, datetime | None, list[str]]:
    (view,) = source_overview.list_sources(
        conn, scope, CONFIGURED, stocks=source_overview.keep_stocks()
    )
    found = view.stock
    assert found is not None
    return found.entries, found.has_more, view.newest, found.logbooks


@pytest.fixture
def five(conn):
    drafts = [
        EntryDraft(
            "api",
            str(number),
            "Text",
            entry_time=BEGAN + timedelta(hours=number),
            logbooks=("RF" if number == 0 else "Ops",),
            readers=("rf",) if number == 4 else None,
        )
        for number in range(5)
    ]
    save_page(conn, TENANT, drafts, stages=[], editor="test")


@pytest.mark.usefixtures("five")
def test_what_is_deleted_or_closed_is_not_counted(conn):
    hour = timedelta(hours=1)
    assert stock(conn) == (4, False, BEGAN + 3 * hour, ["Ops", "RF"])
    rf = Scope(TENANT, "me", ("rf",))
    assert stock(conn, rf) == (5, False, BEGAN + 4 * hour, ["Ops", "RF"])
    tombstone_many(conn, TENANT, "api", ["3"], reason="gone", stages=[])
    assert stock(conn) == (3, False, BEGAN + 2 * hour, ["Ops", "RF"])
    assert stock(conn, Scope("other", "me"))[0] == 0


@pytest.mark.usefixtures("five")
def test_only_the_newest_are_counted_and_it_says_so(conn, monkeypatch):
    monkeypatch.setattr(source_overview, "MOST_COUNTED", 3)
    entries, has_more, newest, _ = stock(conn)
    assert (entries, has_more) == (2, True)
    assert newest == BEGAN + timedelta(hours=3)
    # Whoever may see only what is older is told that there may be more.
    of_rf = Scope(TENANT, "me", logbooks=("RF",))
    assert stock(conn, of_rf) == (0, True, None, [])


@pytest.mark.usefixtures("five")
def test_who_asks_only_how_far_it_is_behind_has_nothing_counted(conn):
    (view,) = source_overview.list_sources(conn, ALL, CONFIGURED)
    assert view.stock is None
    assert view.newest == BEGAN + timedelta(hours=3)
