"""Two tenants, two readers, an embargo and a logbook: over every surface of search.

Each surface is asked by each caller, with everything indexed, and once more after
entries were closed while no index worker runs.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from tests.support.access_world import (
    CLOSED,
    FAR,
    SEEN,
    Looking,
    World,
    make_world,
    ok,
    people_look,
)
from tests.support.fixtures.system import System


def hits(found: list[dict[str, Any]]) -> list[str]:
    return [one["external_id"] for one in found]


def results(**fields: Any) -> Callable[[Looking], list[str]]:
    return lambda who: hits(who.asked(**fields)["results"])


def by_postgres(who: Looking) -> list[str]:
    fault = {"X-Logchord-Fault": "branch=os_bm25;error=opensearch_unavailable"}
    answer = who.asked(headers=fault)
    assert "pg_fts" in {one["name"] for one in answer["branches"]}
    return hits(answer["results"])


def facets(who: Looking) -> list[str]:
    told = who.asked(facets=["author", "date", "source"], limit=1)["facets"]
    names = [one["value"] for one in told["author"]["values"]]
    assert {one["count"] for one in told["author"]["values"]} <= {1}
    assert sum(one["count"] for one in told["date"]["buckets"]) == len(names)
    assert sum(one["count"] for one in told["source"]["values"]) == len(names)
    return names


def exhaustive(who: Looking) -> list[str]:
    told = who.asked(exhaustive=True)
    amount = {"lower_bound": len(told["results"]), "exact": True}
    assert (told["total_candidates"], told["complete"]) == (amount, True)
    return hits(told["results"])


def options(who: Looking) -> list[str]:
    def told(field: str = "author", **given: Any) -> list[str]:
        answer = who.got(f"/v1/filter-options/{field}", params=given)
        assert answer["exact"] is True
        assert {one["count"] for one in answer["options"]} <= {1}
        return [one["value"] for one in answer["options"]]

    found = told(limit=100)
    one = max(found)
    assert told("authors", prefix=one[:-1].upper(), limit=1) == [one]
    assert told(source="nowhere") == []
    return found


def coverage(who: Looking) -> list[str]:
    """Counts alone: of what is near in meaning, some may be named."""
    told = who.asked(query="unheardof")
    listed = results(sort="newest")(who)
    assert told["coverage"]["entries_in_window"] == len(listed)
    assert set(hits(told["coverage"]["nearest"])) <= set(listed)
    return listed


def near_misses(who: Looking) -> list[str]:
    told = who.asked(filters={"source": "nowhere"})
    listed = results(sort="oldest")(who)
    assert told["relaxation"]["count_outside"] == len(listed)
    assert set(hits(told["coverage"]["nearest"])) <= set(listed)
    return listed


def pages(who: Looking) -> list[str]:
    first = who.asked(limit=1)
    found, cursor = hits(first["results"]), first["next_cursor"]
    while cursor:
        # At once: whoever has an answer may read on in it.
        path = f"/v1/search/jobs/{first['job_id']}/results"
        page = who.got(path, params={"cursor": cursor, "limit": 1})
        found += hits(page["items"])
        cursor = page["next_cursor"]
    return found


def lines(text: str) -> list[str]:
    *rows, last = [json.loads(line) for line in text.splitlines()]
    assert last["rows"] == len(rows)
    return hits(rows)


def export(who: Looking) -> list[str]:
    body = {"query": who.world.word, "exhaustive": True}
    return lines(who.client.post("/v1/search/export", json=body).text)


def job_export(who: Looking) -> list[str]:
    path = f"/v1/search/jobs/{who.job}/export"
    return lines(who.client.get(path, params={"format": "jsonl"}).text)


def stored_job(who: Looking) -> list[str]:
    told = who.got(f"/v1/search/jobs/{who.job}")["response"]
    names = [one["value"] for one in told["facets"]["author"]["values"]]
    assert sorted(names) == sorted(hits(told["results"]))
    return names


def submitted(who: Looking) -> list[str]:
    body = {"query": who.world.word, "mode": "keyword", "limit": 100}
    job = ok(who.client.post("/v1/search/jobs", json=body))["links"]["self"]
    who.got(job, params={"wait_ms": 10_000})
    told = events(who, job)
    assert told["done"]["state"] == "done"
    found = hits(told["results"]["results"])
    listed = who.got(f"{job}/results", params={"limit": 100})["items"]
    assert sorted(hits(listed)) == sorted(found)
    return found


def events(who: Looking, job: str) -> dict[str, Any]:
    """Return what each event of a job says, the last of a name."""
    told = {}
    for event in who.client.get(f"{job}/events").text.split("\n\n"):
        said = dict(line.split(": ", 1) for line in event.splitlines())
        if "event" in said:
            told[said["event"]] = json.loads(said["data"])
    return told


def replay(who: Looking) -> list[str]:
    again = ok(who.client.post(f"/v1/search/jobs/{who.job}/replay"))
    path = f"/v1/search/jobs/{again['job_id']}"
    told = who.got(path, params={"wait_ms": 10_000})
    changed = [one["from"] for one in told["replay"]["changed"]]
    named = {one.partition("@")[0] for one in changed if one is not None}
    seen = {who.world.ids[who.world.names[one]] for one in SEEN[who.name]}
    assert named & set(who.world.ids.values()) <= seen
    return hits(told["response"]["results"])


def why_not(who: Looking) -> list[str]:
    path = f"/v1/search/jobs/{who.job}/why-not"
    absent = who.got(path, params={"entry": "no-such-entry"})
    found = []
    for external_id in who.world.names.values():
        said = who.got(path, params={"entry": external_id})
        if said["returned"]:
            found.append(external_id)
        elif said["gate"] != "deleted":
            assert said == absent, external_id
    return found


def links(who: Looking) -> list[str]:
    found = []
    for external_id in who.world.names.values():
        answer = who.client.get(f"/e/api/{external_id}")
        assert answer.status_code in {200, 404, 410}
        found += [external_id] if answer.status_code == 200 else []
    return found


def revisions(who: Looking) -> list[str]:
    found = []
    for external_id in who.world.names.values():
        entry_id = who.world.ids[external_id]
        answer = who.client.get(f"/v1/entries/{entry_id}/revisions")
        assert answer.status_code in {200, 404, 410}, answer.text
        found += [external_id] if answer.status_code == 200 else []
    return found


def similar(who: Looking) -> list[str]:
    """All others, by what they may always see; it is none of its own likes."""
    own = who.world.names[min(SEEN[who.name] - CLOSED[who.name])]
    path = f"/v1/entries/{who.world.ids[own]}/similar"
    told = who.got(path, params={"limit": 100})
    assert own not in hits(told["results"])
    for external_id in who.world.names.values():
        strange = who.client.get(f"/v1/entries/{who.world.ids[external_id]}/similar")
        is_seen = external_id in {own, *hits(told["results"])}
        assert is_seen or strange.status_code in {404, 410}, strange.text
    return [own, *hits(told["results"])]


def entries(who: Looking) -> list[str]:
    page = who.got("/v1/entries", params={"limit": 100})
    assert page["total"] == len(page["items"])
    return hits(page["items"])


def thread(who: Looking) -> list[str]:
    for other in who.world.callers.values():
        if (other.thread == who.thread) != (other is who):
            strange = who.client.get(f"/v1/threads/{other.thread}")
            is_theirs = other.thread == who.thread
            assert is_theirs or strange.status_code == 404
    return hits(who.got(f"/v1/threads/{who.thread}")["entries"])


def changes(who: Looking) -> list[str]:
    told = who.got("/v1/changes", params={"limit": 100})["items"]
    return [one["entry"]["external_id"] for one in told if one["entry"]]


def plain(who: Looking) -> list[str]:
    body = {"query": who.world.word, "limit": 100}
    found = ok(who.client.post("/search", json=body))["results"]
    return [one["source"].rpartition("/")[2] for one in found]


# As a link of a page names an entry of this world.
_LINK = re.compile(r"/e/api/([a-z-]+-[0-9a-f]{8})")


def page(path: str, *, has_all: bool = True) -> Callable[[Looking], list[str]]:
    """Look at a page as a browser does; `has_all`: it lists all that may be seen."""

    def linked(who: Looking) -> list[str]:
        shown = who.client.get(
            path.format(word=who.world.word, job=who.job, thread=who.thread),
            headers={"accept": "text/html"},
        )
        assert shown.status_code == 200, shown.text
        found = sorted(set(_LINK.findall(shown.text)))
        if has_all:
            return found
        listed = results(sort="newest")(who)
        assert set(found) <= set(listed)
        return listed

    return linked


def entry_pages(who: Looking) -> list[str]:
    found = []
    for external_id in who.world.names.values():
        address = f"/e/api/{external_id}?more=similar"
        answer = who.client.get(address, headers={"accept": "text/html"})
        assert answer.status_code in {200, 404, 410}
        found += [external_id] if answer.status_code == 200 else []
        who.told[:] = [one for one in who.told if one is not answer.text]
    return found


def digest(who: Looking) -> list[str]:
    told = who.got("/v1/digest", params={"since": "2026-01-01"})["sections"]
    items = [one for name, part in told.items() if name != "devices" for one in part]
    return [_LINK.fullmatch(one["permalink"])[1] for one in items]  # type: ignore[index]


def suggestions(who: Looking) -> list[str]:
    """Of a question nothing is told but whether it has an answer."""
    asked = {"queries": [who.world.word, f"what happened with {who.world.word}"]}
    ok(who.client.post("/v1/search/suggestions/evaluate", json=asked))
    return results(sort="newest")(who)


Surfaces = Mapping[str, Callable[[Looking], list[str]]]
SURFACES: Surfaces = {
    "words": results(),
    "words by Postgres": by_postgres,
    "meaning": results(mode="semantic", similarity_threshold=0),
    "both": results(mode="hybrid", similarity_threshold=0),
    "newest first": results(sort="newest"),
    "filters alone": results(query="", filters={"source": "api"}),
    "facets and histogram": facets,
    "all that match": exhaustive,
    "filter options": options,
    "coverage": coverage,
    "near misses": near_misses,
    "pages by cursor": pages,
    "export": export,
    "export of a job": job_export,
    "a job read again": stored_job,
    "a submitted job and its events": submitted,
    "replay": replay,
    "why not": why_not,
    "links": links,
    "revisions": revisions,
    "entries": entries,
    "thread": thread,
    "changes": changes,
    "plain search": plain,
    "digest": digest,
    "suggestions": suggestions,
    "first page": page("/"),
    "search page": page("/search?q={word}&mode=keyword"),
    "search page by meaning": page("/search?q=what+of+{word}", has_all=False),
    "live page": page("/live"),
    "digest page": page("/digest?since=2026-01-01"),
    "thread page": page("/threads/{thread}"),
    "job page": page("/jobs/{job}"),
    "entry pages": entry_pages,
}

# One of each kind: behind them all stands the same scope, of a key or of a person.
OF_PEOPLE: Surfaces = {
    name: SURFACES[name]
    for name in (
        *("words", "facets and histogram", "filter options", "export", "entries"),
        *("a job read again", "a submitted job and its events", "plain search"),
    )
}

# Of a thread nothing is like another: these are looked at where there is none.
APART: Surfaces = {"similar": similar, "words": results()}

# What is gone is told to whoever could read it, by these alone.
TELL_OF_THE_GONE = {"changes", "why not"}


def found_by_all(
    world: World, surfaces: Surfaces = SURFACES, callers: Iterable[str] = SEEN
) -> dict[tuple[str, str], list[str]]:
    """Return what every caller sees on every surface; nothing names anything else."""
    found = {}
    for surface, look in surfaces.items():
        for name in callers:
            who = world.callers[name]
            who.told.clear()
            found[surface, name] = sorted(world.called(look(who)))
            never = world.names.keys() - found[surface, name]
            if surface in TELL_OF_THE_GONE:
                never -= SEEN[name]
                never -= {"gone"} if name in {"anna", "ben"} else set()
            told = "\n".join(who.told)
            named = [one for one in sorted(never) if world.names[one] in told]
            assert (surface, name, named) == (surface, name, [])
    return found


def expected(
    closed: Mapping[str, set[str]], surfaces: Surfaces = SURFACES
) -> dict[tuple[str, str], list[str]]:
    return {
        (surface, name): sorted(SEEN[name] - closed.get(name, set()))
        for surface in surfaces
        for name in SEEN
    }


def close_some(world: World, tenant: str, **fields: Any) -> None:
    """Close entries to those who saw them, each in another way."""
    closed = [
        world.entry("lost", readers=["ben"], **fields),
        world.entry("withheld", visible_from=FAR, **fields),
        world.entry("moved", logbook="vacuum", **fields),
    ]
    world.push(tenant, closed)
    world.delete(tenant, "dropped")


def jobs_are_absent_for_a_key_that_sees_less(world: World) -> None:
    """Of a subject's two keys the narrower one finds no job of the other's."""
    wide, narrow = world.callers["anna"], world.callers["rf"]
    theirs, own = (who.asked()["job_id"] for who in (wide, narrow))
    # Whoever sees more reads the other's; both are stored once they have been read.
    for job in (theirs, own):
        assert wide.got(f"/v1/search/jobs/{job}")["job_id"] == job
    path = f"/v1/search/jobs/{theirs}"
    here = [path, *(f"{path}/{name}" for name in ("results", "export", "events"))]
    asked = [narrow.client.get(one) for one in here]
    asked.append(narrow.client.get(f"{path}/why-not", params={"entry": "x"}))
    asked.append(narrow.client.post(f"{path}/replay"))
    asked.append(narrow.client.delete(path))
    assert [one.status_code for one in asked] == [404] * len(asked)
    listed = [one["job_id"] for one in narrow.got("/v1/search/jobs")["items"]]
    assert own in listed
    assert theirs not in listed


@pytest.mark.requirement("P10", "U21", "U22", "SEC2", "S4-19")
@pytest.mark.timeout(240)
def test_every_surface_shows_each_caller_theirs_also_while_no_index_worker_runs(
    running: System, tenant: str
) -> None:
    with make_world(running, tenant) as world:
        assert found_by_all(world) == expected({})

        with running.frozen("enhance"):
            close_some(world, tenant, reply_to=world.names["open"])
            found = found_by_all(world)

            with people_look(world, tenant) as people:
                of_people = found_by_all(world, OF_PEOPLE, people)

        wanted = expected(CLOSED, OF_PEOPLE)
        assert of_people == {one: wanted[one] for one in wanted if one[1] in people}
        assert found == expected(CLOSED)
        jobs_are_absent_for_a_key_that_sees_less(world)


@pytest.mark.requirement("P10", "U21", "SEC2")
@pytest.mark.timeout(120)
def test_what_is_like_an_entry_is_each_callers_own_also_while_no_index_worker_runs(
    running: System, tenant: str
) -> None:
    with make_world(running, tenant, in_threads=False) as world:
        assert found_by_all(world, APART) == expected({}, APART)

        with running.frozen("enhance"):
            close_some(world, tenant)
            found = found_by_all(world, APART)

        assert found == expected(CLOSED, APART)
