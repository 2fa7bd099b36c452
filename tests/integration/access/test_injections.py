"""Texts that mean something to a database are found as texts, and never carried out."""

import random

from tests.support import injections
from tests.support.faults.measures.size import SEED
from tests.support.injections import STRINGS
from tests.support.waiting import until


def test_a_text_that_means_something_to_a_database_is_only_ever_a_text(running, tenant):
    """Some of the two hundred; all of them: `tests/faults/test_injections.py`."""
    some = random.Random(SEED).sample(STRINGS, 12)
    token = running.key(tenant=tenant, scopes=injections.SCOPES)
    with running.client(token) as client:
        sent = injections.push(client, some)
        until(
            lambda: injections.is_indexed(client), within_seconds=30, what="the index"
        )
        for said in some:
            injections.ask(client, said)
        for said in some[:3]:
            injections.ask_everywhere(client, said, some)
        assert injections.ok(client.get("/v1/entries"))["total"] == sent
