"""What it costs to ask a server again that has nothing new: one request, no entry."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

from bench import ingest_path, logbook
from bench.ingest_path import Rate, pool_of
from bench.rig import Ground
from shared.settings.source_sections import SourceSettings
from shared.sources import run_records

_NAME = "bench-feed"
_ETAG = '"1"'


class _Asked:
    """A feed that never changes, and what it was asked."""

    def __init__(self, count: int) -> None:
        items = "".join(
            f"<entry><id>{one['id']}</id><title>{escape(one['title'])}</title>"
            f"<updated>{one['timestamp']}</updated>"
            f"<content>{escape(one['text'])}</content></entry>"
            for one in logbook.entries(count)
        )
        text = f'<feed xmlns="http://www.w3.org/2005/Atom">{items}</feed>'
        self.body = text.encode()
        self.requests = 0
        self.not_modified = 0


def read_again(ground: Ground, count: int) -> list[Rate]:
    """Read a feed of so many entries, then ask again with its validators."""
    with _served(_Asked(count)) as (url, asked), closing(pool_of(ground)) as pool:
        source = SourceSettings.model_validate(
            {
                "adapter": "feed",
                "base_url": url,
                "rate_per_second": 1000,
                "require_initial_ingest": False,
            }
        )
        settings = ingest_path.configured(pool, _NAME, source)
        first = ingest_path.run(
            settings, pool, _NAME, run_records.TAIL, f"feed, {count:,}"
        )
        ingest_path.expect(pool, _NAME, count)
        requests, unsent = asked.requests, asked.not_modified
        again = ingest_path.run(
            settings, pool, _NAME, run_records.TAIL, "feed, not modified"
        )
        if (asked.requests - requests, asked.not_modified - unsent) != (1, 1):
            message = f"{asked.requests - requests} requests where one was enough"
            raise AssertionError(message)
    return [
        first.of(count),
        again.of(count, note="one request, answered with 304"),
    ]


@contextmanager
def _served(asked: _Asked) -> Iterator[tuple[str, _Asked]]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            asked.requests += 1
            is_known = self.headers.get("If-None-Match") == _ETAG
            asked.not_modified += is_known
            body = b"" if is_known else asked.body
            self.send_response(304 if is_known else 200)
            self.send_header("Content-Type", "application/atom+xml")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", _ETAG)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep the table of numbers alone."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/feed.xml", asked
        finally:
            server.shutdown()
