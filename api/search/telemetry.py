"""What is kept of how people fare: noted in memory, written after the answer.

A thread of its own writes; what it cannot write is dropped and said so in the log. No
search waits for it, and none fails by it.
"""

import json
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.log import get_logger
from shared.postgres.pool import Pool
from shared.postgres.statement_deadline import timed_connection
from shared.search.quality import search_events
from shared.search.quality.search_events import Detail, EventKeys, SearchEvent
from shared.settings.settings import Settings

log = get_logger()

# The rest of a burst is dropped: memory is worth more than a statistic, and an
# answer may be a megabyte.
MOST_WAITING, MOST_SESSIONS, MOST_JOBS = 100, 10_000, 1_000
_WRITE_MS = 2_000
_STOP_SECONDS = 3.0


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was answered: whose, in which session, and the answer as JSON."""

    tenant: str
    query: str
    session_id: str | None
    answer: str = ""
    # The way out of the answer before it that led here; None: it was asked anew.
    rescue: str | None = None
    at: datetime = field(default_factory=_now)


@dataclass(frozen=True, slots=True)
class PageAction:
    """What somebody did on a page that is no question: opened a hit, asked why not."""

    tenant: str
    type: search_events.EventType
    session_id: str | None
    query: str = ""
    job_id: UUID | None = None
    details: Mapping[str, Detail] = field(default_factory=dict)
    at: datetime = field(default_factory=_now)


@dataclass(frozen=True, slots=True)
class _SessionQuestion:
    """The last question of a session that found no grounded answer."""

    query_key: str | None
    at: datetime


class Telemetry:
    """One per API process; without it, nothing is noted at all."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        secret: Callable[[], bytes],
    ) -> None:
        self.is_on = settings.telemetry.enabled
        self._inactivity = timedelta(seconds=settings.session.inactivity_seconds)
        self._pool = pool
        self._secret = secret
        self._waiting: queue.Queue[AskedQuestion | PageAction | None] = queue.Queue()
        self._sessions: OrderedDict[str, _SessionQuestion] = OrderedDict()
        self._jobs: OrderedDict[UUID, AskedQuestion] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def expect_job(self, job_id: UUID, asked: AskedQuestion) -> None:
        """Remember whose question a job answers, until somebody looks at its end."""
        if not self.is_on:
            return
        with self._lock:
            self._jobs[job_id] = asked
            if len(self._jobs) > MOST_JOBS:
                self._jobs.popitem(last=False)

    def note_job(self, job_id: UUID, answer: str) -> None:
        """Queue an expected job's answer to be noted, the first time it is seen."""
        with self._lock:
            asked = self._jobs.pop(job_id, None)
        if asked is not None:
            self.note(replace(asked, answer=answer, at=_now()))

    def note(self, noted: AskedQuestion | PageAction) -> None:
        """Queue what happened to be written; drop it if the queue is full."""
        if not self.is_on:
            return
        with self._lock:
            self._begin()
            is_full = self._waiting.qsize() >= MOST_WAITING
            if not is_full:
                self._waiting.put(noted)
        if is_full:
            log.warning("search_events_dropped", events=1)

    def keys_of(self, tenant: str) -> EventKeys:
        """Return the maker of a facility's event keys."""
        return EventKeys(self._secret(), tenant)

    def stop(self) -> None:
        """Write the queued notes, for a moment, and end."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(_STOP_SECONDS)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="telemetry", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        while (noted := self._waiting.get()) is not None:
            try:
                if isinstance(noted, PageAction):
                    self._write_action(noted)
                else:
                    self._write(noted)
            except (DatabaseConnectionError, DatabaseQueryError) as exc:
                log.warning("search_events_dropped", code=exc.error_code)
            except (AttributeError, LookupError, TypeError, ValueError) as exc:
                # An answer of another shape than is known: the next may be written.
                log.warning("search_events_dropped", failure=type(exc).__name__)

    def _write_action(self, done: PageAction) -> None:
        keys = self.keys_of(done.tenant)
        whose = (keys.of_query(done.query), keys.of_session(done.session_id))
        event = SearchEvent(done.type, done.at, *whose, done.job_id, done.details)
        with timed_connection(self._pool, _WRITE_MS) as conn:
            search_events.store_events(conn, done.tenant, [event])

    def _write(self, asked: AskedQuestion) -> None:
        answer = json.loads(asked.answer)
        keys = self.keys_of(asked.tenant)
        details = search_events.answer_details(answer)
        query_key = keys.of_query(asked.query)
        session_key = keys.of_session(asked.session_id)
        job_id = UUID(answer["job_id"]) if answer["job_id"] else None
        kinds: list[search_events.EventType] = ["query"]
        if not answer["results"]:
            kinds.append("zero_result")
        if details["status"] is not None:
            kinds.append("answer_frame")
        before = self._exchange(session_key, asked, answer)
        if before is not None and before.query_key != query_key:
            kinds.insert(0, "reformulation")
        if asked.rescue:
            kinds.insert(0, "rescue_action")
        told: dict[str, Mapping[str, Detail]] = {
            "answer_frame": details,
            "rescue_action": {"action": asked.rescue},
        }
        whose = (query_key, session_key, job_id)
        events = []
        for place, kind in enumerate(kinds):
            # In the order in which they came about.
            at = asked.at + timedelta(microseconds=place)
            events.append(SearchEvent(kind, at, *whose, told.get(kind, {})))
        with timed_connection(self._pool, _WRITE_MS) as conn:
            search_events.store_events(conn, asked.tenant, events)

    def _exchange(
        self, session_key: str | None, asked: AskedQuestion, answer: dict[str, object]
    ) -> _SessionQuestion | None:
        """Return the session's last question without an answer, and keep this one."""
        if session_key is None:
            return None
        before = self._sessions.pop(session_key, None)
        worth = answer["context_answer"]
        if isinstance(worth, dict) and worth["status"] != "grounded":
            query_key = self.keys_of(asked.tenant).of_query(asked.query)
            self._sessions[session_key] = _SessionQuestion(query_key, asked.at)
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        if before is not None and asked.at - before.at > self._inactivity:
            return None
        return before
