"""Whether the evidence, too, denies what a question says did not happen."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shared.answers.evidence.evidence import EvidenceEntry

_DENIAL = (
    r"(?:\b(?:not|never|no longer|cannot|unable to|failed to|fails to|refused to"
    r"|refuses to|nicht|nie|nie mehr|kein\w{0,2})\b|n['\u2019]t\b)"
)
# The verb that is denied stands behind the word, or at the end: `didn't it trip`.
_NEXT = re.compile(r"(?i)\b(?:not|never|no longer|nicht|nie)(?: mehr)? (\w+)")
_LAST = re.compile(rf"(?i){_DENIAL}.*?(\w+)\W*$")
# So near the verb a denial is its own; so many letters of it are alike in its forms.
_NEAR, _LETTERS = 40, 4


def find_unsaid_denial(question: str, entries: Iterable[EvidenceEntry]) -> str | None:
    """Return the denied verb of a question, where no entry denies it, too.

    None where it denies nothing, or an entry does as well.
    """
    denied = _NEXT.search(question) or _LAST.search(question)
    if denied is None:
        return None
    verb = denied[1]
    stem = re.escape(verb[: max(_LETTERS, len(verb) - 2)])
    said = re.compile(
        rf"(?i){_DENIAL}.{{0,{_NEAR}}}\b{stem}|\b{stem}\w*.{{0,{_NEAR}}}{_DENIAL}"
    )
    texts = (text for one in entries for text in (one.row.title, one.text))
    return None if any(map(said.search, texts)) else f"not {verb}"
