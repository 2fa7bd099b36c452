"""The vectors of another model made beside those in use, and put in their place.

Searches stay with the old model until the new one has a vector of everything that the
old one has. From the moment the new one is in use, whatever changes is embedded for
both. Each step may be done twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection, sql

from shared.embedding.models.encoder_contract import Encoder
from shared.embedding.models.model_names import SECOND, SECOND_DIMENSION
from shared.embedding.switch import switch_model
from shared.embedding.vectors import vector_tables
from shared.embedding.vectors.vector_tables import EmbeddingModel
from shared.entries.reading import entry_counts
from shared.errors import ConfigurationError, InternalError
from shared.messaging.stage_names import embed_stage
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.postgres.pool import Pool, connection
from shared.work import backlog, chore_records, live_processes
from shared.work.chore_records import Chore, Effect, PhasedChore, Progress

STEP_ENTRIES = 128
# What any model can embed; what takes over must be able to.
_HARMLESS = "beam"
# No row of work for each entry: the walk goes on when fewer than these are left.
AHEAD_ENTRIES = 1000
MAX_ROUNDS = 3
# Processes report every 5 s; one that cannot load the model says so in its log.
WARM_SECONDS = 120.0
_SEARCH_QUEUES = frozenset({"search", "search.bulk"})

# What was added by a statement that began before the model was in use is of a
# transaction that has ended once none is left that is as old.
_HORIZON: LiteralString = """
    SELECT pg_snapshot_xmax(pg_current_snapshot())::text"""
_IS_BEHIND: LiteralString = """
    SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %(horizon)s::xid8"""
_DUE: LiteralString = """
    SELECT count(*) FROM (
        SELECT FROM work WHERE stage = %(stage)s AND class = 1 LIMIT %(most)s) AS few"""
_ASIDE: LiteralString = "SELECT count(*) FROM quarantine WHERE stage = %(stage)s"
_PAGE: LiteralString = """
    SELECT e.id, e.tenant,
           e.deleted_at IS NULL AND NOT EXISTS (
               SELECT FROM {new} v
                WHERE v.entry_id = e.id AND v.revision = e.revision)
           AND NOT EXISTS (
               SELECT FROM embedding_skipped s
                WHERE s.entry_id = e.id AND s.model = %(model)s
                  AND s.revision = e.revision) AS is_missing,
           EXISTS (SELECT FROM work w
                    WHERE w.entry_id = e.id AND w.stage = %(stage)s)
           OR EXISTS (SELECT FROM quarantine q
                       WHERE q.entry_id = e.id AND q.stage = %(stage)s) AS is_known,
           EXISTS (SELECT FROM {old} v
                    WHERE v.entry_id = e.id AND v.revision = e.revision) AS is_in_old
      FROM entry e
     WHERE %(after)s::uuid IS NULL OR e.id > %(after)s
     ORDER BY e.id
     LIMIT %(limit)s"""


def ask(
    conn: Connection,
    model: str,
    *,
    batch: int = STEP_ENTRIES,
    activate: bool = False,
    force: bool = False,
) -> UUID:
    """Make the chore due, and return its id; refuse if one is under way."""
    asked = {"model": model, "batch": batch, "activate": activate, "force": force}
    refusal = "Entries are being embedded for another model already."
    begins = {"phase": "open", **asked}
    return chore_records.ask(conn, chore_records.REEMBED_MODEL, begins, refusal)


def find_unfinished_reembedding(conn: Connection) -> UUID | None:
    """Return the re-embedding that has not ended."""
    return chore_records.find_unfinished(conn, chore_records.REEMBED_MODEL)


@dataclass(frozen=True, slots=True)
class _ReembedRow:
    id: UUID
    tenant: str
    is_missing: bool
    is_known: bool
    is_in_old: bool


@dataclass(frozen=True, slots=True)
class _Site(PhasedChore):
    """A chore, and what its steps work with."""

    pool: Pool
    prefix: str
    encoder: Callable[[str], Encoder]

    @property
    def model(self) -> str:
        return str(self.came["model"])

    @property
    def stage(self) -> str:
        return embed_stage(self.model)


def prepare(
    pool: Pool, prefix: str, encoder: Callable[[str], Encoder], chore: Chore
) -> Effect:
    """Do the next step outside every transaction; return the commit of its effect."""
    site = _Site(chore, pool, prefix, encoder)
    return PHASES[site.came["phase"]](site)


def _open(site: _Site) -> Effect:
    """Create the table, and from now on have changed entries embedded for it, too."""
    # This process has no room for three models: it never loads the second.
    is_second = site.model == SECOND
    dimension = SECOND_DIMENSION if is_second else site.encoder(site.model).dimension

    def commit(conn: Connection) -> Progress:
        vector_tables.ensure_table(conn, site.prefix, site.model, dimension)
        vector_tables.activate(conn, site.model)
        begun = site.goes_on("mark", after=None, round=0, missing=0)
        return Progress(begun.cursor, 0, entry_counts.estimate_entries(conn))

    return commit


def _mark(site: _Site) -> Effect:
    return lambda conn: site.goes_on("wait", horizon=fetch_value(conn, _HORIZON))


def _wait(site: _Site) -> Effect:
    """Wait for transactions that began earlier and do not embed for the new model."""
    given = {"horizon": site.came["horizon"]}
    return lambda conn: (
        site.goes_on("walk") if fetch_value(conn, _IS_BEHIND, given) else site.waits()
    )


def _walk(site: _Site) -> Effect:
    """Make due the entries without a vector; in later rounds those still lacking."""
    with connection(site.pool) as conn:
        given = {"stage": site.stage, "most": AHEAD_ENTRIES}
        if (fetch_value(conn, _DUE, given) or 0) >= AHEAD_ENTRIES:
            return lambda _: site.waits()
        old = vector_tables.find_live_model(conn)
    page = _page(site, old)
    is_first = site.came["round"] == 0
    lacking = [row for row in page if row.is_missing and (is_first or row.is_in_old)]
    named = [(row.tenant, row.id) for row in lacking if not row.is_known]
    make_last_due = backlog.add_but_last(site.pool, {site.stage: named})
    missing = site.came["missing"] + len(lacking)
    done = site.chore.done + (len(page) if is_first else 0)
    total = max(site.chore.total or 0, done)

    def commit(conn: Connection) -> Progress:
        make_last_due(conn)
        if len(page) == site.came["batch"]:
            goes_on = site.goes_on("walk", after=str(page[-1].id), missing=missing)
        elif is_first or (missing and site.came["round"] < MAX_ROUNDS):
            marked_at = chore_records.read_clock(conn).isoformat()
            goes_on = site.goes_on("drain", missing=missing, marked_at=marked_at)
        else:
            goes_on = site.goes_on("compare", missing=missing)
        return Progress(goes_on.cursor, done, total)

    return commit


def _drain(site: _Site) -> Effect:
    """Wait until the due entries are embedded, then check whether any is missing."""
    marked_at = datetime.fromisoformat(site.came["marked_at"])
    again = {"after": None, "missing": 0, "round": site.came["round"] + 1}
    return lambda conn: (
        site.waits()
        if backlog.is_left(conn, site.stage, marked_at)
        else site.goes_on("walk", **again)
    )


def _try_out(site: _Site) -> Effect:
    if site.model != SECOND:
        site.encoder(site.model).encode([_HARMLESS])
    may_go_live = site.came["force"] or not site.came["missing"]

    def commit(conn: Connection) -> Progress:
        if site.came["activate"] and may_go_live:
            switch_model.want_warm(conn, site.model)
            begun_at = chore_records.read_clock(conn).isoformat()
            return site.goes_on("warm", warm_from=begun_at)
        why = "incomplete" if site.came["activate"] else None
        return _ended(conn, site, not_live=why)

    return commit


def _warm(site: _Site) -> Effect:
    """Wait until the processes that answer searches have loaded the model."""

    def commit(conn: Connection) -> Progress:
        cold = [
            f"{one.kind} (process {one.pid} on {one.host})"
            for one in live_processes.list_processes(conn)
            if not one.stale
            and _SEARCH_QUEUES & set(one.queues)
            and site.model not in (one.models or [])
        ]
        if not cold:
            return site.goes_on("switch")
        began = datetime.fromisoformat(site.came["warm_from"])
        if (chore_records.read_clock(conn) - began).total_seconds() < WARM_SECONDS:
            return site.waits()
        message = (
            f"These cannot load the model {site.model}: {', '.join(cold)}. Their logs"
            " say why; searches stay with the old model."
        )
        raise ConfigurationError(message, config_key="embedding_model")

    return commit


def _switch(site: _Site) -> Effect:
    def commit(conn: Connection) -> Progress:
        switch_model.switch(conn, site.model)
        return _ended(conn, site, not_live=None)

    return commit


PHASES: dict[str, Callable[[_Site], Effect]] = {
    "open": _open,
    "mark": _mark,
    "wait": _wait,
    "walk": _walk,
    "drain": _drain,
    # A chore may go on in a worker of the release before, which calls it so.
    "compare": _try_out,
    "warm": _warm,
    "switch": _switch,
}


def _ended(conn: Connection, site: _Site, *, not_live: str | None) -> Progress:
    done, live = site.chore.done, vector_tables.find_live_model(conn)
    result = {
        "model": site.model,
        "entries": done,
        "missing": site.came["missing"],
        "put_aside": fetch_value(conn, _ASIDE, {"stage": site.stage}),
        "live": live is not None and live.model == site.model,
        "not_live": not_live,
    }
    return Progress(None, done, total=done, result=result)


def _page(site: _Site, old: EmbeddingModel | None) -> list[_ReembedRow]:
    given = {
        "after": site.came["after"],
        "limit": site.came["batch"],
        "stage": site.stage,
        "model": site.model,
    }
    with connection(site.pool) as conn:
        new = _registered(conn, site.model).table_name
        # With no other model there is nothing that the new one could lack.
        names = {"new": new, "old": new if old is None else old.table_name}
        found = {key: sql.Identifier(name) for key, name in names.items()}
        return fetch_all(conn, _ReembedRow, sql.SQL(_PAGE).format(**found), given)


def _registered(conn: Connection, model: str) -> EmbeddingModel:
    found = vector_tables.find_model(conn, model)
    if found is None:
        raise InternalError(technical=f"the model {model} has no table any more")
    return found
