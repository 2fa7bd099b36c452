"""Withholds from another key of a job's owner what that key could not have found.

A key that is bound to a logbook must not learn how many entries match elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, LiteralString

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres import statement_deadline
from shared.postgres.pool import connection
from shared.search.jobs.progress import ENDED, Progress, ProgressEvent
from shared.search.query.plan import Plan
from shared.search.ranking.fusion import contrib_at_place

if TYPE_CHECKING:
    from shared.postgres.pool import Pool
    from shared.search.jobs.job import StoredJob

_LOOK_UP_MS = 2000
# As many as all branches of a search may find.
_MOST = 20_000
_SEEN: LiteralString = (
    """
    SELECT e.id::text
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.id = ANY (%(ids)s::uuid[])
       AND e.deleted_at IS NULL"""
    + rights.SEEN
    + """
     LIMIT %(most)s"""
)
_OF_TEXT = frozenset(("results", "deterministic", "llm_chunk", "llm_status", "actions"))
# The event of an agent's turn: its queries, and how many entries they found.
_OF_AGENT = "agent_turn"
_UNCOUNTED: Mapping[str, Any] = {"candidates": None, "kept": None}

_Rows = Sequence[dict[str, Any]]


def is_anothers(stored: StoredJob, reader: Scope) -> bool:
    """Tell whether the reader may see other entries than whoever asked."""
    return is_another(Plan.from_values(stored.plan).scope, reader)


def is_another(asked: Scope, reader: Scope) -> bool:
    """Tell whether one of two scopes may show entries that the other does not."""
    return _sight(asked) != _sight(reader)


def _sight(scope: Scope) -> tuple[str, frozenset[str] | None, frozenset[str]]:
    given = scope.params
    books = given["logbooks"]
    own = None if books is None else frozenset(books)
    return given["tenant"], own, frozenset(given["principals"])


def for_reader(pool: Pool, reader: Scope, stored: StoredJob) -> StoredJob:
    """Return a job as if entries that its reader cannot see had not been found."""
    if not is_anothers(stored, reader):
        return stored
    lists = [(stored.ranked or {}).get(name, ()) for name in _LISTS]
    lists += [one["hits"] for one in stored.branches or ()]
    ids = sorted({one["entry_id"] for rows in lists for one in rows})
    seen: set[str] = set()
    if ids:
        given = {**reader.params, "ids": ids[:_MOST], "most": _MOST}
        with connection(pool) as conn:
            statement_deadline.limit_time(conn, _LOOK_UP_MS)
            seen = {row[0] for row in conn.execute(_SEEN, given)}
    plan = stored.plan
    return replace(
        stored,
        ranked=stored.ranked and _ranked(stored.ranked, plan, seen),
        branches=stored.branches and [_branch(b, plan, seen) for b in stored.branches],
    )


_LISTS = ("window", "missed", "beyond")


def _ranked(
    ranked: Mapping[str, Any], plan: Mapping[str, Any], seen: set[str]
) -> dict[str, Any]:
    window, missed, beyond = (
        [one for one in ranked.get(name, ()) if one["entry_id"] in seen]
        for name in _LISTS
    )
    # The queries of an agent's model may repeat words of other entries.
    asked = ranked.get("asked")
    known = {name: value for name, value in ranked.items() if name != "asked"}
    if asked is not None:
        window = [{**one, "sub_queries": ()} for one in window]
    return {
        **known,
        "window": _in_their_places(window, plan["rrf_k"]),
        "missed": missed,
        "beyond": _behind(beyond, plan["window"]),
        "suppressed": {},
    }


def _branch(
    branch: Mapping[str, Any], plan: Mapping[str, Any], seen: set[str]
) -> dict[str, Any]:
    # The hits are not all matches: the reader may have more behind the hidden ones.
    amount = {"candidates": 0, "kept": plan["window"], "counted": False}
    hits = [one for one in branch["hits"] if one["entry_id"] in seen]
    return {**branch, **amount, "hits": hits}


def _in_their_places(items: _Rows, rrf_k: int) -> list[dict[str, Any]]:
    """Return hits with ranks that count only the hits that are left.

    Scores stay: they say how well an entry fits, not how many fit better.
    """
    names = {name for one in items for name in one["ranks"]}
    places = {
        name: {old: new for new, old in enumerate(_ranks(items, name), 1)}
        for name in names
    }
    found = []
    for one in items:
        ranks = {name: places[name][old] for name, old in one["ranks"].items()}
        contrib = {
            name: contrib_at_place(worth, one["ranks"][name], ranks[name], rrf_k)
            for name, worth in one["contrib"].items()
        }
        rrf = sum(contrib.values())
        found.append({**one, "ranks": ranks, "contrib": contrib, "rrf": rrf})
    return found


def _ranks(items: _Rows, name: str) -> list[int]:
    return sorted({one["ranks"][name] for one in items if name in one["ranks"]})


def _behind(beyond: _Rows, window: int) -> list[dict[str, Any]]:
    """Return entries outside of the window, with places that skip hidden entries."""
    behind = sorted(one["place"] for one in beyond if one["place"] is not None)
    places = {old: window + n for n, old in enumerate(behind, 1)}
    return [{**one, "place": places.get(one["place"])} for one in beyond]


def uncounted(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a job without the counts of its branches."""
    told = {**body, "branches": [_without(one) for one in body["branches"]]}
    if "turns" in told:
        told["turns"] = [{**one, "tool_calls": []} for one in told["turns"]]
    if told["response"] is not None:
        branches = [_without(one) for one in told["response"]["branches"]]
        told["response"] = {**told["response"], "branches": branches}
    return told


def progress(told: ProgressEvent) -> ProgressEvent | None:
    """Return an event of a running job without its counts.

    None: the event holds text, which is read again with the reader's rights, or the
    queries of an agent's model.
    """
    if told.name in _OF_TEXT or told.name == _OF_AGENT:
        return None
    if told.name == ENDED:
        return told._replace(says={})
    counts = "candidates" in told.says
    return told._replace(says=_without(told.says)) if counts else told


def without_text(told: Progress) -> Progress:
    """Return the events of a job without those that hold text.

    Events are kept for an hour, and an entry may have been closed or deleted since.
    """
    kept = [one for one in told.events if one.name not in _OF_TEXT]
    if len(kept) == len(told.events):
        return told
    return told._replace(
        events=[one._replace(says={}) if one.name == ENDED else one for one in kept]
    )


def _without(branch: Mapping[str, Any]) -> dict[str, Any]:
    # The status `empty` is a count, too.
    status = "ok" if branch["status"] == "empty" else branch["status"]
    return {**branch, **_UNCOUNTED, "status": status}
