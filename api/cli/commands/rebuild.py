"""`logchord rebuild`: the search index made anew, while everybody searches the old."""

import os
from functools import partial

import click

from api.cli import follow_chore, output
from api.cli.output import Output, UsageError
from shared.opensearch import rebuild as rebuild_chore
from shared.opensearch.client import make_client
from shared.postgres.pool import Pool, make_pool
from shared.settings.settings import Settings
from shared.work.chore_records import Maintenance

# What each phase is to somebody who waits for it.
_WORDS = {
    "read": "having every text read and every vector made anew",
    "reading": "waiting for texts and vectors",
    "create": "making an empty index",
    "open": "having both indices written",
    "wait": "waiting for writers that began before",
    "copy": "copying",
    "settle": "opening it to searches",
    "compare": "comparing it with Postgres",
    "drain": "waiting for what differed",
    "sample": "searching in it",
    "swap": "putting it in its place",
    "drop": "waiting for searches in the old index",
}


@click.command()
@click.option(
    "--full", is_flag=True, help="Have texts read and vectors made anew first."
)
@click.option("--stop", is_flag=True, help="Give up the one under way.")
@click.option("--no-wait", is_flag=True, help="Do not wait for its end.")
def rebuild(*, full: bool, stop: bool, no_wait: bool) -> int:
    """Make the search index anew; the old one is searched until both are equal.

    Ctrl-C leaves it going; call it again to look. Whoever holds DATABASE_URL may.
    """
    out = output.current()
    settings = Settings.load(os.environ)
    if make_client(settings) is None:
        raise UsageError("OPENSEARCH_URL is off: there is no index to make anew.")
    url = settings.require_database_url()
    with make_pool(url, application="rebuild", size=1) as pool:
        if stop:
            return _stop(pool, out)
        ask = partial(rebuild_chore.ask, full=full)
        now = follow_chore.follow(
            pool, out, ask, _WORDS, command="rebuild", waits=not no_wait
        )
    _tell(out, now)
    return output.DONE if no_wait or now.state == "done" else output.FAILED


def _stop(pool: Pool, out: Output) -> int:
    find = rebuild_chore.find_unfinished_rebuild
    _tell(out, follow_chore.stop(pool, find, "No rebuild is under way."))
    out.say("The old index is in use as before; what there was of the new one goes.")
    return output.DONE


def _tell(out: Output, now: Maintenance) -> None:
    if follow_chore.tells_person(out, "rebuild", now) and now.result:
        result = now.result
        out.data(
            f"{result['entries']} entries are in {result['index']},"
            f" equal to Postgres; {result['healed']} were put right before the swap."
        )
