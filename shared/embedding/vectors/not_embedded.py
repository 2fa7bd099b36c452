"""What is not embedded, and why: a language that the model does not speak, a machine.

Who has no vector is found by words, and ranked by the median of those who have one. The
reason is kept with the entry; where settings or the model say otherwise by now, just
those entries are due again.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg import Connection

from shared import version
from shared.embedding.models.model_names import LANGUAGES
from shared.embedding.vectors import vector_tables
from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import Content
from shared.log import get_logger
from shared.messaging.stage_names import METADATA_STAGE, embed_stage
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.settings.text_expectations import find_expectations
from shared.text.words import languages
from shared.work import backlog, chore_records
from shared.work.backlog import Named
from shared.work.chore_records import Effect, Progress

log = get_logger()

Reason = Literal["language", "machine"]

STEP_ENTRIES = 1000
# Texts are up to a megabyte each: so many are in memory at once.
_READ_AT_ONCE = 50
MACHINE = "machine"
_BY, _MARK_LENGTH = "judged_by", 16

_NOTE: LiteralString = """
    INSERT INTO embedding_skipped AS s (tenant, entry_id, model, revision, reason)
    SELECT %(tenant)s, e.id, %(model)s, j.revision, j.reason
      FROM entry e
      JOIN unnest(%(entry_ids)s::uuid[], %(revisions)s::int[], %(reasons)s::text[])
           AS j (entry_id, revision, reason) ON j.entry_id = e.id
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
     ORDER BY e.id
        ON CONFLICT (entry_id, model) DO UPDATE
       SET revision = excluded.revision, reason = excluded.reason
     WHERE s.revision <= excluded.revision"""
_FORGET: LiteralString = """
    DELETE FROM embedding_skipped s
     USING unnest(%(entry_ids)s::uuid[], %(revisions)s::int[])
           AS j (entry_id, revision)
     WHERE s.entry_id = j.entry_id AND s.revision <= j.revision
       AND s.model = %(model)s AND s.tenant = %(tenant)s"""
_COUNTS: LiteralString = """
    SELECT reason, count(*) FROM embedding_skipped
     WHERE tenant = %(tenant)s AND model = %(model)s
     GROUP BY reason ORDER BY reason LIMIT 10"""
_REASON: LiteralString = """
    SELECT s.reason
      FROM embedding_skipped s
      JOIN entry e ON e.id = s.entry_id AND e.revision = s.revision
     WHERE s.tenant = %(tenant)s AND e.tenant = %(tenant)s
       AND s.entry_id = %(entry_id)s AND s.model = %(model)s"""
# The language is the one that the text was read in, where few words count as English;
# so who may be judged otherwise is, by the one function. What settings or a release may
# judge otherwise than the last time it was looked at is: who was left out for the
# language, and who was not where one is expected that is not spoken. Who waits for its
# vector will be judged then. Who waits to be read anew is judged only for those: the
# reading makes no vector due, and this walk is the only one that looks.
_PAGE: LiteralString = """
    SELECT e.id AS entry_id, e.tenant, coalesce(s.reason, '') AS noted,
           (%(anew)s AND (s.reason IS NOT DISTINCT FROM 'language'
                          OR e.source = ANY(%(unspoken)s::text[])
                          OR %(may_be_unspoken)s
                             AND NOT e.source = ANY(%(telling)s::text[]))
            OR coalesce(s.reason, '') <> CASE
                WHEN NOT %(machines)s AND e.origin = 'machine' THEN 'machine'
                WHEN cardinality(%(spoken)s::text[]) > 0
                     AND NOT t.language = ANY(%(spoken)s::text[]) THEN 'language'
                ELSE '' END
               AND NOT EXISTS (SELECT FROM work w
                                WHERE w.entry_id = e.id AND w.stage = %(reading)s))
           AND e.deleted_at IS NULL AND t.revision = e.revision
           AND NOT EXISTS (SELECT FROM work w
                            WHERE w.entry_id = e.id AND w.stage = %(embedding)s)
           AND NOT EXISTS (SELECT FROM quarantine q
                            WHERE q.entry_id = e.id
                              AND q.stage IN (%(reading)s, %(embedding)s))
           AS may_be_other
      FROM entry_text t
      JOIN entry e ON e.id = t.entry_id
      LEFT JOIN embedding_skipped s ON s.entry_id = e.id AND s.model = %(model)s
     WHERE %(after)s::uuid IS NULL OR t.entry_id > %(after)s
     ORDER BY t.entry_id
     LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class _SkippedRow:
    entry_id: UUID
    tenant: str
    noted: str
    may_be_other: bool


def spoken(model: str, settings: Settings) -> tuple[str, ...]:
    """Return the languages that a model speaks; none: whatever is written."""
    provider = settings.api.providers.get(model.partition(":")[0])
    if provider is not None:
        return provider.embedding_languages
    return tuple(LANGUAGES.get(model, ()))


def reason(content: Content, model: str, settings: Settings) -> Reason | None:
    """Return why an entry is not embedded; None: it is."""
    if content.deleted:
        return None
    if content.origin == MACHINE and not settings.embed_machine_entries:
        return "machine"
    known = spoken(model, settings)
    if not known:
        return None
    told = find_expectations(settings, content.source, content.tenant)
    # A few words of which nothing is said count as the model's own, as in a question.
    language = languages.find_entry_language(
        content.title,
        content.text,
        told=content.said_language,
        expected=told.language or known[0],
    )
    return None if language in known else "language"


def store_reasons(
    conn: Connection,
    model: str,
    tenant: str,
    judged: Iterable[tuple[Content, Reason | None]],
) -> None:
    """Keep each entry's reason, or that it has none any more; idempotent."""
    in_order = sorted(judged, key=lambda one: one[0].entry_id)
    noted = [one for one in in_order if one[1] is not None]
    if noted:
        conn.execute(_NOTE, _rows(model, tenant, noted))
    without = [one for one in in_order if one[1] is None]
    if without:
        conn.execute(_FORGET, _rows(model, tenant, without))


def _rows(
    model: str, tenant: str, judged: Sequence[tuple[Content, Reason | None]]
) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "model": model,
        "entry_ids": [content.entry_id for content, _ in judged],
        "revisions": [content.revision for content, _ in judged],
        "reasons": [why for _, why in judged],
    }


def count_skipped(conn: Connection, model: str, tenant: str) -> dict[str, int]:
    """Return how many entries of a facility a model skips, by reason."""
    found = {"language": 0, "machine": 0}
    given = {"tenant": tenant, "model": model}
    return found | dict(conn.execute(_COUNTS, given).fetchall())


def find_reason(
    conn: Connection, model: str, tenant: str, entry_id: UUID
) -> Reason | None:
    """Return why a model skips an entry as it is now; None: it does not."""
    given = {"tenant": tenant, "entry_id": entry_id, "model": model}
    return fetch_value(conn, _REASON, given)


def prepare(
    pool: Pool, settings: Settings, cursor: Mapping[str, Any], done: int
) -> Effect:
    """Look at one page; return what makes due those that are judged otherwise now."""
    with connection(pool) as conn:
        models = [one.model for one in vector_tables.list_active_models(conn)]
        walk = _walk(conn, models, settings, cursor)
        pages = {model: _page(conn, model, settings, walk) for model in models}
    other: dict[str, list[Named]] = {}
    for model, page in pages.items():
        if found := _judged_otherwise(pool, model, settings, page):
            other[embed_stage(model)] = found
    make_last_due = backlog.add_but_last(pool, other)
    page = next(iter(pages.values()), [])

    def commit(conn: Connection) -> Progress:
        make_last_due(conn)
        if other:
            log.info("vectors_renewed", made_due=sum(map(len, other.values())))
        if len(page) < STEP_ENTRIES:
            return Progress(None, done, total=done, result={_BY: walk[_BY]})
        return Progress({**walk, "embedded_to": str(page[-1].entry_id)}, done)

    return commit


def _walk(
    conn: Connection,
    models: Sequence[str],
    settings: Settings,
    cursor: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the cursor with each model's rules, and the models whose rules are new."""
    now = {model: _judged_by(model, settings) for model in models}
    if cursor["embedded_to"] is None:
        last = chore_records.find_last_done(conn, chore_records.RENEW_TEXTS)
        told = (last.result or {}).get(_BY, {}) if last else {}
        anew = [model for model in models if told.get(model) != now[model]]
        return {**cursor, _BY: now, "anew": anew}
    # What began otherwise has not judged all by what is set now: the next walk will.
    began = cursor.get(_BY, {})
    same = {model: by for model, by in now.items() if began.get(model) == by}
    return {**cursor, _BY: same, "anew": cursor.get("anew", models)}


def _judged_by(model: str, settings: Settings) -> str:
    """Return a mark of all but the entry by which its language is judged."""
    said = {name: source.language for name, source in settings.sources.items()}
    tenants = {name: one.language for name, one in settings.tenants.items()}
    of_others = [sorted(tenants.items()), settings.analyser.language]
    by = [version.VERSION, spoken(model, settings), sorted(said.items()), *of_others]
    return hashlib.sha256(json.dumps(by).encode()).hexdigest()[:_MARK_LENGTH]


def _judged_otherwise(
    pool: Pool, model: str, settings: Settings, page: Sequence[_SkippedRow]
) -> list[Named]:
    noted: dict[str, dict[UUID, str]] = defaultdict(dict)
    for row in page:
        if row.may_be_other:
            noted[row.tenant][row.entry_id] = row.noted
    return [
        (tenant, content.entry_id)
        for tenant, of_tenant in sorted(noted.items())
        for content in _contents(pool, tenant, sorted(of_tenant))
        if (reason(content, model, settings) or "") != of_tenant[content.entry_id]
    ]


def _contents(pool: Pool, tenant: str, ids: Sequence[UUID]) -> Iterator[Content]:
    """Yield the contents of entries in portions; no connection is held in between."""
    for begin in range(0, len(ids), _READ_AT_ONCE):
        with connection(pool) as conn:
            some = ids[begin : begin + _READ_AT_ONCE]
            found = read_entries.load_contents(conn, tenant, some)
        yield from found.values()


def _page(
    conn: Connection, model: str, settings: Settings, cursor: Mapping[str, Any]
) -> Sequence[_SkippedRow]:
    given = {
        "model": model,
        "machines": settings.embed_machine_entries,
        "spoken": list(spoken(model, settings)),
        "anew": model in cursor["anew"],
        **_unspoken(model, settings),
        "reading": METADATA_STAGE,
        "embedding": embed_stage(model),
        "after": cursor["embedded_to"],
        "limit": STEP_ENTRIES,
    }
    return fetch_all(conn, _SkippedRow, _PAGE, given)


def _unspoken(model: str, settings: Settings) -> dict[str, Any]:
    """Return which sources are of a language that the model does not speak.

    Where a source does not tell, its tenant may be of one, or the facility.
    """
    known = spoken(model, settings)
    told = {name: one.language for name, one in sorted(settings.sources.items())}
    others = {one.language for one in settings.tenants.values()}
    others |= {settings.analyser.language}
    return {
        "unspoken": [name for name, one in told.items() if known and _not(one, known)],
        "may_be_unspoken": bool(known) and any(_not(one, known) for one in others),
        "telling": [name for name, one in told.items() if one],
    }


def _not(language: str | None, known: Sequence[str]) -> bool:
    return language is not None and language not in known
