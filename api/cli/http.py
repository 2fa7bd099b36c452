"""The API as the command line calls it: address, key, and errors as they were told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from api.cli import output

if TYPE_CHECKING:
    from shared.settings import Settings

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared, never bound


def base_url(settings: Settings) -> str:
    """Return where the API of these settings answers on this machine."""
    host = "127.0.0.1" if settings.host in _EVERYWHERE else settings.host
    bracketed = f"[{host}]" if ":" in host else host
    return f"http://{bracketed}:{settings.port}{settings.base_path}"


def open_client(out: output.Output, *, timeout_seconds: float = 60.0) -> httpx.Client:
    """Return a client for the API that `--url`, the environment or the home names."""
    from shared.settings import Settings

    url = out.url or os.environ.get("LOGCHORD_URL")
    key = out.key or os.environ.get("LOGCHORD_API_KEY")
    if url is None or key is None:
        settings = Settings.load(os.environ)
        # The key of this home is for this home's API, never for another address.
        key = key or (_kept_key(settings.home) if url is None else None)
        url = url or base_url(settings)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(
        base_url=url.rstrip("/"),
        headers=headers,
        timeout=timeout_seconds,
        trust_env=not is_here(url),
    )


def is_here(url: str) -> bool:
    """Tell whether an address is this machine's own: no proxy stands before that."""
    return httpx.URL(url).host in _LOOPBACK


def call(client: httpx.Client, method: str, path: str, **kwargs: Any) -> Any:
    """Return the JSON of an answer; an error becomes a CommandError with its code."""
    answer = fetch(client, method, path, **kwargs)
    return answer.json() if answer.content else None


def fetch(
    client: httpx.Client, method: str, path: str, **kwargs: Any
) -> httpx.Response:
    """Return an answer, whatever it is written in; an error becomes a CommandError."""
    try:
        answer = client.request(method, path, **kwargs)
    except httpx.TransportError as exc:
        raise no_answer(client, exc) from exc
    if answer.is_success:
        return answer
    raise error_of(answer)


def no_answer(client: httpx.Client, exc: httpx.TransportError) -> output.CommandError:
    """Return what to say of an API that does not answer: it may be tried again."""
    message = (
        f"The API at {client.base_url} does not answer ({type(exc).__name__}). "
        "Start it with `logchord up`, or name another with --url."
    )
    return output.CommandError(message, exit_code=output.TRY_AGAIN)


def error_of(answer: httpx.Response) -> output.CommandError:
    """Return the error of an answer with message, code and id, and its exit code."""
    try:
        body = answer.json()
        error = body["error"]
    except (ValueError, KeyError, TypeError):
        message = f"The API answered {answer.status_code} without saying why."
        return output.CommandError(message)
    code = output.exit_code_of(
        answer.status_code,
        error["code"],
        retriable=error["severity"] == "RETRIABLE",
    )
    fields = error.get("details", {}).get("fields", [])
    reasons = [f"{field['path']}: {field['message']}" for field in fields]
    told = [error["message"], *reasons, f"code: {error['code']}", f"id: {error['id']}"]
    return output.CommandError("\n".join(told), exit_code=code, error=error)


def _kept_key(home: Path) -> str | None:
    try:
        return (home / "run" / "cli_key").read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
