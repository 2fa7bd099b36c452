"""A source that was read whole is not said to lack what is older; a feed is."""

from datetime import UTC, datetime

import pytest

from shared.sources import run_records
from tests.contract.stubs.feed import FeedStub
from tests.contract.stubs.generic_csv import CSVStub
from tests.support.fixtures.asking import asking_of
from workers.adapters.kit.stub import StubEntry


@pytest.mark.parametrize("filters", [{}, {"date_to": "1980-01-01"}])
def test_nothing_of_a_sheet_that_was_read_is_called_unknown(runtime, database, filters):
    sheet = runtime.stub(CSVStub)
    for number, year in enumerate((1985, 2024), 1):
        sheet.add(StubEntry(number, datetime(year, 6, 10, tzinfo=UTC), "Trip", "text"))
    runtime.configure("orders", sheet)
    runtime.run("orders", run_records.BACKFILL)
    runtime.run("orders")

    with asking_of(database) as logbook:
        body = logbook.ask("unheardof", filters=filters)

    covered = body["coverage"]
    assert [one["source"] for one in covered["sources"]] == ["orders"]
    assert covered["sources"][0]["is_whole"] is True
    assert [one for one in covered["unknown"] if one["why"] == "history"] == []
    said = body["context_answer"]
    assert said["code"] != "outside_coverage"
    for contrary in ("is not loaded", "loaded whole"):
        assert contrary not in said["summary"]


def test_a_feed_is_complete_no_further_back_than_its_oldest_item(runtime, database):
    written = datetime(2024, 6, 10, tzinfo=UTC)
    feed = runtime.stub(FeedStub)
    feed.add(StubEntry(1, written, "Trip", "text"))
    runtime.configure("news", feed)
    runtime.run("news", run_records.BACKFILL)

    with asking_of(database) as logbook:
        body = logbook.ask("unheardof", filters={"date_to": "2020-01-01"})

    (source,) = body["coverage"]["sources"]
    assert source["complete_from"] == "2024-06-10T00:00:00Z"
    assert source["is_whole"] is False
    assert body["context_answer"]["code"] == "outside_coverage"
