"""How the texts of a source or a tenant are written, as far as settings tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from shared.settings.text_sections import decimal_mark

if TYPE_CHECKING:
    from shared.settings.settings import Settings


class Expected(NamedTuple):
    """What settings tell of a text before it is read."""

    language: str | None = None
    decimal_mark: Literal[".", ","] | None = None
    # What a source says of its metadata, by name; and where times without a zone are.
    metadata: tuple[tuple[str, Literal["number", "date", "text"]], ...] = ()
    zone: str = "UTC"


def find_expectations(settings: Settings, source: str, tenant: str) -> Expected:
    """Return the expectations of a source, else of its tenant, else of the facility."""
    one = settings.sources.get(source)
    own = settings.tenants.get(one.tenant if one else tenant)
    language = (
        (one.language if one else None)
        or (own.language if own else None)
        or settings.analyser.language
    )
    locale = one.locale if one else None
    mark = decimal_mark(locale) if locale else None
    metadata = tuple(sorted(one.metadata.items())) if one else ()
    zone = (one.timezone if one else None) or settings.facility_timezone
    return Expected(language, mark, metadata, zone)
