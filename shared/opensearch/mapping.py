"""What the index is made of: its fields, its settings, and what it is called."""

from collections.abc import Mapping
from typing import Any

from shared import entry_fields

# Raised with every change below that needs documents written anew: not for a field
# that comes to `entry_fields`, which an index of before learns.
MAPPING_VERSION = 3

# A document with a keyword over 32,766 bytes is refused whole.
MAX_KEYWORD_CHARS = 1024
MAX_IDENT_CHARS = 256

_KEYWORD = {"type": "keyword", "ignore_above": MAX_KEYWORD_CHARS}
_DATE = {"type": "date", "format": "strict_date_optional_time"}


def read_alias(base: str) -> str:
    """Return the name that searches use."""
    return f"{base}-read"


def write_alias(base: str) -> str:
    """Return the name that documents are written to."""
    return f"{base}-write"


# In use; and while one is filled that nobody searches yet, where what a crash of the
# server takes is found when the index is compared.
LIVE = {
    "refresh_interval": "1s",
    "translog.durability": "request",
    "translog.flush_threshold_size": "512mb",
    # A copy as soon as there is a second node to hold it.
    "auto_expand_replicas": "0-1",
}
FILLING = {
    "refresh_interval": "-1",
    "translog.durability": "async",
    "translog.flush_threshold_size": "1gb",
    "auto_expand_replicas": "false",
}


def make_index_body(how: Mapping[str, str] = LIVE) -> dict[str, Any]:
    """Return settings and mapping of an index; fields not in them are refused."""
    return {
        "settings": {
            "index": {"number_of_shards": 1, "number_of_replicas": 0, **how},
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
            "_meta": {"version": MAPPING_VERSION},
            "properties": {
                **dict.fromkeys(_KEYWORD_FIELDS, _KEYWORD),
                **dict.fromkeys(_DATE_FIELDS, _DATE),
                "deleted": {"type": "boolean"},
                "doc_version": {"type": "long"},
                # Compared with Postgres in sums: see `compare`.
                "day": {"type": "integer"},
                "check": {"type": "long"},
                # Reserved: a saved search is a document, and entries are put to it.
                "saved_search": {"type": "percolator"},
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
                # What filters compare, as the tsvector of Postgres has it.
                "facts": _KEYWORD,
                "people": _KEYWORD,
                "quantities": {
                    "type": "nested",
                    "properties": {
                        "dimension": _KEYWORD,
                        "value": {"type": "double"},
                        "name": _KEYWORD,
                    },
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
    *entry_fields.NAMES,
    "readers",
    "language",
    "group_id",
    "series_id",
)
_DATE_FIELDS = ("entry_time", "event_time", "visible_from")


def _pairs(value: dict[str, str]) -> dict[str, Any]:
    return {"type": "nested", "properties": {"key": _KEYWORD, "value": value}}
