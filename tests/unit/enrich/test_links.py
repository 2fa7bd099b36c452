"""What a text names of other entries, tickets and addresses."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.enrich import links
from shared.enrich.links import TextLink
from shared.errors import ConfigurationError
from shared.settings.sections import WorkSettings
from shared.stages.stage_contract import NoOptions, StageInput
from shared.text.facility.facility import PLAIN, Facility, load
from tests.support.linear_cost import assert_linear

TICKETS = """
tickets:
  - {kind: jira, pattern: '\\bOPS-[0-9]+', url: 'https://tickets.example.org/{ticket}'}
  - {kind: permit, pattern: '\\bRSR +[0-9]{2,6}'}
"""


@pytest.fixture(scope="module")
def facility(tmp_path_factory: pytest.TempPathFactory) -> Facility:
    path = tmp_path_factory.mktemp("facility") / "facility.yaml"
    path.write_text(TICKETS, "utf-8")
    return load(path)


def read(
    text: str, facility: Facility = PLAIN, original: str = "", own: str = "77"
) -> list[TextLink]:
    fields = {
        "text": text,
        "original": original or text,
        "source": "ops",
        "external_id": own,
    }
    return links.find(StageInput(fields, NoOptions(), facility))


def told(found: list[TextLink]) -> list[tuple[str, str]]:
    return [(one.kind, one.external_id or one.ticket or one.url or "") for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("see entry 1234.", [("entry", "1234")], id="plain"),
        pytest.param("See log entry #1234", [("entry", "1234")], id="hash"),
        pytest.param("siehe Eintrag Nr. 12", [("entry", "12")], id="german"),
        pytest.param("elog:1234, again", [("entry", "1234")], id="elog"),
        pytest.param("In reply to entry 5", [("reply", "5")], id="reply"),
        pytest.param("Antwort auf den Eintrag 5", [("reply", "5")], id="antwort"),
        pytest.param("re: entry 5", [("reply", "5")], id="re"),
        pytest.param(
            "entries 12, 13 and #14",
            [("entry", "12"), ("entry", "13"), ("entry", "14")],
            id="list",
        ),
        pytest.param("entry A-12/3", [("entry", "A-12/3")], id="letters"),
        pytest.param("see entry below", [], id="no-number"),
        pytest.param("the entry 10:30 was late", [], id="time"),
        pytest.param("entry 2026-03-02", [], id="date"),
        pytest.param("re-entry 5, reentry 6", [], id="within-a-word"),
        pytest.param("see entry 77", [], id="itself"),
        pytest.param(
            "(plots: https://a.example/p_(1)?x=1, or http://b.example/.)",
            [("url", "https://a.example/p_(1)?x=1"), ("url", "http://b.example/")],
            id="addresses",
        ),
        pytest.param(
            "https://log.example/e/maint/M%2F5", [("entry", "M/5")], id="permalink"
        ),
        pytest.param("https://", [], id="no-address"),
    ],
)
def test_what_a_text_names_is_found(text, expected):
    found = read(text)
    assert told(found) == expected
    assert [text[one.start : one.end] for one in found] == [one.text for one in found]


def test_tickets_are_what_the_facility_says(facility):
    text = "OPS-12 under rsr 0312, see https://tickets.example.org/OPS-12"
    assert [(one.kind, one.ticket, one.url) for one in read(text, facility)] == [
        ("ticket", "jira", "https://tickets.example.org/OPS-12"),
        ("ticket", "permit", None),
        ("url", None, "https://tickets.example.org/OPS-12"),
    ]
    assert read("OPS-12") == []


def test_an_id_without_its_logbook_is_of_the_same_one():
    assert told(read("see entry 12", own="RF/77")) == [("entry", "RF/12")]
    assert told(read("see entry Vac/12", own="RF/77")) == [("entry", "Vac/12")]
    assert read("see entry 77", own="RF/77") == []


def test_places_are_those_of_the_text_as_it_came():
    text = "see entry 12 and this (https://a.example/x)"
    marked = '<p>see <b>entry 12</b> and <a href="https://a.example/x">this</a></p>'
    found = read(text, original=marked)
    assert [one.text for one in found] == ["entry 12", "https://a.example/x"]
    assert [marked[one.start : one.end] for one in found] == [one.text for one in found]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param("{kind: jira, pattern: '[0-9]*'}", id="matches-nothing"),
        pytest.param("{kind: jira, pattern: '['}", id="no-expression"),
        pytest.param("{kind: j, pattern: 'O', url: 'ftp://a/{ticket}'}", id="scheme"),
        pytest.param("{kind: j, pattern: 'O', url: 'https://a/'}", id="no-ticket"),
    ],
)
def test_a_ticket_that_cannot_be_found_is_refused(tmp_path: Path, wrong):
    path = tmp_path / "facility.yaml"
    path.write_text(f"tickets:\n  - {wrong}\n", "utf-8")
    with pytest.raises(ConfigurationError, match=r"tickets\.0"):
        load(path)


def test_what_is_said_of_tickets_has_no_text_analysed_anew(facility, tmp_path: Path):
    path = tmp_path / "facility.yaml"
    path.write_text("{}", "utf-8")
    silent = load(path)
    assert facility.fingerprint == silent.fingerprint
    assert facility.facts_fingerprint == silent.facts_fingerprint
    assert facility.whole_fingerprint != silent.whole_fingerprint


PIECES = st.sampled_from(
    [
        *("entry ", "entries ", "12", "#", ", ", " and ", "http://"),
        *("https://a.b/", ")"),
        *("(", ".", "re: ", "reply to ", "RSR 12", "OPS-1", "ä", "\U0001f600", "\n"),
        "<b>",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=60).map("".join))
def test_every_text_is_read_and_every_link_stands_where_it_says(facility, text):
    found = read(text, facility)
    assert found == read(text, facility)
    places = [(one.start or 0, one.end or 0) for one in found]
    assert places == sorted(places)
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    for one in found:
        assert text[one.start : one.end] == one.text
        assert one.text


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("http://a.example/x ", id="addresses"),
        pytest.param("https://", id="openings"),
        pytest.param("entry 12, 13 and ", id="entries"),
        pytest.param("entry ", id="words"),
        pytest.param("in reply to the ", id="answers"),
        pytest.param("RSR 12345 ", id="tickets"),
        pytest.param("1.", id="numbers"),
        pytest.param("http://a" + ")" * 1990 + " ", id="brackets"),
    ],
)
def test_a_long_text_is_read_in_linear_time_and_fits(facility, piece):
    text = piece * (200_000 // len(piece))
    assert_linear(lambda part: read(part, facility), text)
    found = read(text, facility)
    assert len(found) <= links.MAX_LINKS
    stored = json.dumps([one.model_dump(mode="json") for one in found])
    assert len(stored) < WorkSettings().max_finding_bytes
