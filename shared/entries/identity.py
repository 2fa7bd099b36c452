"""The names of an entry that are unique for ever."""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

URI = "logchord:"
# What would end a part early, or not survive a line of text.
_SPECIAL = re.compile(r"[/#@%\[\]\s]")


def doc_key(tenant: str, source: str, external_id: str) -> str:
    """Return tenant, source and external id as one path; unique for ever."""
    # Called for every hit of a search, so the parts are joined without a list.
    return f"{_encoded(tenant)}/{_encoded(source)}/{_encoded(external_id)}"


def source_uri(tenant: str, source: str, external_id: str) -> str:
    """Return the entry's name as an URI."""
    return f"{URI}{doc_key(tenant, source, external_id)}"


class Identity(NamedTuple):
    """What names an entry for ever."""

    tenant: str
    source: str
    external_id: str


def parse_source_uri(uri: str) -> Identity | None:
    """Return the parts of an entry's URI, or None where it is none."""
    parts = uri.removeprefix(URI).split("/")
    if not uri.startswith(URI) or len(parts) != len(Identity._fields):
        return None
    return Identity(*map(unquote, parts))


def permalink(source: str, external_id: str) -> str:
    """Return the address that survives a rebuild from the source."""
    return f"/e/{quote(source, safe='')}/{quote(external_id, safe='')}"


def chunk_id(doc_key: str, number: int) -> str:
    """Return the name of one chunk, so that text order is chunk order."""
    return f"{doc_key}#{number:04d}"


def _encoded(part: str) -> str:
    return _SPECIAL.sub(lambda match: quote(match[0], safe=""), part)
