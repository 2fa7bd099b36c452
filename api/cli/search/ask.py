"""`logchord ask`: the answer to a question as it is made, and what it rests on."""

import sys
from typing import Any

import click
import httpx2

from api.cli import api_client, await_jobs, event_stream, output
from api.cli.output import UsageError
from api.cli.render.terminal import fact_width, local, plain
from api.cli.render.text_layout import labelled
from api.cli.search import absence, agent_turns, debug, sentences
from api.cli.search.answer import at_other_times, say_diagnostics
from api.cli.search.hit import HitLayout, render_hit
from api.cli.search.question_words import QuestionCommand
from api.cli.search.search import FILTERS, SINCE, UNTIL, filters_of, times_of

# Answered in sentences without being asked to be; what a model words, it words here.
_ANSWERED = frozenset({"auto", "hybrid", "rag", "agentic", "agent"})


@click.command(cls=QuestionCommand)
@click.argument("words", nargs=-1)
@click.option(
    "--mode",
    default="auto",
    help="auto, keyword, semantic, hybrid, agentic, rag or agent.",
)
@click.option(
    "--llm/--no-llm",
    "by_model",
    default=None,
    help="Whether a model words it; else where one is set up for questions.",
)
@FILTERS
@SINCE
@UNTIL
@click.option(
    "--debug",
    "debugs",
    is_flag=True,
    help="Each turn of an agent as it ends; the plan, branch times and every score.",
)
def ask(
    *,
    words: tuple[str, ...],
    mode: str,
    by_model: bool | None,
    filters: tuple[str, ...],
    since: str | None,
    until: str | None,
    debugs: bool,
) -> int:
    """Answer the question WORDS from the logbooks, or say why not."""
    out = output.current()
    if not any(map(str.strip, words)):
        raise UsageError("Say what to ask: logchord ask why did gate valve 8 close")
    body = {
        "query": " ".join(words),
        "mode": mode,
        "filters": filters_of(filters) | times_of(since, until),
        "debug": debugs,
    }
    if by_model is not None or mode not in _ANSWERED:
        body["synthesize"] = "llm" if by_model else "deterministic"
    with api_client.open_client(out) as client:
        job = api_client.call(client, "POST", await_jobs.PATH, json=body)
        if debugs:
            out.say(labelled("job", [job["job_id"]], fact_width()))
        show_words(client, job["job_id"], out if debugs else None)
        answer = await_jobs.response(client, job["job_id"])
    if not out.prints_json(answer):
        tell_answer(out, answer)
    return output.DONE


def show_words(
    client: httpx2.Client, job_id: str, debugged: output.Output | None = None
) -> None:
    """Show what a model says while it says it, where somebody looks, and its turns."""
    has_begun = False
    for event in event_stream.until_done(client, f"{await_jobs.PATH}/{job_id}/events"):
        if event.name == "llm_chunk" and sys.stderr.isatty():
            has_begun = True
            click.echo(plain(event.data["text"]), nl=False, err=True)
        if event.name == "agent_turn" and debugged is not None:
            debugged.say(labelled("turn", agent_turns.tell(event.data), fact_width()))
    if has_begun:
        click.echo("\n", err=True)


def tell_answer(out: output.Output, answer: dict[str, Any]) -> None:
    """Print an answer to a person: in sentences, or why there is none."""
    page = HitLayout.here()
    is_answered = bool(answer["answer"])
    if is_answered:
        lines = sentences.lines(answer, page)
    elif answer["results"]:
        # Nothing was asked of them: they are listed.
        lines = (render_hit(one, page) for one in answer["results"])
    else:
        lines = absence.lines(answer, page)
    for line in lines:
        out.data(line)
    for line in at_other_times(answer.get("overflow"), page):
        out.data(line)
    say_diagnostics(out, answer, page)
    said = answer["context_answer"]
    if is_answered and said and said["unsupported"]:
        words = ", ".join(said["unsupported"])
        unknown = plain(f"no entry that was found says: {words}")
        out.data(labelled("unknown", unknown, page.facts))
    if answer["llm_status"]:
        model = [plain(answer["llm_model"] or "none"), answer["llm_status"]]
        out.data(labelled("model", model, page.facts))
    if answer["as_of"]:
        out.data(labelled("as of", local(answer["as_of"], page.zone), page.facts))
    if answer.get("plan"):
        for line in debug.lines(answer, page.facts):
            # A question may hold what moves the cursor, too.
            out.data(plain(line))
