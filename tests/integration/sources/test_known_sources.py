"""Searches say which sources are behind or removed, and seldom ask for it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from shared.entries.draft import EntryDraft
from shared.errors import SourceUnreachableError
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import known_sources, source_state
from shared.sources.known_sources import KEPT_SECONDS, KnownSources, pushed_names
from tests.support.fixtures.asking import Asking

TENANT = "default"
RING = SourceSettings(adapter="olog", base_url="http://127.0.0.1:9")
SETTINGS = Settings(sources={"api": SourceSettings(adapter="push"), "ring": RING})


@dataclass
class Searched:
    """A search over entries of pushed, pulled and removed sources."""

    asking: Asking
    conn: psycopg.Connection
    now: float = 0.0

    def find(self, **filters: Any) -> dict[str, Any]:
        """Return the answer to a search once what was known is too old."""
        self.now += KEPT_SECONDS
        return self.asking.ask("klystron", filters=filters)

    def behind(self, **filters: Any) -> list[tuple[str, str]]:
        """Return which sources are behind, and why."""
        found = self.find(**filters)["sources_behind"]
        return [(one["source"], one["why"]) for one in found]


@pytest.fixture
def searched(asking: Asking, database: str) -> Iterator[Searched]:
    with psycopg.connect(database, autocommit=True) as conn:
        for name, tenant in {"hall": TENANT, "ring": TENANT, "far": "other"}.items():
            source_state.arrange(
                conn,
                tenant,
                name,
                adapter="olog",
                config_hash="1",
                config=RING.model_dump(mode="json", exclude_defaults=True),
                version=1,
            )
            source_state.succeeded(conn, tenant, name)
        # Not alike: copies would stand as one.
        texts = {
            "api": "Klystron changed by the night shift",
            "gone": "Water leak below a klystron, pump stopped",
            "hall": "Arc in the klystron gallery; interlock reset",
            "ring": "Filament of klystron 7 is old: order another",
        }
        asking.write(
            *(EntryDraft(one, f"{one}-1", text) for one, text in texts.items())
        )
        made = Searched(asking, conn)
        known = KnownSources(asking.pool, pushed_names(SETTINGS), lambda: made.now)
        asking.context = replace(asking.context, sources=known)
        yield made


def test_a_hit_of_a_source_that_is_configured_no_more_says_so(searched: Searched):
    def removed() -> set[str]:
        results = searched.find()["results"]
        assert len(results) == 4
        return {one["source"] for one in results if one["source_removed"]}

    assert removed() == {"gone"}
    searched.conn.execute("DELETE FROM source_state WHERE source = 'ring'")
    assert removed() == {"gone", "ring"}


def test_a_search_names_the_sources_that_are_behind_and_why(searched: Searched):
    conn = searched.conn
    assert searched.find()["sources_behind"] == []
    for name, tenant in {"ring": TENANT, "far": "other"}.items():
        error = SourceUnreachableError("It does not answer.", source=name)
        source_state.failed(conn, tenant, name, error, most=9)
    # That of another facility is none of this caller's.
    assert searched.behind() == [("ring", "failing")]
    assert searched.behind(source="hall") == []
    assert searched.behind(source={"not": ["ring"]}) == []
    (ring,) = searched.find()["sources_behind"]
    assert ring["answered_at"].endswith("Z")

    source_state.pause(conn, TENANT, "ring", "by hand")
    source_state.degrade(conn, TENANT, "hall", {"code": "x", "message": "y"})
    assert searched.behind() == [("hall", "degraded"), ("ring", "paused")]
    source_state.resume(conn, TENANT, "ring")
    source_state.degrade(conn, TENANT, "hall", None)
    assert searched.behind() == []
    conn.execute(
        "UPDATE source_state SET last_success_at = now() - interval '241 s'"
        " WHERE source = 'ring'"
    )
    assert searched.behind() == [("ring", "not_read")]


def test_searches_ask_once_in_two_seconds_and_one_that_cannot_goes_on(
    searched: Searched, monkeypatch: pytest.MonkeyPatch
):
    asked: list[bool] = []
    read = KnownSources._read

    def counted(known: KnownSources) -> Any:
        asked.append(True)
        return read(known)

    monkeypatch.setattr(KnownSources, "_read", counted)
    searched.find()
    for _ in range(9):
        searched.asking.ask("klystron")
    assert len(asked) == 1

    searched.conn.execute("UPDATE source_state SET failures = 1 WHERE source = 'ring'")
    assert searched.behind() == [("ring", "failing")]
    monkeypatch.setattr(known_sources, "_STATES", "SELECT nothing")
    answer = searched.find()
    assert len(answer["results"]) == 4
    assert [one["source"] for one in answer["sources_behind"]] == ["ring"]
