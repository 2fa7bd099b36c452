"""The API as the command line calls it: address, key, and errors as they were told."""

from __future__ import annotations

import os
import re
import ssl
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import httpx2

from api.cli import output
from shared.suggest import hint

if TYPE_CHECKING:
    from shared.settings.settings import Settings

_PAGE = 100
_CONNECT_SECONDS, _SLOW_SECONDS, _ANSWER_SECONDS = 10.0, 3.0, 60.0
# What a proxy says as long as what it stands before is not there.
_FOR_A_WHILE = frozenset({429, 502, 503, 504})
# What whoever typed a command knows a field of its request by.
_OPTION_OF = {"filters.date_from": "--from", "filters.date_to": "--to"}
_NAMED = re.compile(r"'([^']{1,100})'")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared, never bound


def base_url(settings: Settings) -> str:
    """Return the address of the local API of these settings."""
    host = "127.0.0.1" if settings.host in _EVERYWHERE else settings.host
    bracketed = f"[{host}]" if ":" in host else host
    return f"http://{bracketed}:{settings.port}{settings.base_path}"


def open_client(out: output.Output) -> httpx2.Client:
    """Return a client for the API that `--url`, the environment or the home names."""
    from shared.settings.settings import Settings

    url = out.url or os.environ.get("LOGCHORD_URL")
    key = out.key or os.environ.get("LOGCHORD_API_KEY")
    if url is None or key is None:
        settings = Settings.load(os.environ)
        # The key of this home is for this home's API, never for another address.
        key = key or (_kept_key(settings.home) if url is None else None)
        url = url or base_url(settings)
    _check(url, key or "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.Client(
        base_url=url.rstrip("/"),
        headers=headers,
        timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
        trust_env=not is_here(url),
        verify=_authorities(url),
    )


def _authorities(url: str) -> ssl.SSLContext | bool:
    """Return whose certificates are believed: nobody's where none can be shown.

    True stands for all known authorities: to read them takes 18 ms of every command.
    """
    if is_here(url) and httpx2.URL(url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True


def _check(url: str, key: str) -> None:
    """Refuse an address or a key that cannot be part of a request."""
    try:
        address = httpx2.URL(url)
        is_one = address.scheme in {"http", "https"} and bool(address.host)
    except httpx2.InvalidURL:
        is_one = False
    if not is_one:
        raise output.UsageError(f"{url!r} is no address: write it as http://HOST:PORT.")
    if not (key.isascii() and key.isprintable()):
        message = "The key holds signs that no key has: was it copied whole and alone?"
        raise output.UsageError(message)


def is_here(url: str) -> bool:
    """Tell whether an address is this machine's own: no proxy stands before that."""
    return httpx2.URL(url).host in _LOOPBACK


def call(client: httpx2.Client, method: str, path: str, **kwargs: Any) -> Any:
    """Return the JSON of an answer; an error becomes a CommandError with its code."""
    answer = fetch(client, method, path, **kwargs)
    try:
        return answer.json() if answer.content else None
    except ValueError as exc:
        raise _another(answer) from exc


def ask(method: str, path: str, **kwargs: Any) -> Any:
    """Return the JSON of the one answer that a command needs."""
    with open_client(output.current()) as client:
        return call(client, method, path, **kwargs)


def list_items(
    client: httpx2.Client,
    path: str,
    params: Mapping[str, Any],
    limit: int | None = None,
) -> tuple[list[Any], bool]:
    """Return all items of a list, or so many, and whether there are more."""
    # A cursor belongs to one size of page.
    asked = {**params, "limit": min(limit or _PAGE, _PAGE)}
    found: list[Any] = []
    while True:
        page = call(client, "GET", path, params=asked)
        found += page["items"]
        asked["cursor"] = page["next_cursor"]
        if asked["cursor"] is None or (limit is not None and len(found) >= limit):
            is_cut = limit is not None and len(found) > limit
            return found[:limit], asked["cursor"] is not None or is_cut


def print_items(
    path: str,
    filters: Mapping[str, str | None],
    limit: int,
    print_found: Callable[[list[Any]], None],
    *,
    nothing: str,
) -> None:
    """Print so many items of a list, or that there are none, and if there are more."""
    out = output.current()
    given = {name: value for name, value in filters.items() if value is not None}
    with open_client(out) as client:
        found, has_more = list_items(client, path, given, limit)
    if out.prints_json(found):
        return
    print_found(found)
    if not found:
        out.say(nothing)
    elif has_more:
        out.say(f"There is more than these {limit}; ask for more with --limit.")


def fetch(
    client: httpx2.Client, method: str, path: str, **kwargs: Any
) -> httpx2.Response:
    """Return an answer, whatever it is written in; an error becomes a CommandError."""
    try:
        with _told_if_slow(client):
            answer = client.request(method, path, **kwargs)
    except httpx2.TransportError as exc:
        raise no_answer(client, exc) from exc
    if answer.is_success:
        return answer
    raise error_of(answer)


@contextmanager
def stream(
    client: httpx2.Client, method: str, path: str, **kwargs: Any
) -> Iterator[httpx2.Response]:
    """Give an answer as it comes; an error becomes a CommandError."""
    with client.stream(method, path, **kwargs) as answer:
        if not answer.is_success:
            answer.read()
            raise error_of(answer)
        yield answer


@contextmanager
def _told_if_slow(client: httpx2.Client) -> Iterator[None]:
    """Tell a person at a terminal that an answer takes long."""
    context = click.get_current_context(silent=True)
    out = context.find_object(output.Output) if context else None
    if out is None or not sys.stderr.isatty():
        yield
        return
    told = f"Waiting for the API at {client.base_url}; Ctrl-C gives up."
    timer = threading.Timer(_SLOW_SECONDS, out.say, (told,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def no_answer(client: httpx2.Client, exc: httpx2.TransportError) -> output.CommandError:
    """Return the error for an API that does not answer; the command may be repeated."""
    advice = "Start it with `logchord up`, or name another with --url."
    if isinstance(exc, httpx2.ReadTimeout):
        # Somebody is there: to start it would help nobody.
        advice = "It is there and may be busy: try again, or see `logchord status`."
    name = type(exc).__name__
    message = f"The API at {client.base_url} does not answer ({name}). {advice}"
    return output.CommandError(message, exit_code=output.TRY_AGAIN)


def _another(answer: httpx2.Response) -> output.CommandError:
    """Return the error for an answer that does not come from Logchord."""
    where = answer.request.url.copy_with(query=None)
    message = f"{where} answered {answer.status_code}, but not as Logchord does."
    if answer.is_redirect:
        message += f" It points to {answer.headers.get('location', 'nowhere')}."
    if answer.status_code in _FOR_A_WHILE:
        message += " The API behind it may be starting: try again."
        return output.CommandError(message, exit_code=output.TRY_AGAIN)
    message += " Name the right address with --url or LOGCHORD_URL."
    return output.UsageError(message)


def error_of(answer: httpx2.Response) -> output.CommandError:
    """Return the error of an answer with message, code and id, and its exit code."""
    try:
        return make_error(answer.json()["error"], answer.status_code)
    except (ValueError, KeyError, TypeError):
        return _another(answer)


def make_error(error: Mapping[str, Any], status: int = 0) -> output.CommandError:
    """Return an error of the API as the command ends with it; 0: a job ended so."""
    code = output.exit_code_of(
        status, error["code"], retriable=error["severity"] == "RETRIABLE"
    )
    fields = error.get("details", {}).get("fields", [])
    reasons = [
        f"{field['path']}: {field['message']}"
        for field in fields
        # The error's own message may hold the reason already, if one field is wrong.
        if field["message"] not in error["message"]
    ]
    ids = [f"code: {error['code']}", f"id: {error['id']}"]
    told = "\n".join([error["message"] + _meant(error), *reasons, *ids])
    for path, option in _OPTION_OF.items():
        told = told.replace(path, option)
    return output.CommandError(told, exit_code=code, error=error)


def _meant(error: Mapping[str, Any]) -> str:
    """Return the available names for a wrong one, with the nearest one as a hint."""
    details = error.get("details", {})
    there = [str(one) for one in details.get("available") or details.get("allowed", ())]
    named = _NAMED.search(error["message"])
    if not there or not named:
        return ""
    near, names = hint(named[1], there), ", ".join(there)
    if near and near in error["message"]:
        return ""
    return near if names in error["message"] else f"{near} There are: {names}."


def _kept_key(home: Path) -> str | None:
    try:
        return (home / "run" / "cli_key").read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
