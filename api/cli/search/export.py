"""`logchord search --export`: hits, or all that match, into a file as it comes."""

import sys
from collections.abc import Iterator
from typing import Any

import click
import httpx2
from click.core import ParameterSource

from api.cli import api_client, await_jobs, output
from api.cli.output import CommandError, Output, UsageError

_WHOLE = (b'{"complete": true,', b"complete,true,")
# Longer than the last record of any file that is whole.
_END_BYTES = 200


def write(
    out: Output,
    client: httpx2.Client,
    form: str,
    body: dict[str, Any],
    *,
    fail_on_degraded: bool,
) -> int:
    """Print a file as it arrives; one of all that match, broken off, ends with 1."""
    given = click.get_current_context().get_parameter_source("limit")
    if given is ParameterSource.COMMANDLINE:
        raise UsageError("--export writes all that was ranked: leave --limit out.")
    if not body["exhaustive"]:
        is_degraded = _window(client, form, body)
        return output.DEGRADED if fail_on_degraded and is_degraded else output.DONE
    if form == "md":
        raise UsageError("--export md is a list to be read: leave --exhaustive out.")
    # All that match have no limit.
    body = {name: value for name, value in body.items() if name != "limit"}
    end = b""
    for part in _parts(client, form, body):
        sys.stdout.buffer.write(part)
        end = (end + part)[-_END_BYTES:]
    sys.stdout.buffer.flush()
    last = end.rstrip().rpartition(b"\n")[2]
    if last.startswith(_WHOLE):
        rows = "".join(char for char in last.decode() if char.isdigit())
        out.say(f"All {rows} entries that match were written.")
        return output.DONE
    if b"diagnostics" in last:
        out.complain("A part of the question was left out: these may not be all.")
        return output.FAILED
    out.complain("The file broke off: there are more entries than it has.")
    return output.FAILED


def _window(client: httpx2.Client, form: str, body: dict[str, Any]) -> bool:
    """Print the hits of this search's job; tell whether a part of it failed."""
    job = api_client.call(client, "POST", await_jobs.PATH, json=body)
    where = f"{await_jobs.PATH}/{job['job_id']}"
    found = await_jobs.response(client, job["job_id"])
    answer = api_client.fetch(client, "GET", f"{where}/export", params={"format": form})
    sys.stdout.buffer.write(answer.content)
    sys.stdout.buffer.flush()
    return await_jobs.is_degraded(found)


def _parts(client: httpx2.Client, form: str, body: dict[str, Any]) -> Iterator[bytes]:
    path, params = "/v1/search/export", {"format": form}
    try:
        with api_client.stream(
            client, "POST", path, params=params, json=body
        ) as answer:
            yield from answer.iter_bytes()
    except httpx2.TransportError as exc:
        message = (
            f"The API at {client.base_url} broke off ({type(exc).__name__}): what was"
            " written is not whole."
        )
        raise CommandError(message, exit_code=output.TRY_AGAIN) from exc
