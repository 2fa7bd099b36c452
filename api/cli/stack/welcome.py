"""What a person is told once the stack is up, and the sample logbook of the demo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from api.cli import api_client
from api.cli.doctor.source_checks import describe_unusable
from local import sample, secrets

if TYPE_CHECKING:
    from api.cli.output import Output
    from api.cli.stack.progress import Steps
    from shared.settings.settings import Settings

_FOUND_WITHIN_MS = 30_000


def tell_welcome(
    out: Output,
    settings: Settings,
    seconds: float,
    *,
    demo: bool,
    is_detached: bool = False,
) -> None:
    """Print addresses, login and a few commands to begin with."""
    url = api_client.base_url(settings)
    told = {
        "page": f"{url}/",
        "api": url,
        "docs": f"{url}/docs",
        "flower": f"http://127.0.0.1:{settings.flower_port}",
        "key_path": str(settings.home / "run" / "cli_key"),
        "seconds": seconds,
        "commands": list(sample.three_commands() if demo else ()),
        "unusable": describe_unusable(settings),
    }
    if out.as_json:
        # Without the login of Flower, which logs may keep.
        out.line(told)
        return
    login = secrets.of_home(settings.home).flower_login
    out.data("\n".join(lines(told, login, is_detached=is_detached)))


def lines(told: Mapping[str, Any], login: str, *, is_detached: bool) -> list[str]:
    """Return the welcome as a person reads it."""
    user, _, password = login.partition(":")
    shown = [
        "",
        f"Logchord is up ({told['seconds']:.1f} s).",
        "",
        f"  the page       {told['page']}",
        f"  API            {told['api']}",
        f"  its documents  {told['docs']}",
        f"  Flower         {told['flower']}   user {user}, password {password}",
        f"  admin key      {told['key_path']}   (the command line finds it)",
    ]
    if told["unusable"]:
        shown += ["", *told["unusable"]]
        shown += ["Mend the settings, then `logchord source reload`."]
    if told["commands"]:
        shown += ["", "Try:", "", *(f"  {command}" for command in told["commands"])]
    stops = "Ctrl-C, or `logchord down` elsewhere, stops"
    if is_detached:
        # It goes on without this terminal.
        stops = "`logchord down` stops"
    return [*shown, "", f"{stops} all of it.", ""]


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
