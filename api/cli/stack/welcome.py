"""What a person is told once the stack is up, and the sample logbook of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from api.cli import api_client
from local import sample, secrets

if TYPE_CHECKING:
    from api.cli.output import Output
    from api.cli.stack.progress import Steps
    from shared.settings.settings import Settings

_FOUND_WITHIN_MS = 30_000


@dataclass(frozen=True)
class Welcome:
    """Addresses, login and a few commands to begin with."""

    api: str
    docs: str
    flower: str
    flower_login: str
    seconds: float
    key_path: str
    commands: tuple[str, ...]
    # Whether it goes on without this terminal.
    is_detached: bool = False

    @classmethod
    def of(
        cls,
        settings: Settings,
        seconds: float,
        *,
        demo: bool,
        is_detached: bool = False,
    ) -> Welcome:
        """Gather addresses and login from the running stack."""
        url = api_client.base_url(settings)
        return cls(
            api=url,
            docs=f"{url}/docs",
            flower=f"http://127.0.0.1:{settings.flower_port}",
            flower_login=secrets.of_home(settings.home).flower_login,
            seconds=seconds,
            key_path=str(settings.home / "run" / "cli_key"),
            commands=tuple(sample.three_commands() if demo else ()),
            is_detached=is_detached,
        )

    def show(self, out: Output) -> None:
        """Print the welcome."""
        if out.as_json:
            out.line(self.document())
            return
        out.data("\n".join(self._lines()))

    def document(self) -> dict[str, Any]:
        """Return the welcome for programs, without the login, which logs may keep."""
        return {
            "page": f"{self.api}/",
            "api": self.api,
            "docs": self.docs,
            "flower": self.flower,
            "key_path": self.key_path,
            "seconds": self.seconds,
            "commands": list(self.commands),
        }

    def _lines(self) -> list[str]:
        user, _, password = self.flower_login.partition(":")
        told = [
            "",
            f"Logchord is up ({self.seconds:.1f} s).",
            "",
            f"  the page       {self.api}/",
            f"  API            {self.api}",
            f"  its documents  {self.docs}",
            f"  Flower         {self.flower}   user {user}, password {password}",
            f"  admin key      {self.key_path}   (the command line finds it)",
        ]
        if self.commands:
            told += ["", "Try:", "", *(f"  {command}" for command in self.commands)]
        stops = "Ctrl-C, or `logchord down` elsewhere, stops"
        if self.is_detached:
            stops = "`logchord down` stops"
        return [*told, "", f"{stops} all of it.", ""]


def load_sample(settings: Settings, steps: Steps) -> None:
    """Push the sample logbook, unless it is there already."""
    pages = list(sample.pages())
    wanted: dict[str, set[str]] = {}
    for page in pages:
        for entry in page:
            wanted.setdefault(entry["source"], set()).add(entry["external_id"])
    url = api_client.base_url(settings)
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        if all(_holds(client, name, len(ids)) for name, ids in wanted.items()):
            return
        step = "Loading the sample logbook"
        steps.begin(step)
        rejected, is_found = 0, True
        for page in pages:
            # Whoever looks next asks for its words.
            how = {"wait_for": "index", "wait_ms": _FOUND_WITHIN_MS}
            answer = api_client.call(
                client, "POST", "/v1/entries", params=how, json={"entries": page}
            )
            rejected += answer["counts"].get("rejected", 0)
            is_found = is_found and answer.get("indexed", True)
        steps.end(step)
        count = sum(len(ids) for ids in wanted.values())
        lost = f", {rejected} rejected" if rejected else ""
        later = "" if is_found else "; some are found a little later"
        steps.say(f"Loaded the sample logbook: {count} entries{lost}{later}.")


def _holds(client: httpx2.Client, source: str, count: int) -> bool:
    params = {"source": source, "limit": "1"}
    page = api_client.call(client, "GET", "/v1/entries", params=params)
    return int(page["total"]) >= count
