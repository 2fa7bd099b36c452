"""How each source stands: paused, degraded, how far back and forth it is complete."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import Connection

from shared.adapter_contract.contract import Gap
from shared.entries.saving.validate import refuse_pulled
from shared.errors import LogchordError
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.settings.source_sections import SourceSettings

MAX_GAPS = 100
PARTLY_UNREAD = "partly_unread"

_ARRANGE: LiteralString = """
    INSERT INTO source_state AS s (source, tenant, adapter, config_hash, config,
                                   parsed_by)
    VALUES (%(source)s, %(tenant)s, %(adapter)s, %(hash)s, %(config)s, %(version)s)
        ON CONFLICT (source) DO UPDATE
       SET tenant = excluded.tenant, adapter = excluded.adapter,
           config_hash = excluded.config_hash, config = excluded.config
     WHERE s.tenant = %(tenant)s
       AND (s.adapter, s.config_hash) <> (excluded.adapter, excluded.config_hash)"""
_OF_SOURCE: LiteralString = """
    SELECT tenant FROM source_state WHERE source = %(source)s"""
_READ: LiteralString = """
    SELECT s.source, s.tenant, s.adapter, s.config_hash, s.config, s.paused, s.degraded,
           s.serving, s.failures, s.last_error, s.last_success_at, s.complete_from,
           s.complete_to, s.gaps, s.parsed_by, statement_timestamp() AS now
      FROM source_state s
     WHERE s.tenant = %(tenant)s
       AND (%(source)s::text IS NULL OR s.source = %(source)s)
     ORDER BY s.source
     LIMIT 1000"""
_SETTINGS: LiteralString = """
    SELECT source, config FROM source_state
     WHERE %(sources)s::text[] IS NULL OR source = ANY(%(sources)s)
     ORDER BY source
     LIMIT 1000"""
_HASH: LiteralString = """
    SELECT config_hash FROM source_state
     WHERE source = %(source)s AND tenant = %(tenant)s
       FOR SHARE"""
_FAILED: LiteralString = """
    UPDATE source_state
       SET failures = failures + 1, last_error = %(error)s,
           paused = CASE WHEN failures + 1 >= %(most)s
                         THEN jsonb_build_object('reason', 'failures', 'at',
                              to_jsonb(clock_timestamp()), 'error', %(error)s::jsonb)
                         ELSE paused END
     WHERE source = %(source)s AND tenant = %(tenant)s
    RETURNING failures, paused IS NOT NULL"""
_SUCCEEDED: LiteralString = """
    UPDATE source_state
       SET failures = 0, last_error = NULL, last_success_at = clock_timestamp(),
           serving = 'live'
     WHERE source = %(source)s AND tenant = %(tenant)s"""
_SERVE_SNAPSHOT: LiteralString = """
    UPDATE source_state SET serving = 'snapshot'
     WHERE source = %(source)s AND tenant = %(tenant)s AND serving <> 'snapshot'"""
_PAUSE: LiteralString = """
    UPDATE source_state
       SET paused = jsonb_build_object('reason', %(reason)s::text, 'at',
                                       to_jsonb(clock_timestamp()))
     WHERE source = %(source)s AND tenant = %(tenant)s AND paused IS NULL"""
_RESUME: LiteralString = """
    UPDATE source_state SET paused = NULL, failures = 0
     WHERE source = %(source)s AND tenant = %(tenant)s"""
_DEGRADE: LiteralString = """
    UPDATE source_state SET degraded = %(why)s
     WHERE source = %(source)s AND tenant = %(tenant)s"""
_COMPLETE: LiteralString = """
    UPDATE source_state
       SET complete_from = CASE WHEN %(from)s::timestamptz IS NULL THEN complete_from
                                ELSE least(complete_from, %(from)s) END,
           complete_to = greatest(complete_to, %(to)s::timestamptz)
     WHERE source = %(source)s AND tenant = %(tenant)s"""
_SET_GAPS: LiteralString = """
    UPDATE source_state SET gaps = %(gaps)s
     WHERE source = %(source)s AND tenant = %(tenant)s"""
_PARSED: LiteralString = """
    UPDATE source_state SET parsed_by = %(version)s
     WHERE source = %(source)s AND tenant = %(tenant)s"""


@dataclass(frozen=True, slots=True)
class SourceState:
    """The row of a source, and the database's time."""

    source: str
    tenant: str
    adapter: str
    config_hash: str
    config: dict[str, Any]
    paused: dict[str, Any] | None
    degraded: dict[str, Any] | None
    serving: str
    failures: int
    last_error: dict[str, Any] | None
    last_success_at: datetime | None
    complete_from: datetime | None
    complete_to: datetime | None
    gaps: list[dict[str, Any]]
    parsed_by: int | None
    now: datetime

    @property
    def settings(self) -> SourceSettings:
        """Return the settings of the source as they were last loaded."""
        return _read_settings(self.config)


def _read_settings(config: Mapping[str, Any]) -> SourceSettings:
    """Read settings back as they are stored; what another release knows is left out."""
    known = {
        name: config[name] for name in SourceSettings.model_fields if name in config
    }
    return SourceSettings.model_validate(known)


def arrange(
    conn: Connection,
    tenant: str,
    source: str,
    *,
    adapter: str,
    config_hash: str,
    config: dict[str, Any],
    version: int,
) -> bool:
    """Make sure that a configured source has its row; false if nothing has changed."""
    values = {
        "adapter": adapter,
        "hash": config_hash,
        "config": json.dumps(config),
        "version": version,
    }
    return conn.execute(_ARRANGE, {**_key(tenant, source), **values}).rowcount > 0


def tenant_of(conn: Connection, source: str) -> str | None:
    """Return whose source it is; its name is the installation's alone."""
    return fetch_value(conn, _OF_SOURCE, {"source": source})


def current_settings(
    conn: Connection,
    configured: Mapping[str, SourceSettings],
    sources: Sequence[str] | None = None,
) -> dict[str, SourceSettings]:
    """Return the settings of sources, or of all, as they are by now.

    Those that are asked may have been added or changed since this process has read its
    configuration; of those that are pushed to it is the configuration that tells.
    """
    found = {
        name: one
        for name, one in configured.items()
        if sources is None or name in sources
    }
    names = None if sources is None else list(sources)
    for name, config in conn.execute(_SETTINGS, {"sources": names}):
        found[name] = _read_settings(config)
    return dict(sorted(found.items()))


def refuse_polled(
    conn: Connection, configured: Mapping[str, SourceSettings], source: str
) -> None:
    """Raise if a source is polled by now, though it was added since the start."""
    refuse_pulled(current_settings(conn, configured, [source]), source)


def load_source_state(conn: Connection, tenant: str, source: str) -> SourceState | None:
    """Return how one source stands."""
    found = _read(conn, tenant, source)
    return found[0] if found else None


def await_config_hash(conn: Connection, tenant: str, source: str) -> str | None:
    """Return the digest of a source's settings, once nobody is changing them."""
    return fetch_value(conn, _HASH, {"source": source, "tenant": tenant})


def listing(conn: Connection, tenant: str) -> list[SourceState]:
    """Return how every source of a tenant stands, by name."""
    return _read(conn, tenant, None)


def failed(
    conn: Connection, tenant: str, source: str, error: LogchordError, *, most: int
) -> tuple[int, bool]:
    """Count a failure; return how many in a row, and whether it is paused now."""
    values = {"error": error.as_json(admin=True), "most": most}
    row = conn.execute(_FAILED, {**_key(tenant, source), **values}).fetchone()
    return (int(row[0]), bool(row[1])) if row else (0, False)


def succeeded(conn: Connection, tenant: str, source: str) -> None:
    """Forget the failures: the source has answered, and is served live."""
    conn.execute(_SUCCEEDED, _key(tenant, source))


def serve_snapshot(conn: Connection, tenant: str, source: str) -> None:
    """Mark that the newest entries of a source come from its snapshot files."""
    conn.execute(_SERVE_SNAPSHOT, _key(tenant, source))


def pause(conn: Connection, tenant: str, source: str, reason: str) -> bool:
    """Ask a source no more until it is resumed; false if it was paused already."""
    return conn.execute(_PAUSE, {**_key(tenant, source), "reason": reason}).rowcount > 0


def resume(conn: Connection, tenant: str, source: str) -> None:
    """Ask a source again, with no failure counted."""
    conn.execute(_RESUME, _key(tenant, source))


def degrade(
    conn: Connection, tenant: str, source: str, why: dict[str, Any] | None
) -> None:
    """Set what is wrong with a source that goes on, or clear it with None."""
    value = None if why is None else json.dumps(why)
    conn.execute(_DEGRADE, {**_key(tenant, source), "why": value})


def note_unread(
    conn: Connection, tenant: str, source: str, unread: Mapping[str, str]
) -> None:
    """Mark a source as degraded while parts of it are unread; else clear the mark."""
    standing = load_source_state(conn, tenant, source)
    before = (standing.degraded if standing else None) or {}
    if unread:
        message = " ".join(sorted(set(unread.values())))
        why = {"code": PARTLY_UNREAD, "message": message}
        if before != why:
            degrade(conn, tenant, source, why)
    elif before.get("code") == PARTLY_UNREAD:
        degrade(conn, tenant, source, None)


def note_complete(
    conn: Connection,
    tenant: str,
    source: str,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
) -> None:
    """Extend the time range within which all entries are stored."""
    conn.execute(_COMPLETE, {**_key(tenant, source), "from": start, "to": end})


def note_gaps(conn: Connection, tenant: str, source: str, gaps: Sequence[Gap]) -> None:
    """Store the ranges that could not be read, the newest first, up to a limit."""
    if not gaps:
        return
    state = load_source_state(conn, tenant, source)
    known = state.gaps if state else []
    added = [
        {
            "start": gap.start.isoformat() if gap.start else None,
            "end": gap.end.isoformat() if gap.end else None,
            "reason": gap.reason,
        }
        for gap in gaps
    ]
    merged = [*(one for one in added if one not in known), *known][:MAX_GAPS]
    conn.execute(_SET_GAPS, {**_key(tenant, source), "gaps": json.dumps(merged)})


def note_parsed(conn: Connection, tenant: str, source: str, version: int) -> None:
    """Remember which version of the adapter has read every entry."""
    conn.execute(_PARSED, {**_key(tenant, source), "version": version})


def _read(conn: Connection, tenant: str, source: str | None) -> list[SourceState]:
    return fetch_all(conn, SourceState, _READ, {"tenant": tenant, "source": source})


def _key(tenant: str, source: str) -> dict[str, str]:
    return {"tenant": tenant, "source": source}
