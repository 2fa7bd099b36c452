"""`logchord models` and `reembed`: another embedding model beside the one in use."""

import os
from functools import partial
from typing import Any

import click

from api.cli import follow_chore, output
from api.cli.output import Output, UsageError
from api.operations.schemas.embed_models import embed_model_out
from shared.access.audit_records import note_command
from shared.embedding.models import model_names
from shared.embedding.switch import reembed as reembed_chore
from shared.embedding.switch import switch_model
from shared.embedding.vectors import model_registry
from shared.embedding.vectors.model_registry import ModelStatus
from shared.postgres.pool import Pool, connection, make_pool
from shared.settings.settings import Settings
from shared.work.chore_records import Maintenance

# What each phase is to somebody who waits for it.
_WORDS = {
    "open": "loading the model",
    "mark": "having what changes embedded for both",
    "wait": "waiting for writers that began before",
    "walk": "embedding",
    "drain": "waiting for the last of them",
    "compare": "trying it out",
    "warm": "having the workers of searches load it",
    "switch": "switching searches to it",
}


@click.command()
def models() -> int:
    """List the embedding models: what each holds, and which one searches read."""
    out = output.current()
    with _opened(Settings.load(os.environ)) as pool, connection(pool) as conn:
        found = model_registry.list_models(conn)
    if out.prints_json([embed_model_out(one) for one in found]):
        return output.DONE
    for one in found:
        out.data(_line(one))
    if not found:
        out.data("No entry has been embedded yet.")
    return output.DONE


@click.command()
@click.argument("model", required=False)
@click.option("--activate", is_flag=True, help="Have searches read it at the end.")
@click.option("--force", is_flag=True, help="Activate it although entries lack one.")
@click.option("--batch", default=128, type=click.IntRange(1, 1000))
@click.option("--stop", is_flag=True, help="Give up the one under way.")
@click.option("--drop", is_flag=True, help="Delete the vectors of MODEL.")
@click.option("--no-wait", is_flag=True, help="Do not wait for its end.")
def reembed(
    *, model: str | None, stop: bool, drop: bool, no_wait: bool, **how: Any
) -> int:
    """Embed every entry for another model, beside the one that searches read.

    Ctrl-C leaves it going; call it again to look. Whoever holds DATABASE_URL may.
    """
    out = output.current()
    settings = Settings.load(os.environ)
    with _opened(settings) as pool:
        if stop:
            return _stop(pool, out)
        if model is None:
            message = "Name a model; `logchord models` lists those that have vectors."
            raise UsageError(message)
        if drop:
            return _drop(pool, out, model_names.resolve_alias(model))
        name = model_names.check_model_name(model, settings)
        ask = partial(reembed_chore.ask, model=name, **how)
        now = follow_chore.follow(
            pool, out, ask, _WORDS, command="reembed", waits=not no_wait
        )
    _tell(out, now)
    is_kept = (now.result or {}).get("not_live")
    is_done = no_wait or (now.state == "done" and not is_kept)
    return output.DONE if is_done else output.FAILED


def _opened(settings: Settings) -> Pool:
    url = settings.require_database_url()
    return make_pool(url, application="reembed", size=1)


def _stop(pool: Pool, out: Output) -> int:
    find = reembed_chore.find_unfinished_reembedding
    absent = "No entries are being embedded for another model."
    _tell(out, follow_chore.stop(pool, find, absent))
    out.say(
        "What is embedded stays, and what changes is embedded for both models. Go on"
        " with the same command, or delete it with --drop."
    )
    return output.DONE


def _drop(pool: Pool, out: Output, model: str) -> int:
    with connection(pool) as conn:
        gone = switch_model.drop(conn, model)
        note_command(conn, "logchord reembed --drop", model)
    out.data(f"The vectors of {gone.model} are deleted ({gone.table_name}).")
    return output.DONE


def _line(one: ModelStatus) -> str:
    model = one.model
    state = click.style(one.state, fg="green") if one.state == "live" else one.state
    lacks = f", {one.missing} without" if one.missing else ""
    tongues = f"  {','.join(one.languages)}" if one.languages else ""
    return (
        f"{model.model:<32} {state:<8} {model.dimension} numbers"
        f"  floor {model.similarity_floor:.2f}{tongues}"
        f"  {one.entries} entries in {one.rows} vectors{lacks}  {model.table_name}"
    )


def _tell(out: Output, now: Maintenance) -> None:
    if follow_chore.tells_person(out, "reembed", now) and (result := now.result):
        out.data(
            f"{result['entries']} entries were gone through for {result['model']};"
            f" {result['missing']} lack a vector,"
            f" {result['put_aside']} are quarantined."
        )
        out.data(_standing(result))


def _standing(result: dict[str, object]) -> str:
    model = result["model"]
    if result["live"]:
        return f"Searches read {model}."
    if result["not_live"]:
        return (
            "Searches stay with the old model: entries lack a vector of this one"
            " (`logchord quarantine list` says why). --force switches all the same."
        )
    return f"Searches stay with the old model: `logchord reembed {model} --activate`."
