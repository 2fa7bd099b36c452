"""Links of pages lead where there is something, and keep what was chosen."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from api.operations.routes import quarantine
from api.server.json_response import as_json
from shared.access.scope import Scope
from tests.support.read_page import read_page
from tests.support.web_app import browse


@pytest.mark.parametrize("path", ["/help", "/login"])
def test_a_page_without_data_offers_none(path: str) -> None:
    page = read_page(browse(path).text)

    assert "this page as JSON" not in page.one("footer").text
    assert page.one("footer").link("API") == "/docs"


def test_older_quarantined_are_of_the_same_source_and_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = as_json({"items": [], "next_cursor": "further"})
    monkeypatch.setattr(quarantine, "list_quarantine", lambda *_, **__: listed)
    admin = Scope("main", "anna", allowed=frozenset({"admin"}))

    page = read_page(browse("/quarantine?source=ops&stage=embed", scope=admin).text)

    assert parse_qs(urlsplit(page.link("Older")).query) == {
        "source": ["ops"],
        "stage": ["embed"],
        "cursor": ["further"],
    }
