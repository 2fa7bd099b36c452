"""Messages that nobody should find in a queue, as kombu would lay them there."""

import base64
import json
import secrets
import zlib
from collections.abc import Mapping
from typing import Any

from shared.messaging.task_names import EMBED_ENTRIES, EXTRACT_METADATA, RUN_BRANCH
from workers.runtime.envelope import MAX_BODY_BYTES, MAX_ITEM_BYTES

# Never to be found again in a log or in the quarantine.
MARK = "the-argument-of-a-stranger"
FAR_AWAY = "9999-12-31T23:59:59+00:00"

# For each kind of worker: its queue, a task of it, and arguments that it can use.
WORKERS: Mapping[str, tuple[str, str, tuple[Any, ...]]] = {
    "enhance": ("enhance.metadata", EXTRACT_METADATA, ([],)),
    "embed": ("enhance.embed", EMBED_ENTRIES, ("hashing-384", [])),
    "search": ("search", RUN_BRANCH, ("00000000-0000-7000-8000-000000000000", 0)),
}


def body(args: object, kwargs: object = None, **embedded: object) -> bytes:
    """The arguments of a task, and what it calls afterwards."""
    return json.dumps([args, kwargs or {}, embedded]).encode()


class Writer:
    """Writes messages for the queue of one kind of worker."""

    def __init__(self, kind: str) -> None:
        self.queue, self.task, self.args = WORKERS[kind]

    def item(
        self,
        raw: bytes | None = None,
        *,
        content: object = "application/json",
        encoding: object = "utf-8",
        **headers: object,
    ) -> bytes:
        """One item of the list, with whatever is wrong in it."""
        raw = body(self.args) if raw is None else raw
        return json.dumps(
            {
                "body": base64.b64encode(raw).decode(),
                "content-encoding": encoding,
                "content-type": content,
                "headers": {
                    "lang": "py",
                    "task": self.task,
                    "id": secrets.token_hex(8),
                    "argsrepr": "",
                    **headers,
                },
                "properties": {
                    "correlation_id": secrets.token_hex(8),
                    "delivery_mode": 2,
                    "delivery_info": {"exchange": "", "routing_key": self.queue},
                    "priority": 0,
                    "body_encoding": "base64",
                    "delivery_tag": secrets.token_hex(8),
                },
            }
        ).encode()

    def bad(self) -> dict[str, bytes]:
        """Return one message for everything that can be wrong with one."""
        return {
            **self._bad_tasks(),
            **self._bad_arguments(),
            **self._bad_bodies(),
            **self._bad_headers(),
            **self._bad_items(),
        }

    def _bad_tasks(self) -> dict[str, bytes]:
        return {
            "an unknown task": self.item(task="enhance.no_such_task"),
            "a task of the library": self.item(
                task="celery.backend_cleanup", retries=9
            ),
            "a task named by a list": self.item(task=["a", "b"]),
            "a task named by nothing": self.item(task=None),
            "a task named by half a surrogate": self.item(task="a\ud800b"),
            "a task with NUL in its name": self.item(task="a\x00b"),
            "a task with a long name": self.item(task="a" * 10_000),
            "a task that calls another": self.item(
                body(self.args, callbacks=[{"task": self.task, "args": []}])
            ),
            "a task with a chain": self.item(body(self.args, chain=[{"task": "x"}])),
        }

    def _bad_arguments(self) -> dict[str, bytes]:
        deep = b"[" * 100_000 + b"]" * 100_000
        shallow = b"[" * 40 + b"]" * 40
        whole = b"9" * 5000
        return {
            "no argument list": self.item(b"[]"),
            "one argument too many": self.item(body([*self.args, MARK])),
            "too few levels": self.item(body([[MARK]])[1:-1]),
            "an argument of the wrong type": self.item(body([7, 7, 7])),
            "an id that is none": self.item(body([*self.args[:-1], [MARK]])),
            "an argument of an unknown name": self.item(body(self.args, {MARK: 1})),
            "129 ids": self.item(
                body([*self.args[:-1], ["00000000-0000-7000-8000-000000000000"] * 129])
            ),
            "an argument with NUL": self.item(body([f"{MARK}\x00"])),
            "an argument with half a surrogate": self.item(body([f"{MARK}\ud800"])),
            "an argument that is NaN": self.item(b"[[NaN], {}, {}]"),
            "an argument that is endless": self.item(b"[[1e999], {}, {}]"),
            "an argument of 5000 digits": self.item(b"[[" + whole + b"], {}, {}]"),
            "arguments 100,000 deep": self.item(b"[[" + deep + b"], {}, {}]"),
            "arguments 40 deep": self.item(b"[[" + shallow + b"], {}, {}]"),
            "an argument twice": self.item(b'[[], {"model": "a", "model": "b"}, {}]'),
            "a number beyond 2**63": self.item(body([2**64])),
            "a number below zero": self.item(body([*self.args, -1])),
        }

    def _bad_bodies(self) -> dict[str, bytes]:
        bomb = zlib.compress(b"[" * 50_000_000, 9)
        return {
            "broken JSON": self.item(b'[["' + MARK.encode()),
            "an empty body": self.item(b""),
            "a pickle": self.item(
                b"\x80\x04N.", content="application/x-python-serialize"
            ),
            "YAML": self.item(b"[[], {}, {}]", content="application/x-yaml"),
            "a type nobody knows": self.item(content="application/x-unheard-of"),
            "a type that is a number": self.item(content=17),
            "an encoding nobody knows": self.item(encoding="utf-99"),
            "an encoding that is a codec": self.item(encoding="zlib_codec"),
            "an encoding that is a list": self.item(encoding=["utf-8"]),
            "bytes that are no text": self.item(b"\xff\xfe\x00"),
            "text with a byte order mark": self.item(b"\xef\xbb\xbf[[], {}, {}]"),
            "a body beyond the limit": self.item(b" " * MAX_BODY_BYTES + body([])),
            "a bomb": self.item(bomb, compression="application/x-gzip"),
            "compression nobody knows": self.item(compression="application/x-zip"),
            "a body that is not base64": self.item(b"xx").replace(
                b"eHg=", b"e\\ud800="
            ),
        }

    def _bad_headers(self) -> dict[str, bytes]:
        listed = b'"headers": [1], "was": {'
        return {
            "a time to begin in the year 9999": self.item(eta=FAR_AWAY),
            "a time that is none": self.item(eta="soon"),
            "a time that is a number": self.item(eta=-1),
            "an expiry that is none": self.item(expires="never"),
            "an expiry in the year 9999": self.item(expires=FAR_AWAY),
            "an expiry in the year 0": self.item(expires="0000-01-01T00:00:00+00:00"),
            "an expiry without a zone": self.item(expires="2026-01-01T00:00:00"),
            "an expiry that is a number": self.item(expires=-5),
            "an id that is a number": self.item(id=17),
            "an id with NUL": self.item(id="a\x00b"),
            "an id of half a surrogate": self.item(id="\udfff"),
            "a long id": self.item(id="x" * 100_000),
            "retries below zero": self.item(retries=-1),
            "retries beyond reason": self.item(retries=10**30),
            "a time limit of its own": self.item(timelimit=[1e9, 1e9]),
            "a time limit below zero": self.item(timelimit=[-1, -1]),
            "another name to be shown by": self.item(shadow="x" * 1000),
            "stamps": self.item(stamped_headers=["x"], stamps={}),
            "a group that is a list": self.item(group=["x"]),
            "a parent that is a number": self.item(parent_id=5),
            "a header of half a surrogate": self.item(traceparent="\ud800"),
            "a header with NUL": self.item(request_id="a\x00"),
            "a header that is an object": self.item(deadline={"a": 1}),
            "a header beyond every number": self.item(deadline=10**40),
            "a long header": self.item(argsrepr="x" * 50_000),
            "headers that are a list": self.item().replace(b'"headers": {', listed),
        }

    def _bad_items(self) -> dict[str, bytes]:
        without = json.loads(self.item())
        del without["properties"]
        return {
            "no properties": json.dumps(without).encode(),
            "an item that is not JSON": b"\x00\xff not json at all",
            "an item that is empty": b"",
            "an item that is a number": b"17",
            "an item that is nothing": b"null",
            "an item that is a list": b"[1, 2]",
            "an item without a body": b"{}",
            "an item 100,000 deep": b"[" * 100_000,
            "an item of 5000 digits": b"9" * 5000,
            "an item with a key twice": b'{"body": "a", "body": "b"}',
            "an item beyond the limit": b'"' + b"x" * MAX_ITEM_BYTES + b'"',
            "a deep object": b'{"headers": ' * 5000 + b"1" + b"}" * 5000,
        }
