"""Entries of two tenants with one word in common, and four callers who look at them."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
import psycopg

from local.server import free_port
from shared.access import keys
from tests.support.fixtures.system import System
from tests.support.waiting import until

FAR = "2199-01-01T00:00:00Z"
QUERY = "/v1/search/query"
# Whoever may do everything may still not see what is not for them.
SCOPES = ("read", "search", "ingest", "admin")
WORDS = (
    *("magnet", "valve", "pump", "mirror", "shutter", "ramp", "orbit", "cooling"),
    *("cable", "crate", "beamline", "operator", "restart", "alarm", "pressure"),
    *("window", "septum", "kicker", "screen", "monitor", "timing", "trigger"),
)
ENTRIES: dict[str, dict[str, Any]] = {
    "open": {},
    "past": {"visible_from": "2020-01-01T00:00:00Z"},
    "bens": {"readers": ["ben"]},
    "nobodys": {"readers": []},
    "embargo": {"visible_from": FAR},
    "rfs": {"logbook": "rf"},
    # In a thread that nobody sees another entry of there is none.
    "rfs-too": {"logbook": "rf"},
    "gone": {},
    # Closed while no index worker runs, each in another way.
    "lost": {},
    "withheld": {},
    "dropped": {},
    "moved": {"logbook": "rf"},
}
OURS = {"open", "past", "rfs", "rfs-too", "lost", "withheld", "dropped", "moved"}
# What each may see while everything is indexed, and what of that is closed later.
SEEN = {
    "anna": OURS,
    "ben": OURS | {"bens"},
    "rf": {"rfs", "rfs-too", "moved"},
    "elsewhere": {"theirs", "their-answer"},
}
CLOSED = {
    "anna": {"lost", "withheld", "dropped"},
    "ben": {"withheld", "dropped"},
    "rf": {"moved"},
    "elsewhere": set(),
}


@dataclass
class Looking:
    """One caller, and what they had asked before anything was closed."""

    name: str
    client: httpx2.Client
    world: World
    # All that they were ever answered.
    told: list[str]
    thread: str = ""
    job: str = ""

    def asked(self, **fields: Any) -> Any:
        headers = fields.pop("headers", None)
        patient = {"limit": 100, "deadline_ms": 4000}
        body = {"query": self.world.word, "mode": "keyword", **patient, **fields}
        return ok(self.client.post(QUERY, json=body, headers=headers))

    def got(self, path: str, **options: Any) -> Any:
        return ok(self.client.get(path, **options))


@dataclass
class World:
    """Entries of two tenants with one word in common, and who looks at them."""

    system: System
    word: str
    # External ids by what they are called here; each stands in no other text.
    names: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    callers: dict[str, Looking] = field(default_factory=dict)

    def called(self, external_ids: list[str]) -> list[str]:
        back = {external_id: name for name, external_id in self.names.items()}
        return [back[one] for one in external_ids]

    def entry(self, name: str, **fields: Any) -> dict[str, Any]:
        luck = random.Random(name)
        own = self.names.setdefault(name, f"{name}-{secrets.token_hex(4)}")
        return {
            "external_id": own,
            "text": f"{self.word} {' '.join(luck.sample(WORDS, 9))}",
            "author": own,
            "entry_time": f"2026-03-{luck.randrange(10, 28)}T10:00:00Z",
            **fields,
        }

    def push(self, tenant: str, entries: list[dict[str, Any]]) -> None:
        with self.system.client(self.system.key(tenant=tenant)) as writer:
            answer = writer.post("/v1/entries", json={"entries": entries})
        for one, item in zip(entries, ok(answer)["items"], strict=True):
            self.ids[one["external_id"]] = item["entry_id"]

    def delete(self, tenant: str, name: str) -> None:
        with self.system.client(self.system.key(tenant=tenant)) as writer:
            gone = writer.delete(f"/v1/entries/{self.ids[self.names[name]]}")
        assert gone.status_code == 204, gone.text

    def settle(self, *tenants: str) -> None:
        """Return once no stage has anything left to do for them."""
        left = "SELECT count(*) FROM work WHERE tenant = ANY (%s)"
        with psycopg.connect(self.system.database, autocommit=True) as conn:

            def is_done() -> bool:
                row = conn.execute(left, (list(tenants),)).fetchone()
                return row == (0,)

            until(is_done, within_seconds=60, what="every stage")


def ok(answer: httpx2.Response) -> Any:
    assert answer.status_code in {200, 201, 202}, answer.text
    return answer.json()


@contextmanager
def people_look(world: World, tenant: str) -> Iterator[tuple[str, ...]]:
    """Have two of our facility come through a gateway, to an API of its own."""
    groups = {"all": {"scopes": SCOPES}, "rf": {"scopes": SCOPES, "logbooks": ["rf"]}}
    named = {"header": "X-Remote-User", "groups_header": "X-Remote-Groups"}
    port = free_port()
    world.system.start(
        "behind a gateway",
        command="api",
        LOGCHORD_PORT=str(port),
        LOGCHORD_TRUSTED_PROXIES="127.0.0.1",
        LOGCHORD_PEOPLE=json.dumps({**named, "tenant": tenant, "groups": groups}),
        LOGCHORD_RATE_SEARCH_PER_MINUTE="0",
        LOGCHORD_RATE_DEFAULT_PER_MINUTE="0",
    )
    people = {"ben": ("ben", "all"), "rf": ("anna", "rf")}
    with ExitStack() as open_clients:
        open_clients.callback(world.system.kill, "behind a gateway")
        for name, (subject, group) in people.items():
            who = world.callers[name]
            open_clients.callback(setattr, who, "client", who.client)
            client = httpx2.Client(
                base_url=f"http://127.0.0.1:{port}",
                headers={"X-Remote-User": subject, "X-Remote-Groups": group},
                timeout=40,
                event_hooks=who.client.event_hooks,
            )
            who.client = open_clients.enter_context(client)

        def answers() -> bool:
            with suppress(httpx2.TransportError):
                return who.client.get("/health/live").status_code == 200
            return False

        until(answers, within_seconds=60, what="the API behind a gateway")
        yield tuple(people)


@contextmanager
def make_world(
    running: System, tenant: str, *, in_threads: bool = True
) -> Iterator[World]:
    """Yield a world of entries in which everything is indexed, and four who look."""
    made = World(running, f"klystron{secrets.token_hex(3)}")
    elsewhere = f"{tenant}-b"
    ours = [made.entry(name, **fields) for name, fields in ENTRIES.items()]
    theirs = [made.entry("theirs"), made.entry("their-answer")]
    for thread in (ours, theirs) if in_threads else ():
        for one in thread[1:]:
            one["reply_to"] = thread[0]["external_id"]
    made.push(tenant, ours)
    made.push(elsewhere, theirs)
    made.delete(tenant, "gone")
    made.settle(tenant, elsewhere)
    keys_of = {
        "anna": (tenant, "anna", None),
        "ben": (tenant, "ben", None),
        "rf": (tenant, "anna", ["rf"]),
        "elsewhere": (elsewhere, "anna", None),
    }
    with ExitStack() as open_clients, psycopg.connect(running.database) as conn:
        for name, (whose, subject, logbooks) in keys_of.items():
            key = keys.create_key(
                conn,
                tenant=whose,
                name=name,
                subject=subject,
                scopes=SCOPES,
                logbooks=logbooks,
                rate_per_minute=0,
            )
            told: list[str] = []

            def note(answer: httpx2.Response, told: list[str] = told) -> None:
                answer.read()
                told.append(answer.text)

            client = running.client(key.token, event_hooks={"response": [note]})
            open_clients.enter_context(client)
            made.callers[name] = Looking(name, client, made, told)
        conn.commit()
        for name, who in made.callers.items():

            def is_found(who: Looking = who, name: str = name) -> bool:
                return len(who.asked()["results"]) == len(SEEN[name])

            # The index shows what was written within a second.
            until(is_found, within_seconds=10, what=f"all that {name} may see")
            who.job = who.asked(facets=["author"])["job_id"]
            (first, *_) = sorted(SEEN[name])
            shown = who.got(f"/e/api/{made.names[first]}")
            who.thread = shown["thread_id"] or ""
        yield made
