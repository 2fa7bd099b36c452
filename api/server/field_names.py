"""Which fields of each result a request wants, by their names."""

from collections.abc import Collection, Iterable

from shared.errors import InvalidRequestError
from shared.suggest import hint


def split_names(written: str | None) -> list[str]:
    """Return the names in `a,b`."""
    return [one.strip() for one in (written or "").split(",") if one.strip()]


def refuse_unknown_fields(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a wanted field that does not exist, with the nearest name."""
    for name in names:
        if name not in known:
            message = f"There is no field {name[:100]!r}.{hint(name, known)}"
            raise InvalidRequestError.field("fields", "unknown_field", message)
