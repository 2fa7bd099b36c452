"""A wildcard as it is typed, as the vocabulary is asked for it.

`*` stands for any characters and `?` for one; the rest is folded as texts are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.text.words.folding import fold_surface

_SIGNS = re.compile(r"([*?])")
_SPECIAL = re.compile(r"([\\%_])")
_LIKE = {"*": "%", "?": "_"}
# `HCM-0?` is kept as `hcm03`; of `LOTO_2024_*` the canonical form has dashes.
_NUMBERED = re.compile(r"([a-z]{1,16})[ _-]([\d*?][a-z\d*?]*)")
# Above every character that a word may have.
_HIGHEST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern for `LIKE`, and the range of terms that it may match."""

    like: str
    low: str = ""
    high: str = ""


def of_words(text: str, language: str) -> Pattern | None:
    """Return the pattern of surfaces in one language; None: it says nothing."""
    parts = _SIGNS.split(text)
    folded = [
        part if part in _LIKE else fold_surface(part, language)
        for part in parts
        if part
    ]
    return _pattern(folded)


def of_names(text: str) -> list[Pattern]:
    """Return the patterns of a name, in each way that names are kept."""
    lower = text.lower()
    ways = [lower, lower.replace("_", "-")]
    if numbered := _NUMBERED.fullmatch(lower):
        ways.append(numbered[1] + numbered[2])
    if lower.startswith("i:"):
        ways.append(lower.replace(":", "::", 1))
    found = [_pattern(_SIGNS.split(way)) for way in dict.fromkeys(ways)]
    return [one for one in found if one is not None]


def _pattern(parts: list[str]) -> Pattern | None:
    parts = [part for part in parts if part]
    if not any(any(map(str.isalnum, part)) for part in parts if part not in _LIKE):
        return None
    like = "".join(_LIKE.get(part) or _SPECIAL.sub(r"\\\1", part) for part in parts)
    head = parts[0] if parts[0] not in _LIKE else ""
    return Pattern(like, head, head + _HIGHEST if head else "")
