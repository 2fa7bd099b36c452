"""The section `sources:` of `logchord.yaml`: where entries come from, and how."""

import re
from datetime import datetime
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from shared.settings.sections import Section, known_zone
from shared.settings.text_sections import decimal_mark

PUSH = "push"


class SourceAuth(Section):
    """How a source wants to be asked; secrets are named, never written down."""

    kind: Literal["none", "basic", "bearer", "header", "cookie", "signature"] = "none"
    """How the source knows us."""
    user: str | None = Field(None, description="Login name.")
    secret: str | None = None
    """Name of the environment variable, or path of the file, that holds password or
    token."""
    header: str | None = Field(None, description="Name of the header, for `header`.")
    cookies: dict[str, str] = Field({})
    """Cookies by name, each the name of a secret, for `cookie`."""


class SourceSettings(Section):
    """One configured source of entries."""

    adapter: str = PUSH
    """How entries arrive; `push` is POST /v1/entries."""
    enabled: bool = Field(default=True, description="Off: neither polled nor shown.")
    tenant: str = Field("default", description="Whose entries these are.")
    base_url: str | None = Field(None, description="Address of the logbook's server.")
    path: str | None = None
    """Folder, file or pattern of files; one without / at its beginning counts from
    where the processes were started."""
    timezone: str | None = None
    """What zone naive times mean; none refuses them."""
    tz_fold: int = Field(0, ge=0, le=1)
    """Which of two: 0 the first, when a time comes twice a year."""
    origin: Literal["human", "machine"] = "human"
    """Who writes this source when an entry does not say."""
    machine_when: dict[str, str] = Field({})
    """A machine wrote it when each of these fields matches its pattern."""
    language: str | None = None
    """What language a text is in that is too short to tell."""
    locale: str | None = None
    """How numbers in texts are read: with de_DE, 1,5 and 1.500,5. None: by the language
    of a text where it leaves no doubt."""
    metadata: dict[str, Literal["number", "date", "text"]] = Field({}, max_length=500)
    """What its metadata are, by name, levels joined by dots: number, date or text. What
    is not named here is what it looks like."""
    entry_url_template: str | None = None
    """The entry in its own facility, with {external_id}."""
    new_entry_url: str | None = Field(None, pattern=r"^https?://\S+$")
    """The facility's own form for a new entry, to which the page leads."""
    keep_raw: bool = True
    """Keep what was received, so that it can be reparsed."""
    retention_days: int | None = Field(None, ge=1)
    """Older entries are deleted; none keeps them all."""

    require_initial_ingest: bool = True
    """Load the history of a new source."""
    poll_interval_seconds: float = Field(60, gt=0)
    """How often the source is asked for what is new."""
    schedule: str | None = None
    """The same as a cron line; excludes `poll_interval_seconds`."""
    nudge_secret: str | None = None
    """Name of the secret that signs nudges of this source."""
    max_interval_seconds: float | None = Field(None, gt=0)
    """Longest wait after failures; none: 8 intervals."""
    max_consecutive_failures: int = Field(10, ge=1)
    """After so many the source is paused."""
    backoff_multiplier: float = Field(2, ge=1)
    """Each failure makes the wait so many times longer."""
    overlap_seconds: float = Field(120, ge=0)
    """How far a poll looks back behind its cursor."""
    reconcile_days: int = Field(14, ge=1)
    """How far back edits and deletions are looked for."""
    reconcile_every_seconds: float = Field(21_600, gt=0)
    """How often they are looked for."""
    prune_every_seconds: float = Field(86_400, gt=0)
    """How often deletions are looked for in everything."""
    prune_max_fraction: float = Field(0.05, gt=0, le=1)
    """A larger share gone asks an admin first."""
    history_start: datetime | None = None
    """Nothing is older; none: as the adapter says."""
    chunk_days: int = Field(365, ge=1, description="Width of a window of the backfill.")
    page_size: int = Field(500, ge=1, le=10_000, description="Entries a page, at most.")
    rate_per_second: float = Field(5, gt=0, description="Requests a second, at most.")
    concurrency: int = Field(2, ge=1, le=16, description="Requests at once, at most.")
    request_timeout_seconds: float = Field(15, gt=0, le=40)
    """Of one request; 20 s are left for a stop."""
    max_retries: int = Field(3, ge=0, le=10, description="Of one request.")
    retry_delay_seconds: float = Field(5, gt=0)
    """Before the first retry; it doubles, jittered."""
    max_response_bytes: int = Field(67_108_864, ge=1024)
    """A larger answer is cut off and refused."""
    max_attachment_bytes: int = Field(52_428_800, ge=0)
    """A larger attachment is linked, not fetched."""
    attachments: Literal["fetch", "link", "none"] = "fetch"
    """What becomes of files beside an entry."""
    allowed_origins: tuple[str, ...] = ()
    """Other origins that may be fetched from, as https://host:port."""
    allow_private: bool = True
    """Whether its own origin may lie in a private network; loopback and link-local
    addresses are asked for by name only."""
    ca_file: str | None = None
    """Certificates of a private authority, beside the system's."""
    proxy: str | None = Field(None, description="A proxy to ask through.")
    auth: SourceAuth = SourceAuth()
    snapshot_path: str | None = None
    """Files in the source's own format, read while it is down."""
    args: dict[str, Any] = Field({}, description="What its adapter asks for besides.")

    @property
    def is_pulled(self) -> bool:
        """Whether we ask the source, and not it us."""
        return self.adapter != PUSH

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        return known_zone(value) if value else value

    @field_validator("locale")
    @classmethod
    def _known_locale(cls, value: str | None) -> str | None:
        if value is not None:
            decimal_mark(value)
        return value

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            message = "an address begins with http:// or https:// and names a host"
            raise ValueError(message)
        if parts.username or parts.password:
            raise ValueError("a login belongs into `auth`, by the name of its secret")
        return value.rstrip("/")

    @field_validator("machine_when")
    @classmethod
    def _patterns(cls, value: dict[str, str]) -> dict[str, str]:
        for pattern in value.values():
            try:
                re.compile(pattern)
            except re.error as exc:
                raise ValueError(f"{pattern!r} is no pattern: {exc}") from exc
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.schedule and "poll_interval_seconds" in self.model_fields_set:
            message = "`schedule` excludes `poll_interval_seconds`; keep one of them"
            raise ValueError(message)
        return self
