"""`logchord source add URL`: what it is, what is still to be said, and a first look."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import httpx
from pydantic import ValidationError

from api.cli import http, output, source_file
from api.cli.output import CommandError
from shared.errors import ConfigurationError, LogchordError
from shared.settings import Settings
from shared.settings_sources import SourceSettings
from shared.sources import loading
from shared.sources.check import Checked, check_configured
from shared.sources.recognise import Candidate, Tried, recognise


@click.command()
@click.argument("address")
@click.option("--name", help="How it is called here; none: after its host.")
@click.option("--adapter", help="What it is, where that cannot be recognised.")
@click.option("--timezone", help="What zone its naive times mean.")
@click.option("--user", help="Login name, if it wants a login.")
@click.option("--secret", help="Variable or file that holds the password.")
@click.option("--logbook", "logbooks", multiple=True, help="Only this logbook.")
@click.option("--yes", is_flag=True, help="Ask nothing; fail instead.")
def add(
    *,
    address: str,
    name: str | None,
    adapter: str | None,
    timezone: str | None,
    user: str | None,
    secret: str | None,
    logbooks: tuple[str, ...],
    yes: bool,
) -> int:
    """Recognise the logbook at ADDRESS, check it, and write it into the configuration.

    Its history is then loaded, the newest entries first, while new ones come in.
    """
    out = output.current()
    asks = not yes and sys.stdin.isatty()
    place = _place(address)
    given = _probe(place, user, secret)
    found = _found(out, address, given, adapter, asks=asks)
    source = {"adapter": found.adapter, **place, **dict(found.found.settings)}
    descriptor = loading.adapter_class(found.adapter).descriptor
    if user or secret:
        source["auth"] = {"kind": "basic", "user": user, "secret": secret}
    if logbooks:
        source["args"] = {**source.get("args", {}), "logbooks": list(logbooks)}
    if timezone is None and (descriptor.naive_times or "timezone" in found.found.asks):
        timezone = _ask(asks, "Its times have no zone. Which is it", "--timezone")
    if timezone:
        source["timezone"] = timezone
    name = name or _name_of(address)
    path = source_file.path_of(os.environ)
    settings = _settings_with(path, name, source)
    checked = check_configured(settings, name, settings.sources[name])
    _show(out, found, checked)
    if not checked.ok:
        message = "It was not added: it does not answer as it should."
        raise CommandError(message, exit_code=output.FAILED)
    _write(out, path, name, source)
    return output.DONE


def _place(address: str) -> dict[str, Any]:
    if urlsplit(address).scheme in {"http", "https"}:
        return {"base_url": address.rstrip("/")}
    if "://" in address:
        message = f"{urlsplit(address).scheme} is not asked; http and https are."
        raise CommandError(message, exit_code=output.USAGE)
    return {"path": str(Path(address).expanduser().absolute())}


def _probe(
    place: dict[str, Any], user: str | None, secret: str | None
) -> SourceSettings:
    login = {"kind": "basic", "user": user, "secret": secret} if user else {}
    try:
        return SourceSettings.model_validate({**place, "auth": login})
    except ValidationError as exc:
        raise CommandError(_reason(exc), exit_code=output.USAGE) from None


def _reason(exc: ValidationError) -> str:
    """Say what is wrong without repeating the value, which may hold a password."""
    first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg'].removeprefix('Value error, ')}."


def _found(
    out: output.Output,
    address: str,
    given: SourceSettings,
    adapter: str | None,
    *,
    asks: bool,
) -> Candidate:
    tried = recognise(address, given)
    if adapter is not None:
        return _named(tried, adapter)
    if tried.winner is not None:
        return tried.winner
    if not tried.candidates:
        raise CommandError(_nothing(address, tried), exit_code=output.NOT_FOUND)
    for one in tried.candidates:
        out.say(f"  {one.adapter:<14} {one.title}: {one.found.why}")
    chosen = _ask(asks, "It could be any of these. Which is it", "--adapter")
    return _named(tried, chosen)


def _named(tried: Tried, adapter: str) -> Candidate:
    from shared.entries.adapter import Recognition

    kind = loading.adapter_class(adapter)
    for one in tried.candidates:
        if one.adapter == kind.descriptor.name:
            return one
    title = kind.descriptor.title
    return Candidate(adapter, title, Recognition({}, 1.0, "as you say"))


def _nothing(address: str, tried: Tried) -> str:
    failures = "".join(f"\n  {one}" for one in tried.failures)
    return (
        f"Nothing that is known here answers at {address}. Asked as:"
        f" {', '.join(tried.asked)}.{failures}\nName it with --adapter, or describe it"
        " to the adapter `generic_rest`: see docs/how-to/add-a-source.md."
    )


def _ask(asks: bool, question: str, option: str) -> str:  # noqa: FBT001 - a plain fact
    if not asks:
        message = f"{question}? Say so with {option}."
        raise CommandError(message, exit_code=output.USAGE)
    answer: str = click.prompt(question, err=True)
    return answer.strip()


def _settings_with(path: Path, name: str, source: dict[str, Any]) -> Settings:
    settings = Settings.load(os.environ)
    if name in settings.sources:
        message = f"There is a source {name} already; choose another --name."
        raise CommandError(message, exit_code=output.USAGE)
    try:
        validated = SourceSettings.model_validate(source)
    except ValidationError as exc:
        message = f"sources.{name} for {path}: {_reason(exc)}"
        raise ConfigurationError(message, config_key=f"sources.{name}") from None
    sources = {**settings.sources, name: validated}
    return settings.model_copy(update={"sources": sources})


def _show(out: output.Output, found: Candidate, checked: Checked) -> None:
    out.say(f"This is {found.title}: {found.found.why}.")
    for draft in checked.sample:
        when = f"{draft.entry_time:%Y-%m-%d %H:%M} UTC" if draft.entry_time else ""
        title = draft.title or draft.text[:60]
        line = f"  {when}  {', '.join(draft.authors)}  {title}"
        out.say("".join(char if char.isprintable() else " " for char in line))
    for one in checked.problems:
        out.say(f"  {one}")


def _write(out: output.Output, path: Path, name: str, source: dict[str, Any]) -> None:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    # A file that names no source stands for the one that programs push to.
    kept = "  api:\n    adapter: push\n"
    text = source_file.with_source(text, name, source, kept)
    source_file.write(path, text, os.environ)
    out.data(f"added {name} to {path}")
    try:
        with http.open_client(out, timeout_seconds=10) as client:
            http.call(client, "POST", "/v1/sources/reload")
    except (CommandError, LogchordError, httpx.HTTPError):
        out.say("Nothing runs here now; `logchord up` begins to read it.")
        return
    out.say(f"It is being read; follow it with `logchord source show {name}`.")


def _name_of(address: str) -> str:
    host = urlsplit(address).hostname or Path(address).stem
    return re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-") or "source"
