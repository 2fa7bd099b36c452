"""Pages of the newest entries read a few of them, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from api.entries.routes import entries
from api.web import newest_entries
from shared.access.scope import Scope
from shared.search.pipelines.plan_settings import calendar_of
from shared.settings.settings import Settings
from tests.support.web_app import browse


class EmptyDatabase:
    """A connection to a database with no row, and what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @contextmanager
    def cursor(self, **_: object) -> Iterator[EmptyDatabase]:
        yield self

    def execute(self, statement: str, *_: object, **__: object) -> EmptyDatabase:
        self.asked.append(statement)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def fetchall(self) -> list[Any]:
        return []

    def fetchone(self) -> None:
        return None


@pytest.mark.parametrize("path", ["/", "/live"])
def test_a_page_of_the_newest_counts_nothing(monkeypatch, path) -> None:
    database = EmptyDatabase()

    @contextmanager
    def linked(_: object) -> Iterator[EmptyDatabase]:
        yield database

    monkeypatch.setattr(newest_entries, "connection", linked)
    monkeypatch.setattr(entries, "connection", linked)
    reader = Scope("main", "anna", allowed=frozenset({"read"}))
    calendar = replace(calendar_of(Settings()), now=datetime.now(UTC))
    searches = SimpleNamespace(calendar=calendar)

    answer = browse(path, scope=reader, pool=None, searches=searches)

    assert answer.status_code == 200
    assert any("FROM entry" in one for one in database.asked)
    assert not any("count(*)" in one for one in database.asked)
