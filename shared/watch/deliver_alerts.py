"""Due alerts sent to where their owners want them, as they may see entries now."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from shared.access.installation_secret import installation_secret
from shared.entries.identity import permalink
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.search.pipelines.plan_settings import calendar_of
from shared.search.results.hydrate import HitRow, hydrate
from shared.settings.settings import Settings
from shared.times.rfc3339 import on_clock, timestamp
from shared.watch import alert_rows, channels, saved_searches, webhook
from shared.watch.alert_rows import AlertRow
from shared.watch.channels import Message
from shared.watch.find_alerts import find_quiet_end
from shared.watch.owners import find_rights
from shared.watch.saved_searches import SavedSearch

log = get_logger()

# The entries of one digest; the rest of it follows.
MOST_TOGETHER = 100
_READ_MS = 4000
_EXCERPT_CHARACTERS = 500


def deliver(
    pool: Pool,
    settings: Settings,
    alerts: Sequence[AlertRow],
    is_cancelled: Callable[[], bool],
) -> None:
    """Send alerts of one saved search together, and note what became of them."""
    alerts = _without_lost(pool, alerts)
    if not alerts:
        return
    with connection(pool) as conn:
        tenant = alerts[0].tenant
        saved = saved_searches.find_any(conn, tenant, alerts[0].saved_search_id)
        url = saved.rule.webhook_url
        if url is None or not saved.rule.enabled:
            alert_rows.give_up(conn, alerts, "Its alerts are off, or go nowhere.")
            return
        # Who sends may be late, or try again.
        now = datetime.now(UTC)
        quiet_end = find_quiet_end(now, saved.rule, calendar_of(settings))
        if quiet_end is not None:
            alert_rows.postpone(conn, alerts, quiet_end)
            return
        owner = find_rights(conn, settings, saved)
        if owner is None:
            alert_rows.give_up(conn, alerts, "The key of its owner may not search.")
            return
        ids = [one.entry_id for one in alerts]
        rows = hydrate(conn, ids, owner, _READ_MS)
        alert_rows.forget(conn, [one for one in alerts if one.entry_id not in rows])
        secret = webhook.make_signing_secret(installation_secret(conn), saved.id)
    told = [one for one in alerts if one.entry_id in rows]
    if not told:
        return
    message = _message(saved, told, rows, settings)
    error = channels.send(url, message, secret, settings, is_cancelled)
    with connection(pool) as conn:
        if error is None:
            alert_rows.note_delivered(conn, told)
        else:
            alert_rows.note_failed(conn, told, error)
    log.info(
        "alerts_sent" if error is None else "alerts_not_sent",
        id=str(saved.id),
        alerts=len(told),
        attempts=told[0].attempts,
    )


def _without_lost(pool: Pool, alerts: Sequence[AlertRow]) -> Sequence[AlertRow]:
    """Give up what no worker survives to send; return the others."""
    lost = [one for one in alerts if one.attempts > alert_rows.MOST_ATTEMPTS]
    if lost:
        with connection(pool) as conn:
            why = f"{alert_rows.MOST_ATTEMPTS} workers were lost as they sent it."
            alert_rows.give_up(conn, lost, why)
    return [one for one in alerts if one not in lost]


def _message(
    saved: SavedSearch,
    alerts: Sequence[AlertRow],
    rows: dict[UUID, HitRow],
    settings: Settings,
) -> Message:
    """Return the message of one alert, or of a digest."""
    entries = [rows[one.entry_id] for one in alerts]
    is_single = saved.rule.digest == "none"
    first = entries[0].title or entries[0].text[:_EXCERPT_CHARACTERS]
    subject = first if is_single else f"{len(entries)} entries"
    texts = [_describe(one, settings, with_text=is_single) for one in entries]
    all_of_them = f"{saved.name}: {channels.link(settings, _address(saved))}"
    return Message(
        str(alerts[0].id),
        f"{saved.name}: {subject}",
        "\n\n".join([*texts, all_of_them]),
        _body(saved, alerts, rows, settings.base_path),
    )


def _describe(row: HitRow, settings: Settings, *, with_text: bool) -> str:
    """Return an entry in words, with an address that stays its own."""
    when = on_clock(row.entry_time, ZoneInfo(settings.facility_timezone))
    named = f"{when}  {row.source}/{row.external_id}  {', '.join(row.authors)}"
    where = channels.link(settings, permalink(row.source, row.external_id))
    if settings.public_url is None and row.url is not None:
        where = row.url
    lines = [named.rstrip(), row.title, where]
    if with_text:
        lines.insert(2, row.text[:_EXCERPT_CHARACTERS])
    return "\n".join(line for line in lines if line)


def _body(
    saved: SavedSearch,
    alerts: Sequence[AlertRow],
    rows: dict[UUID, HitRow],
    base_path: str,
) -> dict[str, Any]:
    """Return one alert, or those of a digest, as the webhook is told."""
    items = [
        {
            "alert_id": str(one.id),
            "entry": _entry(rows[one.entry_id]),
            "matched_by": one.matched_by,
        }
        for one in alerts
    ]
    digest = saved.rule.digest
    told = items[0] if digest == "none" else {"digest": digest, "alerts": items}
    return {
        **told,
        "saved_search": {"id": str(saved.id), "name": saved.name},
        "job_url": base_path + _address(saved),
    }


def _address(saved: SavedSearch) -> str:
    """Return the page of what a search finds; of its alerts where no address says it.

    A filter of the page has one value, or any of several.
    """
    said = [("q", saved.request.get("query", ""))]
    for name, value in saved.request.get("filters", {}).items():
        is_list = isinstance(value, dict) and len(value) == 1
        wanted = value.get("in") if is_list else value
        values = wanted if isinstance(wanted, list) else [wanted]
        if not all(isinstance(one, str) for one in values):
            return f"/saved?alerts={saved.id}#s-{saved.id}"
        said += [(name, one) for one in values]
    return f"/search?{urlencode([*said, ('sort', 'newest')])}"


def _entry(row: HitRow) -> dict[str, Any]:
    return {
        "entry_id": str(row.entry_id),
        "source": row.source,
        "external_id": row.external_id,
        "revision": row.revision,
        "entry_time": timestamp(row.entry_time),
        "title": row.title,
        "excerpt": row.text[:_EXCERPT_CHARACTERS],
        "authors": row.authors,
        "logbooks": row.logbooks,
        "thread_id": row.thread_id and str(row.thread_id),
        "url": row.url,
    }
