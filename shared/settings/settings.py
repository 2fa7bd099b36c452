"""The one frozen Settings object: environment over file over stack over default."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from shared import plugins, suggest
from shared.errors import ConfigurationError
from shared.settings import layers, sections
from shared.settings import search_sections as searching
from shared.settings.plugin_sections import PipelinesSettings, SearchModulesSettings
from shared.settings.report import origin_of, remarks
from shared.settings.setting_names import Name
from shared.settings.source_sections import SourceSettings
from shared.settings.text_sections import AnalyserSettings

DEFAULT_SCOPES = ("read", "search", "ingest")


def _place(of_root: str, of_others: str) -> Path:
    if os.geteuid() == 0:
        return Path(of_root)
    try:
        return Path.home() / of_others
    except RuntimeError:
        # A user of a container may have neither an account nor HOME.
        return Path("/", of_others)


def _default_home() -> Path:
    return _place("/var/lib/logchord", ".local/share/logchord")


class Settings(sections.Section):
    """Everything that can be configured."""

    home: Path = Field(default_factory=_default_home)
    """State of the stack on this machine: `~/.local/share/logchord`, as root
    `/var/lib/logchord`."""
    cache: Path = Field(
        default_factory=lambda: _place("/var/cache/logchord", ".cache/logchord"),
        description="Downloads and converted models, shared by all stacks:"
        " `~/.cache/logchord`, as root `/var/cache/logchord`.",
    )
    database_url: SecretStr | None = None
    """Postgres; unset: the embedded server of `logchord up`."""
    broker_url: SecretStr | None = None
    """Redis or Valkey for nudges; unset: the embedded server."""
    search_redis_url: SecretStr | None = None
    """A second Redis for search traffic; unset: the broker's."""
    opensearch_url: SecretStr | None = None
    """OpenSearch; `off` runs on Postgres alone."""
    opensearch_zip: Path | None = None
    """A local OpenSearch zip, where nothing can be downloaded."""
    opensearch_index: str = Field("knowledge_base", pattern=r"^[a-z][a-z0-9_]{0,62}$")
    """Base name of the index and its aliases."""
    vector_table_prefix: str = Field(
        "knowledge_base",
        pattern=r"^[a-z][a-z0-9_]{0,30}$",
        description="First part of the name of every vector table.",
    )
    embedding_model: str = "bge-small-en-v1.5"
    """The encoder: a built-in name, also all-MiniLM-L6-v2, or a folder."""
    embed_machine_entries: bool = True
    """Off: what machines write gets no vector and is found by words."""
    embed_other_languages: bool = True
    """Off: what the encoder does not speak is found by words; else a second one reads
    all entries once there is such an entry, or question."""

    host: str = Field("127.0.0.1", description="Address the API binds.")
    port: int = Field(8006, ge=1, le=65535, description="Port of the API.")
    flower_port: int = Field(5555, ge=1, le=65535, description="Port of Flower.")
    base_path: str = Field("", pattern=r"^(/[A-Za-z0-9._~-]+)*$")
    """Path before every route, for life behind a proxy."""
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """Values of the Host header that are answered without a key."""
    trusted_proxies: tuple[str, ...] = ()
    """Peers whose X-Forwarded-For and `people.header` count: addresses, or networks as
    `10.1.0.0/24`."""
    anonymous_loopback: bool = False
    """Requests from this machine need no key."""
    anonymous_scopes: tuple[str, ...] = DEFAULT_SCOPES
    """What an anonymous caller may do."""
    webhook_allowed_hosts: tuple[str, ...] = ()
    """Hosts that alerts may be sent to, each with its port unless that is the usual
    one; domains, for mails."""
    public_url: str | None = Field(None, pattern=r"^https?://[^\s/]+$")
    """Where people find the page, without `base_path`: links of mails and chats begin
    with it."""
    smtp_url: SecretStr | None = None
    """Server of mails: `smtp://user:password@host:587?from=me@host`; `smtps` speaks TLS
    at once."""
    allow_shared_host: bool = False
    """Start OpenSearch, which has no login, beside other users."""
    facility_timezone: sections.Zone = "UTC"
    """The facility's own time."""
    day_starts: str = Field("00:00", pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    """When its day begins, in quotes: `'12:00'` where nights count."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe log line that is written."""
    log_queries: Literal["true", "false", "hash"] = "hash"
    """What of a query the log keeps."""
    read_only: bool = Field(default=False, description="Refuse every write.")
    fault_injection: bool = False
    """Honour X-Logchord-Fault of admins."""

    max_query_chars: int = Field(1000, ge=1, description="A longer query is cut.")
    max_query_chars_hard: int = Field(10_000, ge=1)
    """A longer query is refused."""
    max_search_body_bytes: int = Field(65_536, ge=1)
    """A larger search request gets 413."""
    max_header_bytes: int = Field(16_384, ge=1024)
    """Larger request headers get 431."""
    max_entry_bytes: int = Field(1_000_000, ge=1)
    """A larger entry gets 413."""
    max_batch_entries: int = Field(1000, ge=1)
    """More entries in one request get 422."""
    max_batch_bytes: int = Field(16_777_216, ge=1)
    """A larger request of entries gets 413."""
    max_attachment_bytes: int = Field(52_428_800, ge=1)
    """A larger file beside an entry gets 413."""
    max_attachments_per_entry: int = Field(50, ge=1)
    """More files beside one entry get 422."""
    max_unpacked_bytes: int = Field(104_857_600, ge=1)
    """An archive that unpacks to more gets 422."""
    max_archive_members: int = Field(1000, ge=1)
    """An archive of more files gets 422."""
    max_archive_ratio: int = Field(100, ge=1, description="Packed tighter gets 422.")
    max_metadata_keys: int = Field(64, ge=1, description="More keys get 422.")
    max_metadata_depth: int = Field(8, ge=1, description="Deeper metadata get 422.")
    max_external_id_chars: int = Field(255, ge=1, le=255)
    """A longer external_id gets 422."""
    max_title_chars: int = Field(1000, ge=1, description="A longer title gets 422.")
    max_tags: int = Field(64, ge=1, description="More tags get 422.")
    default_limit: int = Field(10, ge=1, le=100)
    """Results when none is asked for."""
    max_limit: int = Field(100, ge=1, le=100, description="More results get 422.")
    max_page_size: int = Field(100, ge=1, le=100, description="A larger page gets 422.")
    max_window: int = Field(500, ge=50, description="A branch's most candidates.")
    fanout_cap: int = Field(24, ge=1, le=100)
    """Branches of one search; more are left out."""
    facet_max_matches: int = Field(100_000, ge=1)
    """Matches at which Postgres stops counting facets."""
    max_filter_values: int = Field(100, ge=1)
    """More values in a filter get 422."""
    max_query_terms: int = Field(64, ge=1)
    """Plain positive words of a query; further ones are dropped."""
    max_wait_ms: int = Field(30_000, ge=100)
    """How long a request waits for its job, at most."""
    max_concurrent_searches: int = Field(50, ge=1)
    """Searches at once in one API process."""
    search_queue_limit: int = Field(100, ge=0)
    """Searches that may wait for their turn."""
    search_queue_wait_ms: int = Field(1000, ge=0)
    """How long a search waits for its turn."""
    max_backlog_entries: int = Field(1_000_000, ge=1)
    """With more live work due, pushes get 429."""
    job_retention_hours: int = Field(24, ge=1)
    """Hours for which a search job is kept; after them it answers 410."""
    event_retention_minutes: int = Field(60, ge=1)
    """Minutes for which the events of a job are kept; after them a snapshot is told."""
    cursor_ttl_minutes: int = Field(60, ge=1)
    """Minutes for which a cursor goes on; after them it answers 400."""
    idempotency_ttl_hours: int = Field(24, ge=1)
    """Hours for which an Idempotency-Key and its answer are remembered."""
    tombstone_days: int = Field(7, ge=1, le=999)
    """Days before deleted entries are removed from the search index."""
    rate_search_per_minute: int = Field(600, ge=0)
    """Searches and filter options a minute and key; 0: no limit."""
    rate_ingest_per_minute: int = Field(600, ge=0)
    """Writes a minute and key; 0: no limit."""
    rate_default_per_minute: int = Field(600, ge=0)
    """Other requests a minute and key; 0: no limit."""
    rate_login_per_minute: int = Field(10, ge=0)
    """Logins to the page a minute and address; 0: no limit."""

    work: sections.WorkSettings = sections.WorkSettings()

    rrf_k: int = Field(60, ge=1)
    """The k of reciprocal rank fusion, where hits are not reranked."""
    search_modules: SearchModulesSettings = SearchModulesSettings()
    sources: dict[str, SourceSettings] = Field({"api": SourceSettings()})
    """Where entries come from, by name."""
    stages: sections.StagesSettings = Field({}, description="Set for stages, by name.")

    agentic: searching.AgenticSettings = searching.AgenticSettings()
    analyser: AnalyserSettings = AnalyserSettings()
    api: sections.ApiSettings = sections.ApiSettings()
    attachments: sections.AttachmentSettings = sections.AttachmentSettings()
    audit: sections.AuditSettings = sections.AuditSettings()
    capability: sections.CapabilitySettings = sections.CapabilitySettings()
    flower: sections.FlowerSettings = sections.FlowerSettings()
    fusion: searching.FusionSettings = searching.FusionSettings()
    keyword: searching.KeywordSettings = searching.KeywordSettings()
    mcp: sections.McpSettings = sections.McpSettings()
    operations: sections.OperationsSettings = sections.OperationsSettings()
    people: sections.PeopleSettings = sections.PeopleSettings()
    pipelines: PipelinesSettings = PipelinesSettings()
    reasoning: sections.ReasoningSettings = sections.ReasoningSettings()
    reranking: searching.RerankingSettings = searching.RerankingSettings()
    search: searching.SearchSettings = searching.SearchSettings()
    session: sections.SessionSettings = sections.SessionSettings()
    synthesis: sections.SynthesisSettings = sections.SynthesisSettings()
    telemetry: sections.TelemetrySettings = sections.TelemetrySettings()
    tenants: dict[str, sections.TenantSettings] = Field({})
    """What a tenant may use, by its name."""
    unified_search: searching.UnifiedSearchSettings = searching.UnifiedSearchSettings()

    database_pool_size: int = Field(10, ge=1)
    """Connections of one process, at most."""
    worker_memory_mb: int = Field(448, ge=192)
    """Memory of a child, and growth of threads, before it is replaced."""
    metrics_port: int = Field(0, ge=0, le=65535)
    """Port of a worker's /metrics; 0: any free one."""

    @field_validator("home", "cache", "opensearch_zip")
    @classmethod
    def _expanded(cls, value: Path | None) -> Path | None:
        return value.expanduser() if value else value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            ipaddress.ip_network(one)
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        text = value.lower() if isinstance(value, str) else value
        return "warning" if text == "warn" else text

    @field_validator("opensearch_url", "log_queries", mode="before")
    @classmethod
    def _word(cls, value: Any, info: ValidationInfo) -> Any:
        """Undo YAML, which reads `off` as false."""
        if isinstance(value, bool) and info.field_name == "log_queries":
            return "true" if value else "false"
        return "off" if value is False else value

    @field_validator("database_url", "broker_url", "search_redis_url", "opensearch_url")
    @classmethod
    def _known_scheme(
        cls, value: SecretStr | None, info: ValidationInfo
    ) -> SecretStr | None:
        schemes = _SCHEMES[str(info.field_name)]
        if value and not value.get_secret_value().startswith(schemes):
            # Never the value itself, which may hold a password.
            raise ValueError(f"an address begins with {' or '.join(schemes)}")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _mail_server(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _is_mail_server(value.get_secret_value()):
            raise ValueError(
                "it begins with smtp:// or smtps:// and ends in ?from= and an address"
            )
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.anonymous_loopback and not _is_loopback(self.host):
            raise ValueError(
                f"anonymous_loopback answers without a key, so host {self.host} must"
                " be a loopback address"
            )
        self.pipelines.check()
        if self.max_query_chars > self.max_query_chars_hard:
            raise ValueError("max_query_chars must not exceed max_query_chars_hard")
        if self.default_limit > self.max_limit:
            raise ValueError("default_limit must not exceed max_limit")
        return self

    def require_database_url(self) -> str:
        """Return where Postgres is, or say how to have one."""
        if self.database_url is None:
            message = "No database is known: run `logchord up`, or set DATABASE_URL."
            raise ConfigurationError(message, config_key="DATABASE_URL")
        return self.database_url.get_secret_value()

    @classmethod
    def load(
        cls,
        environ: Mapping[str, str],
        file: Path | None = None,
        *,
        with_stack: bool = True,
    ) -> Settings:
        """Read every layer once; an unknown key names the nearest valid one."""
        return load_report(environ, file, with_stack=with_stack).settings


# What is wrong on every line may be one indentation.
_MOST_TOLD = 12

_SCHEMES: Mapping[str, tuple[str, ...]] = {
    "database_url": ("postgresql://", "postgres://"),
    "broker_url": ("redis://", "rediss://", "amqp://", "amqps://"),
    "search_redis_url": ("redis://", "rediss://"),
    "opensearch_url": ("http://", "https://", "off"),
}


def _is_mail_server(text: str) -> bool:
    try:
        url = urlsplit(text)
        has_port = url.port is None or url.port > 0
    except ValueError:
        # What it says may hold the password.
        return False
    is_known = url.scheme in {"smtp", "smtps"} and url.hostname and has_port
    return bool(is_known and re.fullmatch(r"from=[\w.-]+@[\w.-]+", url.query, re.ASCII))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Report:
    """Settings, and for each dotted name where its value was written."""

    settings: Settings
    origins: dict[str, str]
    spelled: dict[str, str]
    warnings: tuple[str, ...]


def load_report(
    environ: Mapping[str, str], file: Path | None = None, *, with_stack: bool = True
) -> Report:
    """Read every layer once, and keep what an operator should be told.

    Whoever begins or ends a stack has no use for what the last one wrote down, which
    may be damaged.
    """
    plugins.import_named(environ)
    path = file or layers.config_path(environ)
    read = [layers.from_file(path, Settings)] if path is not None else []
    read.append(layers.from_environment(environ, Settings))
    home = next(
        (
            Path(layer.values[("home",)].value)
            for layer in reversed(read)
            if ("home",) in layer.values
        ),
        _default_home(),
    )
    if with_stack:
        read.insert(0, layers.from_stack(home.expanduser(), Settings))
    merged = {name: text for layer in read for name, text in layer.values.items()}
    origins = {name: layer.origin for layer in read for name in layer.values}
    wrong = [error for layer in read for error in layer.wrong]
    settings = _validated(merged, origins, wrong)
    warnings = [text for layer in read for text in layer.warnings]
    return Report(
        settings,
        {leaf.dotted: origin_of(leaf.name, origins) for leaf in settings.leaves()},
        {".".join(name): text.spelled for name, text in merged.items()},
        (*warnings, *remarks(settings, Settings(), origins)),
    )


def _validated(
    merged: Mapping[Name, layers.WrittenSetting],
    origins: Mapping[Name, str],
    wrong: list[ConfigurationError],
) -> Settings:
    """Return the settings, or name all that is wrong with them in one error."""
    try:
        settings = Settings.model_validate(layers.nested(merged))
    except ValidationError as exc:
        flaws = exc.errors(include_url=False, include_input=False)
        wrong = [*wrong, *(_describe_flaw(flaw, merged, origins) for flaw in flaws)]
    else:
        if not wrong:
            return settings
    told = [*dict.fromkeys(error.message for error in wrong)]
    if len(told) > _MOST_TOLD:
        told[_MOST_TOLD:] = [f"{len(told) - _MOST_TOLD} more are wrong."]
    message = "\n".join(told)
    raise ConfigurationError(message, config_key=wrong[0].config_key)


def _describe_flaw(
    flaw: ErrorDetails,
    merged: Mapping[Name, layers.WrittenSetting],
    origins: Mapping[Name, str],
) -> ConfigurationError:
    """Describe the flaw of a value by the name and the place where it is written."""
    where = ".".join(str(part) for part in flaw["loc"])
    reason = suggest.explain_flaw(flaw, Settings)
    for name, written in merged.items():
        if name == flaw["loc"][: len(name)]:
            origin = origins[name]
            place = "the environment" if origin == "environment" else origin
            where = f"{written.spelled} in {place}"
    message = f"{where}: {reason}." if where else f"{reason}."
    key = where.split(" ", maxsplit=1)[0] or None
    return ConfigurationError(message, config_key=key)
