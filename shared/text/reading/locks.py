"""What a text tells of locks against energy: where one was applied, where removed."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from shared.text.reading.incidents import sentences

_LOCK = re.compile(
    r"\b(?:LOTO(?:-[\w-]+)?|lock(?:ed)?[ -]?out|lock(?:s|ed)? and tag(?:s|ged)?"
    r"|tag(?:ged)?[ -]?out|locked with|lock (?:on|at|of)|lock removed|locks removed"
    r"|sperre|gesperrt|schloss|freigeschaltet)\b",
    re.IGNORECASE,
)
_REMOVED = re.compile(
    r"\b(?:removed|lifted|taken off|cleared|released|unlocked|entfernt|aufgehoben"
    r"|abgenommen|ausgetragen|zur\u00fcckgenommen)\b",
    re.IGNORECASE,
)
# What is to come or has not come.
_NOT_YET = re.compile(
    r"\b(?:not|no|until|before|will|to be|nicht|kein\w*|bis|bevor|wird|werden)\b",
    re.IGNORECASE,
)


class LockStatement(NamedTuple):
    """A sentence that tells of a lock, and what became of it."""

    start: int
    end: int
    what: Literal["lock_applied", "lock_removed"]


def find_locks(text: str) -> Iterator[LockStatement]:
    """Yield the sentences of a text that tell of locks, in order."""
    if not _LOCK.search(text):
        return
    for start, end in sentences(text):
        sentence = text[start:end]
        if not _LOCK.search(sentence):
            continue
        removed = _REMOVED.search(sentence)
        if removed is None:
            yield LockStatement(start, end, "lock_applied")
        elif not _NOT_YET.search(sentence, 0, removed.start()):
            yield LockStatement(start, end, "lock_removed")
