"""The one frozen Settings object: environment over file over stack over default."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from shared.errors import ConfigurationError

DEFAULT_SCOPES = ("read", "search", "ingest")


class Section(BaseModel):
    """A group of settings; unknown keys are refused by `Settings.load`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _default_home() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/logchord")
    return Path.home() / ".local/share/logchord"


def _default_cache() -> Path:
    if os.geteuid() == 0:
        return Path("/var/cache/logchord")
    return Path.home() / ".cache/logchord"


class SourceSettings(Section):
    """One configured source of entries."""

    adapter: Literal["push"] = Field(
        "push", description="How entries arrive; `push` is POST /v1/entries."
    )
    timezone: str | None = Field(
        None, description="What zone naive times mean; none refuses them."
    )
    origin: Literal["human", "machine"] = Field(
        "human", description="Who writes this source when an entry does not say."
    )
    language: str | None = Field(
        None, description="What language a text is in that is too short to tell."
    )
    entry_url_template: str | None = Field(
        None, description="The entry in its own facility, with {external_id}."
    )


class SemanticSettings(Section):
    """Settings of the semantic search module."""

    similarity_threshold: float | Literal["model"] = Field(
        "model", description="Cosine floor; `model` takes the encoder's own."
    )
    embedding_dimension: int | None = Field(
        None, ge=1, description="Checked against the model, if given."
    )


class ModuleSettings(Section):
    """One search module."""

    enabled: bool = Field(default=True, description="Off: its use answers 422.")
    provider: str | None = Field(None, description="Which provider embeds.")
    model: str | None = Field(None, description="Which model embeds.")
    settings: SemanticSettings = SemanticSettings()


class Settings(Section):
    """Everything that can be configured."""

    home: Path = Field(
        default_factory=_default_home, description="State of the stack on this machine."
    )
    cache: Path = Field(
        default_factory=_default_cache,
        description="Downloads and converted models, shared by all stacks.",
    )
    database_url: SecretStr | None = Field(
        None, description="Postgres; unset: the embedded server of `logchord up`."
    )
    broker_url: SecretStr | None = Field(
        None, description="Redis or Valkey for nudges; unset: the embedded server."
    )
    search_redis_url: SecretStr | None = Field(
        None, description="A second Redis for search traffic; unset: the broker's."
    )
    opensearch_url: SecretStr | None = Field(
        None, description="OpenSearch; `off` runs on Postgres alone."
    )
    opensearch_zip: Path | None = Field(
        None, description="A local OpenSearch zip, where nothing can be downloaded."
    )
    opensearch_index: str = Field(
        "knowledge_base",
        pattern=r"^[a-z][a-z0-9_]{0,62}$",
        description="Base name of the index and its aliases.",
    )
    vector_table_prefix: str = Field(
        "knowledge_base",
        pattern=r"^[a-z][a-z0-9_]{0,30}$",
        description="First part of the name of every vector table.",
    )
    embedding_model: str = Field(
        "all-MiniLM-L6-v2", description="The encoder: a built-in name or a folder."
    )

    host: str = Field("127.0.0.1", description="Address the API binds.")
    port: int = Field(8006, ge=1, le=65535, description="Port of the API.")
    flower_port: int = Field(5555, ge=1, le=65535, description="Port of Flower.")
    base_path: str = Field(
        "",
        pattern=r"^(/[A-Za-z0-9._~-]+)*$",
        description="Path before every route, for life behind a proxy.",
    )
    allowed_hosts: tuple[str, ...] = Field(
        ("localhost", "127.0.0.1", "[::1]"),
        description="Values of the Host header that are answered without a key.",
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Peers whose X-Forwarded-For counts."
    )
    anonymous_loopback: bool = Field(
        default=False, description="Requests from this machine need no key."
    )
    anonymous_scopes: tuple[str, ...] = Field(
        DEFAULT_SCOPES, description="What an anonymous caller may do."
    )
    allow_shared_host: bool = Field(
        default=False,
        description="Start OpenSearch, which has no login, beside other users.",
    )
    facility_timezone: str = Field("UTC", description="The facility's own time.")

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least severe log line that is written."
    )
    log_queries: Literal["true", "false", "hash"] = Field(
        "hash", description="What of a query the log keeps."
    )
    read_only: bool = Field(default=False, description="Refuse every write.")
    fault_injection: bool = Field(
        default=False, description="Honour X-Logchord-Fault of admins."
    )

    max_query_chars: int = Field(1000, ge=1, description="A longer query is cut.")
    max_query_chars_hard: int = Field(
        10_000, ge=1, description="A longer query is refused."
    )
    max_search_body_bytes: int = Field(
        65_536, ge=1, description="A larger search request gets 413."
    )
    max_header_bytes: int = Field(
        16_384, ge=1024, description="Larger request headers get 431."
    )
    max_entry_bytes: int = Field(
        1_000_000, ge=1, description="A larger entry gets 413."
    )
    max_batch_entries: int = Field(
        1000, ge=1, description="More entries in one request get 422."
    )
    max_batch_bytes: int = Field(
        16_777_216, ge=1, description="A larger request of entries gets 413."
    )
    max_metadata_keys: int = Field(64, ge=1, description="More keys get 422.")
    max_metadata_depth: int = Field(8, ge=1, description="Deeper metadata get 422.")
    max_external_id_chars: int = Field(
        255, ge=1, le=255, description="A longer external_id gets 422."
    )
    max_title_chars: int = Field(1000, ge=1, description="A longer title gets 422.")
    max_tags: int = Field(64, ge=1, description="More tags get 422.")
    default_limit: int = Field(
        10, ge=1, le=100, description="Results when none is asked for."
    )
    max_limit: int = Field(100, ge=1, le=100, description="More results get 422.")
    max_page_size: int = Field(100, ge=1, description="A larger page gets 422.")
    max_window: int = Field(
        500, ge=50, description="Candidates of one branch, at most."
    )
    max_filter_values: int = Field(
        100, ge=1, description="More values in a filter get 422."
    )
    max_query_terms: int = Field(
        64, ge=1, description="Plain positive words beyond it are dropped."
    )
    max_wait_ms: int = Field(
        30_000, ge=100, description="How long a request waits for its job, at most."
    )
    max_concurrent_searches: int = Field(
        50, ge=1, description="Searches at once in one API process."
    )
    search_queue_limit: int = Field(
        100, ge=0, description="Searches that may wait for their turn."
    )
    search_queue_wait_ms: int = Field(
        1000, ge=0, description="How long a search waits for its turn."
    )
    max_backlog_entries: int = Field(
        1_000_000, ge=1, description="With more live work due, pushes get 429."
    )
    job_retention_hours: int = Field(24, ge=1, description="Then a job is 410.")
    cursor_ttl_minutes: int = Field(60, ge=1, description="Then a cursor is 400.")
    idempotency_ttl_hours: int = Field(
        24, ge=1, description="Then an Idempotency-Key is forgotten."
    )
    rate_search_per_minute: int = Field(
        600, ge=0, description="Searches a minute and key; 0: no limit."
    )
    rate_ingest_per_minute: int = Field(
        600, ge=0, description="Writes a minute and key; 0: no limit."
    )
    rate_default_per_minute: int = Field(
        600, ge=0, description="Other requests a minute and key; 0: no limit."
    )

    rrf_k: int = Field(60, ge=1, description="The k of reciprocal rank fusion.")
    keyword: ModuleSettings = Field(
        ModuleSettings(), description="The keyword search module."
    )
    semantic: ModuleSettings = Field(
        ModuleSettings(), description="The semantic search module."
    )
    sources: dict[str, SourceSettings] = Field(
        {"api": SourceSettings()}, description="Where entries come from, by name."
    )

    database_pool_size: int = Field(
        10, ge=1, description="Connections of one process, at most."
    )

    @classmethod
    def load(
        cls, environ: Mapping[str, str], file: Path | None = None
    ) -> Settings:
        """Read every layer once; an unknown key names the nearest valid one."""
        return load_with_origins(environ, file)[0]


def load_with_origins(
    environ: Mapping[str, str], file: Path | None = None
) -> tuple[Settings, dict[str, str]]:
    """Return the settings, and for each name which layer it came from."""
    layers: list[tuple[str, dict[str, Any]]] = []
    values = _from_environment(environ)
    path = file or _config_path(environ)
    if path is not None:
        layers.append((str(path), _from_file(path)))
    layers.append(("environment", values))
    merged: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for name, layer in layers:
        for key, value in layer.items():
            merged[key] = value
            origins[key] = name
    probe = _validated(merged)
    stack = _from_stack(probe.home)
    for key, value in stack.items():
        if origins[key] == "default":
            merged[key] = value
            origins[key] = "running stack"
    return _validated(merged), origins


def _config_path(environ: Mapping[str, str]) -> Path | None:
    named = environ.get("LOGCHORD_CONFIG")
    if named:
        if not Path(named).is_file():
            message = f"LOGCHORD_CONFIG names {named}, which is not a file."
            raise ConfigurationError(message, config_key="LOGCHORD_CONFIG")
        return Path(named)
    for candidate in ("logchord.yaml", "config.yml"):
        if Path(candidate).is_file():
            return Path(candidate)
    return None


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {environment_name(name): name for name in Settings.model_fields}
    ours = {"LOGCHORD_CONFIG", "LOGCHORD_URL", "LOGCHORD_API_KEY"}
    values: dict[str, Any] = {}
    for key, text in environ.items():
        if key in names:
            values[names[key]] = _parsed(text, Settings.model_fields[names[key]])
        elif (
            key.startswith("LOGCHORD_")
            and key not in ours
            and not key.startswith("LOGCHORD_TEST_")
        ):
            raise _unknown(key, [*names, *ours], "the environment")
    return values


def environment_name(field: str) -> str:
    """Return the variable that sets a field; two are ours alone by their prefix."""
    return f"LOGCHORD_{field.upper()}" if field in {"home", "cache"} else field.upper()


def _parsed(text: str, field: Any) -> Any:
    """Read lists and sections as YAML, everything else as the text it is."""
    annotation = str(field.annotation)
    if "tuple" in annotation and not text.lstrip().startswith("["):
        return [part for part in text.replace(",", " ").split() if part]
    if "tuple" in annotation or "Settings" in annotation:
        return yaml.safe_load(text)
    return text


def _from_file(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as exc:
        message = f"{path} cannot be read: {exc}"
        raise ConfigurationError(message) from exc
    if not isinstance(values, dict):
        message = f"{path} must hold names and values."
        raise ConfigurationError(message)
    for key in values:
        if key not in Settings.model_fields:
            raise _unknown(str(key), list(Settings.model_fields), str(path))
    return values


def _from_stack(home: Path) -> dict[str, Any]:
    """Read where a stack of this home listens; absent or unreadable means none."""
    path = home / "run" / "stack.json"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return {}
    except json.JSONDecodeError as exc:
        message = f"{path} is damaged; run `logchord down`, then `logchord up`."
        raise ConfigurationError(message) from exc
    return {k: v for k, v in values.items() if k in Settings.model_fields}


def _unknown(key: str, allowed: list[str], where: str) -> ConfigurationError:
    near = difflib.get_close_matches(key, allowed, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    message = f"{key} in {where} is not a setting.{hint}"
    return ConfigurationError(message, config_key=key)


def _validated(values: dict[str, Any]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            owner: Any = Settings
            for part in first["loc"][:-1]:
                info = owner.model_fields.get(part) if owner else None
                found = info.annotation if info else None
                owner = found if hasattr(found, "model_fields") else None
            allowed = list(owner.model_fields) if owner else []
            raise _unknown(path, allowed, "the configuration") from exc
        message = f"{path}: {first['msg']}."
        raise ConfigurationError(message, config_key=path) from exc
