"""`logchord glossary`: terms of the facility, proposed and decided."""

from typing import Any
from urllib.parse import quote

import click

from api.cli import api_client, output
from api.cli.render.terminal import fact_width, plain
from api.cli.render.text_layout import labelled

_PATH = "/v1/glossary"
_STATES = ("proposed", "approved", "rejected")
_TERM = click.argument("term")
_FORMS = click.argument("expansions", nargs=-1)


@click.group()
def glossary() -> None:
    """See what terms are searched as; propose, approve and reject."""


@glossary.command("list")
@click.option("--state", type=click.Choice(_STATES), help="Only these.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, help="At most so many terms."
)
def list_terms(*, state: str | None, limit: int) -> None:
    """List terms by their letters, with entries that say so."""
    out = output.current()

    def print_terms(found: list[dict[str, Any]]) -> None:
        for one in found:
            _tell(out, one)

    asked, nothing = {"state": state}, "There are no such terms."
    api_client.print_items(_PATH, asked, limit, print_terms, nothing=nothing)


@glossary.command()
@_TERM
@click.argument("expansions", nargs=-1, required=True)
def propose(*, term: str, expansions: tuple[str, ...]) -> None:
    """Propose what may be said for a term; an admin approves it."""
    _post(term, "", expansions)


@glossary.command()
@_TERM
@_FORMS
def approve(*, term: str, expansions: tuple[str, ...]) -> None:
    """Have a term searched as its expansions: those named, or all proposed."""
    _post(term, "/approve", expansions)


@glossary.command()
@_TERM
@_FORMS
def reject(*, term: str, expansions: tuple[str, ...]) -> None:
    """Have it searched as them no more: as those named, or as any."""
    _post(term, "/reject", expansions)


def _post(term: str, what: str, expansions: tuple[str, ...]) -> None:
    out = output.current()
    address = f"{_PATH}/{quote(term, safe='')}{what}"
    named: dict[str, Any] = {"json": {"expansions": list(expansions)}}
    if what:
        named = {"params": {"expansion": list(expansions)}}
    one = api_client.ask("POST", address, **named)
    if not out.prints_json(one):
        _tell(out, one)


def _tell(out: output.Output, one: dict[str, Any]) -> None:
    said = ", ".join(map(plain, one["expansions"]))
    out.data(f"{plain(one['term'])}  {one['state']}  {said}")
    for known in one["evidence"]:
        name = plain(f"{known['source']}/{known['external_id']}")
        out.data(labelled(f"  {name}", plain(known["quote"]), fact_width()))
    more = one["entries"] - len(one["evidence"])
    if more > 0:
        out.data(f"  and {more} more entries")
