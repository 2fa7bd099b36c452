"""How an ELOG server is told who asks: two cookies, one of them a crypted password."""

from __future__ import annotations

from hashlib import sha256

_ROUNDS = 5000
_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# In which order the 32 bytes of a digest are written, three at a time.
_TRIPLES = (
    *((0, 10, 20), (21, 1, 11), (12, 22, 2), (3, 13, 23), (24, 4, 14)),
    *((15, 25, 5), (6, 16, 26), (27, 7, 17), (18, 28, 8), (9, 19, 29)),
)


def cookie(user: str, password: str) -> str:
    """Return the header that logs a user in."""
    return f"unm={user}; upwd={crypted(password.encode(), b'')}"


def crypted(password: bytes, salt: bytes, rounds: int = _ROUNDS) -> str:
    """Return SHA-256 crypt as glibc computes it, without `$5$`, rounds and salt."""
    size = len(password)
    other = sha256(password + salt + password).digest()
    first = sha256(password + salt + _stretched(other, size))
    length = size
    while length:
        first.update(other if length & 1 else password)
        length >>= 1
    digest = first.digest()
    long_password = _stretched(sha256(password * size).digest(), size)
    long_salt = _stretched(sha256(salt * (16 + digest[0])).digest(), len(salt))
    for turn in range(rounds):
        digest = _turned(digest, turn, long_password, long_salt)
    return _encoded(digest)


def _turned(digest: bytes, turn: int, password: bytes, salt: bytes) -> bytes:
    is_odd = turn % 2 == 1
    parts = [password if is_odd else digest]
    if turn % 3:
        parts.append(salt)
    if turn % 7:
        parts.append(password)
    parts.append(digest if is_odd else password)
    return sha256(b"".join(parts)).digest()


def _stretched(digest: bytes, size: int) -> bytes:
    return (digest * (size // len(digest) + 1))[:size]


def _encoded(digest: bytes) -> str:
    groups = [(digest[a], digest[b], digest[c], 4) for a, b, c in _TRIPLES]
    groups.append((0, digest[31], digest[30], 3))
    found = []
    for high, middle, low, count in groups:
        value = high << 16 | middle << 8 | low
        for _ in range(count):
            found.append(_ALPHABET[value & 63])
            value >>= 6
    return "".join(found)
