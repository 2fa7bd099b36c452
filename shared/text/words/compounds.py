"""German compounds: `Kühlwasserdurchfluss` is found by `Kühlwasser`, too."""

from __future__ import annotations

MIN_COMPOUND_CHARS = 8
_MIN_PART, _MAX_PART = 3, 24
# One end may be unknown, if what is known beside it is long enough to be no accident.
_MIN_KNOWN, _MIN_UNKNOWN = 5, 4
_MAX_PARTS = 6
_MAX_COMPOUND_CHARS = 60
# What joins two parts, and what a last part ends with when it is bent.
_JOINTS = ("", "s", "n", "en", "es", "e", "er", "ns")
_ENDINGS = ("", "e", "n", "s", "en", "er", "es", "ern", "em", "ns")

# What makes a word of one part, and no compound.
_SUFFIXES = frozenset(
    {
        *("isch", "ische", "ischen", "ischer", "ieren", "iert", "ierte", "ierten"),
        *("ierung", "ierungen", "lich", "liche", "ungen", "barkeit", "schaft"),
        *("heit", "heiten", "keit", "keiten"),
    }
)

Span = tuple[int, int]
_Ways = dict[int, list[Span] | None]


def split(word: str, vocabulary: frozenset[str]) -> list[Span]:
    """Return where the parts of a folded word stand; empty for what is no compound."""
    if not MIN_COMPOUND_CHARS <= len(word) <= _MAX_COMPOUND_CHARS:
        return []
    whole = _walk(word, 0, vocabulary, {})
    if whole is not None:
        return whole if 1 < len(whole) <= _MAX_PARTS else []
    return _with_a_known_end(word, vocabulary)


def parts_of(word: str, vocabulary: frozenset[str]) -> list[str]:
    """Return every run of neighbouring parts of a word but the word itself."""
    spans = split(word, vocabulary)
    found = [
        word[spans[first][0] : spans[last][1]]
        for first in range(len(spans))
        for last in range(first, len(spans))
        if (first, last) != (0, len(spans) - 1)
    ]
    return list(dict.fromkeys(found))


def _walk(
    word: str, start: int, vocabulary: frozenset[str], known: _Ways
) -> list[Span] | None:
    """Return the parts from here to the end, the longest first; None: no way."""
    if start in known:
        return known[start]
    known[start] = found = _first_way(word, start, vocabulary, known)
    return found


def _first_way(
    word: str, start: int, vocabulary: frozenset[str], known: _Ways
) -> list[Span] | None:
    longest = min(len(word), start + _MAX_PART)
    for end in range(longest, start + _MIN_PART - 1, -1):
        if word[start:end] not in vocabulary:
            continue
        if word[end:] in _ENDINGS:
            return [(start, len(word))]
        for joint in _JOINTS:
            if not word.startswith(joint, end):
                continue
            rest = _walk(word, end + len(joint), vocabulary, known)
            if rest:
                return [(start, end), *rest]
    return None


def _with_a_known_end(word: str, vocabulary: frozenset[str]) -> list[Span]:
    for size in range(min(len(word) - _MIN_UNKNOWN, _MAX_PART), _MIN_KNOWN - 1, -1):
        if word[:size] in vocabulary and word[size:] not in _SUFFIXES:
            return [(0, size), (size, len(word))]
    for start in range(_MIN_UNKNOWN, len(word) - _MIN_KNOWN + 1):
        if _is_bent(word[start:], vocabulary):
            return [(0, start), (start, len(word))]
    return []


def _is_bent(part: str, vocabulary: frozenset[str]) -> bool:
    return any(
        len(part) - len(ending) >= _MIN_KNOWN
        and part.endswith(ending)
        and part[: len(part) - len(ending)] in vocabulary
        for ending in _ENDINGS
    )
