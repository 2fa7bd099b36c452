"""`logchord search --mode agentic`: the parts of a question, and what each found."""

from collections.abc import Iterator
from typing import Any

from api.cli.render.terminal import plain

_RULE = "=" * 60
OPENS, CLOSES = "<logchord_grounding>", "</logchord_grounding>"


def lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the sub-queries and the hits, as a prompt needs them."""
    yield f'AGENTIC SEARCH: "{plain(answer["query"])}"'
    yield _RULE
    asked, meta = answer["sub_queries"], answer["meta"]
    if answer["decomposed"]:
        yield f"   Decomposed into {len(asked)} sub-queries:"
        for number, one in enumerate(asked, 1):
            yield f'      {number}. "{plain(one)}"'
    found, shown = meta["total_candidates"], meta["returned"]
    yield f"   {found} unique candidates found \u2192 returning top {shown}"
    yield OPENS
    for hit in answer["results"]:
        yield from _hit(hit)
    yield CLOSES


def wire(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer in the shape that agents of other software read."""
    told = ("total_candidates", "returned", "sub_query_count")
    return {
        "results": [
            {
                "id": hit["entry_id"],
                "content": hit["content"],
                "rrf_score": hit["scores"]["rrf"],
                "metadata": {
                    "path": hit["source_uri"],
                    "validation_score": hit["validation_score"],
                    "found_by": hit["found_by"],
                    "multi_source": hit["multi_source"],
                },
            }
            for hit in answer["results"]
        ],
        "sub_queries": answer["sub_queries"],
        "decomposed": answer["decomposed"],
        "meta": {name: answer["meta"][name] for name in told},
    }


def _hit(hit: dict[str, Any]) -> Iterator[str]:
    cosine = hit["validation_score"]
    validated = "-" if cosine is None else f"{cosine:.2f}"
    title = plain(hit["title"]) or "(no title)"
    score = f"[RRF:{hit['scores']['rrf']:.4f} V:{validated}]"
    yield f"  {hit['rank']}. {score} {title}"
    yield f"        path: {plain(hit['source_uri'])}"
    yield f"        Found by: {[plain(one) for one in hit['found_by']]}"
