"""Saved searches and their alerts, as the contract words them."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from api.search.schemas.search import SearchRequest
from api.server.body_model import RequestBody, ResponseBody, dump_fields
from api.server.field_types import WHOLE, Share
from shared.errors import InvalidRequestError
from shared.text import door
from shared.times.rfc3339 import timestamp
from shared.watch.alert_rows import AlertRow
from shared.watch.preview_alerts import MOST_SAMPLES, Preview
from shared.watch.saved_searches import AlertRule, Digest, SavedSearch, SavedSearchDraft

# What an entry that comes can be matched with; the rest orders or shows results.
_HEARD = frozenset({"query", "filters"})

Name = Annotated[str, Field(min_length=1, max_length=200)]
Wall = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]


class QuietHours(RequestBody):
    """A time of the facility's day in which nothing is sent."""

    since: Wall = Field(alias="from", examples=["22:00"])
    until: Wall = Field(examples=["06:00"])


class AlertIn(RequestBody):
    """Whether its owner is told, where, how often and when not."""

    enabled: StrictBool = False
    """Entries are matched while it is on; a search without it is only kept."""
    webhook_url: Annotated[str, Field(max_length=2000)] | None = None
    """Where alerts go: `https://`, `chat+https://`, `mailto:`; none: only listed."""
    digest: Digest = "none"
    """Those of a shift, or of a day, are sent at its end."""
    quiet_hours: QuietHours | None = None
    one_per_thread: StrictBool = True

    def rule(self) -> AlertRule:
        """Return the rule as it is stored."""
        quiet = self.quiet_hours
        if quiet is not None and quiet.since == quiet.until:
            message = "Quiet hours end at another time than they begin."
            raise InvalidRequestError.field("alert.quiet_hours", "value", message)
        return AlertRule(
            enabled=self.enabled,
            webhook_url=self.webhook_url,
            digest=self.digest,
            quiet_hours=(quiet.since, quiet.until) if quiet else None,
            one_per_thread=self.one_per_thread,
        )


class SavedSearchIn(RequestBody):
    """A search to be kept, and how its owner is told of what it finds."""

    name: Name
    request: SearchRequest = Field(description="`query` and `filters` alone.")
    semantic: StrictBool = True
    """Whether entries are matched by meaning, too."""
    similarity_threshold: Share | None = None
    """Lowest cosine of a match by meaning."""
    alert: AlertIn = AlertIn()

    def draft(self) -> SavedSearchDraft:
        """Return the saved search to store, with its texts admitted."""
        given = self.request.model_dump(exclude_unset=True, by_alias=True)
        for name in given.keys() - _HEARD:
            message = f"{name}: a saved search takes `query` and `filters`."
            raise InvalidRequestError.field(f"request.{name}", "not_here", message)
        question = self.request.question(None)
        return SavedSearchDraft(
            name=door.admit(self.name, "name"),
            request={"query": question.query, "filters": dict(self.request.filters)},
            semantic=self.semantic,
            similarity_threshold=self.similarity_threshold,
            alert=self.alert.rule(),
        )


class SavedRequest(ResponseBody):
    """What is searched for."""

    query: str
    filters: dict[str, Any]


class AlertOut(ResponseBody):
    """How its owner is told."""

    model_config = ConfigDict(populate_by_name=True)

    enabled: bool
    webhook_url: str | None
    digest: Digest
    quiet_hours: QuietHours | None
    one_per_thread: bool
    since: str | None
    """Entries written since then are matched; null: alerts are off."""
    signing_secret: str
    """By which `Logchord-Signature` can be checked: HMAC-SHA256 of the time, a dot and
    the body."""


class SavedSearchOut(ResponseBody):
    """A saved search of yours."""

    id: UUID
    name: str
    request: SavedRequest
    semantic: bool
    similarity_threshold: float | None
    alert: AlertOut
    created_at: str
    updated_at: str


class SavedSearchPage(BaseModel):
    """Your saved searches, the newest first."""

    items: list[SavedSearchOut]
    next_cursor: str | None


class PreviewIn(RequestBody):
    """How far back the dry run goes."""

    days: Annotated[int, Field(ge=1, le=366), WHOLE] = 30


class PreviewSample(ResponseBody):
    """An entry that would have been told of."""

    entry_id: UUID
    source: str
    external_id: str
    title: str
    entry_time: str
    matched_by: list[Literal["keyword", "semantic"]]


class PreviewOut(ResponseBody):
    """The alerts that there would have been."""

    would_have_fired: int
    samples: Annotated[list[PreviewSample], Field(max_length=MOST_SAMPLES)]


class SentAlert(ResponseBody):
    """An entry that the saved search has found as it came."""

    alert_id: UUID
    entry_id: UUID
    at: str
    matched_by: list[str]
    delivered_at: str | None
    attempts: int
    last_error: str | None


class AlertPage(BaseModel):
    """Alerts, the newest first."""

    items: list[SentAlert]
    next_cursor: str | None


def saved_out(saved: SavedSearch, secret: str) -> dict[str, Any]:
    """Return a saved search as its owner is told."""
    rule = saved.rule
    quiet = rule.quiet_hours
    alert = {
        **rule.to_values(),
        "enabled": rule.enabled,
        "quiet_hours": quiet and {"from": quiet[0], "until": quiet[1]},
        "since": timestamp(saved.alerts_since),
        "signing_secret": secret,
    }
    return dump_fields(SavedSearchOut, saved, alert=alert)


def preview_out(found: Preview) -> dict[str, Any]:
    """Return a dry run as it is told."""
    samples = [
        dump_fields(PreviewSample, one, entry_id=one.id, matched_by=ways)
        for one, ways in found.samples
    ]
    return {"would_have_fired": found.would_have_fired, "samples": samples}


def alert_out(one: AlertRow) -> dict[str, Any]:
    """Return an alert as it is told."""
    return dump_fields(SentAlert, one, alert_id=one.id)
