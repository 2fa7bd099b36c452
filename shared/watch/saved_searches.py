"""Saved searches as rows: everybody has their own, and sees no other's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from shared.access.scope import Scope
from shared.errors import InvalidRequestError, NotFoundError
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all

# Each of them is asked at every batch of entries.
MOST_OWN, MOST_OF_TENANT = 100, 1000

Digest = Literal["none", "shift", "day"]

_COLUMNS: LiteralString = """
    id, tenant, subject, key_id, name, request, semantic, similarity_threshold, alert,
    alerts_since, vector_model, vector, created_at, updated_at, person_groups,
    person_seen_at"""
_LIST: LiteralString = f"""SELECT {_COLUMNS}
      FROM saved_search
     WHERE tenant = %(tenant)s AND subject = %(subject)s
       AND (%(after)s::uuid IS NULL OR id < %(after)s)
     ORDER BY id DESC
     LIMIT %(limit)s"""
_FIND: LiteralString = f"""SELECT {_COLUMNS}
      FROM saved_search
     WHERE tenant = %(tenant)s AND subject = %(subject)s AND id = %(id)s"""
_FIND_ANY: LiteralString = f"""SELECT {_COLUMNS}
      FROM saved_search
     WHERE tenant = %(tenant)s AND id = %(id)s"""
# Counted under a lock, or two at once would both find room.
_LOCK: LiteralString = """
    SELECT pg_advisory_xact_lock(hashtextextended('saved_search ' || %(tenant)s, 0))"""
_COUNT: LiteralString = """
    SELECT count(*) FILTER (WHERE subject = %(subject)s), count(*)
      FROM saved_search
     WHERE tenant = %(tenant)s"""
_CREATE: LiteralString = f"""
    INSERT INTO saved_search (id, tenant, subject, key_id, name, request, semantic,
                              similarity_threshold, alert, person_groups,
                              person_seen_at, alerts_since)
    VALUES (%(id)s, %(tenant)s, %(subject)s, %(key_id)s, %(name)s, %(request)s,
            %(semantic)s, %(threshold)s, %(alert)s, %(person_groups)s,
            clock_timestamp(),
            CASE WHEN %(enabled)s THEN date_trunc('minute', clock_timestamp()) END)
    RETURNING {_COLUMNS}"""
# What is asked for from now on is told of what comes from now on. Many a logbook writes
# down the minute alone.
_REPLACE: LiteralString = f"""
    UPDATE saved_search
       SET key_id = %(key_id)s, name = %(name)s, request = %(request)s,
           semantic = %(semantic)s, similarity_threshold = %(threshold)s,
           alert = %(alert)s, updated_at = clock_timestamp(),
           person_groups = %(person_groups)s, person_seen_at = clock_timestamp(),
           alerts_since = CASE
               WHEN NOT %(enabled)s THEN NULL
               WHEN request = %(request)s AND alerts_since IS NOT NULL THEN alerts_since
               ELSE date_trunc('minute', clock_timestamp()) END,
           vector_model = CASE WHEN request = %(request)s THEN vector_model END,
           vector = CASE WHEN request = %(request)s THEN vector END
     WHERE tenant = %(tenant)s AND subject = %(subject)s AND id = %(id)s
    RETURNING {_COLUMNS}"""
# Sorted, as every write of many rows; twice within an hour it changes nothing.
_NOTE_PERSON: LiteralString = """
    WITH theirs AS (
        SELECT id FROM saved_search
         WHERE tenant = %(tenant)s AND subject = %(subject)s
           AND (person_groups <> %(groups)s
                OR person_groups IS NOT NULL
                   AND person_seen_at < clock_timestamp() - interval '1 h')
         ORDER BY id
           FOR UPDATE)
    UPDATE saved_search AS s
       SET person_groups = %(groups)s, person_seen_at = clock_timestamp()
      FROM theirs
     WHERE s.tenant = %(tenant)s AND s.id = theirs.id"""
_REMOVE: LiteralString = """
    DELETE FROM saved_search
     WHERE tenant = %(tenant)s AND subject = %(subject)s AND id = %(id)s"""
_WATCHING: LiteralString = f"""SELECT {_COLUMNS}
      FROM saved_search
     WHERE tenant = %(tenant)s AND alerts_since IS NOT NULL
     ORDER BY id
     LIMIT %(most)s"""
# Made of this question still: it may have been replaced meanwhile.
_KEEP_VECTOR: LiteralString = """
    UPDATE saved_search SET vector_model = %(models)s, vector = %(vector)s
     WHERE tenant = %(tenant)s AND id = %(id)s AND request = %(request)s"""
_WITHOUT_VECTOR: LiteralString = f"""SELECT {_COLUMNS}
      FROM saved_search
     WHERE semantic AND vector_model IS DISTINCT FROM %(models)s
     ORDER BY id
     LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class AlertRule:
    """Where alerts go, how often, and when not."""

    enabled: bool = False
    webhook_url: str | None = None
    digest: Digest = "none"
    # From and until, on the facility's clock, as `22:00`.
    quiet_hours: tuple[str, str] | None = None
    one_per_thread: bool = True

    def to_values(self) -> dict[str, Any]:
        """Return the rule as it is stored; whether it is on says `alerts_since`."""
        return {
            "webhook_url": self.webhook_url,
            "digest": self.digest,
            "quiet_hours": self.quiet_hours and [*self.quiet_hours],
            "one_per_thread": self.one_per_thread,
        }


@dataclass(frozen=True, slots=True)
class SavedSearchDraft:
    """A saved search as its owner writes it."""

    name: str
    request: Mapping[str, Any]
    semantic: bool
    similarity_threshold: float | None
    alert: AlertRule


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A saved search as it is stored."""

    id: UUID
    tenant: str
    subject: str
    key_id: str | None
    name: str
    request: dict[str, Any]
    semantic: bool
    similarity_threshold: float | None
    alert: dict[str, Any]
    alerts_since: datetime | None
    # Those in use when its vector was made, or could not be.
    vector_model: str | None
    vector: str | None
    created_at: datetime
    updated_at: datetime
    # As a gateway last told those of the person who saved it; None: a key alone did.
    person_groups: list[str] | None
    person_seen_at: datetime | None

    @property
    def rule(self) -> AlertRule:
        """Return how its owner is told."""
        quiet = self.alert["quiet_hours"]
        hours = (quiet[0], quiet[1]) if quiet else None
        told = {**self.alert, "quiet_hours": hours}
        return AlertRule(enabled=self.alerts_since is not None, **told)


def create(conn: Connection, scope: Scope, draft: SavedSearchDraft) -> SavedSearch:
    """Store a new saved search of the caller, if there is room."""
    given = _values(scope, draft)
    conn.execute(_LOCK, given)
    row = conn.execute(_COUNT, given).fetchone()
    assert row is not None
    for count, most in zip(row, (MOST_OWN, MOST_OF_TENANT), strict=True):
        if count >= most:
            message = f"There are {most} saved searches already: remove one first."
            raise InvalidRequestError.field("name", "too_many", message)
    return _one(conn, _CREATE, {**given, "id": uuid7()})


def replace(
    conn: Connection, scope: Scope, saved_id: UUID, draft: SavedSearchDraft
) -> SavedSearch:
    """Write one of the caller's own anew."""
    return _one(conn, _REPLACE, {**_values(scope, draft), "id": saved_id})


def find(conn: Connection, scope: Scope, saved_id: UUID) -> SavedSearch:
    """Return one of the caller's own; anybody else's is as absent as none."""
    return _one(conn, _FIND, {**_owner(scope), "id": saved_id})


def find_any(conn: Connection, tenant: str, saved_id: UUID) -> SavedSearch:
    """Return a saved search of a facility, whoever owns it."""
    return _one(conn, _FIND_ANY, {"tenant": tenant, "id": saved_id})


def remove(conn: Connection, scope: Scope, saved_id: UUID) -> None:
    """Remove one of the caller's own, with its alerts."""
    if not conn.execute(_REMOVE, {**_owner(scope), "id": saved_id}).rowcount:
        raise NotFoundError


def list_own(
    conn: Connection, scope: Scope, *, limit: int, after: UUID | None = None
) -> list[SavedSearch]:
    """Return the caller's own, the newest first."""
    return _all(conn, _LIST, {**_owner(scope), "limit": limit, "after": after})


def list_watching(conn: Connection, tenant: str) -> list[SavedSearch]:
    """Return every saved search of a facility whose alerts are on."""
    return _all(conn, _WATCHING, {"tenant": tenant, "most": MOST_OF_TENANT})


def list_without_vector(conn: Connection, models: str, most: int) -> list[SavedSearch]:
    """Return saved searches by meaning, of all facilities, without a vector by these.

    One that none of these models could make a vector of is not among them.
    """
    return _all(conn, _WITHOUT_VECTOR, {"models": models, "most": most})


def keep_vector(
    conn: Connection, saved: SavedSearch, models: str, vector: str | None
) -> None:
    """Store the vector of a question; None: no model in use speaks its language."""
    given = {"tenant": saved.tenant, "id": saved.id, "request": Jsonb(saved.request)}
    conn.execute(_KEEP_VECTOR, {**given, "models": models, "vector": vector})


def note_person(
    conn: Connection, tenant: str, subject: str, groups: Sequence[str]
) -> None:
    """Store that a person came just now, and with which groups."""
    named = {"tenant": tenant, "subject": subject, "groups": [*groups]}
    conn.execute(_NOTE_PERSON, named)


def _owner(scope: Scope) -> dict[str, Any]:
    return {"tenant": scope.tenant, "subject": scope.subject}


def _values(scope: Scope, draft: SavedSearchDraft) -> dict[str, Any]:
    return {
        **_owner(scope),
        "key_id": scope.key_id,
        "person_groups": [*scope.groups] if scope.is_person else None,
        "name": draft.name,
        "request": Jsonb(dict(draft.request)),
        "semantic": draft.semantic,
        "threshold": draft.similarity_threshold,
        "alert": Jsonb(draft.alert.to_values()),
        "enabled": draft.alert.enabled,
    }


def _all(
    conn: Connection, statement: LiteralString, given: Mapping[str, Any]
) -> list[SavedSearch]:
    return fetch_all(conn, SavedSearch, statement, given)


def _one(
    conn: Connection, statement: LiteralString, given: Mapping[str, Any]
) -> SavedSearch:
    found = _all(conn, statement, given)
    if not found:
        raise NotFoundError
    return found[0]
