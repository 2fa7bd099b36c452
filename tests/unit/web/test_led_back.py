"""Whoever must log in first is led back to the page that they asked for."""

from urllib.parse import parse_qs, urlsplit

from shared.access.scope import Scope
from shared.settings.settings import Settings
from tests.support.read_page import read_page
from tests.support.web_app import browse

# The name of an entry with what would end a path, and its revision.
NAMED = "/e/api/a%23b%3Fc%40d%2Fe@1?q=a+b%26c"


def next_of(address: str) -> str:
    parts = urlsplit(address)
    assert parts.path == "/lb/login"
    return parse_qs(parts.query)["next"][0]


BELOW = Settings(base_path="/lb")


def test_a_stranger_is_led_back_to_the_very_address() -> None:
    answer = browse(f"/lb{NAMED}", settings=BELOW)

    assert answer.status_code == 303
    assert next_of(answer.headers["location"]) == NAMED


def test_whoever_may_not_see_a_page_logs_in_with_another_key_and_is_led_back() -> None:
    nobody = Scope("main", "anna", allowed=frozenset({"ingest"}))
    refused = browse(f"/lb{NAMED}", settings=BELOW, scope=nobody)
    assert refused.status_code == 403
    login = read_page(refused.text).link("Log in with another key")
    assert next_of(login) == NAMED

    answer = browse("/lb/logout", settings=BELOW, form={"next": NAMED})

    assert answer.status_code == 303
    assert next_of(answer.headers["location"]) == NAMED


def test_nobody_is_led_elsewhere_by_logging_out() -> None:
    answer = browse("/lb/logout", settings=BELOW, form={"next": "//evil.example"})

    assert next_of(answer.headers["location"]) == "/"


def test_a_question_to_the_first_page_is_led_to_the_search() -> None:
    anna = Scope("main", "anna", allowed=frozenset({"read", "search"}))
    for page, place in (("", "search"), ("index.json", "search.json")):
        answer = browse(f"/lb/{page}?q=beam+dump%26", settings=BELOW, scope=anna)
        assert answer.status_code == 303
        led = urlsplit(answer.headers["location"])
        assert led.path == f"/lb/{place}"
        assert parse_qs(led.query) == {"q": ["beam dump&"]}
