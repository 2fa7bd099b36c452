"""Searches without a pause while something is made anew, and the chore that does it."""

from typing import Any

import httpx2

from tests.support.faults.background_thread import BackgroundThread


class Searching(BackgroundThread):
    """Searches without a pause in one mode, and what became of each."""

    def __init__(
        self, client: httpx2.Client, mode: str = "semantic", **more: Any
    ) -> None:
        self._client = client
        self._body = {"query": "beam dump vacuum", "mode": mode, "limit": 5, **more}
        super().__init__()
        self.answered = 0
        self.failed: list[Any] = []

    def _run(self) -> None:
        while not self._ended.is_set():
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
