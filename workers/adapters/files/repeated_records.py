"""How often each record has come before, for millions of them, in little memory."""

from array import array

_FIRST_SLOTS = 1024
# Beyond this share of full slots, walks along them grow long.
_FULLEST = 0.6
_MOST_IN_A_BYTE = 255


class Duplicates:
    """Counts 64-bit keys in nine bytes a slot, where a dict takes a hundred."""

    def __init__(self) -> None:
        self._keys = array("Q", bytes(8 * _FIRST_SLOTS))
        self._counts = bytearray(_FIRST_SLOTS)
        self._many: dict[int, int] = {}
        self._used = 0

    def add(self, key: int) -> int:
        """Count a key once more; return how often it has come by now."""
        if self._used > _FULLEST * len(self._counts):
            self._grow()
        slot = self._slot(key)
        count = self._counts[slot]
        if count == 0:
            self._keys[slot] = key
            self._used += 1
        elif count == _MOST_IN_A_BYTE:
            self._many[key] = self._many.get(key, count) + 1
            return self._many[key]
        self._counts[slot] = count + 1
        return count + 1

    def _slot(self, key: int) -> int:
        mask = len(self._counts) - 1
        slot = key & mask
        keys, counts = self._keys, self._counts
        while counts[slot] and keys[slot] != key:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        keys, counts = self._keys, self._counts
        self._keys = array("Q", bytes(16 * len(counts)))
        self._counts = bytearray(2 * len(counts))
        for key, count in zip(keys, counts, strict=True):
            if count:
                slot = self._slot(key)
                self._keys[slot], self._counts[slot] = key, count
