"""What is known of an entry, as filters compare it: a field, and a value made equal.

A fact is compared by its key, whichever way it was written; both engines hold the same
terms, so that a filter means the same in both.
"""

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from shared.text.words.folding import fold
from shared.text.words.identifiers import identify, normalise_hyphens
from shared.times.calendar_names import strip_accents

# Longer values are equal if they begin so.
MAX_VALUE_CHARS = 200
# Before a fact in a tsvector: no term of a text begins so.
MARK = "="
# Fields whose values are names of things; those of the others are words as they stand.
THINGS = frozenset({"device", "system"})
# What its source says beside, by name: `metadata.run`, `metadata.beam.current`.
METADATA = "metadata."
# What an entry has beside its text.
HAS, ATTACHMENT, PICTURE = "has", "attachment", "picture"

MAX_KEY_CHARS = 128
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?")
# Between a field and its value in a term: of its name, and of an alias.
SIGNS = ("=", "~")
_DATED = "=date"
_SIGNS = str.maketrans({"%": "%25", "=": "%3D", "~": "%7E"})

_WORDS = re.compile(r"[^\W\d_]+|\d+")
_KEEP_ZEROS = frozenset({"pv", "document"})


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known of an entry, how it was found, and where in its text."""

    field: str
    # As readers are shown it.
    value: str
    # `name` and `alias` of a list, `within` a longer name, `part` of what was named,
    # `form` of a device, `said` by the source, `read` in the text, `plan` of shifts, or
    # what a stage calls it.
    how: str
    start: int | None = None
    end: int | None = None
    # What the same thing is called besides: a filter may name it so.
    aliases: tuple[str, ...] = ()

    def terms(self) -> Iterator[str]:
        """Yield what the entry is filtered by: the value, and each alias of it."""
        yield make_term(self.field, self.value)
        for alias in self.aliases:
            yield make_term(self.field, alias, is_alias=True)


def make_term(field: str, value: str, *, is_alias: bool = False) -> str:
    """Return the term of a value: equal values have equal ones."""
    return f"{field}{'~' if is_alias else '='}{make_key(field, value)}"


def make_key(field: str, value: str) -> str:
    """Return the key that a value is compared by: one for all spellings of a device."""
    if len(value) > MAX_VALUE_CHARS:
        return _key(field, value)
    return _known_key(field, value)


def _key(field: str, value: str) -> str:
    if field.startswith(METADATA):
        value = as_number(value)
    if field not in THINGS:
        return make_comparable(value)[:MAX_VALUE_CHARS]
    value = normalise_hyphens(value)
    name = identify(value.strip())
    if name is not None and name.kind in _KEEP_ZEROS:
        # There a near miss is another thing.
        return name.canonical
    return " ".join(word for word, _, _ in scan_words(value))[:MAX_VALUE_CHARS]


# Authors, tags and names of devices come again and again.
_known_key = functools.lru_cache(maxsize=4096)(_key)


def metadata_field(name: str) -> str:
    """Return the field of what metadata have under a name, levels joined by dots."""
    return METADATA + name[:MAX_KEY_CHARS].translate(_SIGNS)


def dated(field: str) -> str:
    """Return the name that moments of metadata are kept under; no field has it."""
    return f"{field}{_DATED}"


def undated(dimension: str) -> str:
    """Return a field without the mark that `dated` adds to it."""
    return dimension.removesuffix(_DATED)


def as_number(value: str) -> str:
    """Return a number as every other way to write it, and any other text as it is."""
    if _NUMBER.fullmatch(value) is None:
        return value
    return str(Decimal(value).normalize() + 0)


def size(value: str) -> float | None:
    """Return the number that a text is, if it is one and has a size."""
    found = float(value) if _NUMBER.fullmatch(value) else math.inf
    return found if math.isfinite(found) else None


def make_comparable(text: str) -> str:
    """Return a text in lower case, without accents, its blanks made one each."""
    if text.isascii():
        # Nothing to take apart: most are, and there are many.
        return " ".join(text.lower().split())
    return " ".join(strip_accents(text.casefold()).split())


def scan_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield words and numbers apart, as names are compared, each with its place."""
    for match in _WORDS.finditer(text):
        word = match[0]
        word = (word.lstrip("0") or "0") if word[0].isdigit() else fold(word)
        if word:
            yield word, match.start(), match.end()
