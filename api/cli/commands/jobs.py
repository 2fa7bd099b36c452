"""`logchord jobs`: searches that go on by themselves, seen, watched and ended."""

from typing import Any
from uuid import UUID

import click

from api.cli import api_client, await_jobs, event_stream, output
from api.cli.await_jobs import PATH as _PATH
from api.cli.render.terminal import columns, facility_zone, fact_width, local, plain
from api.cli.render.text_layout import labelled, wrapped
from api.cli.search import agent_turns, answer
from api.cli.search.why_not import why_not

_INDENT, _LEAST_ASKED = "    ", 30
_SAME = {True: "yes", False: "no", None: "unknown"}


@click.group()
def jobs() -> None:
    """See, watch and end your searches."""


@jobs.command("list")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=20, help="At most so many."
)
def list_jobs(*, limit: int) -> None:
    """List your searches, the newest first."""
    out = output.current()
    found = api_client.ask("GET", _PATH, params={"limit": limit})["items"]
    if out.prints_json(found):
        return
    zone = facility_zone()
    for job in found:
        asked = plain(job["request"]["query"])
        when = local(job["created_at"], zone)
        line = f"{job['job_id']}  {when}  {job['state']:<8}"
        column = len(line) + 2
        if column + _LEAST_ASKED <= columns():
            out.data(labelled(line, asked, columns(), column=column))
            continue
        out.data(job["job_id"])
        told = wrapped(f"{job['state']}  {when}  {asked}", fact_width() - len(_INDENT))
        out.data("\n".join(f"{_INDENT}{part}" for part in told))
    if not found:
        out.say("There are no searches; they are kept for a day.")


@jobs.command()
@click.argument("job_id", type=click.UUID)
def show(*, job_id: object) -> None:
    """Show how a search fares, and what it found."""
    out = output.current()
    job = api_client.ask("GET", f"{_PATH}/{job_id}")
    _tell(out, job)
    if job["response"] and not out.as_json:
        out.data("")
        answer.print_answer(out, job["response"])


@jobs.command()
@click.argument("job_id", type=click.UUID)
def watch(*, job_id: object) -> None:
    """Tell what a search does, until it has ended."""
    out = output.current()
    with api_client.open_client(out) as client:
        for event in event_stream.until_done(client, f"{_PATH}/{job_id}/events"):
            _event(out, event.name, event.data)
            if event.name == event_stream.LAST:
                await_jobs.check_state(event.data)


@jobs.command()
@click.argument("job_id", type=click.UUID)
def cancel(*, job_id: object) -> None:
    """End a search now, with what is in."""
    out = output.current()
    job = api_client.ask("DELETE", f"{_PATH}/{job_id}")
    _tell(out, job)


@jobs.command("why-not")
@click.argument("job_id", type=click.UUID)
@click.argument("ref")
@click.pass_context
def why_not_job(ctx: click.Context, *, job_id: UUID, ref: str) -> None:
    """Say why a search did not return an entry."""
    ctx.invoke(why_not, job_id=job_id, ref=ref)


@jobs.command()
@click.argument("job_id", type=click.UUID)
def replay(*, job_id: UUID) -> None:
    """Ask the same again, and say what is not as it was."""
    out = output.current()
    with api_client.open_client(out) as client:
        again = api_client.call(client, "POST", f"{_PATH}/{job_id}/replay")
        job = await_jobs.ended(client, again["job_id"])
    _tell(out, job)
    if not out.as_json:
        _compare(out, job["replay"])
    await_jobs.check_state(job)


def _compare(out: output.Output, found: dict[str, Any]) -> None:
    old, new = (found[name] or "unknown" for name in ("old_hash", "new_hash"))
    out.data(f"{'hashes':<10}{old}\n{'':<10}{new}")
    out.data(f"{'same':<10}{_SAME[found['same']]}")
    for one in found["changed"]:
        told = f"{one['input']}: {one['from'] or 'none'} -> {one['to'] or 'none'}"
        out.data(labelled("changed", plain(told), fact_width()))


def _tell(out: output.Output, job: dict[str, Any]) -> None:
    if out.prints_json(job):
        return
    width = fact_width()
    ended = " (cancelled)" if job["cancelled"] else ""
    out.data(f"{'state':<10}{job['state']}{ended}")
    out.data(labelled("query", plain(job["request"]["query"]), width))
    for one in job["branches"]:
        out.data(labelled("branch", _branch(one), width))
    for turn in job.get("turns", ()):
        out.data(labelled("turn", agent_turns.tell(turn), width))
    if job["response"]:
        out.data(f"{'results':<10}{job['response']['total_results']}")
    if job["error"]:
        out.data(labelled("error", plain(job["error"]["message"]), width))


def _event(out: output.Output, name: str, data: dict[str, Any]) -> None:
    if out.as_json:
        out.line({"event": name, **data})
        return
    out.data(f"{name:<16}{_said(name, data)}".rstrip())


def _said(name: str, data: dict[str, Any]) -> str:
    if name == "branch_done":
        return _branch(data)
    if name == "agent_turn":
        return " · ".join(agent_turns.tell(data))
    said = {"branch_started": "name", "results": "total_results"}.get(name, "state")
    return str(data.get(said, ""))


def _branch(one: dict[str, Any]) -> str:
    reason = one["error_code"] or one["reason"]
    why = f" ({reason})" if reason else ""
    found = one["candidates"]
    counted = "" if found is None else f", {found} found"
    return f"{one['name']} {one['status']}{why}{counted}"
