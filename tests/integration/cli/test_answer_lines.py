"""An answer in the terminal: numbered sources, what it is worth, what is unknown."""

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import click
import pytest

from api.cli import output
from api.cli.search import ask, sentences
from api.cli.search.hit import HitLayout
from shared.entries.draft import EntryDraft
from shared.search.response.search_answer import SearchAnswer
from tests.integration.search.absence.test_outside_time_range import asked, draft
from tests.support.fixtures.asking import Asking

PAGE = HitLayout(ZoneInfo("Europe/Berlin"), 200, 200)


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    asking.write(
        EntryDraft(
            *("api", "12", "Turbine 1 stopped on low oil."),
            title="Turbine 1",
            entry_time=datetime(2026, 3, 2, 6, 40, tzinfo=UTC),
            authors=("Ben",),
        ),
        EntryDraft(
            *("api", "1234", "Turbine 2 stopped on its bearing."),
            title="No 2",
            entry_time=datetime(2026, 3, 9, 6, 40, tzinfo=UTC),
        ),
    )
    return asking


def printed(answer: SearchAnswer) -> list[str]:
    body: dict[str, Any] = json.loads(json.dumps(answer.to_json()))
    return [click.unstyle(one) for one in sentences.lines(body, PAGE)]


def test_sources_are_numbered_as_the_sentences_cite_them(logbook: Asking) -> None:
    lines = printed(logbook.answer_with_cards("turbine 1 vs turbine 2"))
    assert lines[:2] == [
        "Turbine 1 stopped on low oil [1].",
        "Turbine 2 stopped on its bearing [2].",
    ]
    said = [one for one in lines if "grade A" in one]
    assert len(said) == 1
    cited = [one.split(maxsplit=1)[1] for one in lines if one.startswith("cites")]
    # When it was written, and by whom, is asked as often as what.
    assert cited == [
        "[1] 12  Turbine 1 · 2026-03-02 07:40 CET (06:40 UTC) · Ben",
        "[2] 1234  No 2 · 2026-03-09 07:40 CET (06:40 UTC)",
    ]


def test_what_no_entry_has_is_told_as_unknown(logbook, capsys) -> None:
    answer = logbook.answer_with_cards("Why did turbine 2 quench?")
    body = json.loads(json.dumps(answer.to_json()))
    ask.tell_answer(output.Output(), body)
    shown = click.unstyle(capsys.readouterr().out).splitlines()
    (unknown,) = [one for one in shown if one.startswith("unknown")]
    assert unknown.split(maxsplit=1)[1] == "no entry that was found says: quench"


def test_why_no_model_words_an_answer_is_told(logbook, capsys) -> None:
    answer = logbook.answer_with_cards("Why did turbine 2 stop?")
    body = json.loads(json.dumps(answer.to_json()))
    cut = {"level": "warning", "message": "No model words this answer (cut)."}
    ask.tell_answer(output.Output(), {**body, "diagnostics": [cut]})
    assert "warning: No model words this answer (cut).\n" in capsys.readouterr().err


def test_of_a_time_without_entries_the_hits_of_other_times_are_told(asking, capsys):
    asking.write(draft("far", 30, "klystron tripped long ago"))
    ask.tell_answer(output.Output(), asked(asking, "klystron tripped in January"))
    shown = click.unstyle(capsys.readouterr().out)
    assert "answer    insufficient \u00b7 grade D \u00b7 no_results" in shown
    assert "ops/far" in shown.partition("At other times:")[2]
