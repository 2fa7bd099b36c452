"""Searches without a pause while something is made anew, and the chore that does it."""

from __future__ import annotations

import threading
from typing import Any, Self

import httpx2


class Searching:
    """Searches without a pause in one mode, and what became of each."""

    def __init__(
        self, client: httpx2.Client, mode: str = "semantic", **more: Any
    ) -> None:
        self._client = client
        self._body = {"query": "beam dump vacuum", "mode": mode, "limit": 5, **more}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.answered = 0
        self.failed: list[Any] = []

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ask no more."""
        self._ends.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._ends.is_set():
            answer = self._client.post("/v1/search/query", json=self._body)
            found = answer.json()
            branches = {one["status"] for one in found.get("branches", ())}
            if branches == {"ok"} and found["results"]:
                self.answered += 1
            else:
                self.failed.append((answer.status_code, found))


def has_ended(admin: httpx2.Client, chore: str) -> dict[str, Any] | None:
    """Return a chore once it is over."""
    found: dict[str, Any] = admin.get(f"/v1/maintenance/{chore}").json()
    return found if found["ended_at"] else None
