"""`logchord ask`: the answer to a question, and the entries that it rests on."""

from __future__ import annotations

from typing import Any

import click

from api.cli import api_client, await_jobs, output
from api.cli.output import CommandError
from api.cli.render.terminal import local, plain
from api.cli.render.text_layout import labelled
from api.cli.search import absence, sentences
from api.cli.search.hit import HitLayout
from api.cli.search.question_words import QuestionCommand
from api.cli.search.search import filters_of, times_of

_QUERY = "/v1/search/query"


@click.command(cls=QuestionCommand)
@click.argument("words", nargs=-1)
@click.option(
    "--mode", default="auto", help="auto, keyword, semantic, hybrid, agentic, agent."
)
@click.option(
    "--filter", "filters", multiple=True, help="Such as device=NAME; again: or."
)
@click.option("--from", "since", help="Written from then on: 2024-06, yesterday.")
@click.option("--to", "until", help="Written up to the end of it.")
def ask(
    *,
    words: tuple[str, ...],
    mode: str,
    filters: tuple[str, ...],
    since: str | None,
    until: str | None,
) -> int:
    """Answer the question WORDS from the logbooks, or say why not."""
    out = output.current()
    if not words:
        message = "Say what to ask: logchord ask why did gate valve 8 close"
        raise CommandError(message, exit_code=output.USAGE)
    body = {
        "query": " ".join(words),
        "mode": mode,
        "filters": filters_of(filters) | times_of(since, until),
        "synthesize": "deterministic",
    }
    with api_client.open_client(out) as client:
        answer = await_jobs.answered(
            client, api_client.call(client, "POST", _QUERY, json=body)
        )
    if out.as_json:
        out.document(answer)
    else:
        _tell(out, answer)
    return output.DONE


def _tell(out: output.Output, answer: dict[str, Any]) -> None:
    page = HitLayout.here()
    is_answered = bool(answer["answer"])
    for line in (sentences if is_answered else absence).lines(answer, page):
        out.data(line)
    said = answer["context_answer"]
    if is_answered and said and said["unsupported"]:
        words = ", ".join(said["unsupported"])
        out.data(labelled("unknown", plain(f"no entry has: {words}"), page.facts))
    if answer["as_of"]:
        out.data(labelled("as of", local(answer["as_of"], page.zone), page.facts))
