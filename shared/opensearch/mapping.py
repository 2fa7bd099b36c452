"""The index: a physical one per mapping version, behind a read and a write alias."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from opensearchpy import OpenSearch

from shared.errors import OpenSearchError
from shared.opensearch.client import translated_errors

# Raised with every change below that needs documents written anew.
MAPPING_VERSION = 1

# A document with a keyword over 32,766 bytes is refused whole.
MAX_KEYWORD_CHARS = 1024
MAX_IDENT_CHARS = 256
_CREATE_TIMEOUT_SECONDS = 30

_KEYWORD = {"type": "keyword", "ignore_above": MAX_KEYWORD_CHARS}
_DATE = {"type": "date", "format": "strict_date_optional_time"}


def read_alias(base: str) -> str:
    """Return the name that searches use."""
    return f"{base}-read"


def write_alias(base: str) -> str:
    """Return the name that documents are written to."""
    return f"{base}-write"


def body() -> dict[str, Any]:
    """Return settings and mapping; what is not named here is refused."""
    return {
        "settings": {
            "index": {
                "number_of_shards": 1,
                "number_of_replicas": 0,
                "refresh_interval": "1s",
            },
            "analysis": {
                "tokenizer": {
                    # Terms have at most 128 characters; counted in UTF-16 that is 256,
                    # where the default would split them.
                    "words": {"type": "whitespace", "max_token_length": 512}
                },
                "analyzer": {"words": {"type": "custom", "tokenizer": "words"}},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "properties": {
                **dict.fromkeys(_KEYWORD_FIELDS, _KEYWORD),
                **dict.fromkeys(_DATE_FIELDS, _DATE),
                "deleted": {"type": "boolean"},
                "doc_version": {"type": "long"},
                "stream": {
                    "type": "text",
                    "analyzer": "words",
                    # Sections are values of this field: no phrase runs from one into
                    # the next.
                    "position_increment_gap": 100,
                },
                "idents": {
                    "type": "keyword",
                    "ignore_above": MAX_IDENT_CHARS,
                    "doc_values": False,
                },
                "metadata": {"type": "flat_object"},
                # Ranges on flat_object compare text; nested pairs keep the number of
                # fields the same whatever keys come.
                "meta_num": _pairs({"type": "double"}),
                "meta_date": _pairs(_DATE),
            },
        },
    }


_KEYWORD_FIELDS = (
    "tenant",
    "entry_id",
    "source",
    "external_id",
    "kind",
    "origin",
    "logbooks",
    "authors",
    "tags",
    "shift",
    "level",
    "category",
    "readers",
    "language",
)
_DATE_FIELDS = ("entry_time", "event_time", "visible_from")


def _pairs(value: dict[str, str]) -> dict[str, Any]:
    return {"type": "nested", "properties": {"key": _KEYWORD, "value": value}}


def ensure_index(
    client: OpenSearch, base: str, on_new: Callable[[], None] = lambda: None
) -> bool:
    """Make the index and its aliases if they are missing; many may call at once.

    `on_new` makes everything due that the new index lacks; it runs before the aliases
    open the index for writing, so that dying between the two loses nothing.
    """
    with translated_errors():
        if client.indices.exists_alias(name=write_alias(base)):
            return False
        name = f"{base}-v{MAPPING_VERSION}-{time.time_ns()}-{secrets.token_hex(3)}"
        patient = {"request_timeout": _CREATE_TIMEOUT_SECONDS}
        client.indices.create(index=name, body=body(), params=patient)
    on_new()
    try:
        with translated_errors():
            client.indices.update_aliases(body=_opening(base, name), params=patient)
    except OpenSearchError:
        with translated_errors():
            client.indices.delete(index=name, params=patient)
            # Somebody else was first: an alias has one index to write to.
            if client.indices.exists_alias(name=write_alias(base)):
                return False
        raise
    return True


def _opening(base: str, name: str) -> dict[str, Any]:
    return {
        "actions": [
            {"add": {"index": name, "alias": read_alias(base)}},
            {
                "add": {
                    "index": name,
                    "alias": write_alias(base),
                    "is_write_index": True,
                }
            },
        ]
    }
