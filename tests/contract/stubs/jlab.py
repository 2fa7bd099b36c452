"""A JLab logbook as its source answers: bodies when asked for, comments uncounted.

Read in JeffersonLab/elog: `inc/api.inc`, `lib/LogentryQuery.inc.php`,
`lib/AbstractQuery.inc.php` and `load_node_by_lognumber` of `elog.module`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from tests.contract.stubs.holding import FOREIGN, ServingStub
from tests.contract.stubs.serving import StubAnswer, StubRequest
from workers.adapters.kit.stub import StubEntry

_API = "/api/elog/entries"
_ALWAYS = ("lognumber", "title", "created", "tags")
# `setEndDate` replaces a start that is not before the end by so many days.
_REPLACED_DAYS, _DEFAULT_DAYS, _DEFAULT_PAGE = 30, 180, 50
# The last of three headers of one name, which is the one that counts.
_TYPE = "Access-Control-Allow-Methods: GET"
_NO_ENTRY = b'{"stat":"error","message":"Unable to retrieve requested entry."}'


class JLabStub(ServingStub):
    """Lists newest first; a reply is a comment, which moves nothing else."""

    def __init__(self) -> None:
        self._comments: dict[str, StubEntry] = {}
        # Entries that are counted and not shown.
        self.hidden = 0
        # The query of lists has no column `comments`: `numComments` is null. A site
        # that has mended this counts them.
        self.counts_comments = False
        self._unpublished: set[str] = set()
        super().__init__()

    def settings(self) -> Mapping[str, Any]:
        return {"adapter": "jlab", "base_url": self._server.base_url}

    def add(self, entry: StubEntry) -> str:
        entry = replace(entry, time=entry.time + self._offset)
        if entry.reply_to is None:
            self._entries[str(entry.number)] = entry
            return str(entry.number)
        if str(entry.reply_to) not in self._entries:
            # A comment stands below its entry, and nowhere else.
            raise LookupError(entry.reply_to)
        external_id = f"{entry.reply_to}#c:{self._digest(entry)}"
        self._comments[external_id] = entry
        return external_id

    def edit(self, external_id: str, **changes: Any) -> str:
        if external_id not in self._comments:
            return super().edit(external_id, **changes)
        self._mend(external_id, changes)
        edited = replace(self._comments.pop(external_id), **changes)
        return self.add(replace(edited, time=edited.time - self._offset))

    def delete(self, external_id: str) -> None:
        if self._comments.pop(external_id, None) is None:
            del self._entries[external_id]

    def unpublish(self, external_id: str) -> None:
        """Hide an entry from lists; asked for by its number it is still shown."""
        self._unpublished.add(external_id)

    def snapshot(self, external_ids: Sequence[str]) -> bytes:
        fields = {"body", "author", "books", "tags", "attachments", *_ALWAYS}
        records = [self._record(one, fields) for one in external_ids]
        return json.dumps({"entries": records}).encode()

    def _answer(self, request: StubRequest) -> StubAnswer:
        path = unquote(request.path)
        if path in self._files:
            return self._send_file(request)
        if path == _API:
            return self._list(request)
        number = path.removeprefix(f"{_API}/")
        if path.startswith(f"{_API}/") and number in self._entries:
            return _ok({"entry": self._single(number)})
        if path.startswith(f"{_API}/"):
            # What is gone is an error, and status 200.
            return StubAnswer(_NO_ENTRY, media_type="text/html")
        return StubAnswer(b"<html>Page not found</html>", 404, "text/html")

    def _list(self, request: StubRequest) -> StubAnswer:
        asked = dict(request.query)
        fields = {value for name, value in request.query if name == "field"}
        start, end = _range(asked)
        page = int(asked.get("page", 0))
        limit = int(asked.get("limit", _DEFAULT_PAGE))
        found = sorted(
            (
                external_id
                for external_id, entry in self._entries.items()
                if start <= entry.time.timestamp() <= end
                and external_id not in self._unpublished
            ),
            key=lambda one: (self._entries[one].time, int(one)),
            reverse=True,
        )
        fault = self._server.listing_fault()
        if fault == "empty_listing":
            found = []
        # A page behind the last is the last (the pager of Drupal 7, not read).
        page = max(0, min(page, -(-len(found) // limit) - 1))
        shown = found[page * limit : (page + 1) * limit]
        records = [self._record(one, fields | set(_ALWAYS)) for one in shown]
        answer = _ok(
            {
                "currentItems": len(records),
                "totalItems": str(len(found) + self.hidden),
                "pageLimit": limit,
                "currentPage": page,
                "pageCount": -(-len(found) // limit),
                "entries": records,
            }
        )
        body = answer.body
        for (external_id, name), wire in self._bytes.items():
            body = body.replace(_mark(external_id, name).encode(), wire)
        return StubAnswer(body[: len(body) // 2] if fault == "cut_listing" else body)

    def _record(self, external_id: str, fields: set[str]) -> dict[str, Any]:
        entry = self._entries[external_id]
        comments = [one for one in self._comments if one.startswith(f"{external_id}#")]
        whole = {
            "lognumber": external_id,
            "title": self._marked(external_id, "title", entry.title),
            "body": {
                "format": "text",
                "content": self._marked(external_id, "text", entry.text),
            },
            "author": entry.author,
            "created": self._created(external_id, entry),
            "books": [entry.logbook],
            "tags": list(entry.tags),
            "attachments": [self._file(entry, file) for file in entry.files],
            "numComments": str(len(comments)) if self.counts_comments else None,
            "needsAttention": None,
            # Several are one text, joined by commas.
            "entrymakers": entry.author,
        }
        extra = {} if fields <= set(_ALWAYS) else dict(entry.metadata)
        shown = {name for name in whole if name.lower() in fields}
        return {name: whole[name] for name in whole if name in shown} | extra

    def _single(self, number: str) -> dict[str, Any]:
        entry = self._entries[number]
        whole = self._record(number, {"author", "books", "tags", *_ALWAYS})
        # Only here is the body made into HTML.
        whole["body"] = {"format": "html", "content": f"<p>{entry.text}</p>"}
        comments = [
            {
                "title": comment.title,
                "body": {"format": "text", "content": comment.text},
                "author": comment.author,
                "created": self._created(external_id, comment),
                "attachments": [],
            }
            for external_id, comment in reversed(self._comments.items())
            if external_id.startswith(f"{number}#")
        ]
        whole |= {"entrymakers": None, "references": [], "numcomments": len(comments)}
        return whole | ({"comments": comments} if comments else {})

    def _created(self, external_id: str, entry: StubEntry) -> Any:
        if external_id in self._malformed:
            return [entry.number]
        seconds = int(entry.time.timestamp())
        # Numbers are written as such, or as text.
        stamp = seconds if entry.number % 2 else str(seconds)
        return {
            "timestamp": entry.raw_time or stamp,
            "string": entry.time.strftime("%Y-%m-%d %H:%M"),
        }

    def _digest(self, entry: StubEntry) -> str:
        created = entry.raw_time or int(entry.time.timestamp())
        said = f"{entry.author or ''}\x1f{created}\x1f{entry.title}"
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _file(self, entry: StubEntry, file: Any) -> dict[str, str]:
        path = f"/files/{entry.number}/{quote(file.filename, safe='')}"
        found = {"type": "application/octet-stream", "caption": file.filename}
        if file.foreign:
            return {"url": f"{FOREIGN}{path}", **found}
        if not file.missing:
            self._files[unquote(path)] = file.content
        return {"url": f"{self._server.base_url}{path}", **found}

    def _marked(self, external_id: str, name: str, text: str) -> str:
        return _mark(external_id, name) if (external_id, name) in self._bytes else text


def _range(asked: Mapping[str, str]) -> tuple[float, float]:
    now = datetime.now(UTC).timestamp()
    start = float(asked.get("startdate", now - _DEFAULT_DAYS * 86_400))
    end = float(asked.get("enddate", now + 86_400))
    return (end - _REPLACED_DAYS * 86_400 if end <= start else start), end


def _ok(data: Mapping[str, Any]) -> StubAnswer:
    body = json.dumps({"stat": "ok", "data": data}).encode()
    return StubAnswer(body, media_type=_TYPE)


def _mark(external_id: str, name: str) -> str:
    return f"<<{external_id}:{name}>>"
