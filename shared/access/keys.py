"""API keys: 32 random bytes shown once; Postgres keeps their SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import LiteralString

from psycopg import Connection

from shared.access.scope import SCOPES, Scope
from shared.errors import AccessError, InvalidRequestError
from shared.postgres.fetch_rows import fetch_all, fetch_one

ANY_TENANT = "*"
DEFAULT_TENANT = "default"

_TOKEN = re.compile(r"^lk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$")

_CREATE: LiteralString = """
    INSERT INTO api_key (key_id, tenant, subject, name, hash, scopes, logbooks,
                         rate_per_minute, expires_at)
    VALUES (%(key_id)s, %(tenant)s, %(subject)s, %(name)s, %(hash)s, %(scopes)s,
            %(logbooks)s, %(rate)s, %(expires_at)s)"""
# The tenant is what the key tells; nothing is known of the caller before.
_FIND: LiteralString = """
    SELECT key_id, tenant, subject, groups, name, hash, scopes, logbooks,
           rate_per_minute,
           revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS valid
      FROM api_key
     WHERE key_id = %(key_id)s"""
_LISTING: LiteralString = """
    SELECT key_id, tenant, subject, name, scopes, logbooks, rate_per_minute, created_at,
           expires_at, revoked_at, last_used_at
      FROM api_key
     WHERE (%(tenant)s = '*' OR tenant = %(tenant)s)
       AND (%(created_at)s::timestamptz IS NULL
            OR (created_at, key_id) < (%(created_at)s, %(key_id)s))
     ORDER BY created_at DESC, key_id DESC
     LIMIT %(limit)s"""
# Sorted, as every write of many rows; twice within a minute it changes nothing.
_NOTE_USE: LiteralString = """
    WITH used AS (
        SELECT key_id FROM api_key
         WHERE key_id = ANY(%(key_ids)s)
           AND (last_used_at IS NULL OR last_used_at < now() - interval '30 s')
         ORDER BY key_id
           FOR UPDATE)
    UPDATE api_key AS k SET last_used_at = now()
      FROM used WHERE k.key_id = used.key_id"""
_REVOKE: LiteralString = """
    WITH held AS (
        SELECT key_id, revoked_at FROM api_key
         WHERE key_id = %(key_id)s AND (%(tenant)s = '*' OR tenant = %(tenant)s)
           FOR UPDATE)
    UPDATE api_key AS k SET revoked_at = coalesce(held.revoked_at, now())
      FROM held WHERE k.key_id = held.key_id
    RETURNING k.tenant, held.revoked_at IS NULL AS was_in_use"""


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key; the token is shown this once."""

    key_id: str
    token: str


@dataclass(frozen=True, slots=True)
class RevokedKey:
    """A key that is revoked, now or before."""

    tenant: str
    was_in_use: bool


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key as it is listed: never its secret, never its hash."""

    key_id: str
    tenant: str
    subject: str
    name: str
    scopes: list[str]
    logbooks: list[str] | None
    rate_per_minute: int | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    @property
    def state(self) -> str:
        """Return whether it is `valid`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= datetime.now(UTC):
            return "expired"
        return "valid"

    @property
    def place(self) -> list[str]:
        """Return its place in the list, as a cursor holds it."""
        return [self.created_at.isoformat(), self.key_id]


@dataclass(frozen=True, slots=True)
class _StoredKey:
    key_id: str
    tenant: str
    subject: str
    groups: list[str]
    name: str
    hash: bytes
    scopes: list[str]
    logbooks: list[str] | None
    rate_per_minute: int | None
    valid: bool


def create_key(
    conn: Connection,
    *,
    tenant: str,
    name: str,
    subject: str | None = None,
    scopes: Sequence[str],
    logbooks: Sequence[str] | None = None,
    rate_per_minute: int | None = None,
    expires_at: datetime | None = None,
) -> CreatedKey:
    """Store a new key and return its token; the caller commits."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        message = f"Scopes are {', '.join(SCOPES)}; not {', '.join(unknown) or 'none'}."
        raise InvalidRequestError.field("scopes", "unknown", message)
    key_id = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32)
    conn.execute(
        _CREATE,
        {
            "key_id": key_id,
            "tenant": tenant,
            "subject": subject or name,
            "name": name,
            "hash": hashlib.sha256(secret.encode()).digest(),
            "scopes": sorted(set(scopes)),
            "logbooks": None if logbooks is None else list(logbooks),
            "rate": rate_per_minute,
            "expires_at": expires_at,
        },
    )
    return CreatedKey(key_id, f"lk_{key_id}_{secret}")


def check_shape(token: str) -> re.Match[str]:
    """Raise the 401 of every bad key unless the token could be one of ours."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise _invalid()
    return match


def find(conn: Connection, token: str) -> Scope:
    """Return whose key it is; garbage, expired and revoked are one and the same."""
    key_id, secret = check_shape(token).groups()
    stored = _load(conn, key_id)
    given = hashlib.sha256(secret.encode()).digest()
    if stored is None or not hmac.compare_digest(stored.hash, given):
        raise _invalid()
    return _scope_of(stored)


def find_by_id(conn: Connection, key_id: str) -> Scope:
    """Return the scope of a key that its caller has shown before, in a login."""
    stored = _load(conn, key_id)
    if stored is None:
        raise _invalid()
    return _scope_of(stored)


def _load(conn: Connection, key_id: str) -> _StoredKey | None:
    return fetch_one(conn, _StoredKey, _FIND, {"key_id": key_id})


def _scope_of(stored: _StoredKey) -> Scope:
    if not stored.valid:
        raise _invalid()
    return Scope(
        # An installation's admin has no facility: requests act on the default one.
        tenant=DEFAULT_TENANT if stored.tenant == ANY_TENANT else stored.tenant,
        subject=stored.subject,
        groups=tuple(stored.groups),
        logbooks=None if stored.logbooks is None else tuple(stored.logbooks),
        allowed=frozenset(stored.scopes),
        key_id=stored.key_id,
        key_name=stored.name,
        rate_per_minute=stored.rate_per_minute,
        everywhere=stored.tenant == ANY_TENANT,
    )


def check_logbooks(scope: Scope, logbooks: Sequence[str] | None) -> None:
    """Raise unless a caller may make a key of these logbooks; None: of all."""
    own = scope.logbooks
    if own is None or (logbooks is not None and set(logbooks) <= set(own)):
        return
    wrong = sorted(set(logbooks or ()) - set(own))
    message = f"A key made with this one is of {', '.join(own) or 'no logbook'} only."
    needed = f"logbook:{(*wrong, '*')[0]}"
    raise AccessError(message, code="scope_missing", details={"needed": needed})


def list_keys(
    conn: Connection,
    tenant: str,
    *,
    limit: int = 1000,
    after: tuple[datetime, str] | None = None,
) -> list[KeyRow]:
    """Return the keys of a tenant, or of all with `*`, the newest first."""
    created_at, key_id = after or (None, None)
    values = {"created_at": created_at, "key_id": key_id, "limit": limit}
    return fetch_all(conn, KeyRow, _LISTING, {**values, "tenant": tenant})


def read_place(kept: Sequence[str] | None) -> tuple[datetime, str] | None:
    """Return the place in the list that a cursor holds."""
    return None if kept is None else (datetime.fromisoformat(kept[0]), kept[1])


def revoke(conn: Connection, tenant: str, key_id: str) -> RevokedKey | None:
    """Revoke a key of the tenant, or of any with `*`; None: there is none."""
    values = {"key_id": key_id, "tenant": tenant}
    return fetch_one(conn, RevokedKey, _REVOKE, values)


def note_use(conn: Connection, key_ids: Iterable[str]) -> None:
    """Store that these keys were used just now."""
    conn.execute(_NOTE_USE, {"key_ids": sorted(key_ids)})


def _invalid() -> AccessError:
    message = "This key is not valid; create one with `logchord keys create`."
    return AccessError(message, code="auth_invalid")
