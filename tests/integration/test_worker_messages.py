"""Messages that no task can be made of are recorded, and the worker goes on."""

from __future__ import annotations

import base64
import json
import secrets
from typing import LiteralString

import pytest
import redis

from shared.broker import EXTRACT_METADATA, METADATA_STAGE, send_nudge
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page
from tests.waiting import eventually, until
from workers.consumer import MAX_BODY_BYTES

QUEUE = "enhance.metadata"
RECORDED: LiteralString = "SELECT count(*) FROM quarantine WHERE entry_id IS NULL"
ENRICHED: LiteralString = "SELECT count(*) FROM entry_text"
MARK = "the-argument-of-a-stranger"
FAR_AWAY = "9999-12-31T23:59:59+00:00"


def body(args: object = ((),), kwargs: object = None) -> bytes:
    return json.dumps([args, kwargs or {}, {}]).encode()


def envelope(
    raw: bytes = b"", *, content="application/json", properties=True, **headers
):
    """A message as kombu lays it on a list of Redis, with whatever is wrong in it."""
    return json.dumps(
        {
            "body": base64.b64encode(raw).decode(),
            "content-encoding": "utf-8",
            "content-type": content,
            "headers": {
                "lang": "py",
                "task": EXTRACT_METADATA,
                "id": secrets.token_hex(8),
                "argsrepr": "",
                **headers,
            },
            "properties": {
                "correlation_id": secrets.token_hex(8),
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": QUEUE},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": secrets.token_hex(8),
            }
            if properties
            else {},
        }
    ).encode()


def without_task() -> bytes:
    message = json.loads(envelope(b'{"nothing": 1}'))
    del message["headers"]["task"]
    return json.dumps(message).encode()


BAD = {
    "an unknown task": envelope(body(), task="enhance.no_such_task"),
    "a task named by a list": envelope(body(), task=["a", "b"]),
    "no task at all": without_task(),
    "a missing argument list": envelope(b"[]"),
    "one argument too many": envelope(body([[], MARK])),
    "an argument of the wrong type": envelope(body([MARK])),
    "an id that is none": envelope(body([[MARK]])),
    "an argument of an unknown name": envelope(body([[]], {MARK: 1})),
    "129 ids": envelope(body([["00000000-0000-7000-8000-000000000000"] * 129])),
    "broken JSON": envelope(b'[["' + MARK.encode()),
    "a pickle": envelope(b"\x80\x04N.", content="application/x-python-serialize"),
    "a type nobody knows": envelope(b"x", content="application/x-unheard-of"),
    "bytes that are no text": envelope(b"\xff\xfe\x00"),
    "a time to begin in the year 9999": envelope(body(), eta=FAR_AWAY),
    "a time that is none": envelope(body(), eta="soon"),
    "an expiry that is none": envelope(body(), expires="never"),
    "headers that are a list": envelope(body()).replace(
        b'"headers": {', b'"headers": [1], "was": {'
    ),
    "a body beyond the limit": envelope(b" " * MAX_BODY_BYTES + body()),
    "no properties": envelope(body(), properties=False),
    "an item that is not JSON": b"\x00\xff not json at all",
    "an item that is a number": b"17",
    "an item without a body": b"{}",
}


@pytest.mark.timeout(240)
@pytest.mark.requirement("B17")
def test_every_bad_message_is_recorded_and_the_worker_goes_on(celery_setup, conn):
    assert celery_setup.ready()
    broker = redis.Redis.from_url(celery_setup.app.conf.broker_url)
    silent = []
    for name, message in BAD.items():
        before = count(conn, RECORDED)
        broker.lpush(QUEUE, message)
        if not soon(lambda before=before: count(conn, RECORDED) > before):
            silent.append(name)
    broker.close()
    draft = EntryDraft("api", "A-1", "RF cavity 3 tripped")
    save_page(conn, "default", [draft], stages=[METADATA_STAGE], editor="test")
    conn.commit()
    send_nudge(celery_setup.app, METADATA_STAGE)

    assert silent == [], celery_setup.worker.logs()[-3000:]
    assert eventually(lambda: count(conn, ENRICHED), equals=1, within_seconds=20)
    assert celery_setup.worker.container.status == "running"
    assert MARK not in celery_setup.worker.logs()
    kept = conn.execute("SELECT error::text, excerpt FROM quarantine").fetchall()
    assert MARK not in str(kept)


def count(conn, statement: LiteralString) -> int:
    conn.rollback()
    row = conn.execute(statement).fetchone()
    return row[0]


def soon(probe) -> bool:
    try:
        return until(probe, within_seconds=10)
    except AssertionError:
        return False
