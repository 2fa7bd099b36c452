"""A source that is asked for and is not there: that is said, and the nearest named."""

from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.search.response.job_answer import JobReader, read_answer
from tests.support.fixtures.asking import ANNA, BEN, Asking

UNSEEN = "There is no source {!r} with an entry that you may see."


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    asking.write(
        EntryDraft("excavators", "one", "bucket leaking"),
        EntryDraft("shift", "two", "bucket found", readers=("ben",)),
    )
    asking.write(EntryDraft("theirs", "three", "bucket lost"), tenant="elsewhere")
    return asking


def said(body: dict[str, Any]) -> list[str]:
    return [
        one["message"] for one in body["diagnostics"] if one["code"] == "source_unknown"
    ]


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("query", ["bucket source:excavatr", "source:excavatr"])
def test_that_there_is_no_such_source_is_said_with_the_nearest(logbook, query, mode):
    body = logbook.ask(query, mode=mode)
    assert body["results"] == []
    assert said(body) == [f"{UNSEEN.format('excavatr')} Did you mean excavators?"]


def test_a_source_of_somebody_else_is_none_and_is_not_the_nearest(logbook):
    for name in ("shift", "shfit", "theirs", "their"):
        body = logbook.ask(f"bucket source:{name}")
        assert said(body) == [UNSEEN.format(name)]
    assert said(logbook.ask("bucket source:shift", BEN)) == []
    misspelt = said(logbook.ask("bucket source:shfit", BEN))
    assert misspelt == [f"{UNSEEN.format('shfit')} Did you mean shift?"]


def test_beside_hits_of_other_sources_it_is_said_too(logbook):
    body = logbook.ask("bucket", filters={"source": {"in": ["excavators", "crane"]}})
    assert len(body["results"]) == 1
    assert len(said(body)) == 1
    assert len(said(logbook.ask("bucket (source:crane OR source:excavators)"))) == 1


@pytest.mark.parametrize("query", ["nothing source:excavators", "bucket -source:x"])
def test_of_a_source_that_is_there_or_unwanted_nothing_is_said(logbook, query):
    assert said(logbook.ask(query)) == []


def test_it_is_said_again_when_the_job_is_read_again(logbook):
    stored = logbook.ended(logbook.plan("bucket source:excavatr"))
    again = read_answer(JobReader(logbook.context, ANNA, acl_honesty=False), stored)
    assert again is not None
    assert len(said(again.to_json())) == 1
