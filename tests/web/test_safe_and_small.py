"""Foreign texts that want to run, and how much a page weighs."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx

from tests.support.fixtures.browser import Tab
from tests.web.test_accessible import PAGES, QUESTION

MOST_HTML, MOST_CSS, MOST_JS, MOST_REQUESTS = 30_000, 12_000, 12_000, 5


def test_no_text_of_an_entry_runs_on_any_page(
    logbook: httpx.Client, open_tab: Callable[..., Tab]
) -> None:
    tab = open_tab(scopes=("admin",))
    for path in (*PAGES, "/search?q=javascript", "/search?q=<script>alert(1)</script>"):
        page = tab.show(path)
        assert page.title() != "ran"
        assert (
            page.evaluate("document.querySelectorAll('[onerror],[onload]').length") == 0
        )

    assert tab.complaints == []
    hosts = {urlsplit(one).netloc for one in tab.requests}
    assert hosts == {urlsplit(tab.url).netloc}


def test_a_page_of_hits_is_small(
    logbook: httpx.Client, open_tab: Callable[..., Tab]
) -> None:
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
