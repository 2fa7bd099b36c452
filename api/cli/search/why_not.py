"""`logchord why-not`: the step of a search that left an entry out."""

from typing import Any
from uuid import UUID

import click
import httpx2

from api.cli import api_client, output
from api.cli.render.terminal import fact_width, plain
from api.cli.render.text_layout import labelled


@click.command("why-not")
@click.argument("job_id", type=click.UUID)
@click.argument("ref")
def why_not(*, job_id: UUID, ref: str) -> None:
    """Say why a search did not return an entry.

    JOB_ID stands below the results of a search. REF is an entry id, a source_uri, a
    permalink, SOURCE/EXTERNAL_ID, or a bare external id.
    """
    out = output.current()
    with api_client.open_client(out) as client:
        said = fetch_reason(client, job_id, ref)
    if not out.prints_json(said):
        tell(out, said)


def fetch_reason(client: httpx2.Client, job_id: UUID | str, ref: str) -> dict[str, Any]:
    """Return why a job did not return an entry."""
    path = f"/v1/search/jobs/{job_id}/why-not"
    said: dict[str, Any] = api_client.call(client, "GET", path, params={"entry": ref})
    return said


def tell(out: output.Output, said: dict[str, Any]) -> None:
    """Print the gate, the reason, and what each branch made of the entry."""
    for name, value in _facts(said):
        out.data(labelled(name, [value], fact_width()))


def _facts(said: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [
        ("gate", click.style(said["gate"], bold=True)),
        ("why", plain(said["explanation"])),
    ]
    if said["value"] is not None:
        needed = "" if said["limit"] is None else f", {_short(said['limit'])} needed"
        facts.append(("value", f"{_short(said['value'])}{needed}"))
    told = [(one["name"], one["gate"] or "found it") for one in said["branches"]]
    return [*facts, *told]


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
