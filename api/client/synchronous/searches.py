"""Searching: asked and waited for, submitted, streamed, planned, exported."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from api.client import models
from api.client.error_answers import UnreachableError
from api.client.event_lines import Event
from api.client.synchronous.entries import Entries
from api.client.synchronous.jobs import Job

# Answered in sentences without being asked to be.
_ANSWERED = ("rag", "agent")


class Searches(Entries):
    """What a client may ask about many entries at once."""

    def search(self, query: str = "", **fields: Any) -> models.SearchResponse:
        """Search and return the answer; fields are those of `SearchRequest`."""
        given = {"query": query, "wait_ms": self._link.most_wait_ms, **fields}
        answer = self._link.ask("POST", "/v1/search/query", json=given)
        if answer.status_code == 202:  # noqa: PLR2004
            accepted = models.JobAccepted.model_validate_json(answer.content)
            return Job(self._link, accepted.job_id).wait()
        return models.SearchResponse.model_validate_json(answer.content)

    def submit(self, query: str = "", **fields: Any) -> Job:
        """Submit a search as a job, and return it at once."""
        accepted = self._link.post(
            models.JobAccepted, "/v1/search/jobs", query=query, **fields
        )
        return Job(self._link, accepted.job_id)

    def ask(self, question: str, **fields: Any) -> Iterator[Event]:
        """Give the progress of an answer as it is made; `results` has all of it.

        With `mode="rag"` a model words it. A stream that breaks is taken up where it
        broke.
        """
        given = fields
        if fields.get("mode") not in _ANSWERED:
            given = {"synthesize": "deterministic", **fields}
        job = self.submit(question, **given)
        for event in job.events():
            yield event

    def job(self, job_id: str) -> Job:
        """Return a job that was submitted before."""
        return Job(self._link, job_id)

    def jobs(self, limit: int | None = None) -> Iterator[models.Job]:
        """Give the caller's own jobs, the newest first."""
        return self._link.items(models.JobPage, "/v1/search/jobs", limit=limit)

    def plan(self, query: str = "", **fields: Any) -> models.QueryPlan:
        """Plan a search without running it."""
        given = {"query": query, **fields}
        return self._link.post(models.QueryPlan, "/v1/search/plan", **given)

    def export(self, query: str = "", **fields: Any) -> Iterator[dict[str, Any]]:
        """Give all that match, one by one; a file that was cut raises at its end."""
        with self._link.stream(
            "POST",
            "/v1/search/export",
            params={"format": "jsonl"},
            json={"query": query, "exhaustive": True, **fields},
            headers={"Accept": "application/x-ndjson"},
        ) as answer:
            row: dict[str, Any] | None = None
            for line in answer.iter_lines():
                if not line:
                    continue
                if row is not None:
                    yield row
                row = json.loads(line)
            # The last record says whether all are there.
            if row is None or not row.get("complete"):
                raise UnreachableError(f"The file is not complete: {row}.")

    def plain_search(self, query: str, **fields: Any) -> models.PlainResponse:
        """Search by the short route: hits, citations and a synthesis, nothing else."""
        given = {"query": query, **fields}
        return self._link.post(models.PlainResponse, "/search", **given)

    def similar(self, ref: str, **params: Any) -> models.SimilarEntries:
        """Find entries that resemble one, outside its own thread."""
        path = f"{self._path_of(ref)}/similar"
        return self._link.get(models.SimilarEntries, path, **params)

    def classify(self, query: str) -> models.Classified:
        """Tell whether a question is one for a logbook."""
        return self._link.post(models.Classified, "/v1/classify", query=query)

    def capabilities(self) -> models.Capabilities:
        """Return modes, modules, filters and limits."""
        return self._link.get(models.Capabilities, "/v1/capabilities")

    def filter_options(self, field: str, **params: Any) -> models.FilterOptions:
        """Return the commonest values of a field."""
        path = f"/v1/filter-options/{quote(field, safe='')}"
        return self._link.get(models.FilterOptions, path, **params)

    def synthesize(self, **fields: Any) -> Iterator[Event]:
        """Give an answer to known hits as it is made: of a job, or of named entries."""
        return self._link.events("POST", "/v1/search/synthesize", json=fields)

    def evaluate_suggestions(
        self, queries: list[str], **fields: Any
    ) -> models.SuggestionsOut:
        """Return which questions are worth suggesting: those that have an answer."""
        given = {"queries": queries, **fields}
        path = "/v1/search/suggestions/evaluate"
        return self._link.post(models.SuggestionsOut, path, **given)

    def feedback(self, job_id: str, verdict: str, **fields: Any) -> models.AnalyticsOut:
        """Say how good a search was: `good`, `bad`, `wrong_citation`, `missing`."""
        given = {"job_id": job_id, "verdict": verdict, **fields}
        return self._link.post(models.AnalyticsOut, "/v1/search/feedback", **given)

    def analytics(self, events: list[dict[str, Any]]) -> models.AnalyticsOut:
        """Tell what a reader did with results."""
        path = "/v1/search/analytics"
        return self._link.post(models.AnalyticsOut, path, events=events)

    def digest(self, since: str | None = None) -> models.ShiftDigest:
        """Read the digest of a shift, every item cited."""
        return self._link.get(models.ShiftDigest, "/v1/digest", since=since)

    def glossary(self, state: str | None = None) -> Iterator[models.TermOut]:
        """Give the facility's terms."""
        return self._link.items(models.TermPage, "/v1/glossary", state=state)

    def saved_searches(self) -> Iterator[models.SavedSearchOut]:
        """Give the caller's own saved searches, the newest first."""
        return self._link.items(models.SavedSearchPage, "/v1/saved-searches")

    def save_search(
        self, name: str, request: dict[str, Any], **fields: Any
    ) -> models.SavedSearchOut:
        """Save a search; fields are those of `SavedSearchIn`."""
        given = {"name": name, "request": request, **fields}
        path = "/v1/saved-searches"
        return self._link.post(models.SavedSearchOut, path, **given)

    def saved_search(self, saved_id: str) -> models.SavedSearchOut:
        """Read a saved search."""
        path = f"/v1/saved-searches/{saved_id}"
        return self._link.get(models.SavedSearchOut, path)

    def replace_saved_search(
        self, saved_id: str, name: str, request: dict[str, Any], **fields: Any
    ) -> models.SavedSearchOut:
        """Write a saved search anew."""
        given = {"name": name, "request": request, **fields}
        path = f"/v1/saved-searches/{saved_id}"
        return self._link.read(models.SavedSearchOut, "PUT", path, json=given)

    def remove_saved_search(self, saved_id: str) -> None:
        """Remove a saved search and its alerts."""
        self._link.ask("DELETE", f"/v1/saved-searches/{saved_id}")

    def preview_alerts(self, saved_id: str, days: int = 30) -> models.PreviewOut:
        """Count the alerts that there would have been of the last days."""
        path = f"/v1/saved-searches/{saved_id}/preview"
        return self._link.post(models.PreviewOut, path, days=days)

    def alerts(self, saved_id: str) -> Iterator[models.SentAlert]:
        """Give the alerts of a saved search, the newest first."""
        path = f"/v1/saved-searches/{saved_id}/alerts"
        return self._link.items(models.AlertPage, path)

    def propose_term(self, term: str, expansions: list[str]) -> models.TermOut:
        """Propose what a term stands for."""
        path = f"/v1/glossary/{quote(term, safe='')}"
        return self._link.post(models.TermOut, path, expansions=expansions)

    def approve_term(
        self, term: str, expansions: list[str] | None = None
    ) -> models.TermOut:
        """Approve expansions of a term; none named: all that are proposed."""
        path = f"/v1/glossary/{quote(term, safe='')}/approve"
        params = {"expansion": expansions}
        return self._link.read(models.TermOut, "POST", path, params=params)

    def reject_term(
        self, term: str, expansions: list[str] | None = None
    ) -> models.TermOut:
        """Reject expansions of a term."""
        path = f"/v1/glossary/{quote(term, safe='')}/reject"
        params = {"expansion": expansions}
        return self._link.read(models.TermOut, "POST", path, params=params)
