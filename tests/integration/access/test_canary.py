"""Words and ids of hidden entries, looked for in whatever a lesser caller is answered.

Every route that is described and every page is asked with all that hangs on the hidden
entries, and searches with whatever comes near their words.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import psycopg
import pytest

from shared.access import keys
from tests.integration.api.test_access import ABSENT, ROUTES
from tests.integration.web.test_page_access import PAGES
from tests.support.access_world import FAR, QUERY, SCOPES, ok
from tests.support.fixtures.system import System

HTML = {"accept": "text/html"}
INDEXED = {"wait_for": "index", "wait_ms": "30000"}
# How each of them is hidden from whom asks, and how its word ends.
HIDDEN: dict[str, dict[str, Any]] = {
    "alo": {"readers": ["boss"]},
    "emu": {"logbooks": ["vault"]},
    "iro": {"visible_from": FAR},
    "uxi": {},
}
ELSEWHERE = "uxi"
FIELDS = ("author", "tag", "category", "logbook", "source", "device", "kind")
# What is read by POST, and what else it is asked with.
POSTS: dict[str, dict[str, Any]] = {
    QUERY: {"mode": "hybrid", "facets": ["author", "source"], "debug": True},
    "/search": {},
    "/v1/search/plan": {},
    "/v1/search/export": {},
    "/v1/classify": {},
}

Ids = list[dict[str, str]]


def entry(word: str) -> dict[str, Any]:
    return {
        "external_id": f"no-{word}",
        "title": f"Trip of {word} in the tunnel",
        "text": f"The {word} tripped. Cavity {word}-07 was reset; {word} is locked.",
        "author": f"{word} Miller",
        "tags": [word],
        "category": word,
        "kind": "incident",
        "metadata": {"device": word, word: 7},
        "reply_to": "seen",
        "logbooks": ["open"],
        "readers": ["boss"],
    }


def make_hidden(boss: httpx2.Client, word: str, how: dict[str, Any]) -> dict[str, str]:
    """Write an entry for its boss alone, and what hangs on it; then hide it, too."""
    entry_id = ok(boss.post("/v1/entries", json=entry(word)))["entry_id"]
    address = f"/v1/entries/{entry_id}"
    saved = {"name": f"of {word}", "request": {"query": word}}
    asked = ok(boss.post(QUERY, json={"query": word, "mode": "keyword"}))
    ids = {
        "entry_id": entry_id,
        "external_id": f"no-{word}",
        "saved_id": ok(boss.post("/v1/saved-searches", json=saved))["id"],
        "job_id": asked["job_id"],
        "thread_id": boss.get(address).json()["thread_id"] or ABSENT,
    }
    closed = {**entry(word), **how}
    assert ok(boss.post("/v1/entries", params=INDEXED, json=closed))["indexed"]
    return ids


@pytest.fixture
def hidden(running: System, tenant: str) -> Iterator[tuple[httpx2.Client, str, Ids]]:
    """Give who sees least, what all hidden words begin with, and ids of each."""
    stem = "zq" + "".join(secrets.choice("bcdfghjk") for _ in range(6))
    tenants = {True: f"{tenant}-b", False: tenant}
    with psycopg.connect(running.database) as conn:
        made = {
            (whose, subject): keys.create_key(
                conn,
                tenant=whose,
                name=subject,
                subject=subject,
                scopes=SCOPES,
                logbooks=["open"] if subject == "anna" else None,
                rate_per_minute=0,
            ).token
            for whose in tenants.values()
            for subject in ("boss", "anna")
        }
    with ExitStack() as clients:
        open_of = {
            who: clients.enter_context(running.client(token))
            for who, token in made.items()
        }
        first = {"external_id": "first", "text": "Zero.", "readers": ["boss"]}
        parent = {
            "external_id": "seen",
            "text": "The valve tripped.",
            "logbook": "open",
            "reply_to": "first",
        }
        second = {**parent, "external_id": "second", "reply_to": "seen"}
        begun = ok(open_of[tenant, "boss"].post("/v1/entries", json=first))["entry_id"]
        ok(open_of[tenant, "boss"].post("/v1/entries", json=parent))
        ok(open_of[tenant, "boss"].post("/v1/entries", json=second))
        ids = [
            make_hidden(open_of[tenants[end == ELSEWHERE], "boss"], stem + end, how)
            for end, how in HIDDEN.items()
        ]
        boss, word = open_of[tenant, "boss"], f"{stem}alo"
        file = {"file": (f"{word}.txt", f"plan of {word}".encode())}
        address = f"/v1/entries/{ids[0]['entry_id']}/attachments"
        ids[0]["begun"] = begun
        ids[0]["attachment_id"] = ok(boss.post(address, files=file))["attachment_id"]
        told = boss.post(QUERY, json={"query": f"{stem}*"}).text
        assert all(one in told for one in (word, f"{stem}emu"))
        yield open_of[tenant, "anna"], stem, ids


def searched(stem: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield requests that come near the words, and say none of them."""
    near = (f"*{stem[3:]}*", f"{stem}ali", "Who reset the cavity in the tunnel?")
    for query in near:
        for path, more in POSTS.items():
            yield "POST", path, {"json": {"query": query, **more}}
        asked = {"json": {"queries": [query]}}
        yield "POST", "/v1/search/suggestions/evaluate", asked
        yield "GET", "/search", {"params": {"q": query}, "headers": HTML}
    for field in FIELDS:
        yield "GET", f"/v1/filter-options/{field}", {"params": {"prefix": stem[:3]}}


def walked(ids: Ids) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a request of each route that reads and of each page, for each entry."""
    routes = [(one, ROUTES[one][1]) for one in ROUTES if one.startswith("GET ")]
    pages = [(f"GET {path}", {"headers": HTML}) for path in PAGES]
    for route, given in (*routes, *pages):
        path = re.sub(r"\{(\w+)(:path)?\}", r"{\1}", route.removeprefix("GET "))
        for one in ids if "{" in path else ids[:1]:
            absent = dict.fromkeys(re.findall(r"\{(\w+)\}", path), ABSENT)
            yield "GET", path.format(**{**absent, "source": "api", **one}), given
    for one in ids:
        params = {"job": one["job_id"], "entry": one["external_id"]}
        yield "GET", "/why-not", {"params": params, "headers": HTML}
        # Whoever knows how it was then is not told that it has not changed.
        yield (
            "GET",
            f"/v1/entries/{one['entry_id']}",
            {"headers": {"if-none-match": "*"}},
        )


@pytest.mark.requirement("P10", "SEC2", "U21")
def test_no_route_tells_a_word_or_an_id_of_entries_that_are_hidden(
    hidden: tuple[httpx2.Client, str, Ids],
) -> None:
    anna, stem, ids = hidden
    words = [stem + end for end in HIDDEN]
    entry_ids = [ids[0]["begun"], *(one["entry_id"] for one in ids)]
    statuses = set()
    for method, path, given in (*searched(stem), *walked(ids)):
        answer = anna.request(method, path, **given)
        statuses.add(answer.status_code)
        told = f"{answer.headers}\n{answer.text}".lower()
        # An error names the address that was asked.
        asked = f"{path} {given}"
        found = [
            one for one in (*words, *entry_ids) if one in told and one not in asked
        ]
        assert found == [], (method, path, given)
    assert statuses <= {200, 303, 401, 403, 404, 422}
