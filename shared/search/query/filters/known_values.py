"""Filters that take one of a few values: another is refused, for no entry has it."""

from __future__ import annotations

from collections.abc import Iterable

from shared.adapter_contract.entry import KINDS
from shared.errors import InvalidRequestError
from shared.text.words import languages

_ORIGINS = ("human", "machine")
_VALUES = {"kind": KINDS, "origin": _ORIGINS}
LANGUAGE = "language"


def known_values(path: str, name: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return the values as entries have them; refuse values that no entry can have."""
    if name == LANGUAGE:
        return tuple(_language(path, one) for one in given)
    values = _VALUES.get(name)
    if values is None:
        return tuple(given)
    return tuple(_one_of(path, one, values) for one in given)


def _one_of(path: str, given: str, values: Iterable[str]) -> str:
    if given.strip().lower() in values:
        return given
    message = f"{given[:40]!r} is none of {', '.join(values)}."
    raise InvalidRequestError.field(path, "filter_value", message)


def _language(path: str, given: str) -> str:
    plain = given.strip().lower()
    found = languages.parse_language_tag(plain)
    if found is not None or plain == languages.UNKNOWN:
        return found or plain
    message = f"{given[:40]!r} is no language such as en, de or unknown."
    raise InvalidRequestError.field(path, "filter_value", message)
