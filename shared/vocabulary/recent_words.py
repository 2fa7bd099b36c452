"""Words of entries that somebody saw a moment ago: none is misspelt or looked up."""

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence

from shared.vocabulary.expand import Expansion, Want

# After a word's last entry is gone, its spellings are tried so much later.
KEPT_SECONDS = 60.0
_KEPT_WORDS = 10_000
# A tenant, and what one may see of it.
Rights = Hashable


class Present:
    """The words that were looked up and found, by rights; safe between threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._until: dict[tuple[Rights, str], float] = {}

    def others(self, whose: Rights, wanted: Sequence[Want]) -> list[Want]:
        """Return the words that may be misspelt: those not seen of late."""
        now = self._clock()
        with self._lock:
            return [
                want
                for want in wanted
                if self._until.get((whose, want.text), now) <= now
            ]

    def note(self, whose: Rights, found: Mapping[Want, Expansion]) -> None:
        """Remember the words that the vocabulary has."""
        until = self._clock() + KEPT_SECONDS
        known = [want.text for want, one in found.items() if one.is_known]
        with self._lock:
            if len(self._until) + len(known) > _KEPT_WORDS:
                self._until.clear()
            self._until.update({(whose, text): until for text in known})
