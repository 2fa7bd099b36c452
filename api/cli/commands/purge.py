"""`logchord purge`: an entry leaves every store, and the proof is printed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from api.cli import output
from api.cli.output import CommandError, UsageError
from shared.access import keys
from shared.access.audit_records import note_command
from shared.enrich.attachments import attachment_states, keep_files
from shared.enrich.attachments.file_store import open_store
from shared.entries import refs
from shared.entries.refs import Ref
from shared.entries.removal import purge as purging
from shared.entries.removal.purge import Purged
from shared.messaging import redis_clients
from shared.opensearch import client as opensearch
from shared.opensearch import documents, erase
from shared.postgres.pool import connection, make_pool
from shared.search.jobs import job as jobs
from shared.settings.settings import Settings
from shared.stages import entry_stages
from shared.vocabulary import word_counts

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

    from shared.postgres.pool import Pool

# Jobs and answers are looked through whole.
_STATEMENT_TIMEOUT_MS = 120_000


@click.command()
@click.argument("ref")
@click.option("--tenant", default=keys.DEFAULT_TENANT, help="Whose entry.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(*, ref: str, tenant: str, yes: bool) -> None:
    """Remove an entry without a trace; no source brings it back.

    REF is an entry id, a source_uri, a permalink, SOURCE/EXTERNAL_ID, or a bare
    external id. Whoever holds DATABASE_URL may.
    """
    out = output.current()
    settings = Settings.load(os.environ)
    client = opensearch.make_client(settings)
    pool = make_pool(
        settings.require_database_url(),
        application="purge",
        size=2,
        statement_timeout_ms=_STATEMENT_TIMEOUT_MS,
    )
    with pool:
        meant = _meant(pool, tenant, ref)
        name = f"{meant.source}/{meant.external_id}"
        if not yes:
            click.confirm(f"Remove {name} for good?", abort=True, err=True)
        done, documents_removed = _purge(pool, client, settings, tenant, meant)
        words = _forget_words(pool, tenant, done)
        removed = _remove_files(pool, settings, done)
        left = _left(pool, client, settings, tenant, meant, done)
    found = {
        **done.counts,
        "files": removed,
        "index": documents_removed,
        "vocabulary": words,
    }
    if not out.prints_json({"purged": name, "removed": found, "left": left}):
        _tell(out, name, found, left)
    if any(left.values()):
        message = f"Something of {name} is left: run the command again."
        raise CommandError(message, exit_code=output.TRY_AGAIN)


def _meant(pool: Pool, tenant: str, ref: str) -> Ref:
    with connection(pool) as conn:
        found = refs.find(conn, tenant, ref)
    # A name that is spelt out is kept out, although there is no such entry (any more).
    found = found or list(refs.names(tenant, ref))[:1]
    if not found:
        message = (
            f"No entry is called {ref!r}; SOURCE/EXTERNAL_ID keeps out one that is not"
            " here."
        )
        raise CommandError(message, exit_code=output.NOT_FOUND)
    if len(found) > 1:
        several = ", ".join(f"{one.source}/{one.external_id}" for one in found)
        raise UsageError(f"{ref!r} may be any of: {several}.")
    return found[0]


def _purge(
    pool: Pool, client: OpenSearch | None, settings: Settings, tenant: str, meant: Ref
) -> tuple[Purged, int]:
    """Remove the entry; also return how many documents the index had of it."""
    removed = 0
    with connection(pool) as conn:
        stages = entry_stages.list_deletion_stages(settings)
        done = purging.purge(
            conn, tenant, meant.source, meant.external_id, stages=stages
        )
        name = f"{meant.source}/{meant.external_id}"
        note_command(conn, "logchord purge", name, tenant=tenant)
        # Within the transaction: without the index nothing is purged, and the key by
        # which the document is found is not lost.
        if client is not None and done.entry_id is not None:
            version = documents.version_of(done.epoch, done.version)
            index = settings.opensearch_index
            removed = erase.erase(client, index, done.entry_id, version)
        if done.jobs and settings.broker_url is not None:
            # What is told of a job quotes entries, and is kept by the job's id.
            jobs.erase_jobs(redis_clients.jobs_redis(settings), done.jobs)
    return done, removed


def _forget_words(pool: Pool, tenant: str, done: Purged) -> int:
    # Apart from the purge: whoever learns words waits no longer than for this.
    with connection(pool) as conn:
        return word_counts.forget(conn, tenant, done.language, done.terms)


def _remove_files(pool: Pool, settings: Settings, done: Purged) -> int:
    store = open_store(settings)
    return sum(
        keep_files.delete_file_if_unused(pool, store, sha256)
        for sha256, _ in done.files
    )


def _left(
    pool: Pool,
    client: OpenSearch | None,
    settings: Settings,
    tenant: str,
    meant: Ref,
    done: Purged,
) -> dict[str, Any]:
    """Search every store anew, in a transaction of its own."""
    entry_id: UUID | None = done.entry_id or meant.entry_id
    with connection(pool) as conn:
        name = (meant.source, meant.external_id)
        left: dict[str, Any] = dict(purging.count_traces(conn, tenant, *name, entry_id))
        unused = [
            one for one in done.files if not attachment_states.is_used(conn, one[0])
        ]
    store = open_store(settings)
    left["files"] = sum(store.has(*one) for one in unused)
    if client is not None and entry_id is not None:
        left["index"] = erase.count(client, settings.opensearch_index, entry_id)
    return left


def _tell(
    out: output.Output, name: str, found: dict[str, int], left: dict[str, int]
) -> None:
    out.say(f"Purged {name}; its name is kept, so that no poll brings it back.")
    for store in sorted({*found, *left}):
        removed, still = found.get(store, 0), left.get(store, 0)
        out.data(f"{store:<24} removed {removed:>5}  left {still:>3}")
    out.say("Searches in flight forget it when their time is over; backups keep it.")
