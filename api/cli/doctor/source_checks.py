"""What `doctor` says of the sources: whether each can be asked."""

from collections.abc import Iterator

from api.cli.doctor.checks import Check
from shared.settings.settings import Settings

_SERVERS = frozenset({"base_url", "either"})


def of_sources(settings: Settings) -> Iterator[Check]:
    """Check the settings of pulled sources, without asking any of them."""
    from shared.sources import load_adapter
    from shared.sources.runs import sync_config

    sources = load_adapter.list_pulled_sources(settings)
    if not sources:
        return
    wrong = sync_config.check(settings)
    for name, error in wrong.items():
        yield Check(f"source {name}", "failed", error.message, "Mend its settings.")
    live: list[str] = []
    files: list[str] = []
    for name, source in sources.items():
        if name in wrong:
            continue
        if load_adapter.find_adapter_class(source.adapter).descriptor.place in _SERVERS:
            (live if source.base_url else files).append(name)
    if live and files:
        found = f"{', '.join(files)} only from files, {', '.join(live)} live"
        remedy = (
            "Set `base_url` of each logbook that has a server, or answers mix both."
        )
        yield Check("sources", "note", found, remedy)
    degraded = list(_degraded(settings))
    yield from degraded
    if not (wrong or degraded or (live and files)):
        yield Check("sources", "ok", f"{len(sources)} are configured")


def describe_unusable(settings: Settings) -> list[str]:
    """Say of each source that cannot be read by its settings what is wrong."""
    from shared.sources.runs import sync_config

    return [
        f"The source {name} is not read: {error.message}"
        for name, error in sorted(sync_config.check(settings).items())
    ]


def _degraded(settings: Settings) -> Iterator[Check]:
    """Yield the problem and the shortfall of each source, or why both are unknown."""
    from shared.access.scope import Scope
    from shared.errors import LogchordError
    from shared.postgres.pool import connect
    from shared.sources.admin import shortfalls, source_overview

    if settings.database_url is None:
        return
    tenants = sorted({one.tenant for one in settings.sources.values()})
    try:
        url = settings.database_url.get_secret_value()
        with connect(url, application="doctor") as conn:
            found = [
                one
                for tenant in tenants
                for one in source_overview.list_sources(
                    conn, Scope(tenant, "doctor"), settings.sources
                )
            ]
            lacking = [
                (name, sentence)
                for tenant in tenants
                for name, one in shortfalls.load_shortfalls(conn, tenant).items()
                for sentence in one.describe(name, admin=True)
            ]
    except LogchordError as exc:
        yield Check("sources", "note", f"how they stand is not known: {exc.message}")
        return
    for one in sorted(found, key=lambda one: one.name):
        if one.problem is not None:
            yield Check(f"source {one.name}", "note", one.problem)
    configured = {one.name for one in found}
    for name, sentence in sorted(lacking, key=lambda one: one[0]):
        # Nothing more is awaited of a source that was removed.
        if name in configured:
            yield Check(f"source {name}", "note", sentence)
