"""Foreign texts that want to run, and how much a page weighs."""

import gzip
from urllib.parse import urlsplit

import pytest

from tests.support.axe import PAGES, QUESTION
from tests.support.fixtures.browser import NARROW, WIDE

MOST_HTML, MOST_CSS, MOST_JS, MOST_REQUESTS = 30_000, 12_000, 12_000, 5
# As browsers count how far what is read jumps.
MOST_MOVED = 0.02
MOVED = """() => new Promise((resolve) => {
  let moved = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) moved += one.value;
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => setTimeout(() => resolve(moved), 100));
})"""


@pytest.mark.requirement("SEC6")
def test_no_text_of_an_entry_runs_on_any_page(more_pages, open_tab) -> None:
    tab = open_tab(scopes=("admin",))
    # A job that ends meanwhile would load its page again, amid the next one's load.
    tab.page.route("**/v1/search/jobs/*/events", lambda asked: asked.abort())
    found = "/search?q=javascript"
    hostile = (
        *(found, f"{found}&open=api/X%3C1%3E", f"{found}&rows=condensed"),
        *("/search?q=<script>alert(1)</script>", "/e/api/X%3C2%3E"),
        "/search?q=x&logbook=%3C/mark%3E%3Cimg src=x onerror=alert(1)%3E",
    )
    for path in (*more_pages, *PAGES, *hostile):
        page = tab.show(path)
        assert page.title() != "ran"
        assert (
            page.evaluate("document.querySelectorAll('[onerror],[onload]').length") == 0
        )

    assert tab.complaints == []
    hosts = {urlsplit(one).netloc for one in tab.requests}
    assert hosts == {urlsplit(tab.url).netloc}


def test_a_page_of_hits_is_small(logbook, open_tab) -> None:
    tab = open_tab()
    page = tab.show(QUESTION)
    sheet = page.evaluate("document.querySelector('link[rel=stylesheet]').href")
    script = page.evaluate("document.querySelector('script[type=module]').src")
    weights = {
        name: len(
            gzip.compress(logbook.get(address, headers={"accept": "text/html"}).content)
        )
        for name, address in (("html", QUESTION), ("css", sheet), ("js", script))
    }

    assert len(tab.requests) <= MOST_REQUESTS, tab.requests
    assert weights["html"] <= MOST_HTML, weights
    assert weights["css"] <= MOST_CSS, weights
    assert weights["js"] <= MOST_JS, weights


def test_nothing_moves_while_a_page_is_filled(logbook, open_tab) -> None:
    moved = {}
    for width in (WIDE, NARROW):
        tab = open_tab(width=width)
        for path in ("/", QUESTION, "/e/api/OPS-1"):
            moved[path, width] = tab.show(path).evaluate(MOVED)

    assert {place: far for place, far in moved.items() if far > MOST_MOVED} == {}
