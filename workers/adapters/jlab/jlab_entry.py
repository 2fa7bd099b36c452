"""One entry, or one comment, of the Jefferson Lab logbook, as its lists have it."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shared.adapter_contract.contract import RawItem, Source
from shared.adapter_contract.entry import Entry
from workers.adapters.files import json_records
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import malformed, plain
from workers.adapters.mapping.map_settings import Selector, Times

COMMENT = "#c:"
_FIELDS: Mapping[str, Selector] = {
    "external_id": "lognumber",
    "title": "title",
    "text": "/body/content",
    "text_format": "/body/format",
    "entry_time": "/created/timestamp",
    "authors": "author",
    "logbooks": "books",
    "tags": "tags",
    "related": "/references/*/lognumber",
    "attachments": "attachments",
    "metadata.entrymakers": "entrymakers",
    "metadata.needs_attention": "needsattention",
}
# Counts move without an edit, and what else is known of a comment is its parent's.
_LEFT_OUT = (
    *("numcomments", "numComments", "numattachments", "numAttachments"),
    *("comments", "references", "changed", "body"),
)


def reader(source: Source) -> FieldMap:
    """Return the map of a source's entries."""
    return FieldMap(
        _FIELDS,
        times=Times(zone=source.timezone, fold=source.tz_fold),
        ignore=_LEFT_OUT,
        attachment_base=source.base_url or "",
    )


def parse_entry(raw: RawItem, fields: FieldMap, site: str, most_line: int) -> Entry:
    """Return the entry of a list's entry, or of a comment with its parent's number."""
    record, flags = json_records.record_of(raw, most_line)
    comment = record.get("comment")
    if comment is None:
        number, whole = record.get("lognumber"), record
    elif isinstance(comment, dict):
        number = record.get("lognumber")
        whole = {**comment, "books": record.get("books")}
    else:
        malformed("wrong_type", f"A {type(comment).__name__} is no comment.")
    url = f"{site}/entry/{number}" if site and isinstance(number, str | int) else None
    entry = fields.entry(_tidied(whole), raw.external_id, url=url, flags=flags)
    return entry if comment is None else replace(entry, reply_to=plain(number) or None)


def comment_item(parent: Mapping[str, Any], comment: Any, raw: RawItem) -> RawItem:
    """Return the item of a comment, which has no id of its own."""
    told = comment if isinstance(comment, dict) else {"title": comment}
    created = told.get("created")
    if isinstance(created, dict):
        created = created.get("timestamp", created.get("string"))
    parts = (told.get("author"), created, told.get("title"))
    said = "\x1f".join(plain(part) for part in parts)
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    payload = {
        "lognumber": parent.get("lognumber"),
        "books": parent.get("books"),
        "comment": comment if comment is not None else "",
    }
    return replace(
        raw, external_id=f"{raw.external_id}{COMMENT}{digest}", payload=payload
    )


def comment_count(record: Mapping[str, Any]) -> int | None:
    """Return how many comments a list counts; None: it does not say.

    The key is `numComments` in lists and `numcomments` in a single entry. Lists take
    its value from a column that their query does not have, so that it is null.
    """
    for name in ("numcomments", "numComments"):
        value = record.get(name)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value[:9])
    return None


def _tidied(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record whose body and time are the objects that they mostly are."""
    found = dict(record)
    # Lists write it in another way than a single entry does.
    if "needsAttention" in found:
        found["needsattention"] = found.pop("needsAttention")
    body, created = found.get("body"), found.get("created")
    if isinstance(body, str):
        found["body"] = {"content": body}
    elif body is not None and not isinstance(body, dict):
        malformed("wrong_type", f"A {type(body).__name__} is no body.")
    if isinstance(created, dict):
        stamp = created.get("timestamp")
        is_there = stamp is not None and stamp != ""
        # The text beside it is the same time once more, without a zone.
        known = stamp if is_there else created.get("string")
        found["created"] = {"timestamp": known}
    elif created is not None:
        malformed("time_unreadable", f"A {type(created).__name__} is no time.")
    makers = found.get("entrymakers")
    if isinstance(makers, list):
        found["entrymakers"] = ", ".join(plain(maker) for maker in makers) or None
    return found
