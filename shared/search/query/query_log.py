"""What the log keeps of a query: by default a keyed hash, never its text."""

import hashlib
import hmac
from typing import Literal

Setting = Literal["true", "false", "hash"]
_HASH_CHARS = 16


def make_log_keys(
    query: str, setting: Setting, secret: bytes, tenant: str
) -> dict[str, str]:
    """Return the keys that a log line about this query carries."""
    if setting == "false":
        return {}
    if setting == "true":
        return {"query": query}
    return {"query_key": query_key(query, secret, tenant)}


def query_key(query: str, secret: bytes, tenant: str) -> str:
    """Return a keyed hash of a question, the same only within one tenant."""
    normalised = " ".join(query.casefold().split())
    text = f"{tenant}\0{normalised}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, text, hashlib.sha256).hexdigest()[:_HASH_CHARS]
