"""Everything that the adapter of one source may reach outside of itself."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.adapter_contract.contract import Memory
from shared.http.addresses import AllowList, Lookup
from shared.http.pace import LocalPace, Pace
from shared.http.paced_client import Run, SourceClient
from shared.http.request import Asker
from shared.http.secrets import Secrets
from shared.settings.source_sections import SourceSettings
from shared.sources.adapter_memory import StoredMemory
from shared.sources.local_files import PathFiles

_HURRIED_RATE = 20.0


@dataclass(slots=True)
class RealIO(AbstractContextManager["RealIO"]):
    """One source's server, files, memory, clock and secrets; closed after use."""

    http: SourceClient
    files: PathFiles
    memory: Memory
    _secrets: Secrets
    _clock: Callable[[], datetime]
    _cancelled: Callable[[], bool]

    def now(self) -> datetime:
        """Return the time, aware, by the clock of the runtime."""
        return self._clock()

    def secret(self, name: str) -> str:
        """Return a secret by the name that the settings give it."""
        return self._secrets.read(name)

    def is_cancelled(self) -> bool:
        """Tell whether the run is to end."""
        return self._cancelled()

    def close(self) -> None:
        """Close the connections to the source."""
        self.http.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def hurry(settings: SourceSettings) -> SourceSettings:
    """Return the settings for a look that somebody waits for, without retries."""
    hurried: dict[str, Any] = {"max_retries": 0}
    if "rate_per_second" not in settings.model_fields_set:
        # Some servers want a request for each entry of the one page.
        hurried["rate_per_second"] = _HURRIED_RATE
    return settings.model_copy(update=hurried)


def make_io(  # noqa: PLR0913 - what a run has, a check and a test leave out
    source_name: str,
    settings: SourceSettings,
    *,
    memory: Memory | None = None,
    clock: Callable[[], datetime] | None = None,
    cancelled: Callable[[], bool] | None = None,
    pace: Pace | None = None,
    environ: Mapping[str, str] | None = None,
    ends: float = float("inf"),
    may_try_again: Callable[[], bool] | None = None,
    lookup: Lookup | None = None,
) -> RealIO:
    """Return the server, files, memory and clock of a source, for use in one thread.

    No request is waited for past `ends`, by the monotonic clock, and none is tried
    again unless `may_try_again`.
    """
    memory = memory or StoredMemory()
    clock = clock or (lambda: datetime.now(UTC))
    cancelled = cancelled or (lambda: False)
    secrets = Secrets(source_name, environ)
    allowed = AllowList(
        source_name,
        settings.base_url,
        settings.allowed_origins,
        proxy=settings.proxy,
        allow_private=settings.allow_private,
        lookup=lookup,
    )
    client = SourceClient(
        source_name,
        settings,
        asker=Asker(
            source_name, settings, allowed=allowed, secrets=secrets, clock=clock
        ),
        pace=pace or LocalPace(settings.rate_per_second, settings.concurrency),
        run=Run(clock, cancelled, ends, may_try_again or (lambda: True)),
    )
    files = PathFiles(source_name, settings.path)
    return RealIO(client, files, memory, secrets, clock, cancelled)
