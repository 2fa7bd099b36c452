"""A question searched part by part, from Python: `agentic_search`.

The search runs where the API is; this asks it, as the command line does, which
`python -m api.agentic` is, too.
"""

import sys
from dataclasses import dataclass
from typing import Any

from api.cli import api_client, await_jobs, main, output
from api.cli.search.agentic import wire

__all__ = ["AgenticHit", "agentic_search"]

_QUERY = "/v1/search/query"


@dataclass(frozen=True, slots=True)
class AgenticHit:
    """One entry found, by the names that other software's agents know."""

    id: str
    content: str
    rrf_score: float
    metadata: dict[str, Any]


def agentic_search(
    query: str,
    limit: int = 10,
    validate: bool = True,  # noqa: FBT001, FBT002 - called so by other software
    debug: bool = False,  # noqa: FBT001, FBT002 - the same
) -> dict[str, Any]:
    """Search a question part by part, at the API that the environment names.

    `results` are objects with `id`, `content`, `rrf_score` and `metadata`; `debug` adds
    `plan` and `score_trace`.
    """
    how = {"limit": limit, "validate": validate, "debug": debug}
    body = {"query": query, "mode": "agentic", **how}
    with api_client.open_client(output.Output()) as client:
        reply = api_client.call(client, "POST", _QUERY, json=body)
        answer = await_jobs.answered(client, reply)
    found = wire(answer)
    found["results"] = [AgenticHit(**one) for one in found["results"]]
    if debug:
        found |= {name: answer[name] for name in ("plan", "score_trace")}
    return found


if __name__ == "__main__":
    main.main(["search", "--mode", "agentic", *sys.argv[1:]])
