"""`logchord source add URL`: what it is, what is still to be said, and a first look."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import click
import httpx2
from pydantic import ValidationError

from api.cli import api_client, output
from api.cli.output import CommandError, UsageError
from api.cli.render.terminal import plain
from api.cli.source import advice as source_advice
from api.cli.source import config_file, findings, given_settings
from shared import suggest
from shared.error_codes import Category
from shared.errors import ConfigurationError, LogchordError
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter
from shared.sources.admin.check_source import Checked, check_configured
from shared.sources.admin.detect_adapter import AdapterGuess, Tried, recognise

# What an adapter asks for where it cannot tell which field is which.
_MAPS = frozenset({"args.map", "args.columns"})
_MAPPED = frozenset({"map", "columns"})
_HOST_AND_PORT = re.compile(r"[\w.-]+:\d{1,5}(/|$)")
# What is said with an option where nobody can be asked.
_SUCH_AS = {"--timezone": ", such as Europe/Zurich"}


@click.command()
@click.argument("address")
@click.option("--name", help="How it is called here; none: after its host.")
@click.option("--adapter", help="What it is, where that cannot be recognised.")
@click.option("--timezone", help="What zone its naive times mean.")
@click.option("--user", help="Login name, if it wants a login.")
@click.option("--secret", help="Variable or file that holds the password.")
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Certificate of the server or its authority, if nobody else vouches for it.",
)
@click.option(
    "--logbook", "logbooks", multiple=True, help="Only this logbook; repeat it."
)
@click.option(
    "--map",
    "places",
    multiple=True,
    metavar="FIELD=PLACE",
    help="Which column or key holds a field of an entry; several of one are joined.",
)
@click.option("--time-format", help="How its times are written, such as '%d/%m/%Y'.")
@click.option(
    "--readers",
    "readers",
    multiple=True,
    metavar="LOGBOOK=GROUP",
    help="Who may read a logbook here, * for whoever may read the source; one that is"
    " not named is hidden then. Repeat it.",
)
@click.option(
    "--set",
    "settings_given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other setting, such as args.complete_snapshot=true; VALUE is JSON, else"
    " a text. Repeat it.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Add it although a part is hidden, wants a login, or cannot be read.",
)
@click.option("--yes", is_flag=True, help="Ask nothing; fail instead.")
def add(  # noqa: PLR0913 - one for each option
    *,
    address: str,
    name: str | None,
    adapter: str | None,
    timezone: str | None,
    user: str | None,
    secret: str | None,
    ca_file: str | None,
    logbooks: tuple[str, ...],
    places: tuple[str, ...],
    time_format: str | None,
    readers: tuple[str, ...],
    settings_given: tuple[str, ...],
    force: bool,
    yes: bool,
) -> int:
    """Recognise the logbook at ADDRESS, check it, and write it into the configuration.

    Its history is then loaded, the newest entries first, while new ones come in. Of a
    database ADDRESS is the variable or the file that holds its DSN.
    """
    out = output.current()
    asks = not yes and sys.stdin.isatty()
    place = _place(address, ca_file)
    name = name or _name_of(address)
    secret = given_settings.name_secret(user, secret)
    given = _probe(place, user, secret)
    # As every process finds it, whichever folder it runs in.
    found = _found(
        out, place.get("path", address), given, adapter, name=name, asks=asks
    )
    descriptor = load_adapter.find_adapter_class(found.adapter).descriptor
    if descriptor.place == "none":
        place = {"args": {"dsn": given_settings.locate(address)}}
    source = {"adapter": found.adapter, **place, **dict(found.found.settings)}
    if user or secret:
        source |= given_settings.login_settings(source, descriptor, user, secret)
    said = {
        "logbooks": list(logbooks),
        "map": given_settings.read_map(places),
        "time_format": time_format,
        "readers": given_settings.read_readers(readers),
    }
    if args := {key: value for key, value in said.items() if value}:
        source["args"] = {**source.get("args", {}), **args}
    if timezone:
        source["timezone"] = timezone
    given_settings.set_each(source, settings_given)
    is_mapped = _is_mapped(found, source)
    lacks_zone = descriptor.naive_times or "timezone" in found.found.asks
    if lacks_zone and "timezone" not in source:
        zone = _ask(asks, "Its times have no zone. Which is it", "--timezone")
        source["timezone"] = zone
    path = config_file.path_of(os.environ)
    settings = _settings_with(path, name, source)
    checked = check_configured(settings, name, settings.sources[name])
    _show(out, found, checked)
    named = tuple(found.found.settings.get("args", {}).get("logbooks", ()))
    unknown = [one for one in logbooks if named and one not in named]
    if not checked.ok and unknown:
        advice = source_advice.unknown_logbooks(unknown, named)
        raise _not_added("it does not answer as it should.", advice)
    _refuse_unread(checked, source, is_mapped=is_mapped)
    lacking = list(_lacking(checked, source, is_mapped=is_mapped))
    for why, advice in () if force else lacking:
        if not (asks and click.confirm(f"Add it although {why}?", err=True)):
            raise _not_added(f"{why}.", advice)
    _write(out, path, name, source)
    for why, advice in lacking:
        out.complain(f"It was added although {why}.\n{advice}")
    return output.DONE


def _refuse_unread(
    checked: Checked, source: dict[str, Any], *, is_mapped: bool
) -> None:
    """Raise where nothing of a source would be read as it is given."""
    if not checked.ok:
        advice = source_advice.unanswered(checked.reason, source)
        raise _not_added("it does not answer as it should.", advice)
    if checked.reason is not None and not checked.sample:
        advice = source_advice.unread(checked.reason, is_mapped=is_mapped)
        raise _not_added("none of its entries could be read.", advice)


def _lacking(
    checked: Checked, source: dict[str, Any], *, is_mapped: bool
) -> Iterator[tuple[str, str]]:
    """Yield what the settings lack for this source, and what to do about it."""
    if checked.reason is not None:
        # What was read may be wrong, too: 12/09 and 13/09 are of one month.
        advice = source_advice.unread(checked.reason, is_mapped=is_mapped)
        yield "most of its entries could not be read", advice
    doubts = checked.doubts
    if doubts.absent:
        places = " or ".join(repr(one.place) for one in doubts.absent)
        yield f"no record has {places}", source_advice.MISNAMED
    if doubts.order:
        advice = source_advice.unsure_order(doubts.order)
        yield "its dates may have the day or the month first", advice
    if checked.unread:
        has_login = source_advice.has_login(source)
        advice = source_advice.unread_part(has_login=has_login)
        yield "a part of it wants a login", advice
    hidden = checked.report.hidden if checked.report else ()
    if hidden:
        books = ", ".join(hidden)
        yield f"nobody may read {books} here", source_advice.hidden(hidden)


def _not_added(why: str, advice: str) -> CommandError:
    message = "\n".join(one for one in (f"It was not added: {why}", advice) if one)
    return CommandError(message, exit_code=output.FAILED)


def _place(address: str, ca_file: str | None) -> dict[str, Any]:
    if urlsplit(address).scheme in {"http", "https"}:
        trusted = {"ca_file": str(Path(ca_file).absolute())} if ca_file else {}
        return {"base_url": address.rstrip("/"), **trusted}
    if "://" in address:
        message = f"{urlsplit(address).scheme} is not asked; http and https are."
        raise UsageError(message)
    path = Path(address).expanduser().absolute()
    if _HOST_AND_PORT.match(address) and not path.exists():
        raise UsageError(f"The address of a server begins so: http://{address}")
    return {"path": str(path)}


def _probe(
    place: dict[str, Any], user: str | None, secret: str | None
) -> SourceSettings:
    login = {"kind": "basic", "user": user, "secret": secret} if user else {}
    try:
        return SourceSettings.model_validate({**place, "auth": login})
    except ValidationError as exc:
        raise UsageError(_reason(exc)) from None


def _reason(exc: ValidationError) -> str:
    """Name the flaw of a setting without its value, which may hold a password."""
    first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {suggest.explain_flaw(first, SourceSettings)}."


def _is_mapped(found: AdapterGuess, source: dict[str, Any]) -> bool:
    """Tell whether it is said which field is which; raise where it has to be."""
    if _MAPPED.intersection(source.get("args", {})):
        return True
    if not _MAPS.intersection(found.found.asks):
        return False
    raise UsageError(
        f"This is {found.title}: {plain(found.found.why)}. Say which of them is which"
        " field of an entry, as in --map text=PLACE --map entry_time=PLACE; the rest"
        " becomes metadata. See docs/how-to/add-a-source.md."
    )


def _found(
    out: output.Output,
    address: str,
    given: SourceSettings,
    adapter: str | None,
    *,
    name: str,
    asks: bool,
) -> AdapterGuess:
    tried = recognise(address, given, source=name)
    if adapter is not None:
        return _named(tried, adapter)
    if tried.winner is not None:
        return tried.winner
    if not tried.candidates:
        raise CommandError(_nothing(address, given, tried), exit_code=output.NOT_FOUND)
    for one in tried.candidates:
        out.say(plain(f"  {one.adapter:<14} {one.title}: {one.found.why}"))
    chosen = _ask(asks, "It could be any of these. Which is it", "--adapter")
    return _named(tried, chosen)


def _named(tried: Tried, adapter: str) -> AdapterGuess:
    from shared.adapter_contract.contract import Recognition

    kind = load_adapter.find_adapter_class(adapter)
    for one in tried.candidates:
        if one.adapter == kind.descriptor.name:
            return one
    title = kind.descriptor.title
    return AdapterGuess(adapter, title, Recognition({}, 1.0, "as you say"))


def _nothing(address: str, given: SourceSettings, tried: Tried) -> str:
    """Return why no adapter is recognised: no answer, or an unknown kind of answer."""
    if given.path is not None and not _is_there(given.path):
        return f"There is no file or folder at {given.path}."
    if tried.failures:
        place = {"base_url": given.base_url} if given.base_url else {}
        first = tried.failures[0]
        told = [one.message for one in tried.failures]
        advice = source_advice.unrecognised(first.reason, place)
        return "\n".join(one for one in ("It was not added.", *told, advice) if one)
    return (
        f"Nothing that is known here answers at {address}. Asked as:"
        f" {', '.join(tried.asked)}.\nCheck the address in a browser. Name the software"
        " with --adapter, or describe it to the adapter `generic_rest` in the"
        " configuration: see docs/how-to/add-a-source.md."
    )


def _is_there(path: str) -> bool:
    # A pattern need not match anything yet.
    return Path(path).exists() or not {"*", "?", "["}.isdisjoint(path)


def _ask(asks: bool, question: str, option: str) -> str:  # noqa: FBT001 - a plain fact
    if not asks:
        such = _SUCH_AS.get(option, "")
        raise UsageError(f"{question}? Say so with {option}{such}.")
    answer: str = click.prompt(question, err=True)
    return answer.strip()


def _settings_with(path: Path, name: str, source: dict[str, Any]) -> Settings:
    settings = Settings.load(os.environ)
    if name in settings.sources:
        raise UsageError(
            f"There is a source {name} already. To change it, edit {path}, then"
            " `logchord source reload`; for another logbook choose another --name."
        )
    try:
        validated = SourceSettings.model_validate(source)
    except ValidationError as exc:
        message = f"sources.{name} for {path}: {_reason(exc)}"
        raise ConfigurationError(message, config_key=f"sources.{name}") from None
    sources = {**settings.sources, name: validated}
    return settings.model_copy(update={"sources": sources})


def _show(out: output.Output, found: AdapterGuess, checked: Checked) -> None:
    out.say(plain(f"This is {found.title}: {found.found.why.rstrip('.')}."))
    for draft in checked.sample:
        time = draft.entry_time
        when = findings.when(time, checked.timezone) if time else ""
        title = draft.title or draft.text[:60]
        out.say(plain(f"  {when}  {', '.join(draft.authors)}  {title}"))
    for one in checked.problems:
        out.say(plain(f"  {one}"))


def _write(out: output.Output, path: Path, name: str, source: dict[str, Any]) -> None:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    # A file that names no source stands for the one that programs push to.
    text = config_file.with_source(text, name, source, "  api:\n    adapter: push\n")
    config_file.write(path, text, os.environ)
    out.data(f"added {name} to {path}")
    try:
        with api_client.open_client(out) as client:
            problem = _taken_over(client, path, name)
    except (CommandError, LogchordError, httpx2.HTTPError) as exc:
        if isinstance(exc.__cause__, httpx2.ConnectError):
            out.say("Nothing runs here now; `logchord up` begins to read it.")
        else:
            out.complain(
                f"It is in {path}, but the running stack may not have taken it over:"
                f" `logchord source reload` does. The stack said: {exc}"
            )
        return
    if problem is not None:
        out.complain(problem)
        return
    out.say(f"It is being read; follow it with `logchord source show {name}`.")


def _taken_over(client: httpx2.Client, path: Path, name: str) -> str | None:
    """Have the running stack read the file; return what it lacks to read the source."""
    found = api_client.call(client, "POST", "/v1/sources/reload")
    for one in found["invalid"]:
        if one["name"] == name:
            return f"The running stack cannot read it: {one['message']}"
    if name not in {*found["added"], *found["changed"]}:
        return (
            f"The running stack reads another file than {path}: start it"
            " where that lies, or name it in LOGCHORD_CONFIG."
        )
    try:
        # Its environment is not this one's, and the secret may be missing there.
        api_client.call(client, "POST", f"/v1/sources/{quote(name, safe='')}/check")
    except CommandError as exc:
        told = "The running stack does not get in as this command did:"
        if exc.error.get("category") == Category.DATABASE:
            told = (
                "It is taken over; `logchord source check` says if the running stack"
                " gets in. Now it could not say so:"
            )
        return f"{told}\n{exc.message}"
    return None


def _name_of(address: str) -> str:
    host = urlsplit(address).hostname or Path(address).stem
    return re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-") or "source"
