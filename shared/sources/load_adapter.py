"""From a configured source to its adapter, ready to ask; or what is wrong with it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Self, cast

from pydantic import ValidationError

from shared import plugins, suggest
from shared.adapter_contract.contract import (
    Adapter,
    AdapterCapabilities,
    AdapterDescriptor,
    Memory,
    Source,
    SourceIO,
)
from shared.errors import AdapterNotFoundError, ConfigurationError, MalformedEntryError
from shared.log import get_logger
from shared.settings.settings import Settings
from shared.settings.source_sections import PUSH, SourceSettings

log = get_logger()

# Before it there is nothing, where a source does not say when its history starts.
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_TOO_LARGE = "too_large"
# Neighbours in the order of keys, which are read at one look.
_RAISED, _REFUSED = "limit:raised", "limit:refused"
# Settings that say when, how fast and as whom a source is asked, and how long what it
# sent is kept; and not what is read in it.
OF_PACE = frozenset(
    {
        *("enabled", "require_initial_ingest", "poll_interval_seconds", "schedule"),
        *("nudge_secret", "max_interval_seconds", "max_consecutive_failures"),
        *("backoff_multiplier", "overlap_seconds", "reconcile_days", "chunk_days"),
        *("reconcile_every_seconds", "prune_every_seconds", "prune_max_fraction"),
        *("page_size", "rate_per_second", "concurrency", "request_timeout_seconds"),
        *("max_retries", "retry_delay_seconds", "max_response_bytes", "allow_private"),
        *("ca_file", "proxy", "auth", "snapshot_path", "retention_days"),
    }
)


@dataclass(frozen=True, slots=True)
class Limit:
    """The size limit of a run, and how often it rose above what had been refused.

    Only a source of which something was refused for its size is read anew: of the
    others all is here. A lower limit has nothing read, for what was admitted stays.
    """

    most: int
    raised: int = 0

    @classmethod
    def of(cls, memory: Memory, most: int) -> Self:
        """Return the limit of a run; its rise is stored with the run's next page."""
        known = memory.get(_RAISED)
        raised = known if type(known) is int else 0
        match memory.get(_REFUSED):
            case {"raised": int(then), "at": int(at)} if then == raised and at < most:
                raised += 1
                memory.put(_RAISED, raised)
        return cls(most, raised)

    def note(self, memory: Memory, errors: Iterable[MalformedEntryError]) -> None:
        """Note with this page that an entry was too large for this limit."""
        if any(one.reason == _TOO_LARGE for one in errors):
            memory.put(_RAISED, self.raised)
            memory.put(_REFUSED, {"raised": self.raised, "at": self.most})


@dataclass(frozen=True, slots=True)
class Opened:
    """A source that can be asked, and its settings."""

    name: str
    settings: SourceSettings
    source: Source
    adapter: Adapter
    io: SourceIO
    limit: Limit

    @property
    def tenant(self) -> str:
        """Return the tenant whose entries the source brings."""
        return self.settings.tenant

    @property
    def descriptor(self) -> AdapterDescriptor:
        """Return the descriptor of the source's adapter."""
        return type(self.adapter).descriptor

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Return the adapter's capabilities, narrowed by the settings of the source."""
        narrowed = getattr(self.adapter, "capabilities", None)
        return narrowed if narrowed is not None else self.descriptor.capabilities

    @property
    def read_by(self) -> str:
        """Return how items are read; read otherwise, one may be another entry."""
        return read_by(self.settings, self.descriptor, self.limit.raised)


@cache
def adapters() -> Mapping[str, type[Adapter]]:
    """Return every adapter by its name and by the names that peers give it."""
    found: dict[str, type[Adapter]] = {}
    for name, point in sorted(plugins.points(plugins.ADAPTERS).items()):
        try:
            kind = cast("type[Adapter]", point.load())
        except (ImportError, AttributeError) as exc:
            # Somebody's package is broken: the other sources go on.
            log.error("adapter_broken", adapter=name, error=str(exc))  # noqa: TRY400
            continue
        found[name] = kind
        for alias in kind.descriptor.aliases:
            found.setdefault(alias, kind)
    return found


def find_adapter_class(name: str) -> type[Adapter]:
    """Return the adapter class of a name, or raise naming those that there are."""
    known = adapters()
    if name not in known:
        raise AdapterNotFoundError(name, sorted({*known, PUSH}))
    return known[name]


def list_pulled_sources(settings: Settings) -> dict[str, SourceSettings]:
    """Return the sources that are asked, by name."""
    return {
        name: one
        for name, one in sorted(settings.sources.items())
        if one.is_pulled and one.enabled
    }


def describe(
    name: str, settings: SourceSettings, *, max_entry_bytes: int, raised: int = 0
) -> Source:
    """Describe a source to its adapter, or raise the fault of its settings."""
    descriptor = find_adapter_class(settings.adapter).descriptor
    _check_place(name, settings, descriptor)
    if descriptor.naive_times and settings.timezone is None:
        raise _wrong(
            name, "timezone", f"the times of {descriptor.title} have no zone; say which"
        )
    try:
        args = descriptor.args.model_validate(settings.args)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(["args", *(str(part) for part in first["loc"])])
        flaw = suggest.explain_flaw(first, descriptor.args)
        raise _wrong(name, where, flaw) from exc
    return Source(
        name=name,
        base_url=settings.base_url,
        path=settings.path,
        timezone=settings.timezone,
        tz_fold=settings.tz_fold,
        locale=settings.locale,
        language=settings.language,
        page_size=min(settings.page_size, descriptor.max_records_per_page),
        overlap_seconds=max(settings.overlap_seconds, descriptor.min_overlap_seconds),
        history_start=_history_start(settings),
        request_timeout_seconds=settings.request_timeout_seconds,
        max_entry_bytes=max_entry_bytes,
        read_by=read_by(settings, descriptor, raised),
        args=args,
    )


def open_source(
    name: str,
    settings: SourceSettings,
    io: SourceIO,
    *,
    max_entry_bytes: int,
    is_dry: bool = False,
) -> Opened:
    """Return the source with its adapter; nothing has been asked yet."""
    limit = Limit.of(io.memory, max_entry_bytes)
    source = describe(name, settings, max_entry_bytes=limit.most, raised=limit.raised)
    if is_dry:
        source = replace(source, read_by=None)
    adapter = find_adapter_class(settings.adapter)(source, io)
    return Opened(name, settings, source, adapter, io, limit)


def config_hash(settings: SourceSettings) -> str:
    """Return a digest of the whole configuration of a source."""
    return _digest(settings.model_dump(mode="json"))


def read_by(
    settings: SourceSettings, descriptor: AdapterDescriptor, raised: int = 0
) -> str:
    """Return a mark of how items are read: adapter, settings, rises of the limit.

    With another mark the same answer may become another entry.
    """
    # Without defaults: a release that brings a setting changes nothing by it.
    said = settings.model_dump(mode="json", exclude=set(OF_PACE), exclude_defaults=True)
    digest = _digest({**said, "raised": raised})
    return f"{descriptor.version}:{digest}"


def _digest(said: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def history_start(opened: Opened) -> datetime:
    """Return the time before which the source has nothing."""
    return opened.source.history_start or EARLIEST


def has_history(settings: SourceSettings, complete_from: datetime | None) -> bool:
    """Tell whether what is complete from a time on holds the whole history."""
    first = _history_start(settings) or EARLIEST
    return complete_from is not None and complete_from <= first


def _history_start(settings: SourceSettings) -> datetime | None:
    start = settings.history_start
    if start is not None and start.tzinfo is None:
        return start.replace(tzinfo=UTC)
    return start


def _check_place(
    name: str, settings: SourceSettings, descriptor: AdapterDescriptor
) -> None:
    given = {"base_url": settings.base_url, "path": settings.path}
    if descriptor.place == "either":
        if not any(given.values()):
            raise _wrong(name, "base_url", "give it, or `path`")
    elif descriptor.place != "none" and not given[descriptor.place]:
        raise _wrong(name, descriptor.place, f"{descriptor.title} needs it")


def _wrong(name: str, key: str, what: str) -> ConfigurationError:
    dotted = f"sources.{name}.{key}"
    return ConfigurationError(f"{dotted}: {what}.", config_key=dotted)
