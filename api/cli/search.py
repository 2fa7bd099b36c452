"""`logchord search`: ask, and read the answer in a terminal."""

from __future__ import annotations

import shutil
import sys
from typing import Any
from zoneinfo import ZoneInfo

import click

from api.cli import absent, http, output, search_debug, search_export, search_facets
from api.cli.output import CommandError
from api.cli.passages import joined, marked_lines
from api.cli.terminal import facility_zone, local, plain

_WIDTH, _LEAST_WIDTH = 88, 30
_INDENT = "    "
# The filter that takes a list, be it of one.
_OF_MANY = "exclude_entry_ids"
_COLOURS = {
    "ok": "green",
    "empty": "green",
    "timeout": "yellow",
    "skipped": "yellow",
    "error": "red",
}


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--mode", default="auto", help="auto, keyword, semantic or hybrid.")
@click.option("--limit", default=10, show_default=True, help="Results, 1 to 100.")
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    show_default=True,
    help="By time: all that match by words.",
)
@click.option("--facets", help="Count all that match: system,date, say.")
@click.option("--exhaustive", is_flag=True, help="All that match by words, counted.")
@click.option(
    "--export",
    type=click.Choice(["jsonl", "csv", "md"]),
    help="A file on standard output; with --exhaustive: all of them, whole.",
)
@click.option(
    "--filter", "filters", multiple=True, help="Such as device=NAME; again: or."
)
@click.option("--module", "modules", multiple=True, help="Ask this one; again: both.")
@click.option("--by-thread", is_flag=True, help="Of a thread its best entry alone.")
@click.option("--threshold", type=float, help="Leave out what scores less, 0 to 1.")
@click.option("--strict", is_flag=True, help="Leave out what is doubtful.")
@click.option(
    "--detail", type=click.Choice(["brief", "full"]), help="Texts of 500 characters."
)
@click.option("--fields", help="With --json: of each result entry_id,title, say.")
@click.option("--max-chars", type=int, help="Most text of all results together.")
@click.option("--debug", is_flag=True, help="Also the plan, and how hits scored.")
@click.option("--from", "since", help="Written from then on: 2024-06, yesterday.")
@click.option("--to", "until", help="Written up to the end of it.")
@click.option(
    "--fail-on-degraded", is_flag=True, help="Exit 6 if a part of the search failed."
)
def search(  # noqa: PLR0913 - one for each option
    *,
    words: tuple[str, ...],
    mode: str,
    limit: int,
    sort: str,
    facets: str | None,
    exhaustive: bool,
    export: str | None,
    filters: tuple[str, ...],
    modules: tuple[str, ...],
    by_thread: bool,
    threshold: float | None,
    strict: bool,
    detail: str | None,
    fields: str | None,
    max_chars: int | None,
    debug: bool,
    since: str | None,
    until: str | None,
    fail_on_degraded: bool,
) -> int:
    """Search the logbooks for WORDS."""
    out = output.current()
    if fields is not None and not out.as_json:
        message = "--fields: add --json, there is no other way to print some fields."
        raise CommandError(message, exit_code=output.USAGE)
    body = {
        "query": " ".join(words),
        "mode": mode,
        "limit": limit,
        "sort": sort,
        "facets": _listed(facets),
        "filters": filters_of(filters) | _times(since, until),
        "exhaustive": exhaustive,
        "modules": list(modules) or None,
        "collapse": "thread" if by_thread else None,
        "min_relevance_score": threshold,
        "strict": strict,
        "detail": detail,
        "fields": None if fields is None else _listed(fields),
        "max_chars": max_chars,
        "debug": debug,
    }
    with http.open_client(out) as client:
        if export:
            return search_export.write(out, client, export, body)
        answer = http.call(client, "POST", "/v1/search/query", json=body)
    if out.as_json:
        out.document(answer)
    else:
        _show(out, answer)
    if fail_on_degraded and (answer["degraded"] or answer["state"] == "partial"):
        return output.DEGRADED
    return output.DONE


def _listed(given: str | None) -> list[str]:
    return [one.strip() for one in (given or "").split(",") if one.strip()]


def filters_of(given: tuple[str, ...]) -> dict[str, Any]:
    """Return the filters; one named twice means either of its values."""
    values: dict[str, list[str]] = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not mark:
            message = f"--filter {one}: write it as name=value."
            raise CommandError(message, exit_code=output.USAGE)
        values.setdefault(name, []).append(value)
    return {name: _value(name, found) for name, found in values.items()}


def _value(name: str, found: list[str]) -> Any:
    if name == _OF_MANY:
        return found
    return found[0] if len(found) == 1 else {"in": found}


def _times(since: str | None, until: str | None) -> dict[str, str]:
    given = {"date_from": since, "date_to": until}
    return {name: value for name, value in given.items() if value is not None}


def _show(out: output.Output, answer: dict[str, Any]) -> None:
    zone = facility_zone()
    width = width_of()
    for result in answer["results"]:
        out.data(shown(result, zone, width))
    if not answer["results"]:
        for line in absent.lines(answer, width, zone):
            out.data(line)
    for one in answer["diagnostics"]:
        out.say(f"{one['level']}: {one['message']}")
    for line in search_facets.lines(answer["facets"], zone):
        out.data(line)
    out.data(_closing(answer, zone))
    if answer.get("plan"):
        for line in search_debug.lines(answer):
            # A question may hold what moves the cursor, too.
            out.data(plain(line))


def width_of() -> int:
    """Return how wide texts are shown: as the terminal is, within reason."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    return max(_LEAST_WIDTH, min(_WIDTH, columns)) - len(_INDENT)


def shown(result: dict[str, Any], zone: ZoneInfo, width: int) -> str:
    """Return one hit as lines: its place and score, about it, and its best passage."""
    title = plain(result["title"]) or "(no title)"
    head = (
        f"{result['rank']:>2}. {click.style(title, bold=True)}"
        f"  {click.style(format(result['relevance_score'], '.2f'), fg='cyan')}"
    )
    books = ", ".join(result["logbooks"])
    place = f"{result['source']}/{result['external_id']}"
    facts = [local(result["entry_time"], zone), place, books, result["author"]]
    found_by = "found by " + ", ".join(result["found_by"])
    alike = f"{result['similar_count']} similar" if result["similar_count"] else ""
    told = [plain(fact) for fact in (*facts, found_by, alike) if fact]
    about = [click.style(line, dim=True) for line in _joined(told, width)]
    for one in result.get("superseded_by", ()):
        newer = _joined([plain(told) for told in _newer(one, zone)], width)
        about += [click.style(line, fg="yellow") for line in newer]
    text = marked_lines(result["highlights"], result["content"], width)
    return "\n".join([head, *(f"{_INDENT}{line}" for line in (*about, *text)), ""])


def _newer(one: dict[str, Any], zone: ZoneInfo) -> list[str]:
    """Return what a value of a hit is by now, and who says so."""
    what = f"superseded: {one['parameter']} of {one['device']}"
    value = f"{one['stated']:g} is {one['value']:g} {one['unit']}".rstrip()
    place = f"{one['source']}/{one['external_id']}"
    return [what, value, f"since {local(one['time'], zone)}", place]


def _joined(facts: list[str], width: int) -> list[str]:
    # For whoever reads lines, each hit is one.
    return joined(facts, width if sys.stdout.isatty() else sys.maxsize)


def _closing(answer: dict[str, Any], zone: ZoneInfo) -> str:
    branches = " · ".join(branch_told(one) for one in answer["branches"])
    as_of = local(answer["as_of"], zone) if answer["as_of"] else "unknown"
    lines = [
        f"shown     {_amount(answer)}",
        f"branches  {branches or 'none'}",
        f"as of     {as_of}",
        f"job       {answer['job_id'] or 'none'}",
        f"took      {answer['search_duration_ms']:.0f} ms, {answer['method_used']}",
    ]
    left_out = answer["suppressed"]["count"]
    if left_out:
        lines.append(f"left out  {left_out} that scored too low")
    if answer.get("hidden_count"):
        lines.append(f"hidden    {answer['hidden_count']} match that you may not see")
    lines += [_time(one, zone) for one in answer["time"]["applied"]]
    said = answer.get("context_answer") or {}
    lines += [f"asks      {plain(one)}" for one in said.get("questions", ())]
    if answer["degraded"]:
        told = "degraded: a part of the search failed"
        lines.append(click.style(told, fg="yellow"))
    return "\n".join(lines)


def _amount(answer: dict[str, Any]) -> str:
    """Say how much of what matches this is: a few of all, or the best of some."""
    shown, total = answer["total_results"], answer["total_candidates"]
    if total["exact"]:
        return f"{shown} of all {total['lower_bound']} that match"
    if answer["complete"]:
        return f"{shown}, and nothing else was found"
    return f"the first {shown} of {total['lower_bound']} or more"


def _time(one: dict[str, Any], zone: ZoneInfo) -> str:
    ends = [
        f"{word} {local(one[end], zone)}"
        for word, end in (("from", "from"), ("before", "to"))
        if one[end]
    ]
    what = "happened" if one.get("field") == "event_time" else "written"
    read = f', read from "{plain(one["expression"])}"' if one["expression"] else ""
    return f"{what:<8}  {' '.join(ends)}{read}"


def branch_told(one: dict[str, Any]) -> str:
    """Return how a part of a search fared, and why it did not, in a few words."""
    status = click.style(one["status"], fg=_COLOURS.get(one["status"]))
    counted = f" {one['candidates']}" if one["status"] == "ok" else ""
    # Of one that was skipped there is no error.
    reason = one["error_code"] or one["reason"]
    why = f" ({reason})" if reason else ""
    instead = f" for {one['fallback_for']}" if one["fallback_for"] else ""
    return f"{one['name']}{instead} {status}{counted}{why}"
