"""Idempotency keys: the same request again gets the same answer, built anew."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any, LiteralString

from psycopg import Connection

from shared.access.scope import Scope
from shared.errors import ConflictError, InvalidRequestError

_KEY = re.compile(r"^[\x21-\x7e]{1,128}$")

_BEGIN: LiteralString = """
    INSERT INTO idempotency (tenant, caller, route, key, body_hash)
    VALUES (%(tenant)s, %(caller)s, %(route)s, %(key)s, %(body_hash)s)
        ON CONFLICT (tenant, caller, route, key) DO NOTHING"""
_FIND: LiteralString = """
    SELECT body_hash, answer FROM idempotency
     WHERE tenant = %(tenant)s AND caller = %(caller)s AND route = %(route)s
       AND key = %(key)s"""
_END: LiteralString = """
    UPDATE idempotency SET answer = %(answer)s::jsonb
     WHERE tenant = %(tenant)s AND caller = %(caller)s AND route = %(route)s
       AND key = %(key)s"""
_FORGET: LiteralString = """
    DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency
         WHERE created_at < now() - make_interval(hours => %(hours)s)
         ORDER BY created_at
         LIMIT %(limit)s))"""


@dataclass(frozen=True, slots=True)
class Request:
    """The caller, route and body that an idempotency key is bound to."""

    tenant: str
    caller: str
    route: str
    key: str
    body_hash: bytes

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters of the statements."""
        return asdict(self)


def request(scope: Scope, route: str, key: str | None, body: bytes) -> Request | None:
    """Return the request of a key, if there is one, or refuse what is no key."""
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        message = "An Idempotency-Key is 1 to 128 visible ASCII characters."
        raise InvalidRequestError(message, code="idempotency_key_invalid")
    return Request(
        scope.tenant, scope.caller, route, key, hashlib.sha256(body).digest()
    )


def begin(conn: Connection, asked: Request) -> dict[str, Any] | None:
    """Return the kept answer of an equal request, or None: then it is ours to do.

    A second request with the same key waits here for the first one's commit.
    """
    if conn.execute(_BEGIN, asked.params).rowcount:
        return None
    answer = kept(conn, asked)
    if answer is None:
        message = "A request with this Idempotency-Key is still running; try again."
        raise ConflictError(
            message, code="idempotency_in_progress", retry_after_seconds=1
        )
    return answer


def kept(conn: Connection, asked: Request) -> dict[str, Any] | None:
    """Return the kept answer of an equal request, and refuse another's key."""
    row = conn.execute(_FIND, asked.params).fetchone()
    if row is None or row[1] is None:
        return None
    if row[0] != asked.body_hash:
        raise ConflictError
    answer: dict[str, Any] = row[1]
    return answer


def end(conn: Connection, asked: Request, answer: dict[str, Any]) -> None:
    """Keep ids and statuses in the commit of the effect itself."""
    conn.execute(_END, {**asked.params, "answer": json.dumps(answer)})


def forget(conn: Connection, *, hours: int, limit: int) -> int:
    """Forget at most so many keys past their time; return how many."""
    return conn.execute(_FORGET, {"hours": hours, "limit": limit}).rowcount
