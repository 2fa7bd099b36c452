"""Every state of a search is its address."""

import pytest
from starlette.datastructures import QueryParams

from api.search.routes.capabilities import list_modes
from api.web.histogram import draw
from api.web.read_as import without_words
from api.web.rendering import Links
from api.web.search_form import SearchForm, is_taken
from shared.errors import InvalidRequestError
from shared.search.pipelines.plan_settings import limits_of
from shared.settings.settings import Settings

MODES = list_modes(limits_of(Settings()))


def form(address: str) -> SearchForm:
    return SearchForm.read(QueryParams(address), MODES)


@pytest.mark.parametrize(
    "address",
    [
        "q=valve",
        "q=valve&mode=keyword&sort=newest&from=2026-01-01&to=2026-02-01",
        "q=a+b&logbook=ops&logbook=mcr&kind=incident&page=3&rows=condensed",
        "q=valve&open=api%2FOPS-1%402&collapse=thread",
        "q=a&mode=semantic&p.similarity_threshold=0.4&p.deadline_ms=900",
    ],
)
def test_an_address_is_written_as_it_was_read(address: str) -> None:
    written = Links("")("/search", form(address).query)

    assert sorted(written.removeprefix("/search?").split("&")) == sorted(
        address.split("&")
    )


def test_one_value_of_a_filter_is_added_and_taken_away() -> None:
    narrowed = form("q=x&kind=incident&page=2")

    assert narrowed.with_filter("kind", "logbook")["kind"] == ["incident", "logbook"]
    assert "kind" not in narrowed.without_filter("kind", "incident")
    assert narrowed.without_filter("kind", "incident")["page"] is None


def test_a_value_that_was_chosen_already_is_not_chosen_twice() -> None:
    chosen = form("q=valve&has_attachment=true&has_attachment=true")

    assert chosen.query["has_attachment"] == ["true"]
    assert chosen.with_filter("has_attachment", "true") == chosen.query
    assert form("kind=").filters == {}


def test_what_is_asked_is_a_search_of_the_contract() -> None:
    asked = form("q=x&from=2026-01-01&author=anna&author=ben&page=2").request()

    assert asked.limit == 20
    assert asked.filters == {
        "author": {"in": ["anna", "ben"]},
        "date_from": "2026-01-01",
    }


def test_a_mode_is_given_its_own_parameters_alone() -> None:
    own = "p.similarity_threshold=0.4&p.deadline_ms=900"
    asked = form(f"q=x&mode=semantic&{own}")

    sent = asked.request()
    assert (sent.similarity_threshold, sent.deadline_ms) == (0.4, 900)
    # A form still holds what the mode before it took.
    by_words = form(f"q=x&mode=keyword&{own}")
    assert by_words.parameters == {"deadline_ms": 900}
    assert "p.deadline_ms" not in asked.changed(mode="keyword")
    assert asked.changed(sort="newest")["p.deadline_ms"] == 900
    again = SearchForm.of_request(sent.model_dump(mode="json"))
    assert again is not None
    assert again.parameters == asked.parameters


@pytest.mark.parametrize(
    "address",
    [
        *("page=0", "page=11", "page=x", "page=" + "9" * 5000, "sort=size"),
        *("p.deadline_ms=soon", "p.deadline_ms=1", "p.deadline_ms=1e9"),
        *(f"mode=semantic&p.similarity_threshold={one}" for one in ("7", "nan", "a")),
    ],
)
def test_what_is_no_page_is_refused(address: str) -> None:
    with pytest.raises(InvalidRequestError):
        form(address)


def test_a_bar_narrows_to_its_own_time_and_arrows_to_the_time_beside_it() -> None:
    facet = {
        "exact": True,
        "buckets": [
            {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "count": 1},
            {"from": "2026-01-02T00:00:00Z", "to": "2026-01-03T00:00:00Z", "count": 4},
        ],
    }

    chart = draw(facet, form("q=x"))

    assert chart is not None
    assert [bar.height for bar in chart.bars] == [15.5, 56.0]
    assert chart.bars[1].query["from"] == "2026-01-02T00:00:00Z"
    assert chart.bars[1].query["to"] == "2026-01-02T23:59:59Z"
    assert chart.bars[1].until == "2026-01-02T23:59:59Z"
    assert chart.earlier["from"] == "2025-12-30T00:00:00Z"
    assert draw(None, form("q=x")) is None


def test_of_a_question_whole_words_are_taken_away() -> None:
    asked = form("q=RFQ+behind+rf+trip&page=2")

    assert without_words(asked, "RF") == form("q=RFQ+behind+trip").query
    assert without_words(form("q=RFQ"), "RF") is None


def test_the_page_takes_what_it_reads() -> None:
    assert is_taken("open")
    assert is_taken("logbook")
    assert not is_taken("why")


@pytest.mark.parametrize(
    "address",
    [
        "q=valve",
        "q=valve&mode=agent&sort=newest&from=2026-01-01&to=2026-02-01",
        "logbook=ops&logbook=mcr&kind=incident&collapse=thread",
        "q=valve&exclude_logbooks=ops",
    ],
)
def test_a_search_is_asked_again_with_all_that_it_was_asked_with(address: str) -> None:
    asked = form(address)

    kept = asked.request().question(None).request

    assert kept is not None
    assert SearchForm.of_request(kept) == asked


@pytest.mark.parametrize(
    "filters",
    [{"logbook": {"not": "ops"}}, {"logbook": {"in": ["a", 1]}}, {"time_range": []}],
)
def test_what_no_page_can_ask_is_not_asked_again_by_half(filters) -> None:
    assert SearchForm.of_request({"query": "x", "filters": filters}) is None
