"""What `doctor` asks of Postgres: schema, extensions, locale, clock, pools, vectors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, LiteralString

from api.cli.doctor.checks import Check
from shared import migrations
from shared.embedding.models import model_names
from shared.embedding.vectors import semantic_preconditions, vector_tables, vectors
from shared.errors import LogchordError
from shared.postgres.pool import connect, translate_database_errors

if TYPE_CHECKING:
    from psycopg import Connection

    from shared.settings.settings import Settings

_TENANT = "default"
_SPARE_CONNECTIONS = 10
_DRIFT_SECONDS = 1.0
_EXTENSIONS = ("vector", "pg_trgm")

_VERSION: LiteralString = "SELECT current_setting('server_version')"
_INSTALLED: LiteralString = "SELECT extname FROM pg_extension"
_LOCALE: LiteralString = """
    SELECT datlocprovider::text, coalesce(datlocale, ''), datctype
      FROM pg_database WHERE datname = current_database()"""
_CLOCK: LiteralString = "SELECT extract(epoch FROM clock_timestamp())::float8"
# A pool names its process and its pid: as many names, as many pools. All else of ours
# is one connection that is always open.
_POOLS: LiteralString = """
    SELECT count(DISTINCT application_name) FILTER (WHERE pooled),
           count(*) FILTER (WHERE NOT pooled),
           current_setting('max_connections')::int
      FROM (SELECT application_name, application_name LIKE ANY (
                       ARRAY['logchord api %', 'logchord worker %']) AS pooled
              FROM pg_stat_activity
             WHERE application_name LIKE 'logchord %') AS ours"""
_MODELS: LiteralString = "SELECT model, table_name FROM embedding_model WHERE active"


def of_database(settings: Settings) -> Iterator[Check]:
    """Look at the database; where it does not answer, only that is said."""
    if settings.database_url is None:
        remedy = "Start it with `logchord up`, or set DATABASE_URL."
        yield Check("Postgres", "failed", "no address is known", remedy)
        return
    try:
        url = settings.database_url.get_secret_value()
        with connect(url, application="doctor", autocommit=True) as conn:
            with translate_database_errors():
                yield from _server(conn, settings.database_pool_size)
            yield from _schema(conn, settings)
    except LogchordError as exc:
        remedy = "Start it with `logchord up`, or correct DATABASE_URL."
        yield Check("Postgres", "failed", exc.message, remedy)


def _server(conn: Connection, pool_size: int) -> Iterator[Check]:
    yield Check("Postgres", "ok", f"version {_one(conn, _VERSION)}")
    installed = {row[0] for row in conn.execute(_INSTALLED).fetchall()}
    for name in _EXTENSIONS:
        if name in installed:
            yield Check(f"extension {name}", "ok", "present")
        else:
            remedy = "Install it on the server, then run `logchord migrate`."
            yield Check(f"extension {name}", "failed", "absent", remedy)
    yield _locale(conn)
    yield _clock(conn)
    yield _pools(conn, pool_size)


def _schema(conn: Connection, settings: Settings) -> Iterator[Check]:
    todo = [migration.name for migration in migrations.list_pending(conn)]
    if todo:
        found = f"{len(todo)} pending, the first is {todo[0]}"
        yield Check("migrations", "failed", found, "Run `logchord migrate`.")
        return
    yield Check("migrations", "ok", "all applied")
    with translate_database_errors():
        yield from _vectors(conn, model_names.choose_first_model(settings))


def _locale(conn: Connection) -> Check:
    row = conn.execute(_LOCALE).fetchone()
    provider, locale, ctype = row or ("", "", "")
    found = f"provider {provider}, locale {locale or ctype}"
    if "UTF" in (locale or ctype).upper():
        return Check("locale", "ok", found)
    remedy = (
        "Make the cluster with `initdb --locale-provider=builtin "
        "--builtin-locale=C.UTF-8`: under C, umlauts are neither folded nor found."
    )
    return Check("locale", "failed", found, remedy)


def _clock(conn: Connection) -> Check:
    before = time.time()
    theirs = float(_one(conn, _CLOCK))
    ours = (before + time.time()) / 2
    found = f"{theirs - ours:+.3f} s between the database and this machine"
    if abs(theirs - ours) <= _DRIFT_SECONDS:
        return Check("clock", "ok", found)
    remedy = "Synchronise both clocks (NTP): deadlines and leases compare them."
    return Check("clock", "failed", found, remedy)


def _pools(conn: Connection, pool_size: int) -> Check:
    pools, single, allowed = conn.execute(_POOLS).fetchone() or (0, 0, 0)
    return weigh_pools(pools, pool_size, single, allowed)


def weigh_pools(pools: int, pool_size: int, single: int, allowed: int) -> Check:
    """Tell whether Postgres allows every connection that may be opened."""
    need, most = pools * pool_size + single, allowed - _SPARE_CONNECTIONS
    found = (
        f"{pools} of up to {pool_size} connections and {single} single ones make "
        f"{need}, of {most} that may be used"
    )
    if need <= most:
        return Check("pools", "ok", found)
    remedy = "Raise max_connections, or lower LOGCHORD_DATABASE_POOL_SIZE."
    return Check("pools", "failed", found, remedy)


def _vectors(conn: Connection, first: str) -> Iterator[Check]:
    live = vector_tables.find_live_model(conn)
    if live is not None and live.model != first:
        found = f"searches read {live.model}, the settings name {first}"
        remedy = f"`logchord reembed {first} --activate`, or correct the setting."
        yield Check("model in use", "note", found, remedy)
    entries = semantic_preconditions.entries(conn, _TENANT)
    models = conn.execute(_MODELS).fetchall()
    if not models:
        remedy = "The embed worker makes it with the first: `logchord logs embed`."
        found = f"no model has a table yet, for {entries} entries"
        state: Literal["ok", "failed"] = "failed" if entries else "ok"
        yield Check("vectors", state, found, remedy if entries else None)
    for model, table in models:
        embedded = vectors.count_embedded_entries(conn, table, _TENANT)
        share = embedded / entries if entries else 1.0
        found = f"{model}: {embedded} of {entries} entries ({share:.0%})"
        # One that nobody searches yet is being filled: that is no failure either.
        if not embedded and entries and live is not None and model == live.model:
            remedy = "Nothing is found by meaning: see `logchord logs embed`."
            yield Check("vectors", "failed", found, remedy)
            continue
        # Blank entries have none, and what is due will have: so this is no failure.
        yield Check("vectors", "ok" if share == 1.0 else "note", found)


def _one(conn: Connection, statement: LiteralString) -> str:
    row = conn.execute(statement).fetchone()
    return str(row[0]) if row else ""
