"""A search that goes on by itself: waited for, followed, explained."""

from __future__ import annotations

import time
from collections.abc import Iterator

from api.client import models
from api.client.error_answers import UnreachableError, rebuild_error
from api.client.event_lines import Event
from api.client.synchronous.link import Link
from shared.errors import LogchordError, Severity

_LAST = "done"
# A server that is started anew answers again within that.
_TRIES, _PAUSE_SECONDS = 30, 1.0


class Job:
    """A search under an id; every one ends by its deadline."""

    def __init__(self, link: Link, job_id: str) -> None:
        self._link = link
        self.job_id = job_id
        self._path = f"/v1/search/jobs/{job_id}"

    def state(self, wait_ms: int = 0) -> models.Job:
        """Return the job as it stands, or as it ends within the wait."""
        wait_ms = min(wait_ms, self._link.most_wait_ms)
        return self._link.get(models.Job, self._path, wait_ms=wait_ms)

    def wait(self) -> models.SearchResponse:
        """Return the answer once the job has ended; raise its error if it has none."""
        while True:
            job = self.state(self._link.most_wait_ms)
            if job.response is not None:
                return job.response
            if job.error:
                raise rebuild_error(job.error)

    def events(self, after: str = "") -> Iterator[Event]:
        """Give each event once, up to the last; a stream that breaks is taken up."""
        path, last, tries = f"{self._path}/events", after, 0
        while True:
            sent = {"Last-Event-ID": last} if last else {}
            try:
                for event in self._link.events("GET", path, headers=sent):
                    last, tries = event.id, 0
                    yield event
                    if event.name == _LAST:
                        return
                pause = _PAUSE_SECONDS
            except LogchordError as exc:
                if tries >= _TRIES or exc.severity is not Severity.RETRIABLE:
                    raise
                pause = max(_PAUSE_SECONDS, float(exc.retry_after_seconds or 0))
            tries += 1
            if tries > _TRIES:
                message = "The stream ends before its job does; look again later."
                raise UnreachableError(message)
            time.sleep(pause)

    def results(self, limit: int | None = None) -> Iterator[models.SearchHit]:
        """Give every hit of the ranked window, page by page."""
        return self._link.items(models.JobResults, f"{self._path}/results", limit=limit)

    def cancel(self) -> models.Job:
        """End it with what is in."""
        return self._link.read(models.Job, "DELETE", self._path)

    def replay(self) -> Job:
        """Ask it again, as it was planned."""
        path = f"{self._path}/replay"
        accepted = self._link.read(models.JobAccepted, "POST", path)
        return Job(self._link, accepted.job_id)

    def why_not(self, ref: str) -> models.WhyNot:
        """Return why an entry was not found, or at which place it was."""
        return self._link.get(models.WhyNot, f"{self._path}/why-not", entry=ref)

    def export(self, form: str = "jsonl") -> str:
        """Return the window as a text: `jsonl`, `csv` or `md`."""
        return (self._link.download(f"{self._path}/export", format=form)).text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.job_id!r})"
