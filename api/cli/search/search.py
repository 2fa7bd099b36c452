"""`logchord search`: ask, and read the answer in a terminal."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import click
import httpx2
from click.core import ParameterSource

from api.cli import api_client, await_jobs, output
from api.cli.output import UsageError
from api.cli.render.terminal import fact_width, plain
from api.cli.search import agentic, why_not
from api.cli.search import answer as search_answer
from api.cli.search import debug as debug_lines
from api.cli.search import export as search_export
from api.cli.search.question_words import QuestionCommand

# The filter that takes a list, be it of one.
_OF_MANY = "exclude_entry_ids"
_QUERY = "/v1/search/query"
_PLAN = "/v1/search/plan"
_AGENTIC = "agentic"
# What may be said of a job that was asked for earlier; and of every command.
_OF_A_JOB = frozenset(
    {
        *("words", "as_job", "explain", "why", "fail_on_degraded", "whole"),
        *("url", "key", "as_json", "quiet", "color"),
    }
)

FILTERS = click.option(
    "--filter", "filters", multiple=True, help="Such as device=NAME; again: or."
)
SINCE = click.option(
    "--from", "since", help="Written from then on: 2024-06, yesterday."
)
UNTIL = click.option("--to", "until", help="Written up to the end of it.")


@click.command(cls=QuestionCommand)
@click.argument("words", nargs=-1)
@click.option(
    "--mode", default="auto", help="auto, keyword, semantic, hybrid, agentic, agent."
)
@click.option("--limit", default=10, help="Results, 1 to 100.")
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    help="By time: all that match by words.",
)
@click.option("--facets", help="Count all that match: system,date, say.")
@click.option("--exhaustive", is_flag=True, help="All that match by words, counted.")
@click.option(
    "--export",
    type=click.Choice(["jsonl", "csv", "md"]),
    help="A file on standard output; with --exhaustive: all of them, whole.",
)
@FILTERS
@click.option("--module", "modules", multiple=True, help="Ask this one; again: both.")
@click.option("--by-thread", is_flag=True, help="Of a thread its best entry alone.")
@click.option(
    "--threshold",
    "min_relevance_score",
    type=float,
    help="Leave out what scores less, 0 to 1.",
)
@click.option("--strict", is_flag=True, help="Leave out what is doubtful.")
@click.option(
    "--detail", type=click.Choice(["brief", "full"]), help="Texts of 500 characters."
)
@click.option("--fields", help="With --json: of each result entry_id,title, say.")
@click.option("--max-chars", type=int, help="Most text of all results together.")
@click.option("--explain", is_flag=True, help="Also why each hit stands where it does.")
@click.option("--why", metavar="REF", help="Also why this entry is not among them.")
@click.option("--debug", is_flag=True, help="Also the plan, and how hits scored.")
@click.option("--plan", "plan_alone", is_flag=True, help="Only the plan: no search.")
@click.option(
    "--job",
    "as_job",
    is_flag=True,
    help="Do not wait, print the job's id; with an id for WORDS: what it found.",
)
@click.option("--whole", is_flag=True, hidden=True)
@SINCE
@UNTIL
@click.option(
    "--fail-on-degraded", is_flag=True, help="Exit 6 if a part of the search failed."
)
def search(  # noqa: PLR0913 - one for each option that is no field of a request
    *,
    words: tuple[str, ...],
    facets: str | None,
    export: str | None,
    filters: tuple[str, ...],
    modules: tuple[str, ...],
    by_thread: bool,
    fields: str | None,
    explain: bool,
    why: str | None,
    plan_alone: bool,
    as_job: bool,
    whole: bool,
    since: str | None,
    until: str | None,
    fail_on_degraded: bool,
    **asked: Any,
) -> int:
    """Search the logbooks for WORDS.

    A word behind a minus is excluded, and filters alone list what passes them.
    """
    out = output.current()
    narrowed = filters_of(filters) | times_of(since, until)
    if not any(map(str.strip, words)) and not narrowed:
        message = "Say what to search for, or which --filter, --from or --to it passes."
        raise UsageError(message)
    if fields is not None and not out.as_json:
        message = "--fields: add --json, there is no other way to print some fields."
        raise UsageError(message)
    earlier = _job_of(words) if as_job else None
    if earlier is not None:
        _refuse_others()
    elif sum(map(bool, (as_job, export, why, plan_alone))) > 1:
        raise UsageError("--job, --export, --plan and --why: ask for one of them.")
    body = {
        "query": " ".join(words),
        "facets": _listed(facets),
        "filters": narrowed,
        "modules": list(modules) or None,
        "collapse": "thread" if by_thread else None,
        "fields": None if fields is None else _listed(fields),
        **asked,
    }
    with api_client.open_client(out) as client:
        if export:
            return search_export.write(
                out, client, export, body, fail_on_degraded=fail_on_degraded
            )
        if plan_alone:
            plan = api_client.call(client, "POST", _PLAN, json=body)
            search_answer.show_plan(out, plan)
            return output.DONE
        if as_job and earlier is None:
            return _submit(out, client, body)
        if earlier is None:
            reply = api_client.call(client, "POST", _QUERY, json=body)
            answer = await_jobs.answered(client, reply)
        else:
            answer = await_jobs.response(client, earlier)
        if asked["mode"] == _AGENTIC and answer["method_used"] == _AGENTIC and not why:
            _tell_parts(out, answer, whole=whole)
        else:
            _tell(out, client, answer, explain=explain, why=why)
    is_degraded = fail_on_degraded and await_jobs.is_degraded(answer)
    return output.DEGRADED if is_degraded else output.DONE


def _tell_parts(out: output.Output, answer: dict[str, Any], *, whole: bool) -> None:
    """Print what each part of a question has found, as it was asked to be."""
    if out.prints_json(answer if whole else agentic.wire(answer)):
        return
    for line in agentic.lines(answer):
        out.data(line)
    if answer.get("plan"):
        for line in debug_lines.lines(answer, fact_width()):
            out.data(plain(line))


def _tell(
    out: output.Output,
    client: httpx2.Client,
    answer: dict[str, Any],
    *,
    explain: bool,
    why: str | None,
) -> None:
    if not out.as_json:
        search_answer.print_answer(out, answer, explain=explain)
    if why is None:
        said = None
    elif answer["job_id"] is None:
        raise UsageError("Nothing was asked for: there is no search to ask --why of.")
    else:
        said = why_not.fetch_reason(client, answer["job_id"], why)
    if out.as_json:
        out.document(answer if said is None else {**answer, "why_not": said})
    elif said is not None:
        out.data("")
        why_not.tell(out, said)


def _submit(out: output.Output, client: httpx2.Client, body: dict[str, Any]) -> int:
    """Leave a search to go on by itself, and print its name."""
    job = api_client.call(client, "POST", await_jobs.PATH, json=body)
    if not out.prints_json(job):
        out.data(job["job_id"])
        out.say(f"What it finds: logchord search --job {job['job_id']}")
    return output.DONE


def _job_of(words: tuple[str, ...]) -> UUID | None:
    """Return the job that is meant, if an id is all that was said."""
    with suppress(ValueError):
        return UUID(" ".join(words))
    return None


def _refuse_others() -> None:
    """Refuse what would have had to be said when the job was asked for."""
    context = click.get_current_context()
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if source is ParameterSource.COMMANDLINE and param.name not in _OF_A_JOB:
            raise UsageError(f"{param.opts[0]}: a job is shown as it was asked for.")


def _listed(given: str | None) -> list[str]:
    return [one.strip() for one in (given or "").split(",") if one.strip()]


def filters_of(given: tuple[str, ...]) -> dict[str, Any]:
    """Return the filters; one named twice means either of its values."""
    values: dict[str, list[str]] = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not mark:
            raise UsageError(f"--filter {one}: write it as name=value.")
        values.setdefault(name, []).append(value)
    return {name: _value(name, found) for name, found in values.items()}


def _value(name: str, found: list[str]) -> Any:
    if name == _OF_MANY:
        return found
    return found[0] if len(found) == 1 else {"in": found}


def times_of(since: str | None, until: str | None) -> dict[str, list[str | None]]:
    """Return the filter by time that was said; beside one by an end it is refused."""
    return {"time_range": [since, until]} if since or until else {}
