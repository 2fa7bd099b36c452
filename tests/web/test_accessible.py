"""Every page by axe, in both themes and both widths; and how wide it is."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from tests.support.axe import PAGES, problems
from tests.support.fixtures.browser import NARROW, WIDE, Tab


@pytest.mark.timeout(400)
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_page_violates_a_rule_in_any_theme_and_width(
    more_pages: list[str], open_tab: Callable[..., Tab], width: int
) -> None:
    tab = open_tab(width=width, scopes=("admin",))
    # A job that has ended would be loaded again meanwhile.
    tab.page.route("**/v1/search/jobs/*/events", lambda asked: asked.abort())
    found = {path: problems(tab.show(path)) for path in (*more_pages, *PAGES)}

    assert {path: told for path, told in found.items() if told} == {}
    assert tab.complaints == []


def test_nothing_is_wider_than_a_narrow_screen(
    logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    tab = open_tab(width=320, scopes=("admin",))
    wide = [
        path
        for path in PAGES
        if tab.show(path).evaluate("document.documentElement.scrollWidth") > 320
    ]

    assert wide == []
