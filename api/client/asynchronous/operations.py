"""Sources, runs, quarantine, models and health: for whoever looks after a facility."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from api.client import models
from api.client.asynchronous.link import AsyncLink


class AsyncOperations:
    """Status, sources, quarantine and chores of the system."""

    _link: AsyncLink

    async def me(self) -> models.Me:
        """Return who the key belongs to, and what it may do."""
        return await self._link.get(models.Me, "/v1/me")

    def keys(self) -> AsyncIterator[models.KeyOut]:
        """Give the facility's API keys, the newest first."""
        return self._link.items(models.KeyPage, "/v1/keys")

    async def create_key(self, name: str, **fields: Any) -> models.KeyCreated:
        """Create an API key; fields are those of `KeyIn`, its token is told once."""
        return await self._link.post(models.KeyCreated, "/v1/keys", name=name, **fields)

    async def revoke_key(self, key_id: str) -> None:
        """Revoke an API key."""
        await self._link.ask("DELETE", f"/v1/keys/{quote(key_id, safe='')}")

    def audit(self, **params: Any) -> AsyncIterator[models.AuditRecordOut]:
        """Give who did what, the newest first; params are the filters of the route."""
        return self._link.items(models.AuditPage, "/v1/audit", **params)

    async def status(self) -> models.StatusOut:
        """Return components, versions, workers and models."""
        return await self._link.get(models.StatusOut, "/v1/status")

    async def lag(self) -> models.LagOut:
        """Return how far each source and each stage is."""
        return await self._link.get(models.LagOut, "/v1/lag")

    async def is_alive(self) -> models.Alive:
        """Return whether the process answers at all."""
        return await self._link.get(models.Alive, "/health/live")

    async def is_ready(self) -> models.Ready:
        """Return whether it can do its work."""
        return await self._link.get(models.Ready, "/health/ready")

    async def health(self) -> models.Health:
        """Return how the engines are."""
        return await self._link.get(models.Health, "/health")

    async def metrics(self) -> str:
        """Return the figures of the API, as Prometheus reads them."""
        return (await self._link.download("/metrics")).text

    async def sources(self) -> list[models.SourceOut]:
        """Return every source."""
        return (await self._link.get(models.SourceList, "/v1/sources")).items

    async def source(self, source: str) -> models.SourceOut:
        """Return one source."""
        path = f"/v1/sources/{quote(source, safe='')}"
        return await self._link.get(models.SourceOut, path)

    async def reload_sources(self, **params: Any) -> models.ReloadOut:
        """Read the configuration file again."""
        path = "/v1/sources/reload"
        return await self._link.read(models.ReloadOut, "POST", path, params=params)

    async def check_source(self, source: str) -> models.CheckOut:
        """Read one page of a source and store nothing."""
        path = f"/v1/sources/{quote(source, safe='')}/check"
        return await self._link.read(models.CheckOut, "POST", path)

    async def trigger_source(self, source: str, **fields: Any) -> models.Triggered:
        """Make a source due now: its tail, its history, or its parser again."""
        path = f"/v1/sources/{quote(source, safe='')}/trigger"
        return await self._link.post(models.Triggered, path, **fields)

    async def pause_source(self, source: str) -> models.SourceOut:
        """Let a source rest."""
        path = f"/v1/sources/{quote(source, safe='')}/pause"
        return await self._link.read(models.SourceOut, "POST", path)

    async def resume_source(self, source: str) -> models.SourceOut:
        """Let a source go on."""
        path = f"/v1/sources/{quote(source, safe='')}/resume"
        return await self._link.read(models.SourceOut, "POST", path)

    async def nudge_source(self, source: str, body: bytes, signature: str) -> None:
        """Say that a source has news, signed with its secret."""
        path = f"/v1/sources/{quote(source, safe='')}/nudge"
        headers = {"Logchord-Signature": signature}
        await self._link.ask("POST", path, content=body, headers=headers)

    def runs(self, **params: Any) -> AsyncIterator[models.RunOut]:
        """Give the runs of sources, the newest first."""
        return self._link.items(models.RunPage, "/v1/runs", **params)

    async def run(self, run_id: str) -> models.RunOut:
        """Return one run."""
        return await self._link.get(models.RunOut, f"/v1/runs/{run_id}")

    async def cancel_run(self, run_id: str) -> models.RunOut:
        """End a run."""
        return await self._link.read(models.RunOut, "DELETE", f"/v1/runs/{run_id}")

    def quarantine(self, **params: Any) -> AsyncIterator[models.QuarantinedOut]:
        """Give what was quarantined, the newest first."""
        return self._link.items(models.QuarantinePage, "/v1/quarantine", **params)

    async def quarantined(self, quarantine_id: str) -> models.QuarantinedOut:
        """Return one thing that was quarantined."""
        path = f"/v1/quarantine/{quarantine_id}"
        return await self._link.get(models.QuarantinedOut, path)

    async def discard_quarantined(self, quarantine_id: str, reason: str) -> None:
        """Give it up for good."""
        path = f"/v1/quarantine/{quarantine_id}"
        await self._link.ask("DELETE", path, params={"reason": reason})

    async def retry_quarantined(self, quarantine_id: str) -> models.ReleasedOut:
        """Make one thing due again."""
        path = f"/v1/quarantine/{quarantine_id}/retry"
        return await self._link.read(models.ReleasedOut, "POST", path)

    async def retry_quarantine(self, **fields: Any) -> models.ReleasedOut:
        """Make all of a source, a stage or a code due again."""
        path = "/v1/quarantine/retry"
        return await self._link.post(models.ReleasedOut, path, **fields)

    async def quality_metrics(
        self, window_hours: int | None = None
    ) -> models.QualityMetrics:
        """Return how often searches came to nothing, were asked again, or fell back."""
        path, given = "/v1/search/quality/metrics", {"window_hours": window_hours}
        return await self._link.get(models.QualityMetrics, path, **given)

    async def quality_alerts(
        self, window_hours: int | None = None
    ) -> models.QualityAlerts:
        """Return the questions that keep coming to nothing."""
        path, given = "/v1/search/quality/alerts", {"window_hours": window_hours}
        return await self._link.get(models.QualityAlerts, path, **given)

    async def maintenance(self, maintenance_id: str) -> models.MaintenanceOut:
        """Return how far a chore is."""
        path = f"/v1/maintenance/{maintenance_id}"
        return await self._link.get(models.MaintenanceOut, path)

    async def cancel_maintenance(self, maintenance_id: str) -> models.MaintenanceOut:
        """End a chore."""
        path = f"/v1/maintenance/{maintenance_id}"
        return await self._link.read(models.MaintenanceOut, "DELETE", path)

    async def rebuild_index(self, **fields: Any) -> models.QueuedOut:
        """Make the index anew behind the one that serves."""
        path = "/v1/search/index/rebuild"
        return await self._link.post(models.QueuedOut, path, **fields)

    async def rebuild_derived(self, **fields: Any) -> models.KnowledgeQueuedOut:
        """Make what is derived in Postgres anew."""
        path = "/v1/advisory-ai/index/rebuild"
        return await self._link.post(models.KnowledgeQueuedOut, path, **fields)

    async def embed_models(self) -> models.EmbedModelsOut:
        """Return the models that make vectors."""
        return await self._link.get(models.EmbedModelsOut, "/v1/embed-models")

    async def reembed(
        self, model: str, **fields: Any
    ) -> models.QueuedOut | models.PlannedOut:
        """Have a model read every entry; with `dry_run`, count what it would read."""
        return await self._ask_model(model, "reembed", fields)

    async def activate_model(
        self, model: str, **fields: Any
    ) -> models.QueuedOut | models.PlannedOut:
        """Have searches use a model; with `dry_run`, count what it has yet to read."""
        return await self._ask_model(model, "activate", fields)

    async def _ask_model(
        self, model: str, what: str, fields: dict[str, Any]
    ) -> models.QueuedOut | models.PlannedOut:
        path = f"/v1/embed-models/{quote(model, safe='')}/{what}"
        if fields.get("dry_run"):
            return await self._link.post(models.PlannedOut, path, **fields)
        return await self._link.post(models.QueuedOut, path, **fields)
